# test: analyze
import subprocess
from pathlib import Path

import torch


def log_gpus(log: Path) -> None:
    """Writes the status of the GPUs to the log of a run."""
    if torch.version.hip:
        tool = ["amd-smi", "monitor"]
    else:
        tool = ["nvidia-smi"]
    log.write_text(subprocess.check_output(tool, text=True))
