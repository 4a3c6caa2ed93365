"""Trains TinyLlama V2, fused by PyTorch: `python -m hipward_kernels.workshop.tiny_llama_v2`."""

from hipward_kernels.workshop.training_script import run

if __name__ == "__main__":
    run("v2")
