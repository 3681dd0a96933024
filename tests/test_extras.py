"""The core works without the optional packages, and what needs one names the extra that brings it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OPTIONAL = ("bm25s", "datasets", "matplotlib", "model2vec", "pandas", "pydantic", "scipy", "seaborn", "sklearn", "umap")
WITHOUT = f"""
    import sys

    class Core:  # finds what another finder does, but nothing optional
        def __init__(self, finder):
            self.finder = finder

        def __getattr__(self, name):
            return getattr(self.finder, name)

        def find_spec(self, name, path=None, target=None):
            return None if name.split(".")[0] in {OPTIONAL!r} else self.finder.find_spec(name, path, target)

    sys.meta_path[:] = map(Core, sys.meta_path)
    import sentlab
"""


def run_without(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that has only what the core needs."""
    script = textwrap.dedent(WITHOUT) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_core_trains_encodes_and_searches() -> None:
    code = """
        sentences = ["The farmer sold his old horse.", "Two children play the piano.", "A king reads a letter."]
        sentlab.set_seed(0)
        encoder = sentlab.Encoder.from_pretrained()
        sentlab.fit(sentlab.methods.PaSeR(encoder), sentences, sentlab.TrainConfig(steps=2), progress=False)
        index = sentlab.PhraseIndex(encoder)
        index.add(sentences)
        print(encoder.encode(sentences).shape, index.search(["old horse"], 1)[0][0].words)
    """
    run = run_without(code)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split(")")[0] == "(3, 128"


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("experiments.published.table('paser', 1)", "data"),
        ("sentlab.metrics.williams_test(0.5, 0.4, 0.3, 100)", "eval"),
        ("sentlab.plots", "plots"),
        ("records", "experiments"),
        ("from experiments.static import load; load({'source': STATIC})", "static"),
    ],
)
def test_what_is_absent_is_named_with_its_extra(code: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text('[{"type": "sentence_transformers.models.StaticEmbedding"}]')
    run = run_without(f"STATIC = {str(tmp_path)!r}; {code}")
    assert run.returncode != 0
    assert f"sentlab[{extra}]" in run.stderr.splitlines()[-1]
