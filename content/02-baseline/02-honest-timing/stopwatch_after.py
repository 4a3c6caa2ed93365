# test: analyze
import statistics
import time

import torch

model = torch.nn.RMSNorm(4096, device="cuda")
model.compile()
x = torch.randn(16384, 4096, device="cuda")

for _ in range(10):
    model(x)

times = []
for _ in range(30):
    torch.cuda.synchronize()
    start = time.perf_counter()
    model(x)
    torch.cuda.synchronize()
    times.append((time.perf_counter() - start) * 1000)

print(f"median {statistics.median(times):.3f} ms, from {min(times):.3f} to {max(times):.3f}")
