"""Readers of public file formats."""
