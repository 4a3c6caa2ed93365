# fails: case_kernel
# message: PyTorch computes the result. The kernel is not launched.
import torch
import triton
import triton.language as tl


@triton.jit
def gelu_mul_kernel(gate_ptr, up_ptr, y_ptr, gate_stride, up_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    gate = tl.load(gate_ptr + row * gate_stride + column, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + column, mask=mask, other=0.0).to(tl.float32)
    inner = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    y = gate / (1 + tl.exp(-2 * inner)) * up
    tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)


def gelu_mul(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    rows, columns = gate.shape
    wide = torch.nn.functional.gelu(gate.float(), approximate="tanh") * up.float()
    return wide.to(gate.dtype)
