"""Records the machine code of `example.py` for the site's page: `python -m hipward_kernels.compile.record`.

The file is `results/isa_example.json`; a test compiles the example again and compares.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from hipward_kernels.compile import Request, compile_source

SOURCE = Path(__file__).with_name("example.py")
RECORD = Path(__file__).parent.parent.parent / "results" / "isa_example.json"
ARGUMENTS: dict[str, Any] = {"N": 4096, "BLOCK": 4096}


def record() -> dict[str, Any]:
    """The source and answer of the example, with only the assembly, up to its last instruction."""
    source = SOURCE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="hipward-") as directory:
        request = Request.from_json({"language": "triton", "source": source, "arguments": ARGUMENTS})
        answer = compile_source(request, Path(directory))
    for target in answer["targets"]:
        code, end, _ = target["texts"]["amdgcn"].rpartition("\n.Lfunc_end")
        # Removes paths of the recording machine.
        code = re.sub(r'(\.file\s+\d+ )"[^"]*"', r'\1"."', code)
        target["texts"] = {"amdgcn": f"{code}{end}0:\n"}
    return {
        "command": "python -m hipward_kernels.compile.record",
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "arguments": ", ".join(f"{name}={value}" for name, value in ARGUMENTS.items()),
        "source": source,
        "answer": answer,
    }


def main() -> None:
    """Entry point."""
    RECORD.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
    print(RECORD)


if __name__ == "__main__":
    main()
