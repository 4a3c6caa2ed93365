# test: run
import os

os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")

import torch


def pick_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def pick_dtype(device: torch.device) -> torch.dtype:
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16
    return torch.bfloat16


def main() -> None:
    device = pick_device()
    dtype = pick_dtype(device)
    x = torch.randn(256, 256, device=device, dtype=dtype)
    print(device, dtype, (x @ x.T).shape)


if __name__ == "__main__":
    main()
