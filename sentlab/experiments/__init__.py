"""Recorded experiments: typed records and the programs that fill them."""

from sentlab.extras import need

need("pydantic", "experiments")
