"""Compiles Triton source to AMD machine code. Triton's package contains compiler, linker and device library.

A Triton kernel is Python: the source is imported as a separate module before it can be compiled.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import sys
import textwrap
import types
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hipward_kernels.compile.answer import Answer, Argument, Target, target
from hipward_kernels.compile.failure import CompileError, Failure, shortened
from hipward_kernels.compile.request import KNOWN_ARCHS
from hipward_kernels.compile.signature import divisible, signature
from hipward_kernels.gpu.facts import wavefront_of

# Triton 3.9 warns if this is not set, and 3.10 changes the default; with it, both compile the same.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

try:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler import compile as triton_compile
    from triton.runtime.jit import JITFunction
except ImportError as error:
    raise CompileError("no-compiler", "Triton is not installed here.", "python -m pip install triton") from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hipward_kernels.compile.request import Request

SOURCE = "kernel.py"
DEFAULT_WARPS = 4
STAGES = ("ttir", "ttgir", "llir", "amdgcn")


def compile_source(request: Request, directory: Path) -> Answer:
    """Compiles one kernel of a Triton source for each target.

    Raises:
        CompileError: The source cannot be imported, has no such kernel, or an argument cannot be determined.
    """
    kernel, configuration = _kernel(_load(request.source, directory / SOURCE), request.kernel)
    tuned: Mapping[str, Any] = configuration.kwargs if configuration else {}
    arguments = signature(kernel, request.arguments, tuned)
    options = {
        "num_warps": request.num_warps or getattr(configuration, "num_warps", DEFAULT_WARPS),
        "num_stages": request.num_stages or getattr(configuration, "num_stages", None),
        "waves_per_eu": request.waves_per_eu or None,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    targets = [_compile(kernel, arguments, arch, chosen) for arch in request.archs]
    return Answer("triton", f"Triton {triton.__version__}", targets, _plain(arguments), chosen["num_warps"])


def warm_up() -> None:
    """Compiles the smallest kernel, because the first compilation of a process takes a second longer."""
    from hipward_kernels.compile.tiny import SIGNATURE, tiny_kernel  # noqa: PLC0415 - only a worker needs it

    source = ASTSource(tiny_kernel, SIGNATURE, {"BLOCK": 64}, {})
    triton_compile(source, target=GPUTarget("hip", "gfx942", wavefront_of("gfx942")), options={"num_warps": 1})


def _load(source: str, path: Path) -> types.ModuleType:
    """Imports a source from a file, so that `inspect` and Triton find its text."""
    try:
        compiled = compile(source, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        raise CompileError("source-error", f"This is not Python: {error}.", "Paste the whole file.", line) from error
    path.write_text(source, encoding="utf-8", newline="")
    linecache.checkcache(str(path))
    module = types.ModuleType("kernel")
    module.__file__ = str(path)
    sys.modules["kernel"] = module
    try:
        exec(compiled, module.__dict__)  # noqa: S102 - a Triton kernel is Python
    except BaseException as error:
        raise CompileError(
            "source-error",
            f"Importing the source raised {type(error).__name__}: {error}",
            "The source must contain its imports, and this host must have the imported packages.",
            _line_in(error, path),
        ) from error
    return module


def _line_in(error: BaseException, path: Path) -> int | None:
    trace, line = error.__traceback__, None
    while trace:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _kernel(module: types.ModuleType, wanted: str | None) -> tuple[Any, Any]:
    """The kernel to compile and its first autotune configuration, or None."""
    kernels: dict[str, tuple[Any, Any]] = {}
    for name, value in vars(module).items():
        configuration, inner = None, value
        while not isinstance(inner, JITFunction) and hasattr(inner, "fn"):
            # `triton.autotune` and `triton.heuristics` wrap the kernel.
            configuration = configuration or next(iter(getattr(inner, "configs", [])), None)
            inner = inner.fn
        if isinstance(inner, JITFunction) and inner.fn.__code__.co_filename == module.__file__:
            kernels[name] = (inner, configuration)
    if wanted is not None:
        if wanted not in kernels:
            names = ", ".join(kernels) or "none"
            raise CompileError(
                "signature", f"There is no kernel {wanted}.", f"Functions under triton.jit here: {names}."
            )
        return kernels[wanted]
    called = {name for kernel, _ in kernels.values() for name in _called(kernel.fn)}
    roots = [name for name in kernels if name not in called]
    if len(roots) != 1:
        how = "The source has no function under triton.jit" if not kernels else f"There are {len(roots)} kernels"
        raise CompileError(
            "signature",
            f"{how}, so the kernel to compile is ambiguous.",
            f"Name one with `kernel`: {', '.join(roots)}." if roots else "Paste a kernel with its @triton.jit line.",
        )
    return kernels[roots[0]]


def _called(function: Any) -> set[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {called.id for called in calls if isinstance(called, ast.Name)}


def _compile(kernel: Any, arguments: Sequence[Argument], arch: str, options: dict[str, Any]) -> Target:
    types_ = {argument.name: argument.type.partition(":")[0] for argument in arguments}
    constants = {a.name: _resolved(a.value) for a in arguments if a.type == "constexpr"}
    attributes = {(at,): [["tt.divisibility", 16]] for at, a in enumerate(arguments) if divisible(a.type)}
    source = ASTSource(kernel, types_, constants, attributes)
    started = perf_counter()
    try:
        with triton.knobs.compilation.scope():
            # A cached result would report the time of reading a file.
            triton.knobs.compilation.always_compile = True
            compiled = triton_compile(source, target=GPUTarget("hip", arch, wavefront_of(arch)), options=options)
    except Exception as error:  # noqa: BLE001 - a compiler raises what it likes
        return Target(arch, perf_counter() - started, error=_in_words(error, kernel, arch))
    seconds = perf_counter() - started
    texts = {stage: str(compiled.asm[stage]) for stage in STAGES if stage in compiled.asm}
    return target(arch, seconds, texts, SOURCE, options["num_warps"], compiled.metadata.shared)


def _resolved(value: Any) -> Any:
    """Converts the text `tl.float32` to the dtype, which JSON cannot represent."""
    if isinstance(value, str) and (found := re.fullmatch(r"(?:tl\.|triton\.language\.)(\w+)", value)):
        return getattr(triton.language, found[1], value)
    return value


def _plain(arguments: Sequence[Argument]) -> list[Argument]:
    """The same arguments with constants that JSON can represent."""

    def plain(value: Any) -> Any:
        return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)

    return [Argument(a.name, a.type, plain(a.value), a.source) for a in arguments]


def _in_words(error: Exception, kernel: Any, arch: str) -> Failure:
    node = getattr(error, "node", None)
    line = None
    if node is not None and hasattr(node, "lineno"):
        # The line is relative to that of `def`.
        line = node.lineno + getattr(kernel, "def_file_line_number", kernel.starting_line_number) - 1
    text = str(error).strip() or type(error).__name__
    if "PassManager" in text or "unsupported target" in text:
        return Failure(
            "unknown-arch",
            f"Triton {triton.__version__} cannot compile this for {arch}.",
            f"Try {', '.join(KNOWN_ARCHS)}. If those work, Triton has no code generator for this GPU.",
        )
    return Failure("source-error", shortened(text), "See Triton's message.", line)
