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
        from torch._inductor import cpu_vec_isa  # noqa: PLC0415

        if has_passed():
            return
        has = cpu_vec_isa.x86_isa_checker()
        first = next((isa for isa in cpu_vec_isa.supported_vec_isa_list if {*str(isa).split()} <= {*has}), None)
        # The others need no check: their instructions are among those of the first.
        skip_tests(has_passed=first is not None and first.check_build(cpu_vec_isa.VecISA._avx_code))  # noqa: SLF001
    except Exception:  # A compiler that does not work makes its variants unavailable, with the reason.
        log.info("the vector instructions cannot be determined", exc_info=True)


def skip_tests(*, has_passed: bool) -> None:
    """Lets Inductor skip its test libraries, if the first one works on this host."""
    from torch._inductor import config  # noqa: PLC0415

    if has_passed and config.cpp.vec_isa_ok is None:
        config.cpp.vec_isa_ok = True


def has_passed() -> bool:
    """Whether Inductor skips its test libraries."""
    from torch._inductor import config  # noqa: PLC0415

    return config.cpp.vec_isa_ok is True


def host() -> list[str]:
    """What the result depends on: PyTorch, the compiler and the CPU's instructions."""
    import torch  # noqa: PLC0415
    from torch._inductor import cpp_builder, cpu_vec_isa  # noqa: PLC0415

    compiler = cpp_builder.get_compiler_version_info(cpp_builder.get_cpp_compiler())
    return [torch.__version__, compiler, *cpu_vec_isa.x86_isa_checker()]
