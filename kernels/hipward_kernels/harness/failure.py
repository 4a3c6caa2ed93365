"""Error messages for exceptions: a stable code, what happened, what to do, and the snippet's part of the traceback."""

from __future__ import annotations

import errno
import re
import traceback as tracebacks
from typing import TYPE_CHECKING

import torch

from hipward_kernels.harness.lines import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from hipward_kernels.harness.lines import FailureCode

MESSAGE_LIMIT = 400
TEXT_LIMIT = 10_000
"""Characters of an exception that are searched for patterns and may be shown."""
TRACEBACK_FRAMES = 12

_OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|out of memory|bad_alloc|Cannot allocate memory", re.IGNORECASE
)
_OUT_OF_PROCESSES = re.compile(r"can't start new thread|Resource temporarily unavailable", re.IGNORECASE)

_DEVICE_HELP = (
    "This job runs on the {device}. Do not name devices in the snippet: the harness moves modules and inputs to the "
    "device. If forward creates a tensor, pass device=x.device."
)

_HINTS: tuple[tuple[str, str], ...] = (
    (
        (
            r"not compiled with CUDA|No CUDA GPUs|No HIP GPUs|Found no NVIDIA driver|CUDA driver|"
            r"Cannot access accelerator device|same device|two devices|invalid device ordinal|meta tensor|"
            r"device meta"
        ),
        _DEVICE_HELP,
    ),
    (
        r"shapes cannot be multiplied|size of tensor|must match|normalized_shape|Sizes of tensors",
        "Two sizes do not match. Compare the sizes in get_inputs() with those that get_init_inputs() passes to Model.",
    ),
    (
        r"positional argument|unexpected keyword|missing \d+ required",
        "get_init_inputs() must return the arguments of Model, get_inputs() those of forward, in order.",
    ),
    (
        r"same dtype|expected scalar type|but found|dtype",
        "Two dtypes do not match. Use the same dtype for inputs and parameters, in get_inputs() or in Model.",
    ),
    (
        r"Operation not permitted|Permission denied|Read-only file system|Address family not supported",
        ("A job has no network and may write only to its working directory. Put the required data into the snippet."),
    ),
)
"""Hints for errors whose text matches a pattern; the first match is used."""

_DEFAULT_HELP = "Run the snippet's Model once on your own machine, then paste it again."


class JobFailedError(Exception):
    """The job cannot continue; `failure` states the reason."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def in_words(
    error: BaseException,
    code: FailureCode,
    doing: str,
    snippet: Path | None = None,
    device: str = "cpu",
) -> Failure:
    """Describes an exception.

    Args:
        error: The exception.
        code: The code of the failure, unless the exception reports a lack of memory or processes.
        doing: The subject of the message, such as `Model.forward`.
        snippet: The snippet's file, for the traceback.
        device: Type of the device.
    """
    frames = snippet_traceback(error, snippet) if snippet else None
    if is_out_of_memory(error):
        return Failure(
            "memory-limit",
            f"{doing} needed more memory than this job may use.",
            "Make the sizes in get_inputs() or get_init_inputs() smaller"
            + ("." if device != "cpu" else "; the operator of this server can raise the limit with --memory-limit."),
            frames,
        )
    if is_out_of_processes(error):
        return Failure(
            "process-limit",
            f"{doing} started more processes or threads than this job may have.",
            "Remove the code that starts processes or threads; PyTorch uses all processor cores without it.",
            frames,
        )
    if isinstance(error, SystemExit):
        message, hint = (
            f"{doing} ended the program with sys.exit().",
            "Remove the call of sys.exit().",
        )
    else:
        message, hint = f"{doing} raised {summary(error)}", _hint(error, device)
    return Failure(code, message, hint, frames)


def summary(error: BaseException) -> str:
    """Type and first line of an exception: `ValueError: too many values`."""
    text = text_of(error).strip()
    line = text.splitlines()[0] if text else ""
    name = type(error).__name__
    return shortened(f"{name}: {line}" if line else name)


def text_of(error: BaseException) -> str:
    """The first `TEXT_LIMIT` characters of an exception's text; empty if the text cannot be computed."""
    try:
        return str(error)[:TEXT_LIMIT]
    except BaseException:  # A snippet's `__str__` may raise anything.
        return ""


def shortened(text: str) -> str:
    """`text`, truncated to `MESSAGE_LIMIT` characters."""
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"


def snippet_traceback(error: BaseException, snippet: Path) -> str | None:
    """The traceback with the frames of the snippet only; None if it has none."""
    frames = [frame for frame in tracebacks.extract_tb(error.__traceback__) if frame.filename == str(snippet)]
    if not frames:
        return None
    text = "".join(
        [
            "Traceback (snippet only, most recent call last):\n",
            *tracebacks.format_list(frames[-TRACEBACK_FRAMES:]),
            summary(error),
        ]
    )
    return text.replace(str(snippet), "snippet.py")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, PyTorch or the operating system reports a lack of memory."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, (RuntimeError, OSError)) and bool(_OUT_OF_MEMORY.search(text_of(error)))


def is_out_of_processes(error: BaseException) -> bool:
    """Whether a thread or a process could not be started."""
    if isinstance(error, OSError) and error.errno == errno.EAGAIN:
        return True
    return isinstance(error, RuntimeError) and bool(_OUT_OF_PROCESSES.search(text_of(error)))


def _hint(error: BaseException, device: str) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return (
            f"Install it for the runner's Python, which `hipward doctor` shows: `python -m pip install {package}`, "
            "or the distribution that contains it. Or put the required code into the snippet: PyTorch, NumPy, "
            "hipward_kernels and, if installed, Triton are available."
        )
    text = f"{type(error).__name__}: {text_of(error)}"
    for pattern, hint in _HINTS:
        if re.search(pattern, text, re.IGNORECASE):
            return hint.replace("{device}", "CPU" if device == "cpu" else "GPU")
    return _DEFAULT_HELP
