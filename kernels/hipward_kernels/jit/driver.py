"""Loads compiled code and launches its kernels, through the C interface of the GPU's driver.

The interfaces of CUDA and HIP differ only in names. A launch costs a few microseconds: a Python call that fills a
buffer, and one C call. Triton's own launch does more work at each call and takes several times as long.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_uint, c_void_p, pointer
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from hipward_kernels.jit.grid import GridError, most_blocks
from hipward_kernels.jit.libraries import load

if TYPE_CHECKING:
    from collections.abc import Callable

INVALID_CONTEXT = 201


class LaunchError(RuntimeError):
    """The driver returned an error; the message contains its description."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        """Error code of the driver, if it was called."""


def _no_gpu(*_: object) -> int:
    raise LaunchError("this PyTorch has no GPU support")


# Read once, because an attribute lookup takes longer than these functions.
_current_device: Callable[[], int] = getattr(torch._C, "_cuda_getDevice", _no_gpu)  # noqa: SLF001 - torch's own, unchecked
_current_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", _no_gpu)  # noqa: SLF001 - as Triton


@dataclass(frozen=True)
class Names:
    """Names of the driver's library and functions."""

    library: str
    """Name of the library, without its version."""
    load: str
    function: str
    launch: str
    error: str


CUDA = Names("libcuda", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel", "cuGetErrorString")
HIP = Names("libamdhip64", "hipModuleLoadData", "hipModuleGetFunction", "hipModuleLaunchKernel", "hipGetErrorString")

CUDA_SHARED_LIMIT = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"""


MAY_OVERLAP = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION"""


class LaunchAttribute(Structure):
    """CUlaunchAttribute with a number as its value, which has 64 bytes."""

    _fields_: ClassVar = [("id", c_int), ("padding", c_int), ("value", c_int), ("rest", c_char * 60)]

    def __init__(self, id_: int, value: int) -> None:
        super().__init__(id_, 0, value)


class LaunchConfig(Structure):
    """CUlaunchConfig: sizes of grid and block, bytes of shared memory, and the attributes."""

    _fields_: ClassVar = [
        *((f"{of}_{axis}", c_uint) for of in ("grid", "block") for axis in "xyz"),
        ("shared_bytes", c_uint),
        ("stream", c_void_p),
        ("attributes", POINTER(LaunchAttribute)),
        ("count", c_uint),
    ]


class Driver:
    """CUDA's or HIP's driver library."""

    def __init__(self, names: Names) -> None:
        self._names = names
        # PyDLL does not release Python's lock: a launch is too short for that.
        self._library = load(names.library, mode=ctypes.PyDLL)
        # Without `argtypes`, which is three times as fast: numbers become C ints, and pointers must be passed as such.
        self.launch = getattr(self._library, names.launch)

    def check(self, code: int, what: str) -> None:
        """Raises `LaunchError` if the driver returned an error."""
        if not code:
            return
        if self._names is HIP:
            function = self._library.hipGetErrorString
            function.restype = c_char_p
            said = function(code)
        else:
            text = c_char_p()
            self._library.cuGetErrorString(code, byref(text))
            said = text.value
        raise LaunchError(f"{what}: {(said or b'unknown error').decode()} (code {code})", code)

    def load(self, code: bytes, entry: str, shared_bytes: int) -> int:
        """The handle of a kernel, loaded onto the current device."""
        torch.cuda.current_stream()  # creates a context to load into
        module, function = c_void_p(), c_void_p()
        load = getattr(self._library, self._names.load)
        status = load(byref(module), c_char_p(code))
        if status == INVALID_CONTEXT and self._names is CUDA:
            # A backward may be the first to use the driver in autograd's thread.
            self.adopt_context(torch.cuda.current_device())
            status = load(byref(module), c_char_p(code))
        self.check(status, f"loading {entry}")
        found = getattr(self._library, self._names.function)(byref(function), module, c_char_p(entry.encode()))
        self.check(found, f"finding {entry}")
        if shared_bytes > 48 * 1024 and self._names is CUDA:
            allowed = self._library.cuFuncSetAttribute(function, c_int(CUDA_SHARED_LIMIT), c_int(shared_bytes))
            self.check(allowed, f"reserving {shared_bytes} bytes of shared memory for {entry}")
        if function.value is None:
            raise LaunchError(f"the driver returned no handle of {entry}")
        return function.value

    def launch_overlapping(
        self,
        function: c_void_p,
        *sizes_and_stream: Any,
    ) -> int:
        """`launch` with the permission to start before the kernel before has ended; the arguments are the same.

        CUDA's "programmatic dependent launch", which a capture records too: the kernel waits itself for what it reads
        (`wait_for_kernel_before` in `hipward.h`).
        """
        *sizes, stream, arguments, _ = sizes_and_stream
        attribute = LaunchAttribute(MAY_OVERLAP, 1)
        config = LaunchConfig(*sizes, stream, pointer(attribute), 1)
        code: int = self._library.cuLaunchKernelEx(byref(config), function, arguments, None)
        return code

    def adopt_context(self, device: int) -> None:
        """Sets the context of `device` in a thread without one, such as autograd's."""
        handle, context = c_int(), c_void_p()
        self.check(self._library.cuDeviceGet(byref(handle), c_int(device)), "finding the device")
        self.check(self._library.cuDevicePrimaryCtxRetain(byref(context), handle), "retaining the context")
        self.check(self._library.cuCtxSetCurrent(context), "setting the context")


@lru_cache(maxsize=1)
def driver() -> Driver:
    """The driver of the GPUs that this process' PyTorch is for.

    Raises:
        MissingLibraryError: The library is missing.
    """
    return Driver(HIP if torch.version.hip else CUDA)


def can_overlap(device: int) -> bool:
    """Whether a kernel can start before the one before it has ended: on NVIDIA GPUs from sm_90 on."""
    return not torch.version.hip and torch.cuda.get_device_capability(device) >= (9, 0)


class Launch:
    """A loaded kernel with its block size; a call puts it on the current stream of its device."""

    def __init__(
        self, function: int, device: int, threads: int, shared_bytes: int, signature: str, entry: str, *, overlaps: bool
    ) -> None:
        """`signature` is the kernel's arguments in the letters of `struct`: P pointer, q int64, i int32, f float.

        `overlaps`: see `Driver.launch_overlapping`; without effect on GPUs that cannot.
        """
        self._launch = driver().launch_overlapping if overlaps and can_overlap(device) else driver().launch
        self._function, self._device, self._threads, self._shared = c_void_p(function), device, threads, shared_bytes
        self._entry = entry
        self._most = most_blocks(threads)
        layout = struct.Struct(signature)
        self._pack, self._size = layout.pack_into, layout.size
        self._offsets = [
            struct.calcsize(signature[: i + 1]) - struct.calcsize(signature[i]) for i in range(len(signature))
        ]
        self._buffers = threading.local()

    @property
    def handle(self) -> int:
        """The driver's handle of the kernel."""
        return self._function.value or 0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self._threads

    def _buffer(self) -> tuple[ctypes.Array[c_char], ctypes.Array[c_void_p]]:
        """A thread's buffer for the arguments, and the address of each."""
        buffer = (c_char * self._size)()
        start = ctypes.addressof(buffer)
        pair = buffer, (c_void_p * len(self._offsets))(*(start + offset for offset in self._offsets))
        self._buffers.pair = pair
        return pair

    def __call__(self, blocks: int, *arguments: float) -> None:
        """Launches `blocks` blocks; pointers are passed as addresses."""
        device = self._device
        if blocks > self._most:
            raise GridError(f"{blocks} blocks of {self._threads} threads; the device launches {self._most}")
        if _current_device() != device:
            with torch.cuda.device(device):
                self(blocks, *arguments)
            return
        try:
            buffer, addresses = self._buffers.pair
        except AttributeError:
            buffer, addresses = self._buffer()
        self._pack(buffer, 0, *arguments)
        stream = c_void_p(_current_stream(device))
        if code := self._launch(
            self._function, blocks, 1, 1, self._threads, 1, 1, self._shared, stream, addresses, None
        ):
            if code == INVALID_CONTEXT and not torch.version.hip and not self._adopted():
                driver().adopt_context(device)
                self._buffers.adopted = True
                self(blocks, *arguments)
                return
            driver().check(code, f"launching {self._entry} with {blocks} blocks of {self._threads} threads")

    def _adopted(self) -> bool:
        return getattr(self._buffers, "adopted", False)
