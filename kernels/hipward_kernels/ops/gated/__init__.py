"""Shared code of the gated activations: launches of `activation(gate) * up`, for SiLU and the tanh form of GELU.

The public ops are `hipward_kernels.ops.silu_mul` and `hipward_kernels.ops.gelu_mul`.
"""
