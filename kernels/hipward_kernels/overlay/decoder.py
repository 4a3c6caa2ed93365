"""Patches for a decoder of transformers whose parts have the same form as Llama's."""

from __future__ import annotations

from dataclasses import dataclass

from hipward_kernels.overlay import layers
from hipward_kernels.overlay.patch import Patch


@dataclass(frozen=True)
class Decoder:
    """A family of models, for `hipward_kernels.overlay.patched`."""

    module: str
    """`llama` of `transformers.models.llama.modeling_llama`."""
    prefix: str
    """`Llama` of `LlamaRMSNorm`."""
    around_one: bool = False
    """Whether the parameter of RMSNorm is the difference of the weight from one."""

    @property
    def OLDEST(self) -> tuple[int, int]:  # noqa: N802 - as in `patch.Model`
        """The first version of transformers that the patches support."""
        return (4, 53)

    @property
    def BEFORE(self) -> tuple[int, int]:  # noqa: N802
        """The first version that they are not known to support."""
        return (6, 0)

    def patches(self) -> list[Patch]:
        """RMSNorm, the feed-forward, rotary embeddings and attention."""
        module = f"transformers.models.{self.module}.modeling_{self.module}"
        norm, argument = (layers.norm_around_one, "x") if self.around_one else (layers.norm, "hidden_states")
        return [
            Patch(module, f"{self.prefix}RMSNorm.forward", ("self", argument), norm),
            Patch(module, f"{self.prefix}MLP.forward", ("self", "x"), layers.feed_forward),
            Patch(module, "apply_rotary_pos_emb", ("q", "k", "cos", "sin"), layers.rotary),
            Patch(module, "ALL_ATTENTION_FUNCTIONS", layers.SDPA_PARAMETERS, layers.attention_functions, key="sdpa"),
        ]


qwen2 = Decoder("qwen2", "Qwen2")
"""Also Qwen 2.5."""
qwen3 = Decoder("qwen3", "Qwen3")
mistral = Decoder("mistral", "Mistral")
gemma = Decoder("gemma", "Gemma", around_one=True)
"""The first Gemma: later ones cap the scores, which needs transformers' own attention."""
