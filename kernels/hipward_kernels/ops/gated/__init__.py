"""What the gated activations share: launches of `activation(gate) * up`, for SiLU and for GELU's tanh form.

The public ops are `hipward_kernels.ops.silu_mul` and `hipward_kernels.ops.gelu_mul`.
"""
