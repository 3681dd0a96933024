"""The programs of "Beyond one machine", run as the page says, with two workers or processes of this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import sentlab
from sentlab.search import PhraseIndex

pytestmark = pytest.mark.slow
RECIPES = Path(__file__).resolve().parents[2] / "book" / "scale"
WORDS = ("king", "dog", "girl"), ("runs", "reads"), ("garden", "city", "river")
TEXTS = [f"The {who} {does} in the {place}." for who, does, place in product(*WORDS)]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "texts.txt").write_text("\n".join([*TEXTS[:5], "", *TEXTS[5:]]) + "\n", encoding="utf-8")
    return tmp_path / "texts.txt"


def test_two_workers_of_dask_make_the_index_of_one_process(lines: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed: pip install 'dask[distributed]'")
    out = lines.with_name("dask.index")
    command = [sys.executable, RECIPES / "index_with_dask.py", lines, out, "--lines", "4"]
    subprocess.run(command, check=True, capture_output=True, text=True, cwd=lines.parent)
    encoder = sentlab.Encoder.from_pretrained("tiny")
    alone = PhraseIndex(encoder)
    alone.add(lines.read_text(encoding="utf-8").splitlines())
    merged = PhraseIndex.load(out, encoder)
    assert len([*out.glob("segment-*")]) == 5
    assert [*merged] == [*alone]
    phrases = ["a king in his garden", "the city", "dogs run"]
    for found, wanted in zip(merged.search(phrases, 10), alone.search(phrases, 10), strict=True):
        assert [hit.similarity for hit in found] == pytest.approx([hit.similarity for hit in wanted], abs=1e-3)
        assert (found[0].text, found[0].words) == (wanted[0].text, wanted[0].words)
    again = subprocess.run(command, capture_output=True, text=True, cwd=lines.parent)
    assert "FileExistsError" in again.stderr  # parts of another run are never taken for those of this one


def test_two_machines_train_together(lines: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", RECIPES / "machines.yaml"]
    here = ["--num_processes", "2", "--main_process_ip", "127.0.0.1", "--main_process_port", str(port)]
    lines.write_text("\n".join(4 * TEXTS), encoding="utf-8")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    work = [RECIPES / "train.py", lines, lines.with_name("encoder")]
    machines = [
        subprocess.Popen(
            [*launch, *here, "--machine_rank", str(rank), *work],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [machine.communicate(timeout=300) for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], said[0][1][-2000:]
    assert [out.startswith("2 processes have trained") for out, _ in said] == [True, False]
    assert sentlab.Encoder.from_pretrained(lines.with_name("encoder")).dim == 128
