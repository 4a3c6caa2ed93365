"""Timing and checking one call, and comparing its time with the roofline."""

from __future__ import annotations

import math

import pytest
import torch

from hipward_kernels.bench.perftest import Performance, check_allclose, copy_rate, perftest
from hipward_kernels.gpu.facts import product_named
from hipward_kernels.gpu.roofline import floor


def test_call_is_timed_and_compared_with_a_copy() -> None:
    x = torch.randn(1 << 16)
    result, took = perftest(torch.add, x, x, bytes_moved=3 * x.nbytes, samples=20)
    assert torch.equal(result, x + x)
    assert took.low_ms <= took.milliseconds <= took.high_ms
    assert took.gigabytes_per_second == pytest.approx(3 * x.nbytes / took.milliseconds / 1e6)
    if not torch.cuda.is_available():
        assert took.copy_share == pytest.approx(took.gigabytes_per_second / copy_rate(x.device))
        assert took.peak_share is None
    with pytest.raises(ValueError, match="no argument is a tensor"):
        perftest(math.sqrt, 2.0, bytes_moved=8)


def test_performance_is_described_in_a_sentence() -> None:
    took = Performance(0.07, 0.0699, 0.0701, 3830.0, 12.0, 0.9, 0.8, "memory")
    assert str(took) == "70.0 µs ±0.1%, 3830 GB/s: 80% of peak, 90% of copy, memory-bound"


def test_floor_names_the_deciding_limit() -> None:
    gpu = product_named("AMD Instinct MI300X")
    assert gpu is not None
    rmsnorm = floor(gpu, torch.bfloat16, 2 * 16384 * 4096 * 2, 4 * 16384 * 4096)
    assert rmsnorm is not None
    assert rmsnorm.bound == "memory"
    assert rmsnorm.seconds == pytest.approx(2 * 16384 * 4096 * 2 / 5.3e12)
    product = floor(gpu, torch.bfloat16, 3 * 8192 * 8192 * 2, 2 * 8192**3)
    assert product is not None
    assert product.bound == "compute"
    assert product.seconds == pytest.approx(2 * 8192**3 / 1307.4e12)


def test_floor_is_none_without_a_rate() -> None:
    gpu = product_named("AMD Radeon RX 9070 XT")
    assert gpu is not None
    assert floor(gpu, torch.bfloat16, 1024, 0) is None


def test_nearly_equal_tensors_pass_and_others_report_their_distance() -> None:
    expected = torch.ones(100)
    got = expected.clone()
    assert check_allclose(got, expected) == 0.0
    got[3] = 1.5
    assert check_allclose(got, expected, share=0.01) == pytest.approx(0.01)
    with pytest.raises(AssertionError, match=r"1\.00% of 100 elements .* Largest difference 0\.5"):
        check_allclose(got, expected)
    got[3] = torch.nan
    with pytest.raises(AssertionError):
        check_allclose(got, expected)
    with pytest.raises(AssertionError, match="shapes differ"):
        check_allclose(got[:5], expected)
