"""Exercises judged by running: `python -m hipward_kernels.exercise DIR [FILE]` runs the judge of DIR on FILE.

An exercise is a folder:

    start.py       what the learner begins with: it loads and fails; holes are marked `# hole: NAME` … `# end: NAME`
    solution.py    the same with its holes filled
    judge.py       functions `case_*(answer, random)`; a case fails by raising
    right/*.py     other correct answers
    wrong/*.py     wrong answers; the comments at the top name the cases that fail, and may have a message:
                       # fails: case_tail, case_one
                       # message: The last block loads beyond the row.

A judge imports its helpers from here:

    from hipward_kernels.exercise import expect, expect_close, source_of, tensor

An exercise with `start.hip` instead of `start.py` has HIP programs, with `//` for `#` in the marks. They are compiled
for gfx942 and executed in the emulator; see `kernel.py` for what a case gets.

Each answer runs in its own process, which is forked from one that has imported PyTorch. The answer and the judge share
that process, because a judge calls the answer's functions with tensors and inspects what they return. This is a
learning aid, not a security boundary: see `batch.py` for what it detects and what it cannot. A server must isolate the
worker (`worker.py`) like a job.
"""

from hipward_kernels.exercise.assertions import Unavailable, expect, expect_close, source_of, tensor

__all__ = ["Unavailable", "expect", "expect_close", "source_of", "tensor"]
