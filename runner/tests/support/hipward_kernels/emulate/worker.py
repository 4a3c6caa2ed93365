"""Implements the protocol of the emulator's worker: returns what it received as a report, or fails as the source states."""

import argparse
import json
import os
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--events-fd", type=int)
answers = os.fdopen(parser.parse_args().events_fd, "w", buffering=1)
answers.write(json.dumps({"type": "ready"}) + "\n")
request = json.loads(sys.stdin.readline())
source = request["source"]
if source == "silent":
    sys.exit()
counts = {"instructions": {}, "active_lanes": 0, "masked_lanes": 0, "matrix_cycles": 0, "accesses": []}
report = {
    # Each worker has a folder of its own; the process id is the same in each namespace.
    "file": os.environ["HOME"],
    "kernel": json.dumps(request),
    "arch": "gfx942",
    "grid": [1, 1, 1],
    "workgroup": [1, 1, 1],
    "fixes": 0,
    "hip": None,
    "failed": False,
    "error": None,
    "findings": [],
    "counts": counts,
    "compared": [],
    "differences": [],
    "output": os.environ["HIPWARD_PROGRAM"],
    "seconds": 0.5,
}
answer = {"type": "emulated", "report": report}
if source in ("not-executed", "timeout", "failed"):
    answer = {"type": "error", "code": source, "message": f"It is {source}."}
answers.write("not json\n" if source == "garbled" else json.dumps(answer) + "\n")
