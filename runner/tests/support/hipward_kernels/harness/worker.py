"""Speaks the harness's protocol, and runs the job's code as it is: the code says its own lines with `say`."""

import argparse
import json
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--events-fd", type=int)
events = os.fdopen(parser.parse_args().events_fd, "w", buffering=1)


secret: dict[str, str] = {}


def say(type: str, **fields: object) -> None:
    events.write(json.dumps({"type": type, **secret, **fields}) + "\n")


def sample(variant: str, center: float, rounds: int = 6) -> None:
    """The lines of one variant that takes about `center` milliseconds."""
    say("precision", variant=variant, passed=True, outputs=[], seeds=5, reference="float64")
    say("compile", variant=variant, seconds=0.1)
    for round_ in range(rounds):
        ms = [center * (1 + 0.001 * ((round_ * 7 + i * 3) % 5 - 2)) for i in range(8)]
        # The runner rejects times that add up to more than has passed.
        time.sleep(sum(ms) / 1000)
        say("samples", variant=variant, round=round_, ms=ms)
    say("sampled", variant=variant, stop="converged")


def environment() -> None:
    say(
        "environment",
        device_name="A processor",
        arch="x86_64",
        torch="0.0",
        python="3",
        threads=1,
        clock="monotonic clock",
        clock_overhead_ms=0.0001,
        cache="warm",
        stop_rule="as scripted",
    )
    variants = [{"id": name, "label": f"Variant {name}", "about": "As scripted"} for name in job["variants"]]
    say("variants", variants=variants)


say("ready")
request = sys.stdin.readline()
if not request:
    sys.exit()
job = json.loads(request)
secret["nonce"] = job["nonce"]
say("accepted")
try:
    exec(compile(job["code"], "snippet", "exec"), {"say": say, "sample": sample, "environment": environment, "job": job, "secret": secret})
except MemoryError:
    say("error", code="memory-limit", message="Out of memory.", help="Use less.")
except Exception as error:
    say("error", code="forward-error", message=f"{type(error).__name__}: {error}", help="Correct it.")
else:
    say("finished")
