"""Trains TinyLlama V3, fused by Triton kernels with a backward: `python -m hipward_kernels.workshop.tiny_llama_v3`."""

from hipward_kernels.workshop.training_script import run

if __name__ == "__main__":
    run("v3")
