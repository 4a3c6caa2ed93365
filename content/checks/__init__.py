"""The checks of `check.py`, one module per kind of file."""
