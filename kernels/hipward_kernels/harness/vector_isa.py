"""Determines which vector instructions `torch.compile` uses on the CPU.

Inductor compiles a test library for each instruction set that the CPU has, and for their extensions, and loads each in
a new process. That takes 9 s on two cores, and longer with PyTorch 2.11, where each of these processes imports PyTorch.
Here only the first set is tested, and a server keeps the result for the jobs of its host.
"""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger(__name__)


def determine() -> None:
    """Lets Inductor skip its other tests if those of its first instruction set pass; else it does as always."""
    try:
        # Imported here, because it is slow. These names are not public: without them, Inductor does as always.
        from torch._inductor import config, cpu_vec_isa  # noqa: PLC0415

        if config.cpp.vec_isa_ok is not None:
            return
        has = {*cpu_vec_isa.x86_isa_checker()}
        isas = [isa for isa in cpu_vec_isa.supported_vec_isa_list if {*str(isa).split()} <= has]
        if not isas or not isas[0].check_build(cpu_vec_isa.VecISA._avx_code):  # noqa: SLF001
            return
        config.cpp.vec_isa_ok = True
        # Tests its extensions.
        if isas[0]:
            # The others need no test: their instructions are among those of the first.
            facts = _facts(isas[0])
            use([(str(isa), {name: facts[name] for name in facts if hasattr(isa, name)}) for isa in isas])
    except Exception:  # A compiler that does not work makes its variants unavailable, with the reason.
        log.info("the vector instructions cannot be determined", exc_info=True)


def found() -> list[tuple[str, dict[str, Any]]]:
    """The instruction sets that Inductor may use on this host, with what it has found out about each."""
    from torch._inductor import cpu_vec_isa  # noqa: PLC0415

    return [(str(isa), _facts(isa)) for isa in cpu_vec_isa.valid_vec_isa_list()]


def _facts(isa: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(isa).items() if name.startswith("_is_")}


def use(kept: list[tuple[str, dict[str, Any]]]) -> None:
    """Lets Inductor use what `found` returned on this host, without a test."""
    from torch._inductor import config, cpu_vec_isa  # noqa: PLC0415

    by_name = {str(isa): isa for isa in cpu_vec_isa.supported_vec_isa_list}
    usable = [by_name[name] for name, _ in kept]
    config.cpp.vec_isa_ok = bool(usable)
    for isa, (_, facts) in zip(usable, kept, strict=True):
        # Some sets test their extensions when they are first asked whether they work here. The answer is cached.
        vars(isa)["check_build"] = lambda _: True
        works = bool(isa)
        del vars(isa)["check_build"]
        if works:
            vars(isa).update(facts)
    cpu_vec_isa.valid_vec_isa_list = lambda: usable  # type: ignore[assignment]


def host() -> list[str]:
    """What the result depends on: PyTorch, the compiler and the CPU's instructions."""
    import torch  # noqa: PLC0415
    from torch._inductor import cpp_builder, cpu_vec_isa  # noqa: PLC0415

    compiler = cpp_builder.get_compiler_version_info(cpp_builder.get_cpp_compiler())
    return [torch.__version__, compiler, *cpu_vec_isa.x86_isa_checker()]
