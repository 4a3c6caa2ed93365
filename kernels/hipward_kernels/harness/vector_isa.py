"""Determines which vector instructions `torch.compile` uses on the CPU.

Inductor uses the first instruction set of its list for which a test library can be compiled and loaded, but compiles
one for each that the CPU has, which takes 9 s on two cores. Here only the first is compiled, in 4 s.
"""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


def determine() -> None:
    """Lets Inductor skip its test libraries if that for its first instruction set works; else it does as always."""
    try:
        # Imported here, because it is slow. These names are not public: without them, Inductor does as always.
        from torch._inductor import config, cpu_vec_isa  # noqa: PLC0415

        if config.cpp.vec_isa_ok is not None:
            return
        has = cpu_vec_isa.x86_isa_checker()
        first = next((isa for isa in cpu_vec_isa.supported_vec_isa_list if {*str(isa).split()} <= {*has}), None)
        # The others need no check: their instructions are among those of the first.
        if first is not None and first.check_build(cpu_vec_isa.VecISA._avx_code):  # noqa: SLF001
            config.cpp.vec_isa_ok = True
    except Exception:  # A compiler that does not work makes its variants unavailable, with the reason.
        log.info("the vector instructions cannot be determined", exc_info=True)
