"""What a variant does beside computing, and when that counts against it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hipward_kernels.harness.snippet_checks import Habits, lasting_objection, objection

EAGER = Habits(first_over_again=1.2, reuses_memory=False, returns_inputs=False, call_ms=0.4, hidden_ms=0.01)


@pytest.mark.parametrize(
    ("habits", "says"),
    [
        (EAGER, None),
        (Habits(3.0, reuses_memory=False, returns_inputs=False, call_ms=0.2, hidden_ms=0.02), None),
        (Habits(9.0, reuses_memory=False, returns_inputs=False, call_ms=0.2, hidden_ms=0.01), "it remembers results"),
        (
            Habits(1.0, reuses_memory=True, returns_inputs=False, call_ms=0.2, hidden_ms=0.01),
            "its next call wrote over",
        ),
        (Habits(1.0, reuses_memory=False, returns_inputs=True, call_ms=0.2, hidden_ms=0.01), "the memory of an input"),
        # Half of eager's work is still running when the call is said to have ended.
        (Habits(1.0, reuses_memory=False, returns_inputs=False, call_ms=0.01, hidden_ms=0.2), "on another stream"),
    ],
)
def test_what_eager_does_not_do_counts(habits: Habits, says: str | None) -> None:
    found = objection(habits, EAGER)
    assert (found is None) == (says is None), found
    assert says is None or says in str(found)


def test_what_eager_does_itself_does_not_count() -> None:
    eager = Habits(5.0, reuses_memory=True, returns_inputs=True, call_ms=0.4, hidden_ms=0.3)
    assert objection(Habits(12.0, reuses_memory=True, returns_inputs=True, call_ms=0.4, hidden_ms=0.35), eager) is None


def test_one_answer_amid_noise_is_asked_again() -> None:
    remembers = replace(EAGER, first_over_again=54.0)

    def found(variant: list[Habits], eager: list[Habits]) -> str | None:
        return lasting_objection(iter(variant).__next__, iter(eager).__next__, EAGER)

    assert found([EAGER], []) is None
    assert found([remembers, EAGER], [EAGER]) is None
    # The host became busy: eager does the same now.
    assert found([remembers, remembers], [remembers]) is None
    assert "it remembers results" in str(found([remembers] * 3, [EAGER] * 2))
