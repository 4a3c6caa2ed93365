//! AMD SMI's equivalents of pynvml's functions. Data only; `pynvml.rs` contains the replacement code.

pub(super) const GPU_TEMPERATURE: &str = "NVML_TEMPERATURE_GPU";

/// The replacement for a call without arguments.
pub(super) const WITHOUT_ARGUMENT: &[(&str, &str)] = &[
    (
        "nvmlDeviceGetCount",
        "len(amdsmi.amdsmi_get_processor_handles())",
    ),
    (
        "nvmlSystemGetDriverVersion",
        "amdsmi.amdsmi_get_gpu_driver_info(amdsmi.amdsmi_get_processor_handles()[0])[\"driver_version\"]",
    ),
];

/// A pynvml function of a handle, its constant argument, and the text around the handle in the AMD SMI call.
///
/// Power is in milliwatts in NVML; AMD SMI reports the current power in watts and the power cap in microwatts.
/// `{measured}` is `current` on MI300 and later, `average` before: every release of AMD SMI has these keys.
pub(super) const CALLS: &[(&str, &str, &str, &str)] = &[
    (
        "nvmlDeviceGetHandleByIndex",
        "",
        "amdsmi.amdsmi_get_processor_handles()[",
        "]",
    ),
    (
        "nvmlDeviceGetName",
        "",
        "amdsmi.amdsmi_get_gpu_asic_info(",
        ")[\"market_name\"]",
    ),
    (
        "nvmlDeviceGetSerial",
        "",
        "amdsmi.amdsmi_get_gpu_asic_info(",
        ")[\"asic_serial\"]",
    ),
    (
        "nvmlDeviceGetUUID",
        "",
        "amdsmi.amdsmi_get_gpu_device_uuid(",
        ")",
    ),
    (
        "nvmlDeviceGetNumaNodeId",
        "",
        "amdsmi.amdsmi_topo_get_numa_node_number(",
        ")",
    ),
    (
        "nvmlDeviceGetPowerUsage",
        "",
        "(amdsmi.amdsmi_get_power_info(",
        ")[\"{measured}_socket_power\"] * 1000)",
    ),
    (
        "nvmlDeviceGetPowerManagementLimit",
        "",
        "(amdsmi.amdsmi_get_power_cap_info(",
        ")[\"power_cap\"] // 1000)",
    ),
    (
        "nvmlDeviceGetEnforcedPowerLimit",
        "",
        "(amdsmi.amdsmi_get_power_cap_info(",
        ")[\"power_cap\"] // 1000)",
    ),
    (
        "nvmlDeviceGetPowerManagementDefaultLimit",
        "",
        "(amdsmi.amdsmi_get_power_cap_info(",
        ")[\"default_power_cap\"] // 1000)",
    ),
    (
        "nvmlDeviceGetTemperature",
        GPU_TEMPERATURE,
        "amdsmi.amdsmi_get_temp_metric(",
        ", amdsmi.AmdSmiTemperatureType.HOTSPOT, amdsmi.AmdSmiTemperatureMetric.CURRENT)",
    ),
    (
        "nvmlDeviceGetClockInfo",
        "NVML_CLOCK_GRAPHICS",
        "amdsmi.amdsmi_get_clock_info(",
        ", amdsmi.AmdSmiClkType.GFX)[\"clk\"]",
    ),
    (
        "nvmlDeviceGetClockInfo",
        "NVML_CLOCK_SM",
        "amdsmi.amdsmi_get_clock_info(",
        ", amdsmi.AmdSmiClkType.GFX)[\"clk\"]",
    ),
    (
        "nvmlDeviceGetClockInfo",
        "NVML_CLOCK_MEM",
        "amdsmi.amdsmi_get_clock_info(",
        ", amdsmi.AmdSmiClkType.MEM)[\"clk\"]",
    ),
    (
        "nvmlDeviceGetMaxClockInfo",
        "NVML_CLOCK_GRAPHICS",
        "amdsmi.amdsmi_get_clock_info(",
        ", amdsmi.AmdSmiClkType.GFX)[\"max_clk\"]",
    ),
    (
        "nvmlDeviceGetMaxClockInfo",
        "NVML_CLOCK_SM",
        "amdsmi.amdsmi_get_clock_info(",
        ", amdsmi.AmdSmiClkType.GFX)[\"max_clk\"]",
    ),
    (
        "nvmlDeviceGetMaxClockInfo",
        "NVML_CLOCK_MEM",
        "amdsmi.amdsmi_get_clock_info(",
        ", amdsmi.AmdSmiClkType.MEM)[\"max_clk\"]",
    ),
];

/// The AMD SMI function to check for a pynvml function that is not mapped, or whose use is not supported.
pub(super) const COUNTERPARTS: &[(&str, &str)] = &[
    ("nvmlInitWithFlags", "amdsmi_init"),
    ("nvmlDeviceGetMemoryInfo", "amdsmi_get_gpu_vram_usage"),
    ("nvmlDeviceGetUtilizationRates", "amdsmi_get_gpu_activity"),
    (
        "nvmlDeviceGetProcessUtilization",
        "amdsmi_get_gpu_process_list",
    ),
    ("nvmlDeviceGetTemperature", "amdsmi_get_temp_metric"),
    (
        "nvmlDeviceGetTemperatureThreshold",
        "amdsmi_get_temp_metric",
    ),
    ("nvmlDeviceGetClockInfo", "amdsmi_get_clock_info"),
    ("nvmlDeviceGetClock", "amdsmi_get_clock_info"),
    ("nvmlDeviceGetMaxClockInfo", "amdsmi_get_clock_info"),
    ("nvmlDeviceGetApplicationsClock", "amdsmi_get_clk_freq"),
    (
        "nvmlDeviceSetApplicationsClocks",
        "amdsmi_set_gpu_perf_determinism_mode",
    ),
    ("nvmlDeviceSetGpuLockedClocks", "amdsmi_set_gpu_clk_limit"),
    (
        "nvmlDeviceGetComputeRunningProcesses",
        "amdsmi_get_gpu_process_list",
    ),
    (
        "nvmlDeviceGetGraphicsRunningProcesses",
        "amdsmi_get_gpu_process_list",
    ),
    (
        "nvmlDeviceGetHandleByPciBusId",
        "amdsmi_get_processor_handle_from_bdf",
    ),
    ("nvmlDeviceGetHandleByUUID", "amdsmi_get_gpu_device_uuid"),
    ("nvmlDeviceGetHandleBySerial", "amdsmi_get_gpu_asic_info"),
    ("nvmlDeviceGetIndex", "amdsmi_get_processor_handles"),
    ("nvmlDeviceGetMinorNumber", "amdsmi_get_gpu_kfd_info"),
    ("nvmlDeviceGetBrand", "amdsmi_get_gpu_board_info"),
    ("nvmlDeviceGetBoardPartNumber", "amdsmi_get_gpu_board_info"),
    ("nvmlDeviceGetVbiosVersion", "amdsmi_get_gpu_vbios_info"),
    (
        "nvmlDeviceGetCudaComputeCapability",
        "amdsmi_get_gpu_asic_info",
    ),
    ("nvmlDeviceGetNumGpuCores", "amdsmi_get_gpu_asic_info"),
    ("nvmlDeviceGetPowerState", "amdsmi_get_gpu_perf_level"),
    ("nvmlDeviceGetPerformanceState", "amdsmi_get_gpu_perf_level"),
    (
        "nvmlDeviceGetPowerManagementLimitConstraints",
        "amdsmi_get_power_cap_info",
    ),
    ("nvmlDeviceSetPowerManagementLimit", "amdsmi_set_power_cap"),
    (
        "nvmlDeviceGetTotalEnergyConsumption",
        "amdsmi_get_energy_count",
    ),
    ("nvmlDeviceGetPciInfo", "amdsmi_get_gpu_device_bdf"),
    (
        "nvmlDeviceGetCurrPcieLinkGeneration",
        "amdsmi_get_pcie_info",
    ),
    ("nvmlDeviceGetCurrPcieLinkWidth", "amdsmi_get_pcie_info"),
    ("nvmlDeviceGetMaxPcieLinkGeneration", "amdsmi_get_pcie_info"),
    ("nvmlDeviceGetMaxPcieLinkWidth", "amdsmi_get_pcie_info"),
    (
        "nvmlDeviceGetPcieThroughput",
        "amdsmi_get_gpu_pci_throughput",
    ),
    (
        "nvmlDeviceGetPcieReplayCounter",
        "amdsmi_get_gpu_pci_replay_counter",
    ),
    ("nvmlDeviceGetFanSpeed", "amdsmi_get_gpu_fan_speed"),
    ("nvmlDeviceGetEccMode", "amdsmi_get_gpu_ecc_enabled"),
    (
        "nvmlDeviceGetTotalEccErrors",
        "amdsmi_get_gpu_total_ecc_count",
    ),
    (
        "nvmlDeviceGetMemoryErrorCounter",
        "amdsmi_get_gpu_ecc_count",
    ),
    ("nvmlDeviceGetRetiredPages", "amdsmi_get_gpu_bad_page_info"),
    ("nvmlDeviceGetRemappedRows", "amdsmi_get_gpu_bad_page_info"),
    (
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        "amdsmi_get_violation_status",
    ),
    (
        "nvmlDeviceGetCurrentClocksEventReasons",
        "amdsmi_get_violation_status",
    ),
    ("nvmlDeviceGetFieldValues", "amdsmi_get_gpu_metrics_info"),
    ("nvmlDeviceGetSamples", "amdsmi_get_gpu_metrics_info"),
    ("nvmlDeviceGetP2PStatus", "amdsmi_is_P2P_accessible"),
    (
        "nvmlDeviceGetTopologyCommonAncestor",
        "amdsmi_topo_get_link_type",
    ),
    (
        "nvmlDeviceGetTopologyNearestGpus",
        "amdsmi_get_link_topology_nearest",
    ),
    ("nvmlDeviceGetNvLinkState", "amdsmi_get_xgmi_info"),
    ("nvmlDeviceGetNvLinkRemotePciInfo", "amdsmi_get_xgmi_info"),
    (
        "nvmlDeviceGetNvLinkUtilizationCounter",
        "amdsmi_get_gpu_metrics_info",
    ),
    (
        "nvmlDeviceGetCpuAffinity",
        "amdsmi_get_cpu_affinity_with_scope",
    ),
    (
        "nvmlDeviceGetCpuAffinityWithinScope",
        "amdsmi_get_cpu_affinity_with_scope",
    ),
    (
        "nvmlDeviceSetCpuAffinity",
        "amdsmi_get_gpu_topo_numa_affinity",
    ),
    (
        "nvmlDeviceGetMemoryAffinity",
        "amdsmi_get_gpu_topo_numa_affinity",
    ),
    ("nvmlDeviceGetMigMode", "amdsmi_get_gpu_compute_partition"),
    (
        "nvmlDeviceIsMigDeviceHandle",
        "amdsmi_get_gpu_compute_partition",
    ),
    (
        "nvmlDeviceGetMaxMigDeviceCount",
        "amdsmi_get_gpu_compute_partition",
    ),
    (
        "nvmlDeviceGetMigDeviceHandleByIndex",
        "amdsmi_get_processor_handles",
    ),
    ("nvmlSystemGetNVMLVersion", "amdsmi_get_lib_version"),
    (
        "nvmlSystemGetCudaDriverVersion",
        "amdsmi_get_gpu_driver_info",
    ),
];
