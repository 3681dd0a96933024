"""The order of the packages: imports go one way only, and importing sentlab changes nothing in the process."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "sentlab"

# From left to right: a file may import from its own folder and from folders to its left. `fit` takes any method, so
# training knows none of them, and the methods share its losses.
LAYERS = (
    {"files", "extras"},
    {"text", "data"},
    {"encoder"},
    {"training"},
    {"methods"},
    {"search"},
    {"evaluation"},
    {"experiments"},
    {"report"},
    {"pretraining"},
    {"metrics", "published", "spans"},  # short names for users
    {"command_line"},
    {"command"},
    {"recorded"},
    {"__init__", "__main__"},
)
RANK = {unit: rank for rank, units in enumerate(LAYERS) for unit in units}


def units_imported(source: str, path: str, units: set[str]) -> set[str]:
    """The units (`data`, `encoder`, ...) that a file imports, lazily or not; `path` is relative to sentlab/."""
    package = ["sentlab", *Path(path).parent.parts]
    dotted: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            dotted += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            dotted += [f"{stem}.{alias.name}" for alias in node.names]
    parts = [name.split(".") for name in dotted if name.split(".")[0] == "sentlab"]
    # `from sentlab import x` means the unit x if there is one, and a name of sentlab/__init__.py otherwise
    return {p[1] if len(p) > 1 and p[1] in units else "__init__" for p in parts}


def violations(sources: dict[str, str]) -> list[str]:
    """What is wrong with the imports of {path relative to sentlab/: source}, one line each."""
    unit_of = {path: Path(path).parts[0].removesuffix(".py") for path in sources}
    found = [
        f"sentlab/{path} has no place in the order of layers: add {unit!r} to LAYERS in tests/test_layers.py"
        for path, unit in unit_of.items()
        if unit not in RANK
    ]
    for path, source in sources.items():
        for imported in units_imported(source, path, set(unit_of.values()) | set(RANK)):
            if RANK.get(imported, -1) > RANK.get(unit_of[path], len(LAYERS)):
                found.append(f"sentlab/{path} imports {imported}, which is to its right")
    return found


def test_layers_hold() -> None:
    sources = {p.relative_to(PACKAGE).as_posix(): p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py")}
    assert sources
    assert violations(sources) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("encoder/encoder.py", "import sentlab.training.losses"),
        ("encoder/encoder.py", "from sentlab.training.losses import info_nce"),
        ("encoder/encoder.py", "from sentlab import training"),
        ("encoder/encoder.py", "from ..training import losses"),
        ("encoder/encoder.py", "def later():\n    from ..training.losses import info_nce"),
        ("training/loop.py", "from ..methods import simcse"),
        ("methods/simcse.py", "from sentlab import fit"),
        ("methods/slice.py", "from sentlab import spans"),
        ("data/toy/corpora.py", "from sentlab.encoder.pooling import mean"),
        ("experiments/run.py", "from sentlab.report import plots"),
    ],
)
def test_an_import_to_the_right_is_found(path: str, source: str) -> None:
    assert len(violations({path: source})) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("training/loop.py", "import sentlab.encoder, torch"),
        (
            "methods/simcse.py",
            "from ..training.losses import info_nce\nfrom .moco import queue\nfrom sentlab import data",
        ),
        ("data/catalog.py", "from .rows import Corpus\nfrom . import readers"),
        ("evaluation/sts.py", "from sentlab.evaluation.metrics import spearman"),
        ("encoder/encoder.py", "import sentlabelled.losses"),
    ],
)
def test_an_import_to_the_left_is_allowed(path: str, source: str) -> None:
    assert violations({path: source}) == []


def test_a_new_module_must_be_placed() -> None:
    assert violations({"novelty.py": ""}) == [
        "sentlab/novelty.py has no place in the order of layers: add 'novelty' to LAYERS in tests/test_layers.py"
    ]


WATCHED_IMPORT = """
    import json, random, sys
    import numpy, torch

    opened = []
    sys.addaudithook(lambda event, args: opened.append(event) if event.startswith("socket.") else None)
    states = lambda: [repr(random.getstate()), repr(numpy.random.get_state()), torch.get_rng_state().tolist()]
    numpy.set_printoptions(threshold=sys.maxsize)
    before = states()
    {code}
    heavy = [m for m in ("umap", "seaborn", "sentence_transformers", "datasets") if m in sys.modules]
    print(json.dumps({{"heavy": heavy, "opened": opened, "same_state": states() == before}}))
"""


def watch(code: str) -> dict[str, object]:
    """Run `code` in a fresh interpreter: the heavy modules it loaded, its sockets, and if random state stayed."""
    environment = {k: v for k, v in os.environ.items() if k != "HF_HUB_OFFLINE"}
    script = textwrap.dedent(WATCHED_IMPORT).format(code=code)
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, env=environment, cwd=PACKAGE.parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_importing_sentlab_leaves_no_trace() -> None:
    modules = (path.relative_to(PACKAGE.parent).with_suffix("") for path in PACKAGE.rglob("*.py"))
    names = {".".join(module.parts).removesuffix(".__init__") for module in modules}
    names = {name for name in names if not name.startswith("sentlab.report.plots")}  # which do bring seaborn
    assert watch(f"import {', '.join(sorted(names))}") == {"heavy": [], "opened": [], "same_state": True}


def test_the_watch_sees_traces() -> None:
    seen = watch("import socket, sys; socket.socket().close(); random.random(); sys.modules['umap'] = None")
    assert seen == {"heavy": ["umap"], "opened": ["socket.__new__"], "same_state": False}


def test_a_session_loads_transformers_with_its_first_encoder() -> None:
    lines = "from sentlab import Encoder, PhraseIndex, fit; from sentlab.methods import PaSeR, SimCSE"
    asked = f"import sys; {lines}; print([m for m in ('transformers', 'accelerate') if m in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", asked], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    assert seen.stdout == "[]\n"
