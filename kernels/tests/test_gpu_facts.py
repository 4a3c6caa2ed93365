"""The table of GPU facts: every figure has a source, and products are found by the names that PyTorch reports."""

from __future__ import annotations

import re

import pytest
import torch

from hipward_kernels.compile.occupancy import occupancy
from hipward_kernels.gpu.arch import fp8_dtype
from hipward_kernels.gpu.facts import MIB, archs, product_named, products, products_of, sources, wavefront_of


@pytest.mark.parametrize(
    ("device_name", "product"),
    [
        ("AMD Instinct MI300X", "MI300X"),
        ("AMD Instinct MI355X", "MI355X"),
        ("AMD Instinct MI250X/MI250", "MI250X"),
        ("AMD Instinct MI250", "MI250"),
        ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX"),
        ("AMD Radeon RX 7900 XT", "Radeon RX 7900 XT"),
        ("AMD Radeon RX 9070", "Radeon RX 9070"),
        ("AMD Radeon RX 9070 GRE", None),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA GH200 480GB", None),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA GeForce RTX 4090", None),
    ],
)
def test_product_is_found_by_device_name(device_name: str, product: str | None) -> None:
    found = product_named(device_name)
    assert (found and found.name) == product


def test_every_product_has_an_architecture_and_every_figure_has_a_source() -> None:
    groups = {
        "units": ("compute_units", "xcds"),
        "memory": ("memory_gb", "bandwidth_tbs"),
        "caches": ("l2_mib", "infinity_cache_mib"),
        "peak": ("peak",),
    }
    for product in products():
        assert product.arch in archs()
        assert re.search(product.match, product.name.replace(" SXM", "")), product.name
        for group, figures in groups.items():
            stated = any(getattr(product, figure) for figure in figures)
            assert stated == (group in product.sources), f"{product.name}: {group}"
        assert all(key in sources() for keys in product.sources.values() for key in keys), product.name
    assert all(key in sources() for arch in archs().values() for key in arch.sources)
    assert all(source["url"].startswith("https://") for source in sources().values())


def test_peaks_are_higher_for_narrower_types() -> None:
    order = ("fp64_matrix", "fp32_matrix", "tf32_matrix", "bf16_matrix", "fp16_matrix", "fp8_matrix", "fp4_matrix")
    for product in products():
        rates = [product.peak[name] for name in order if name in product.peak]
        assert rates == sorted(rates), product.name


def test_reduced_precision_applies_only_to_float32() -> None:
    mi300x = product_named("MI300X")
    assert mi300x is not None
    assert mi300x.matrix_peak(torch.float32) == pytest.approx(163.4e12)
    assert mi300x.matrix_peak(torch.float32, reduced_precision=True) == pytest.approx(653.7e12)
    assert mi300x.matrix_peak(torch.bfloat16, reduced_precision=True) == pytest.approx(1307.4e12)
    assert mi300x.matrix_peak(torch.float8_e4m3fnuz) == pytest.approx(2614.9e12)
    assert mi300x.matrix_peak(torch.int8) is None


def test_mi300x_cache_includes_the_infinity_cache() -> None:
    assert max(product.cache_bytes or 0 for product in products_of("gfx942")) == (32 + 256) * MIB


def test_wavefronts_and_fp8_formats_follow_the_table() -> None:
    assert [wavefront_of(arch) for arch in ("gfx90a", "gfx942", "gfx950")] == [64, 64, 64]
    assert [wavefront_of(arch) for arch in ("gfx1100", "gfx1201", "gfx1250", "sm_90")] == [32, 32, 32, 32]
    assert [wavefront_of(arch) for arch in ("gfx906", "gfx1030", "sm_120")] == [64, 32, 32], "not in the table"
    assert fp8_dtype("gfx942") is torch.float8_e4m3fnuz
    assert fp8_dtype("gfx950") is fp8_dtype("gfx1201") is fp8_dtype("sm_89") is torch.float8_e4m3fn
    assert fp8_dtype("gfx90a") is fp8_dtype("gfx1100") is fp8_dtype("sm_80") is None


def test_occupancy_uses_the_limits_of_the_architecture() -> None:
    # A workgroup of 16 wavefronts of 32 lanes: registers for all 16 of each of four SIMDs of a workgroup processor.
    assert occupancy("gfx1100", 16, 0, 16).waves_per_cu == 64
    assert occupancy("gfx1100", 16, 0, 16).limited_by == "hardware"
    assert occupancy("gfx1201", 16, 48 * 1024, 4).limited_by == "lds"
    assert occupancy("gfx1201", 16, 48 * 1024, 4).waves_per_cu == 8
    assert occupancy("gfx1250", 16, 64 * 1024, 4).waves_per_cu == 20
    assert occupancy("gfx942", 8, 64 * 1024, 4).waves_per_cu == 4
