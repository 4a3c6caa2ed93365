# test: analyze
import subprocess
from pathlib import Path

import torch


def log_gpus(log: Path) -> None:
    """Writes what the GPUs are doing into a run's log."""
    if torch.version.hip:
        tool = ["amd-smi", "monitor"]
    else:
        tool = ["nvidia-smi"]
    log.write_text(subprocess.check_output(tool, text=True))
