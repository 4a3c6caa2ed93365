"""Conditions of a host: sensors of both vendors from recorded responses, the audit, and settings before an import."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from hipward_kernels.environment import validate
from hipward_kernels.environment.allocator import NAMES, problem
from hipward_kernels.environment.audit import audit, precision_note
from hipward_kernels.environment.gpu_utils import (
    configure_memory_optimizations,
    detect_gpu_vendor,
    expected_vendor,
)
from hipward_kernels.environment.sensors import AmdSmi, Nvml, Reading, Sysfs, UnreadableError, sensors_of

ROOT = Path(__file__).parent.parent
ADDRESS = "0000:c1:00.0"


def amd_host(root: Path) -> Path:
    """The files that the amdgpu driver shows of an MI300X under load."""
    device = root / "bus" / "pci" / "devices" / ADDRESS
    files = {
        "pp_dpm_sclk": "S: 94Mhz\n0: 132Mhz\n1: 1873Mhz *\n2: 2100Mhz\n",
        "pp_dpm_mclk": "0: 900Mhz\n1: 1300Mhz *\n",
        "gpu_busy_percent": "87\n",
        "current_compute_partition": "SPX\n",
        "current_memory_partition": "NPS1\n",
        "hwmon/hwmon4/freq1_input": "1874000000\n",
        "hwmon/hwmon4/temp2_input": "61000\n",
        "hwmon/hwmon4/temp3_input": "48000\n",
        "hwmon/hwmon4/power1_input": "512000000\n",
    }
    for name, text in files.items():
        (device / name).parent.mkdir(parents=True, exist_ok=True)
        (device / name).write_text(text)
    (root / "class" / "kfd" / "kfd" / "proc" / "4711").mkdir(parents=True)
    return root


def test_amd_gpu_is_read_from_sysfs(tmp_path: Path) -> None:
    sensors = Sysfs(ADDRESS, amd_host(tmp_path))
    assert sensors.read() == Reading(1874, 1300, 61.0, 512.0, 87.0, None)
    assert sensors.max_sm_mhz() == 2100
    assert sensors.other_processes() == [4711]
    assert sensors.partition() == "SPX/NPS1"


def test_amd_clock_is_read_from_levels_without_a_frequency_sensor(tmp_path: Path) -> None:
    (amd_host(tmp_path) / "bus/pci/devices" / ADDRESS / "hwmon/hwmon4/freq1_input").unlink()
    assert Sysfs(ADDRESS, tmp_path).read().sm_mhz == 1873


def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="pp_dpm_sclk cannot be read"):
        Sysfs(ADDRESS, tmp_path)
    with pytest.raises(UnreadableError, match="the clocks of a processor are not read"):
        sensors_of(torch.device("cpu"))


class FakeSmi(SimpleNamespace):
    """AMD SMI's Python interface, with the answers of its documentation."""

    AmdSmiClkType = SimpleNamespace(GFX="gfx", MEM="mem")
    AmdSmiTemperatureType = SimpleNamespace(HOTSPOT="hotspot")
    AmdSmiTemperatureMetric = SimpleNamespace(CURRENT="current")

    def amdsmi_init(self) -> None: ...
    def amdsmi_get_processor_handles(self) -> list[str]:
        return ["first", "second"]

    def amdsmi_get_gpu_device_bdf(self, handle: str) -> str:
        return {"first": "0000:05:00.0", "second": ADDRESS.upper()}[handle]

    def amdsmi_get_clock_info(self, handle: str, kind: str) -> dict[str, Any]:
        assert handle == "second"
        return {"gfx": {"clk": 1500, "max_clk": 2100}, "mem": {"clk": 1300, "max_clk": 1300}}[kind]

    def amdsmi_get_power_info(self, _handle: str) -> dict[str, Any]:
        return {"current_socket_power": "N/A", "average_socket_power": 340}

    def amdsmi_get_temp_metric(self, _handle: str, _sensor: str, _metric: str) -> int:
        return 55

    def amdsmi_get_gpu_activity(self, _handle: str) -> dict[str, Any]:
        raise RuntimeError("AMDSMI_STATUS_NOT_SUPPORTED")

    def amdsmi_get_gpu_process_list(self, _handle: str) -> list[dict[str, Any]]:
        return [{"name": "python", "pid": 17}]


def test_amd_smi_is_the_fallback_and_missing_values_are_none() -> None:
    sensors = AmdSmi(ADDRESS, FakeSmi())
    assert sensors.read() == Reading(1500, 1300, 55, 340, None, None)
    assert (sensors.max_sm_mhz(), sensors.other_processes(), sensors.partition()) == (2100, [17], None)
    with pytest.raises(UnreadableError, match="AMD SMI cannot be used"):
        AmdSmi("0000:99:00.0", FakeSmi())


class FakeNvml:
    """NVML's functions, with the signatures of nvml.h."""

    def __init__(self, reasons: int = 0) -> None:
        self.reasons = reasons

    def nvmlInit_v2(self) -> int:  # noqa: N802 - NVML's names
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, _handle: Any) -> int:  # noqa: N802
        return 0 if uuid == b"GPU-aa-bb" else 6

    def __getattr__(self, name: str) -> Any:
        answers = {
            "nvmlDeviceGetPowerUsage": 412_500,
            "nvmlDeviceGetCurrentClocksThrottleReasons": self.reasons,
            "nvmlDeviceGetTemperature": 44,
            "nvmlDeviceGetMaxClockInfo": 1980,
        }

        def call(_handle: Any, *arguments: Any) -> int:
            if name == "nvmlDeviceGetClockInfo":
                arguments[-1]._obj.value = {1: 1755, 2: 3201}[arguments[0]]
            elif name == "nvmlDeviceGetUtilizationRates":
                arguments[-1]._obj.gpu = 93
            elif name == "nvmlDeviceGetComputeRunningProcesses_v3":
                arguments[0]._obj.value = 1
                arguments[1][0].pid = 99
            elif name in answers:
                arguments[-1]._obj.value = answers[name]
            else:
                return 3  # NVML_ERROR_NOT_SUPPORTED
            return 0

        return call


@pytest.mark.parametrize(
    ("reasons", "slowed"), [(0, None), (0x4, None), (0x1, None), (0x44, "heat"), (0x80, "power brake")]
)
def test_nvidia_gpu_is_read_from_nvml(reasons: int, slowed: str | None) -> None:
    sensors = Nvml("aa-bb", FakeNvml(reasons))
    assert sensors.read() == Reading(1755, 3201, 44, 412.5, 93.0, slowed, power_capped=bool(reasons & 0x4))
    assert (sensors.max_sm_mhz(), sensors.other_processes(), sensors.partition()) == (1980, [99], None)
    with pytest.raises(UnreadableError, match="does not know the GPU GPU-cc"):
        Nvml("cc", FakeNvml())


def test_structures_have_the_size_of_nvmls() -> None:
    from hipward_kernels.environment import sensors

    assert ctypes.sizeof(sensors._Process) == 24
    assert ctypes.sizeof(sensors._Utilization) == 8


def test_audit_names_the_setting_and_the_command(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/numa_balancing").write_text("1\n")
    variables = {"TORCHINDUCTOR_MAX_AUTOTUNE": "1", "HIP_FORCE_DEV_KERNARG": "1"}
    findings = {finding.name: finding for finding in audit("amd", variables, tmp_path)}
    autotune = findings["TORCHINDUCTOR_MAX_AUTOTUNE"]
    assert (autotune.state, autotune.found, autotune.command) == ("change", "1", "unset TORCHINDUCTOR_MAX_AUTOTUNE")
    numa = findings["/proc/sys/kernel/numa_balancing"]
    assert (numa.state, numa.command) == ("change", "sudo sh -c 'echo 0 > /proc/sys/kernel/numa_balancing'")
    assert findings["HIP_FORCE_DEV_KERNARG"].state == "good"
    assert findings["PYTORCH_TUNABLEOP_ENABLED"].state == "try"
    # A file that this host lacks is not reported.
    assert "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor" not in findings


def test_audit_omits_settings_of_other_vendors(tmp_path: Path) -> None:
    assert not {"AMD_LOG_LEVEL", "/proc/sys/kernel/numa_balancing"} & {f.name for f in audit("nvidia", {}, tmp_path)}
    assert all(finding.state != "change" for finding in audit("nvidia", {}, tmp_path))
    assert precision_note("highest").command
    assert not precision_note("high").command


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", None),
        ("expandable_segments:True", None),
        (" max_split_size_mb : 512, expandable_segments:False,", None),
        ("roundup_power2_divisions:[256:1,512:2,>:8],backend:native", None),
        ("foo", "'foo' is not of the form name:value"),
        ("expandable_segments=True", "'expandable_segments=True' is not of the form name:value"),
        ("expandable_segments:true", "must be True or False"),
        ("max_split_size_mb:", "is not of the form name:value"),
        ("a:b:c", "is not of the form name:value"),
        (",", "'' is not of the form name:value"),
        ("roundup_power2_divisions:[256:1,512:2", "is not of the form name:value"),
    ],
)
def test_allocator_variable_has_the_expected_form(text: str, says: str | None) -> None:
    wrong = problem(text)
    assert (wrong is None) == (says is None)
    assert says is None or says in str(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_audit_reports_values_that_abort_the_import_of_pytorch(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hipward_kernels.environment.audit"],
        cwd=ROOT,
        env={**os.environ, name: "expandable_segments=True"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert f"change {name} is expandable_segments=True" in done.stdout
    assert f"$ export {name}=expandable_segments:True," in done.stdout
    with pytest.raises(ValueError, match="is not of the form name:value"):
        configure_memory_optimizations("none", {name: "expandable_segments=True"})


def test_memory_settings_precede_the_import_and_preserve_user_values(tmp_path: Path) -> None:
    made: dict[str, str] = {}
    assert configure_memory_optimizations("amd", made) == made == {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    chosen = {"PYTORCH_HIP_ALLOC_CONF": "max_split_size_mb:256"}
    assert configure_memory_optimizations("amd", chosen) == {}
    assert configure_memory_optimizations("none", {}) == {}
    with pytest.warns(UserWarning, match="PyTorch is already imported"):
        configure_memory_optimizations("none")
    (tmp_path / "version.py").write_text("cuda: str | None = None\nhip: str | None = '7.1.52802'\n")
    assert expected_vendor(tmp_path) == "amd"
    code = (
        "from hipward_kernels.environment.gpu_utils import configure_memory_optimizations as c; import sys;"
        "c('nvidia'); assert 'torch' not in sys.modules; import os; print(os.environ['PYTORCH_ALLOC_CONF'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "expandable_segments:True\n"


def test_vendor_is_that_of_the_gpu_in_use() -> None:
    expected = "none" if not torch.cuda.is_available() else "amd" if torch.version.hip else "nvidia"
    assert detect_gpu_vendor() == expected


def test_working_host_passes_validation() -> None:
    command = [
        sys.executable,
        "-m",
        "hipward_kernels.environment.validate",
        "--device",
        "cpu",
        "--skip",
        "torch.compile",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        "ok    device",
        "ok    matrix product",
        "ok    training step",
    ]


def test_transposed_product_fails_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    product = Tensor.__matmul__

    def transposed(a: Tensor, b: Tensor) -> Tensor:
        out = product(a, b)
        return out.T if a.dtype == torch.bfloat16 else out

    monkeypatch.setattr(Tensor, "__matmul__", transposed)
    with pytest.raises(validate.InvalidError, match="relative error of a bf16 matrix product"):
        validate.matrix_product(torch.device("cpu"))
