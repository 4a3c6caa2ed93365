# test: analyze
import subprocess
from pathlib import Path


def log_gpus(log: Path) -> None:
    """Writes what the GPUs are doing into a run's log."""
    log.write_text(subprocess.check_output(["nvidia-smi"], text=True))
