"""Fused operators, one package each: `eager.py` is the definition, the other modules must agree with it.

An operator's `__init__.py` holds the public function, its documentation and its checks of arguments.
"""

from hipward_kernels.ops.rmsnorm import rmsnorm
from hipward_kernels.ops.silu_mul import silu_mul

__all__ = ["rmsnorm", "silu_mul"]
