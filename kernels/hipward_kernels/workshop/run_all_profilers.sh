#!/usr/bin/env bash
# Profiles a version with everything that is here: PyTorch's profiler, FLOPs and roofline, operators' traffic, and AMD's
# rocprofv3, rocprof-sys and rocprof-compute where they are installed.
#
#   hipward_kernels/workshop/run_all_profilers.sh --version v2 --batch-size 8 --seq-len 128 --profile-dir profiles/v2
#
# Other options go to the scripts as they are; --enable-rocm-tools makes a missing AMD tool an error. PYTHON names the
# interpreter that has PyTorch, python3 unless it does.
set -euo pipefail

python=${PYTHON:-python3}
version=v2 directory=complete_analysis tools=if-there
passed=()
while (($#)); do
    case $1 in
        --version) version=$2 && shift 2 ;;
        --profile-dir) directory=$2 && shift 2 ;;
        --enable-rocm-tools) tools=needed && shift ;;
        *) passed+=("$1") && shift ;;
    esac
done
if [[ $tools == needed ]]; then
    for tool in rocprofv3 rocprof-sys-run rocprof-compute; do
        command -v "$tool" >/dev/null || { echo "$tool is not installed; it comes with ROCm" >&2 && exit 1; }
    done
fi
mkdir -p "$directory"
script=(-m "hipward_kernels.workshop.tiny_llama_$version" --num-steps 10 "${passed[@]}")

"$python" -m hipward_kernels.workshop.run_pytorch_profiler \
    --version "$version" --profile-dir "$directory" --generate-report "${passed[@]}"
"$python" -m hipward_kernels.workshop.run_deepspeed_flops \
    --version "$version" --computational-intensity --generate-roofline --output-dir "$directory" "${passed[@]}" \
    | tee "$directory/flops.md"
"$python" -m hipward_kernels.workshop.memory_bandwidth_analyzer \
    --version "$version" --profile-data "$directory" "${passed[@]}" | tee "$directory/bandwidth.md"

# Runs one of AMD's tools, or says that it is not installed.
amd() {
    if command -v "$1" >/dev/null; then
        "$@"
    else
        echo "$1 is not installed: skipped"
    fi
}

amd rocprofv3 --kernel-trace --stats --truncate-kernels --output-format rocpd csv \
    --output-directory "$directory/rocprofv3" -- "$python" "${script[@]}"
amd rocprof-sys-run --profile --trace --output "$directory/rocprof-sys" -- "$python" "${script[@]}"
amd rocprof-compute profile --output-directory "$directory/rocprof-compute" --no-roof \
    -- "$python" "${script[@]}"
