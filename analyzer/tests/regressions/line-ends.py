# éimport os
import pynvml as n, time
	os.environ['CUDA_LAUNCH_BLOCKING'] = '1'\

os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'x'  # 🚀n.nvmlInit()