"""Classifies kernels by name: GEMM, attention, elementwise, or other.

Names come from the libraries: hipBLASLt and Tensile (`Cijk_…`), rocBLAS, cuBLAS and CUTLASS, aiter and Composable
Kernel, AOTriton and FlashAttention, Triton kernels by Inductor (`triton_poi_…`, `triton_per_…`) and by hand, and ATen's
own. On a CPU the names are ATen's operators. A kernel that fuses several kinds counts as its heaviest.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["gemm", "attention", "elementwise", "other"]

KINDS: tuple[Kind, ...] = ("gemm", "attention", "elementwise", "other")

_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    # Communication between GPUs, whose names contain words for reductions.
    ("other", re.compile(r"nccl|rccl|all_?reduce|all_?gather|reduce_?scatter|Backward0?$|autograd::", re.IGNORECASE)),
    (
        "attention",
        re.compile(
            r"attn|attention|flash|fmha|mha_|_mha|mla_|paged_attention|scaled_dot_product|sdpa|bwd_kernel_dk_dv|"
            r"bwd_kernel_dq|softmax_warp_forward.*mask",
            re.IGNORECASE,
        ),
    ),
    (
        "gemm",
        re.compile(
            r"gemm|gemv|^Cijk_|_MT\d+x\d+x\d+|cutlass|cublas|hipblas|rocblas|splitK|matmul|wgmma|xmma|nvjet|"
            r"triton_tem_|implicit_convolve|convolution|conv2d|conv_|miopen|wvSplitK|skinny|"
            r"^aten::(mm|bmm|addmm|baddbmm|addmv|mv|dot|linear|einsum|_scaled_mm|mkldnn_\w+)$|^mkldnn::|^onednn",
            re.IGNORECASE,
        ),
    ),
    (
        "elementwise",
        re.compile(
            r"elementwise|reduce|triton_(poi|per|red|for)_|norm|softmax|gelu|silu|swiglu|relu|rope|rotary|embedding|"
            r"index|gather|scatter|copy|cat_|CatArray|fill|memcpy|memset|add|mul|cast|transpose|layout|dropout|"
            r"multi_tensor|adam|sgd|foreach|cross_entropy|nll_loss|arange|where|compare|"
            r"^aten::|cpp_fused_|graph_\d+_cpp_fused",
            re.IGNORECASE,
        ),
    ),
)
"""Patterns; the first match is used."""


def kind_of(name: str) -> Kind:
    """The kind of work of a kernel or operator."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(name)), "other")
