# test: analyze
import time

import numpy as np
import torch

model = torch.nn.RMSNorm(4096, device="cuda")
model.compile()
x = torch.randn(16384, 4096, device="cuda")

times = []
for _ in range(30):
    start = time.time()
    model(x)
    times.append((time.time() - start) * 1000)

print(f"{np.mean(times):.3f} ± {np.std(times):.3f} ms")
