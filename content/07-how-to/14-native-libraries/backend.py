# test: run
import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU())

# anchor: backend
backend = "inductor" if torch.version.hip or "tensorrt" not in torch._dynamo.list_backends() else "tensorrt"
compiled = torch.compile(model, backend=backend)
# end: backend
assert callable(compiled)
