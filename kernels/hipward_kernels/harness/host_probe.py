"""Prints the devices and variants of this host as one JSON object: `python -m hipward_kernels.harness.host_probe`.

Prints `{"torch": null}` and exits with 3 if PyTorch is not installed.
"""

from __future__ import annotations

import ctypes
import json
import platform
import signal
import sys
from dataclasses import asdict


def main() -> int:
    """Prints the object and returns the exit status."""
    try:
        import torch  # noqa: PLC0415 - may be missing
    except ImportError:
        print(json.dumps({"torch": None}))
        return 3

    from hipward_kernels.compile.clang import clangs  # noqa: PLC0415
    from hipward_kernels.gpu.devices import all_devices  # noqa: PLC0415 - imports torch
    from hipward_kernels.harness.environment import triton_version  # noqa: PLC0415
    from hipward_kernels.harness.variants import VARIANT_INFO  # noqa: PLC0415

    compilers = clangs()
    print(
        json.dumps(
            {
                "torch": torch.__version__,
                "triton": triton_version(),
                "hip": torch.version.hip,
                "cuda": torch.version.cuda,
                "hip_compiler": f"clang {compilers[0].version}" if compilers else None,
                "python": platform.python_version(),
                "devices": [asdict(device) for device in all_devices()],
                "variants": [asdict(variant) for variant in VARIANT_INFO],
            }
        )
    )
    return 0


def end_with_parent() -> None:
    """Ends this process when the server that started it is killed, because importing PyTorch can take long."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


if __name__ == "__main__":
    end_with_parent()
    sys.exit(main())
