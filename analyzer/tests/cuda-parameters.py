"""Prints how many parameters the functions of CUDA's runtime and driver have, and HIP's: `cuda cudaFree 1`."""

import os
import re

import nvidia
import triton

CUDA = os.path.join(next(iter(nvidia.__path__)), "cu13/include")
HIP = os.path.join(os.path.dirname(triton.__file__), "backends/amd/include/hip")
DECLARATION = re.compile(r"(?:cudaError_t|CUresult|hipError_t)\s+(?:__host__ )?(?:inline )?(?:CUDARTAPI|CUDAAPI)?\s*(\w+)\s*\(")


def counts(folder: str, headers: list[str]) -> dict[str, set[int]]:
    """The numbers of arguments that each function may be called with; its parameters without those with a default."""
    found: dict[str, set[int]] = {}
    for header in headers:
        with open(os.path.join(folder, header), errors="replace") as file:
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
        # Types of old releases, for CUDA's internal use.
        text = re.sub(r"#if defined\(__CUDA_API_VERSION_INTERNAL\).*", "", text, flags=re.S)
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        for match in DECLARATION.finditer(text):
            depth, at, parts = 1, match.end(), [""]
            while depth and at < len(text):
                depth += (text[at] in "([") - (text[at] in ")]")
                if text[at] == "," and depth == 1:
                    parts.append("")
                elif depth:
                    parts[-1] += text[at]
                at += 1
            parts = [part for part in map(str.strip, parts) if part not in ("", "void")]
            optional = sum("__dv" in part or "__dparm" in part or "=" in part for part in parts)
            found.setdefault(match[1], set()).update(range(len(parts) - optional, len(parts) + 1))
    return found


for side, names in (
    ("cuda", counts(CUDA, ["cuda_runtime_api.h", "cuda_runtime.h", "cuda.h"])),
    ("hip", counts(HIP, ["hip_runtime_api.h", "amd_detail/amd_hip_runtime.h"])),
):
    for name, numbers in names.items():
        print(side, name, *sorted(numbers))
