"""Cases for the regression gate."""

import dataclasses

from hipward_kernels.exercise import expect

CONDITIONS = {"device": "NVIDIA H200", "dtype": "bfloat16", "batch": "16 × 512"}


def result(answer, low, median, high, **changes):
    fields = {
        "conditions": dict(CONDITIONS),
        "samples": 37,
        "low_ms": low,
        "median_ms": median,
        "high_ms": high,
        "peak_bytes": 7_000_000_000,
        "last_loss": 1.2355,
    }
    return answer.Result(**fields | changes)


def passes(answer, baseline, current, least, name):
    reasons = answer.gate(baseline, current, least)
    expect(reasons == [], f"{name} is refused: {reasons}")


def refused(answer, baseline, current, least, name, count=1):
    reasons = answer.gate(baseline, current, least)
    expect(len(reasons) == count, f"{name}: {len(reasons)} reasons, expected {count}: {reasons}")


def incomparable(answer, baseline, current, name):
    try:
        reasons = answer.gate(baseline, current, 1.0)
    except answer.NotComparableError:
        return
    raise AssertionError(f"{name}: returned {reasons}, expected NotComparableError")


def case_clear(answer, random):
    """A clear speed-up, and one that is clearly too small"""
    scale = random.uniform(0.1, 9)
    baseline = result(answer, *(scale * ms for ms in (67.26, 67.28, 67.29)))
    current = result(answer, *(scale * ms for ms in (25.55, 25.68, 25.85)))
    passes(answer, baseline, current, 2.5, "2.62× where 2.5× are required")
    refused(answer, baseline, current, 3.0, "2.62× where 3× are required")


def case_interval(answer, random):
    """The median reaches the requirement, and the interval does not"""
    scale = random.uniform(0.1, 9)
    baseline = result(answer, *(scale * ms for ms in (97.0, 100.0, 104.0)))
    current = result(answer, *(scale * ms for ms in (73.0, 76.0, 79.0)))
    refused(answer, baseline, current, 1.3, "1.32×, at least 1.23×, where 1.3× are required")
    passes(answer, baseline, current, 1.2, "1.32×, at least 1.23×, where 1.2× are required")


def case_other_conditions(answer, random):
    """Another device, another dtype, or a condition that only one result has"""
    baseline, current = result(answer, 9, 10, 11), result(answer, 4, 5, 6)
    name = random.choice(sorted(CONDITIONS))
    other = dataclasses.replace(current, conditions=CONDITIONS | {name: "another"})
    incomparable(answer, baseline, other, f"another {name}")
    more = dataclasses.replace(current, conditions=CONDITIONS | {"cache": "hot"})
    incomparable(answer, baseline, more, "a hot cache beside an unknown one")
    incomparable(answer, more, baseline, "an unknown cache beside a hot one")


def case_few_samples(answer, random):
    """Five samples have no interval"""
    few = result(answer, 4, 5, 6, samples=random.randint(1, 5))
    incomparable(answer, result(answer, 9, 10, 11), few, f"{few.samples} samples")
    incomparable(answer, dataclasses.replace(few, low_ms=9), result(answer, 4, 5, 6), "a baseline of few samples")


def case_missing_gradient(answer, random):
    """Three times as fast, because the backward is missing"""
    current = result(answer, 20, 21, 22, without_gradient=["norm.weight", "mlp.up.weight"])
    refused(answer, result(answer, 66, 67, 68), current, 1.5, "a version without gradients")


def case_loss(answer, random):
    """The loss does not fall as before, or is NaN"""
    baseline = result(answer, 66, 67, 68)
    for loss in (1.2355 * random.uniform(1.1, 3), 1.2355 * random.uniform(0.1, 0.9), float("nan")):
        refused(answer, baseline, result(answer, 20, 21, 22, last_loss=loss), 1.5, f"a last loss of {loss:.3f}")
    close = result(answer, 20, 21, 22, last_loss=1.2355 * random.uniform(0.97, 1.03))
    passes(answer, baseline, close, 1.5, "a loss within 5 %")


def case_memory(answer, random):
    """More memory than before"""
    baseline = result(answer, 66, 67, 68)
    refused(answer, baseline, result(answer, 20, 21, 22, peak_bytes=7_900_000_000), 1.5, "13 % more memory")
    passes(answer, baseline, result(answer, 20, 21, 22, peak_bytes=7_500_000_000), 1.5, "7 % more memory")


def case_all_reasons(answer, random):
    """Several things are wrong: all are reported"""
    bad = result(answer, 60, 66, 70, peak_bytes=9_000_000_000, last_loss=9.0, without_gradient=["a"])
    refused(answer, result(answer, 66, 67, 68), bad, 1.1, "a version with four faults", count=4)
