# test: analyze
"""The imports of a training project, before its port."""

# ruff: noqa: F401
# anchor: imports
import apex
import bitsandbytes
import cupy
import pynvml
import tensorrt
import triton
import xformers.ops
from flash_attn import flash_attn_func
from nvidia import dali
# end: imports
