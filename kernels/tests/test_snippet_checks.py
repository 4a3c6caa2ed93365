"""Checks of a variant beside its results: caching, reused memory, returned inputs, hidden work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hipward_kernels.harness.snippet_checks import Behaviour, confirmed_objection, objection

EAGER = Behaviour(first_over_again=1.2, reuses_memory=False, returns_inputs=False, call_ms=0.4, hidden_ms=0.01)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (EAGER, None),
        (Behaviour(3.0, reuses_memory=False, returns_inputs=False, call_ms=0.2, hidden_ms=0.02), None),
        (Behaviour(9.0, reuses_memory=False, returns_inputs=False, call_ms=0.2, hidden_ms=0.01), "it caches results"),
        (
            Behaviour(1.0, reuses_memory=True, returns_inputs=False, call_ms=0.2, hidden_ms=0.01),
            "its next call overwrote",
        ),
        (
            Behaviour(1.0, reuses_memory=False, returns_inputs=True, call_ms=0.2, hidden_ms=0.01),
            "the memory of an input",
        ),
        # Half of eager's work is still running when the call has ended.
        (Behaviour(1.0, reuses_memory=False, returns_inputs=False, call_ms=0.01, hidden_ms=0.2), "on another stream"),
    ],
)
def test_behavior_that_eager_does_not_show_is_an_objection(behaviour: Behaviour, reason: str | None) -> None:
    found = objection(behaviour, EAGER)
    assert (found is None) == (reason is None), found
    assert reason is None or reason in str(found)


def test_behavior_that_eager_shows_too_is_allowed() -> None:
    eager = Behaviour(5.0, reuses_memory=True, returns_inputs=True, call_ms=0.4, hidden_ms=0.3)
    assert (
        objection(Behaviour(12.0, reuses_memory=True, returns_inputs=True, call_ms=0.4, hidden_ms=0.35), eager) is None
    )


def test_objection_is_confirmed_by_repetition() -> None:
    caches = replace(EAGER, first_over_again=54.0)

    def found(variant: list[Behaviour], eager: list[Behaviour]) -> str | None:
        return confirmed_objection(iter(variant).__next__, iter(eager).__next__, EAGER)

    assert found([EAGER], []) is None
    assert found([caches, EAGER], [EAGER]) is None
    # The host became busy, and eager shows the same behaviour.
    assert found([caches, caches], [caches]) is None
    assert "it caches results" in str(found([caches] * 3, [EAGER] * 2))
