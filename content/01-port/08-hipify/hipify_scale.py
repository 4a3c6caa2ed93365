# test: analyze
"""Prints what PyTorch's hipify makes of a CUDA file: `python hipify_scale.py scale.cu`."""

import contextlib
import sys
import tempfile
from pathlib import Path

from torch.utils.hipify.hipify_python import hipify

source = Path(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    copy = Path(folder) / source.name
    copy.write_text(source.read_text())
    with contextlib.redirect_stdout(sys.stderr):  # its own report
        result = hipify(folder, folder, extra_files=[str(copy)], is_pytorch_extension=True)
    print(Path(result[str(copy)].hipified_path).read_text())
