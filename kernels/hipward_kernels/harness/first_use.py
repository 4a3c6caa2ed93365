"""What `torch.compile` does once in a process, at its first use: a waiting worker does it before its job.

Nothing here computes, starts a thread or uses a device: a job decides later which device it uses, and may fork.
"""

from __future__ import annotations

import importlib
import logging

log = logging.getLogger(__name__)

MODULES = (
    "torch._dynamo",
    "torch._dynamo.backends.inductor",
    "torch._dynamo.repro.after_dynamo",
    "torch._inductor.compile_fx",
    "torch._inductor.choices",
    "torch._inductor.fx_passes.freezing_patterns",
    "torch._inductor.fx_passes.fuse_attention",
    "torch._inductor.fx_passes.mkldnn_fusion",
    "torch._inductor.fx_passes.pad_mm",
    "torch._inductor.fx_passes.quantization",
    "torch.export._trace",
    "torch.distributed.tensor.experimental",
    "torch.utils.cpp_extension",
    "sympy.tensor.tensor",
)
"""Modules that are imported then."""

CACHED = (
    ("torch._inductor.codegen.common", "init_backend_registration"),
    ("torch._inductor.codecache", "torch_key"),
    ("torch._inductor.codecache", "triton_key"),
)
"""Functions without arguments whose results PyTorch keeps. The last reads Triton's library of hundreds of megabytes."""


def prepare_compiler() -> None:
    """Imports these modules and calls these functions.

    Their names are not public. Without one of them the job does as always, and a compiler that cannot be imported makes
    its variants unavailable.
    """
    for name in MODULES:
        try:
            importlib.import_module(name)
        except Exception:
            log.info("%s cannot be imported", name, exc_info=True)
    for module, function in CACHED:
        try:
            getattr(importlib.import_module(module), function)()
        except Exception:
            log.info("%s.%s cannot be called", module, function, exc_info=True)
