"""Patches for transformers' Llama: RMSNorm, rotary embeddings, the activation of the feed-forward, attention."""

from __future__ import annotations

from hipward_kernels.overlay.decoder import Decoder

_DECODER = Decoder("llama", "Llama")
OLDEST, BEFORE = _DECODER.OLDEST, _DECODER.BEFORE
patches = _DECODER.patches
