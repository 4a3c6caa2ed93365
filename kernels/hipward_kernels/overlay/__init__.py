"""Replaces parts of Hugging Face transformers' models by this package's ops, without changing an installed file.

    with patched(llama):
        model.generate(...)

`llama` is a module of this package; `decoder` has `qwen2`, `qwen3`, `mistral` and `gemma`. Attributes of the model's
own module are replaced while the block runs; other models keep theirs. All patches of a model are applied, or none: the
version of transformers and the signature of each replaced function are checked first. Your own modelling file can use
`stubs.py` instead, which works without this package.
"""

from hipward_kernels.overlay.patch import OverlayError, Patch, patched

__all__ = ["OverlayError", "Patch", "patched"]
