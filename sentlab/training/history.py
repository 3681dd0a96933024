"""What a training run did, in a form that can be written and shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sentlab.files import write_json


@dataclass
class History:
    """What a run did.

    Args:
        settings: the `TrainConfig`, the method's name, and how many rows and steps there were.
        losses: every few steps, `step` and the mean of each named loss over the rows since the last entry.

        dev: of each evaluation, `step` and `score`; step 0 is the encoder before training.
        seen: what `on_step` returned, with `step`.
        kept_step: the step whose weights were kept; 0: training found nothing better than its start.

        seconds: of training, over all interruptions.
    """

    settings: dict[str, Any]
    losses: list[dict[str, float]] = field(default_factory=list)
    dev: list[dict[str, float]] = field(default_factory=list)
    seen: list[dict[str, float]] = field(default_factory=list)
    kept_step: int = 0
    seconds: float = 0.0

    @property
    def best_dev(self) -> float | None:
        """The highest dev score, or None without an evaluation."""
        return max((row["score"] for row in self.dev), default=None)

    def table(self) -> Any:
        """Return the dev scores by step as a DataFrame, with the losses at each and whether the step was kept.

        Without an evaluation the losses alone.
        """
        import pandas as pd

        losses, dev = pd.DataFrame(self.losses), pd.DataFrame(self.dev)
        if dev.empty:
            return losses
        table = dev if losses.empty else pd.merge_asof(dev, losses, on="step")
        return table.assign(kept=table["step"] == self.kept_step)

    def save(self, path: str | Path) -> None:
        """Write the history as JSON."""
        write_json(path, asdict(self))
