"""Trains TinyLlama V4, all switches on: `python -m hipward_kernels.workshop.tiny_llama_v4`."""

from hipward_kernels.workshop.training_script import run

if __name__ == "__main__":
    run("v4")
