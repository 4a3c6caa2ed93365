# test: run
"""When does PyTorch read PYTORCH_ALLOC_CONF? Its allocator can be asked for its settings, also without a GPU."""

import os
import subprocess
import sys

ASK = "torch._C._accelerator_getAllocatorSettings()"
ASK_BACKEND = "torch.cuda.get_allocator_backend()"


def answer(value: str, program: str) -> str:
    program = program.replace("SET", f"os.environ['PYTORCH_ALLOC_CONF'] = {value!r}")
    environment = {name: text for name, text in os.environ.items() if "ALLOC_CONF" not in name}
    command = [sys.executable, "-c", f"import os; {program}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip() or "nothing"


split, backend = "max_split_size_mb:512", "backend:cudaMallocAsync"
above = answer(split, f"SET; import torch; print({ASK})")
below = answer(split, f"import torch; SET; print({ASK})")
late = answer(split, f"import torch; {ASK}; SET; print({ASK})")
print("a size, set above `import torch`:      ", above)
print("a size, set below it:                  ", below)
print("a size, set after the allocator began: ", late)
backend_above = answer(backend, f"SET; import torch; print({ASK_BACKEND})")
backend_below = answer(backend, f"import torch; SET; print({ASK_BACKEND})")
print("the backend, set above `import torch`: ", backend_above)
print("the backend, set below it:             ", backend_below)
assert (above, below, late) == (split, split, "nothing")
assert (backend_above, backend_below) == ("cudaMallocAsync", "native")
