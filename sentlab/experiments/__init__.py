"""Recorded experiments: typed records and the programs that fill them."""
