# fails: case_versions, case_nested, case_layers
# message: Each hook must remember its own part. A lambda looks `part` up when it is called: then the loop has ended.
"""Which part of a model runs how many operators? Counts them by module while the model runs."""

from collections import Counter
from collections.abc import Callable, Sequence

from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


def does_work(operator) -> bool:
    """Whether an operator reads or writes data. Views only describe it, and `empty` only allocates."""
    return not operator.is_view and not any(word in operator.name() for word in ("empty", "_unsafe_view"))


class ByPart(TorchDispatchMode):
    """Sees every operator before it runs. `open` is the stack of parts that are running."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: Counter[str] = Counter()

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        # hole: attribute
        if does_work(operator):
            # The innermost part ran it. Outside of all parts: embedding, loss, additions of the model itself.
            self.found[self.open[-1] if self.open else "rest"] += 1
        # end: attribute
        return operator(*args, **(kwargs or {}))


def operators(model: nn.Module, parts: Sequence[str], run: Callable[[], object]) -> Counter[str]:
    """Operators of `run` by part. A module belongs to part `p` if the last word of its name is `p`.

    The model is the same afterwards, also if `run` fails.
    """
    counted = ByPart()
    handles = []
    for name, module in model.named_modules():
        part = name.rpartition(".")[2]
        if part in parts:
            # hole: hooks
            handles.append(module.register_forward_pre_hook(lambda *_: counted.open.append(part)))
            handles.append(module.register_forward_hook(lambda *_: counted.open.pop() and None))
            # end: hooks
    # hole: run
    try:
        with counted:
            run()
    finally:
        for handle in handles:
            handle.remove()
    # end: run
    return counted.found
