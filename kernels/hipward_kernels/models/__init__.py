"""TinyLlama in four versions: one model definition, and switches that select how each part is computed.

A version is a preset of switches, so two versions differ only in their presets. The weights of one can be loaded into
all (`weights`), and they compute the same function, including gradients.

* `config`: sizes of the model, the switches, and the versions as presets.
* `llama`, `attention`, `feed_forward`: the model.
* `weights`: converts the state of one version to another.
* `cache`, `generation`: decoding one token after another.
* `training`, `data`: training steps, their parts, and the data.
* `graphs`: CUDA or HIP graphs of a training step or a decoding step, used only if their results are equal.
* `cost`: floating-point operations and bytes by formula, and the lower bound of their time.

The scripts that run them are in `hipward_kernels.workshop`.
"""

from hipward_kernels.models.config import SIZES, VERSIONS, Config, Switches
from hipward_kernels.models.llama import TinyLlama

__all__ = ["SIZES", "VERSIONS", "Config", "Switches", "TinyLlama"]
