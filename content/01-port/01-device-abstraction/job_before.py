# test: analyze
import os

import torch

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
if os.environ.get("DEBUG"):
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"


def pick_device() -> torch.device:
    if torch.version.cuda is None:
        raise RuntimeError("this job needs a CUDA build of PyTorch")
    return torch.device("cuda")


def pick_dtype() -> torch.dtype:
    major, _ = torch.cuda.get_device_capability()
    return torch.bfloat16 if major >= 8 else torch.float16


def main() -> None:
    device = pick_device()
    dtype = pick_dtype()
    x = torch.randn(256, 256, device=device, dtype=dtype)
    print(device, dtype, (x @ x.T).shape)


if __name__ == "__main__":
    main()
