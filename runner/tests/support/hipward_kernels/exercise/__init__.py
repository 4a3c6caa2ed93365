"""Stands in for the judges of exercises."""
