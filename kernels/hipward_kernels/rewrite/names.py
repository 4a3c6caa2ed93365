"""Saves and loads the parameters of a replacement under the names of the replaced module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from torch import nn


def keep_names(original: nn.Module, replacement: nn.Module) -> None:
    """Gives the replacement the state dict keys of `original`, whose parameters it has."""
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
    # All values are removed first, because two names may be swapped.
    taken = {new: state.pop(prefix + old) for old, new in names.items() if prefix + old in state}
    state.update({prefix + new: value for new, value in taken.items()})
