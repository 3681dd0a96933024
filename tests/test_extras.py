"""Optional packages: they are loaded by what needs them alone, and the error of one that lacks says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sentlab.extras import need

OPTIONAL = ("pandas", "scipy", "sklearn", "datasets", "bm25s")


def python(code: str) -> list[str]:
    """What a fresh interpreter prints, as JSON."""
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_data_loads_no_optional_package() -> None:
    assert (
        python(f"""
        import json, sys
        import sentlab.data, sentlab.data.toy, sentlab.data.published
        sentlab.data.toy.load("toy-sts", size=3)
        print(json.dumps([name for name in {OPTIONAL} if name in sys.modules]))
    """)
        == []
    )


def test_evaluations_work_without_optional_packages() -> None:
    assert python(f"""
        import json, sys
        sys.modules.update(dict.fromkeys({OPTIONAL}))  # as if they were not installed
        import numpy as np
        import sentlab.evaluation as evaluation
        from sentlab.data import toy
        from sentlab.evaluation import metrics, mining, probes, retrieval, words
        class Letters:
            def encode(self, texts):
                return np.array([[1 + text.count(letter) for letter in "abceinorst"] for text in texts], float)
        rows = toy.load("toy-sts", size=20)
        result = evaluation.evaluate_sts(Letters(), rows)
        evaluation.geometry(Letters(), rows)
        evaluation.evaluate(Letters(), toy.load("toy-reranking", size=5))
        pairs = toy.load("toy-nli-pairs", size=9)
        told = []
        for call in (
            result.table,
            lambda: metrics.williams_test(0.5, 0.4, 0.3, 10),
            lambda: probes.evaluate_identification(Letters(), pairs, pairs),
            lambda: mining.bm25(toy.load("toy-contexts", size=3)),
        ):
            try:
                call()
            except ImportError as error:
                told.append(str(error))
        print(json.dumps(told))
    """) == [
        f"this needs {name}, which is not installed: pip install 'sentlab[eval]'"
        for name in ("pandas", "scipy", "sklearn", "bm25s")
    ]


def test_need_gives_the_module_or_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert need("json.decoder", "data") is json.decoder
    with pytest.raises(ImportError, match=r"needs not_there, .*pip install 'sentlab\[plots\]'"):
        need("not_there.part", "plots")


def test_a_package_that_lacks_a_package_of_its_own_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_package.py").write_text("import not_there_either")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_there_either"):
        need("broken_package", "data")
