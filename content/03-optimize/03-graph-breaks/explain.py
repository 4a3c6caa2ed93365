# test: run
"""Lists the graphs and graph breaks of the block in the exercise."""

import contextlib
import io
import logging

import torch
from breaks.start import Model, get_init_inputs, get_inputs

logging.disable(logging.WARNING)  # Dynamo's advice about .item()

# anchor: explain
model = Model(*get_init_inputs())
with contextlib.redirect_stdout(io.StringIO()):  # the block's own print
    found = torch._dynamo.explain(model)(*get_inputs())
print(f"{found.graph_count} graphs with {found.op_count} operators")
for reason in found.break_reasons:
    line = reason.user_stack[-1].lineno
    print(f"start.py:{line}: {reason.reason.strip().splitlines()[0]}")
# end: explain
assert found.graph_count == 6
