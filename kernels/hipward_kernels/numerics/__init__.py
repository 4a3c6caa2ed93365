"""Comparison of results: error measures, error limits, and nested outputs.

* `distance`: error measures of two tensors. `limit`: the largest error that passes.
* `sums`: length of the longest sum of a computation, which the limit depends on.
* `nested`: tensors in nested lists, tuples, dictionaries and dataclasses.
"""
