# test: run
"""Lists the options that guides for AMD GPUs set, with their defaults, and what the modes of torch.compile set."""

import torch
from torch._inductor import config

# anchor: guide
GUIDE = {  # as guides set them for ROCm
    "triton.cudagraphs": False,
    "memory_planning": False,
    "epilogue_fusion": True,
    "pattern_matcher": True,
    "max_autotune_gemm_backends": "ATEN",
    "aggressive_fusion": True,
    "coordinate_descent_tuning": True,
    "benchmark_kernel": True,
    "freezing": True,
}
for name, value in GUIDE.items():
    default = config.get_config_copy()[name]
    print(f"{name:27} {value!s:6} {'is the default' if value == default else f'instead of {default}'}")
# end: guide

# anchor: modes
for mode, options in torch._inductor.list_mode_options().items():
    print(f"{mode:28}", *(f"{name}={value}" for name, value in options.items()))
# end: modes
