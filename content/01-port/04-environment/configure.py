# test: analyze
from hipward_kernels.environment.gpu_utils import configure_memory_optimizations

configure_memory_optimizations()  # above `import torch`, or it is too late

import torch

print(torch.zeros(1))
