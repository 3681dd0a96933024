"""Train on a text file: accelerate launch [...] train.py TEXTS OUT"""

import sys
from pathlib import Path

from accelerate import PartialState

import sentlab

texts, out = sys.argv[1:]
lines = Path(texts).read_text(encoding="utf-8").splitlines()
rows = [line for line in lines if line.strip()]
sentlab.set_seed(0)  # the same start in every process
encoder = sentlab.Encoder.from_pretrained("tiny")
method = sentlab.methods.SimCSE(encoder)
config = sentlab.TrainConfig(steps=20, batch_size=64)  # of all processes
sentlab.fit(method, rows, config)
here = PartialState()
if here.is_main_process:
    encoder.save(out)
    print(f"{here.num_processes} processes have trained {out}")
