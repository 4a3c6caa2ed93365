"""What this host can run on, as one JSON object: `python -m hipward_kernels.harness.host_probe`.

Exits with 3 after `{"torch": null}` where there is no PyTorch.
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict


def main() -> int:
    """Prints the object; the exit status."""
    try:
        import torch  # noqa: PLC0415 - may be missing
    except ImportError:
        print(json.dumps({"torch": None}))
        return 3

    from hipward_kernels.gpu.devices import all_devices  # noqa: PLC0415 - imports torch
    from hipward_kernels.harness.environment import triton_version  # noqa: PLC0415
    from hipward_kernels.harness.variants import VARIANT_INFO  # noqa: PLC0415

    print(
        json.dumps(
            {
                "torch": torch.__version__,
                "triton": triton_version(),
                "hip": torch.version.hip,
                "cuda": torch.version.cuda,
                "python": platform.python_version(),
                "devices": [asdict(device) for device in all_devices()],
                "variants": [asdict(variant) for variant in VARIANT_INFO],
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
