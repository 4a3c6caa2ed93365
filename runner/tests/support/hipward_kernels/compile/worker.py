"""Speaks the compile worker's protocol: answers with what it was asked, or fails as the source says."""

import argparse
import json
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--events-fd", type=int)
# Not the process id, which is the same for each worker in a namespace of its own.
worker = os.environ["HOME"]
answers = os.fdopen(parser.parse_args().events_fd, "w", buffering=1)
answers.write(json.dumps({"type": "ready"}) + "\n")
for line in sys.stdin:
    request = json.loads(line)
    source = request["source"]
    print("x" * 200_000)
    if source == "slow":
        time.sleep(5)
    if source == "silent":
        sys.exit()
    if source == "refused":
        answer = {"type": "error", "code": "source-error", "message": "there is no such function", "help": "Mend it.", "line": 7}
    else:
        answer = {
            "type": "compiled",
            "language": request.get("language"),
            "compiler": "scripted",
            "targets": [],
            "signature": [],
            "num_warps": None,
            "seconds": 0.1,
            "echo": source,
            "worker": worker,
        }
    answers.write("not json\n" if source == "garbled" else json.dumps(answer) + "\n")
