# test: run
"""When does PyTorch read PYTORCH_ALLOC_CONF? PyTorch aborts where it parses a malformed value."""

import os
import subprocess
import sys

MALFORMED = "no colon"


def exit_code(program: str, variables: dict[str, str]) -> int:
    command = [sys.executable, "-c", program]
    environment = os.environ | variables
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


before = exit_code("import torch; torch.zeros(1)", {"PYTORCH_ALLOC_CONF": MALFORMED})
after = exit_code(
    f"import os, torch; os.environ['PYTORCH_ALLOC_CONF'] = {MALFORMED!r}; torch.zeros(1)", {}
)
print("set before `import torch`:", "read" if before else "not read", f"(exit code {before})")
print("set after  `import torch`:", "read" if after else "not read", f"(exit code {after})")
assert before != 0 and after == 0
