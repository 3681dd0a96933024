"""What importing the encoder brings with it, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sentlab

# `import sentlab` would bring the other folders, too
SCRIPT = """
import sys, types
package = types.ModuleType("sentlab")
package.__path__ = [sys.argv[1]]
sys.modules["sentlab"] = package
import sentlab.encoder
print([name for name in ("transformers", "accelerate", "huggingface_hub") if name in sys.modules])
"""


def test_importing_the_encoder_loads_no_transformers() -> None:
    command = [sys.executable, "-c", SCRIPT, str(Path(sentlab.__file__).parent)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "[]\n"
