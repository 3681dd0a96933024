"""PT-BERT: momentum contrast between sentences that were mapped to 128 pseudo tokens and back.

Tan, Shao, Wu, Yang and Song (2022), "A Sentence is Worth 128 Pseudo Tokens: A Semantic-Aware Contrastive Learning
Framework for Sentence Embeddings". Pseudo tokens are vectors that belong to no sentence. They attend to a sentence's
tokens (Eqs. 1 and 2). The sentence then attends to what they found (Eq. 3), which gives the vector h. Whatever a
sentence's length and syntax, h is made of m vectors in a fixed order. `PTBERT` is `MoCo` on h (Eqs. 4 and 5).

With keys="pooled", Y is one vector, as in the paper's Fig. 2 and the released code. A softmax over one key is 1, so
each pseudo token puts out the same Z' = Y W_V. Eq. 3 over m equal keys gives h = Y W_V W_V. Their gradient is zero.

The released code (`released=True`) adds to this variant the heads of the encoder, biases, and dropout on the weights of
the attention. Then each pseudo token draws its own noise, and Eq. 3 averages it over the m of them. The gradient of the
pseudo tokens is still zero, but their number sets how much noise two views of a sentence have.

Differs from the paper:
  - By default Y is the sequence of a sentence's tokens, with padding masked. This mechanism can have an effect.
    The encoder's pooling then makes one vector of h.
  - It can be read either way whether the momentum branch has its own pseudo tokens and attention. Here it does.
  - It reports h in Figure 3 and does not say which vector Tables 3 to 5 score. Here `at_test` chooses the vector.

Differs from the released code:
  - Its momentum branch takes the second step (Eq. 3) with the attention that the gradient trains.
  - Its momentum encoder is copied before the pre-trained weights are loaded: it starts at random, as with `released`.
  - A linear layer and tanh follow h in training there. Here they make the pooled key, as in the paper's Fig. 2.
  - Its candidates are the batch's own and the last four batches of 64, 320 in all. Here it is 256 with the batch's.
  - It is evaluated on the plain [CLS] (`at_test="cls"`), which pseudo tokens never touch.
"""

from __future__ import annotations

from typing import Any, cast

from sentlab.encoder import Encoder
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.methods.moco import MoCo
from sentlab.text.views import View
from sentlab.training.randomness import dropout_of


class PTBERT(MoCo):
    """Trains `encoder`, and pseudo tokens that become a part of it (`encoder.pseudo`), on plain sentences.

    Args:
        encoder: trained in place. Its pooling (cls, mean or max) makes one vector of the tokens' h, or of the tokens
            with keys="pooled". Training continues with its pseudo tokens if it has some with the same settings.
        pseudo_tokens: m, 128 in the paper.
        queue_size, momentum, temperature, view: see `MoCo`.
        keys: what the pseudo tokens attend to. Either the sentence's `tokens` or the one `pooled` vector.
        released: read the paper as the released code does: one pooled key, the encoder's heads and dropout, biases, and
            a momentum encoder that starts at random. `keys` is then "pooled".
        at_test: the pooling that `encoder` has from now on, and is saved with. Either "pseudo" for h, or "cls", "mean"
            and so on for vectors without the pseudo tokens. You can change it at any time: `encoder.pooling = ...`.

    Example:
        >>> method = sentlab.methods.PTBERT(sentlab.Encoder.from_pretrained(), pseudo_tokens=16)
        >>> history = sentlab.fit(method, sentences, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        pseudo_tokens: int = 128,
        queue_size: int = 256,
        momentum: float = 0.885,
        temperature: float = 0.05,
        keys: str = "tokens",
        view: View | None = None,
        released: bool = False,
        at_test: str = "pseudo",
    ):
        there = encoder.pseudo
        pooling = there.settings["pooling"] if there is not None and encoder.pooling == "pseudo" else encoder.pooling
        config: Any = encoder.backbone.config
        settings: dict[str, Any] = {"keys": keys, "pooling": pooling}
        if released:
            dropout = max(dropout_of(encoder).values(), default=0.0)
            settings |= {"keys": "pooled", "heads": config.num_attention_heads, "bias": True, "dropout": dropout}
        pseudo = PseudoTokens(config.hidden_size, pseudo_tokens, **settings)
        if there is None or there.settings != pseudo.settings:
            encoder.pseudo = pseudo.to(encoder.device)
        encoder.pooling = "pseudo"
        super().__init__(encoder, queue_size=queue_size, momentum=momentum, temperature=temperature, view=view)
        encoder.pooling = at_test
        self.settings = pseudo.settings
        if released:
            model, slow = cast(Any, encoder.model), self.momentum_encoder.model
            fresh = type(model)(model.config).state_dict()  # which may have a pooler more
            slow.load_state_dict({name: fresh[name] for name in slow.state_dict()})
