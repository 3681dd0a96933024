"""PaSeR with labels: supervised SimCSE and the generative loss together.

Wu and Zhao (2022), section 3.3. `sentlab.methods.paser` has the unsupervised method, and how it differs.

Differs from the paper:
  - It does not say which sentences of an NLI triple the generative loss of Eq. 5 reads. Here they are the premises.

Differs from the released code:
  - As `sentlab.methods.paser` and `sentlab.methods.simcse` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.methods.arguments import check_above_zero, check_encoder, check_not_negative, check_rows
from sentlab.methods.paser import PaSeR
from sentlab.methods.simcse import cls_head, tokenize_triples
from sentlab.training.chunks import encode_in_parts
from sentlab.training.losses import info_nce
from sentlab.training.processes import own_first

PREMISES = "premises."  # before the names of the generative loss's tensors in a batch


class SupervisedPaSeR(nn.Module):
    """Train `encoder` with supervised SimCSE on NLI triples, plus `alpha` times the generative loss on their premises.

    Args:
        encoder: trained in place. The paper starts from one that unsupervised PaSeR has trained.
        alpha: weight of the generative loss, at least 0. The paper searched it and does not report the result.
        temperature: of the contrastive loss, above 0.
        generative: settings of `PaSeR`. Eq. 5 has no masked-LM term.

    Raises:
        ValueError: names an argument out of range. See also `PaSeR`.

    Source: PaSeR, Eq. 5. The contrastive loss is Eq. 5 of Gao et al. (2021).

    Example:
        >>> method = sentlab.methods.SupervisedPaSeR(sentlab.Encoder.from_pretrained(), decoder_layers=2)
        >>> history = sentlab.fit(method, triples, sentlab.TrainConfig(steps=2, batch_size=8), progress=False)
    """

    def __init__(self, encoder: Encoder, *, alpha: float = 0.1, temperature: float = 0.05, **generative: Any):
        check_encoder(encoder)
        super().__init__()
        check_not_negative(alpha=alpha)
        check_above_zero(temperature=temperature)
        self.alpha, self.temperature = alpha, temperature
        self.head = cls_head(encoder).to(encoder.device)
        self.generative = PaSeR(encoder, mlm=False, **generative)  # the one place that holds the encoder

    @property
    def encoder(self) -> Encoder:
        """What is trained."""
        return self.generative.encoder

    def collate(self, rows: Sequence[Triple]) -> dict[str, Tensor]:
        """Tokenise B triples.

        Returns:
            `input_ids` and `attention_mask` (3, B, L) of anchors, positives and negatives. Also the tensors of
            `PaSeR.collate` for the anchors, whose names begin with `PREMISES`.

        Raises:
            TypeError: a row that is not a Triple.
            ValueError: no rows.
        """
        check_rows(rows, Triple, "SupervisedPaSeR")
        premises = self.generative.collate([row.anchor for row in rows])
        premises = {f"{PREMISES}{name}": tensor for name, tensor in premises.items()}
        return tokenize_triples(self.encoder, rows) | premises

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return `contrastive` and the weighted `generative`. Their sum is Eq. 5."""
        count = batch["input_ids"].shape[1]
        ids, mask = batch["input_ids"].flatten(0, 1), batch["attention_mask"].flatten(0, 1)  # (3B, L) each
        vectors, _ = encode_in_parts(self.encoder, ids, mask)
        h = self.head(vectors)  # (3B, D)
        premises = {name.removeprefix(PREMISES): x for name, x in batch.items() if name.startswith(PREMISES)}
        return {
            "contrastive": info_nce(h[:count], own_first(h[count:]), self.temperature),
            "generative": self.alpha * self.generative.loss(premises)["generative"],
        }

    def after_step(self) -> None:
        """Change nothing between steps."""
