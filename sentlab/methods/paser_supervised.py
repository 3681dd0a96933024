"""PaSeR with labels: supervised SimCSE and the generative loss together.

Wu and Zhao (2022), section 3.3. The unsupervised method, and how it differs, stands in `sentlab.methods.paser`.

Differs from the paper:
  - It does not say which sentences of an NLI triple the generative loss of Eq. 5 reads; here it is the premises.

Differs from the released code:
  - As `sentlab.methods.paser` and `sentlab.methods.simcse` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from sentlab.data.rows import Triple
from sentlab.encoder import Encoder
from sentlab.methods.arguments import check_not_negative
from sentlab.methods.paser import PaSeR
from sentlab.methods.simcse import SimCSE


class SupervisedPaSeR(nn.Module):
    """Supervised SimCSE on NLI triples, plus `alpha` times the generative loss on their premises.

    Args:
        encoder: trained in place; the paper starts from one that unsupervised PaSeR has trained.
        alpha: weight of the generative loss; the paper searched it and does not say what it found.
        temperature: of the contrastive loss.
        generative: settings of `PaSeR`; there is no masked-LM term in Eq. 5.

    Source: PaSeR, Eq. 5; Gao et al. (2021), Eq. 5, for the contrastive loss.
    """

    def __init__(self, encoder: Encoder, *, alpha: float = 0.1, temperature: float = 0.05, **generative: Any):
        super().__init__()
        check_not_negative(alpha=alpha)
        self.encoder, self.alpha = encoder, alpha
        self.contrastive = SimCSE(encoder, temperature=temperature)
        self.generative = PaSeR(encoder, mlm=False, **generative)

    def collate(self, rows: Sequence[Triple]) -> dict[str, Tensor]:
        """The batches of both objectives under one roof: the names of SimCSE's, and PaSeR's behind `generative.`."""
        batch = self.generative.collate([row.anchor for row in rows])
        return self.contrastive.collate(rows) | {f"generative.{name}": tensor for name, tensor in batch.items()}

    def loss(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """`contrastive` and the weighted `generative`; their sum is Eq. 5."""
        generative = {
            name.removeprefix("generative."): x for name, x in batch.items() if name.startswith("generative.")
        }
        return self.contrastive.loss(batch) | {
            "generative": self.alpha * self.generative.loss(generative)["generative"]
        }

    def after_step(self) -> None:
        """Nothing changes between steps."""
