# test: analyze
import subprocess
from pathlib import Path


def log_gpus(log: Path) -> None:
    """Writes the status of the GPUs to the log of a run."""
    log.write_text(subprocess.check_output(["nvidia-smi"], text=True))
