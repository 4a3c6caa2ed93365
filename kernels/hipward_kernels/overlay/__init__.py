"""Puts this package's ops into Hugging Face transformers' models, without touching an installed file.

    with patched(llama):
        model.generate(...)

Patches are attributes of classes and modules, replaced while the block runs. All of a model's are made or none: the
version of transformers and the signature of each function that is replaced are checked first. A modelling file of your
own can use `stubs.py` instead, which works without this package.
"""

from hipward_kernels.overlay.patch import OverlayError, Patch, patched

__all__ = ["OverlayError", "Patch", "patched"]
