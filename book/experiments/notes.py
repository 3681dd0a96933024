"""What a program notes while it works, for the provenance of its record."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from sentlab import data

from experiments import results as found

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "nltk", "rake-nltk")


class Notes:
    """Collects what a program has read, for the provenance of its record."""

    def __init__(self) -> None:
        self.data: dict[str, found.CorpusNote] = {}

    def load(self, name: str, split: str) -> Any:
        """Load a corpus, and note what it was."""
        corpus = data.load(name, split)
        here = os.environ.get("SENTLAB_DATA") or "\0"
        source = corpus.source.replace(here, "SENTLAB_DATA")  # no path of this machine
        self.data[f"{name}/{split}"] = found.CorpusNote(
            rows=len(corpus), fingerprint=corpus.fingerprint, source=source, left_out=dict(corpus.left_out)
        )
        return corpus

    def provenance(
        self,
        command: str,
        seconds: float,
        *,
        encoder: found.EncoderNote | None = None,
        processes: int = 1,
        on: str | torch.device | None = None,
    ) -> found.Provenance:
        """Return what was noted, with the machine and the time; `on` is the device, the GPU where there is one."""
        on_gpu = torch.cuda.is_available() and torch.device(on or "cuda").type == "cuda"
        device = torch.cuda.get_device_name() if on_gpu else f"CPU {_cpu()}, {torch.get_num_threads()} thread(s)"
        return found.Provenance(
            command=command,
            device=f"{processes} x {device}" if processes > 1 else device,
            versions={name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
            date=datetime.now(UTC).date().isoformat(),
            seconds=round(seconds, 1),
            data=self.data,
            encoder=encoder,
        )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
