"""Implements the protocol of the exercise worker: returns the names of the files that it received, or fails as the code states."""

import argparse
import json
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--events-fd", type=int)
answers = os.fdopen(parser.parse_args().events_fd, "w", buffering=1)
answers.write(json.dumps({"type": "ready"}) + "\n")
request = json.loads(sys.stdin.readline())
code = request["code"]
if code == "slow":
    time.sleep(2)
if code == "silent":
    sys.exit()
case = {"name": "case_one", "title": "One", "status": "failed", "message": "1 is not 2", "line": 3}
answer = {
    "type": "judged",
    "status": "not_yet",
    "cases": [case],
    "message": None,
    "line": None,
    "hints": [],
    "unfilled": [],
    "output": f"{os.urandom(4).hex()} {' '.join(sorted(request['files']))}",
    "output_truncated": False,
    "seconds": 0.1,
    "seed": 4294967295,
    "judge": "0123456789abcdef",
}
if code == "refused":
    answer = {"type": "error", "message": "The exercise cannot be judged: no case."}
answers.write("not json\n" if code == "garbled" else json.dumps(answer) + "\n")
