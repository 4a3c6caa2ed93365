"""Fused operators, one package each: `eager.py` is the definition, the other modules must agree with it.

An operator's `__init__.py` holds the public function, its documentation and its checks of arguments.
"""

from hipward_kernels.ops.add_rmsnorm import add_rmsnorm
from hipward_kernels.ops.cross_entropy import cross_entropy
from hipward_kernels.ops.gelu_mul import gelu_mul
from hipward_kernels.ops.layernorm import layernorm
from hipward_kernels.ops.qkv_rope import qkv_rope
from hipward_kernels.ops.rmsnorm import rmsnorm
from hipward_kernels.ops.rope import rope
from hipward_kernels.ops.silu_mul import silu_mul
from hipward_kernels.ops.softmax import softmax
from hipward_kernels.ops.swiglu import swiglu

# The operators need the ops, so they are registered last.
from hipward_kernels.ops import custom  # isort: skip  # noqa: F401

__all__ = [
    "add_rmsnorm",
    "cross_entropy",
    "gelu_mul",
    "layernorm",
    "qkv_rope",
    "rmsnorm",
    "rope",
    "silu_mul",
    "softmax",
    "swiglu",
]
