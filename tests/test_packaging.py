"""The wheel and the sdist: all that the package needs and nothing else, installed where there is no checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = """
import sys, tarfile
from pathlib import Path
from setuptools import build_meta
import os
out = Path(sys.argv[1])
sdist = build_meta.build_sdist(str(out))
with tarfile.open(out / sdist) as packed:
    packed.extractall(out, filter="data")
os.chdir(out / sdist.removesuffix(".tar.gz"))
build_meta.build_wheel(str(out))
"""
USE = """
import importlib.metadata, pathlib, sys
import sentlab
place = pathlib.Path(sentlab.__file__)
assert place.is_relative_to(sys.prefix), place
assert importlib.metadata.version("sentlab") == sentlab.__version__
encoder = sentlab.Encoder.from_pretrained()
print(encoder.encode(["A man plays the guitar.", "It rains."]).shape, len(sentlab.data.load("toy-sts", "dev")))
"""


def run(*command: object, cwd: Path) -> str:
    """Run a program that finds no checkout by the way, and return what it said."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was made of it."""
    work, out = tmp_path_factory.mktemp("checkout") / "sentlab", tmp_path_factory.mktemp("built")
    out_of_git = shutil.ignore_patterns(".*", "_build", "build", "runs", "*.egg-info", "__pycache__", "results")
    shutil.copytree(ROOT, work, ignore=out_of_git)
    run(sys.executable, "-c", BUILD, out, cwd=work)
    return out


def files_of_the_package() -> set[str]:
    paths = (path for path in (ROOT / "sentlab").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in paths}


def test_both_hold_the_whole_package_and_no_tests_or_chapters(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        files = {member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()}
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {*wheel.namelist()}
    package = files_of_the_package()
    encoders = {f"sentlab/assets/{name}/model.safetensors" for name in ("tiny", "small")}
    assert {"sentlab/py.typed", *encoders} <= package
    about = {"LICENSE", "README.md", "pyproject.toml", "MANIFEST.in", "PKG-INFO", "setup.cfg"}
    assert {name for name in files if not name.startswith("sentlab.egg-info/")} == package | about
    assert {name for name in names if ".dist-info/" not in name} == package
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_wheel_works_in_an_environment_of_its_own(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "own")
    python = tmp_path / "own" / "bin" / "python"
    install = ("install", "--quiet", "--no-deps", "--no-index", "--no-compile", next(built.glob("*.whl")))
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, *install, cwd=tmp_path)
    (site,) = (tmp_path / "own").glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # whose own .pth files it does not read
    assert run(python, "-c", USE, cwd=tmp_path).startswith("(2, 128) ")
