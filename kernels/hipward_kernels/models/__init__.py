"""TinyLlama in four versions: one model definition, and switches that say how each part is computed.

A version is a preset of switches, so that what differs between two versions is what their presets differ in, and
nothing else. The weights of one load into all (`weights`), and they compute the same function, gradients included.

* `config`: sizes of the model, the switches, and the versions as presets.
* `llama`, `attention`, `feed_forward`: the model.
* `weights`: one version's state as another's.
* `cache`, `generation`: decoding one token after another.
* `training`, `data`: steps, their parts, and what is trained on.
* `graphs`: CUDA or HIP graphs of a training step or a decoding step, used only when they give the same numbers.
* `cost`: floating-point operations and bytes by formula, and the time that they need at least.

The scripts that run them are in `hipward_kernels.workshop`.
"""

from hipward_kernels.models.config import SIZES, VERSIONS, Config, Switches
from hipward_kernels.models.llama import TinyLlama

__all__ = ["SIZES", "VERSIONS", "Config", "Switches", "TinyLlama"]
