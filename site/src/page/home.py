import torch


def device():
    if torch.version.cuda is None:
        raise RuntimeError("this job needs a GPU")
    return torch.device("cuda")


def precision():
    major, minor = torch.cuda.get_device_capability()
    if (major, minor) >= (9, 0):
        return torch.float8_e4m3fn
    return torch.bfloat16
