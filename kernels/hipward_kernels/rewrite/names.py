"""Lets a replacement save and load its parameters under the names that the replaced module gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from torch import nn


def keep_names(original: nn.Module, replacement: nn.Module) -> None:
    """Makes the replacement's state dict that of `original`, whose parameters it holds."""
    theirs = {id(parameter): name for name, parameter in original.named_parameters()}
    names = {
        mine: theirs[id(parameter)]
        for mine, parameter in replacement.named_parameters()
        if theirs.get(id(parameter), mine) != mine
    }
    if not names:
        return
    back = {their: mine for mine, their in names.items()}

    def saved(_module: nn.Module, state: MutableMapping[str, Any], prefix: str, _metadata: Any) -> None:
        _rename(state, prefix, names)

    def loading(_module: nn.Module, state: MutableMapping[str, Any], prefix: str, *_: Any) -> None:
        _rename(state, prefix, back)

    replacement.register_state_dict_post_hook(saved)  # type: ignore[no-untyped-call]
    replacement.register_load_state_dict_pre_hook(loading)  # type: ignore[no-untyped-call]


def _rename(state: MutableMapping[str, Any], prefix: str, names: Mapping[str, str]) -> None:
    # All out, then all in: names may trade places.
    taken = {new: state.pop(prefix + old) for old, new in names.items() if prefix + old in state}
    state.update({prefix + new: value for new, value in taken.items()})
