# test: run
import torch
from fused_wrong import Model, get_inputs
from gate import gate

model = Model(4096)
compiled = torch.compile(model)
reason = gate(model, compiled, get_inputs)
assert reason is None, reason
print("the compiled model is as exact as eager")
