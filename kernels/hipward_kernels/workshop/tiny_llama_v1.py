"""Trains TinyLlama V1, the baseline, plain eager PyTorch: `python -m hipward_kernels.workshop.tiny_llama_v1`."""

from hipward_kernels.workshop.training_script import run

if __name__ == "__main__":
    run("v1")
