"""Prints the numbers of the lines of a source whose launch PyTorch's hipify breaks."""

import re
import sys

from torch.utils.hipify.hipify_python import processKernelLaunches

# The macro is not part of a longer word and gets the kernel's whole name; the grid and the block are whole too.
KEPT = re.compile(
    r"(?<![\w\\])hipLaunchKernelGGL\(\(\s*(::)?[\w:]+(<.*>)?\)\s?, dim3\((dim3\()?[\w, ]+\)?\), dim3\((max\()?[\w, ]+\)?\), "
)

with open(sys.argv[1]) as file:
    lines = [line.split("  //")[0] for line in file]
for number, line in enumerate(lines):
    if "<<<" in line:
        # hipify takes one character before the kernel's name, which may be the end of the line before.
        before = lines[number - 1].rstrip("\n") if line[0] != " " else ""
        try:
            converted = processKernelLaunches(f"{before}\n{line}\n", {"kernel_launches": []})
        except TypeError:
            converted = ""
        kept = KEPT.search(converted)
        # Behind a comment, or in the directive before, it does not count.
        start = converted[: kept.start()].rsplit("\n", 1)[-1] if kept else ""
        if not kept or "//" in start or (before and start.startswith("#")):
            print(number + 1)
