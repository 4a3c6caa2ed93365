"""8-bit floating-point linear layers, in the format that the GPU's matrix units take."""

from hipward_kernels.quantization.fp8 import FP8Linear, Quantized, quantize

__all__ = ["FP8Linear", "Quantized", "quantize"]
