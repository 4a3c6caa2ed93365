"""The arguments are used by stand-ins for both compilers and linkers."""

from hipward_kernels.exercise import expect

ROCM_LIBRARIES = {"hipblas", "rocblas", "hipblaslt", "hipfft", "hiprand", "hipsparse", "rccl", "MIOpen"}
CUDA_LIBRARIES = {"cublas", "cublasLt", "cufft", "curand", "cusparse", "nccl", "cudnn"}
FOLDER = {"ops.cpp", "ops.cu", "setup.py"}
NVCC_ONLY = ("-gencode", "-arch=", "--use_fast_math", "-use_fast_math", "--expt", "-Xptxas", "--threads", "-maxrregcount")


def called(answer, random, hip):
    version = str(random.randrange(2, 1000))
    arguments = answer.extension("7.2.1" if hip else None, version)
    return arguments, arguments["extra_compile_args"]["nvcc"], version


def case_link(answer, random):
    """The ROCm linker finds every library"""
    libraries = set(called(answer, random, hip=True)[0]["libraries"])
    missing = sorted(libraries - ROCM_LIBRARIES)
    expect(not missing, f"ld.lld: error: unable to find library -l{', -l'.join(missing)}")
    for calls, fitting in (("hipBLAS", {"hipblas"}), ("RCCL", {"rccl"})):
        expect(fitting & libraries, f"undefined symbols: no library for the calls of {calls}")


def case_compile(answer, random):
    """hipcc accepts every option"""
    flags = called(answer, random, hip=True)[1]
    for flag in flags:
        refused = flag.startswith(NVCC_ONLY) or flag.startswith("arch=")
        expect(not refused, f"clang: error: unknown argument: '{flag}'")


def case_definitions(answer, random):
    """Optimization level and definitions stay, on both vendors"""
    for hip in (True, False):
        _, flags, version = called(answer, random, hip)
        vendor = "ROCm" if hip else "CUDA"
        for flag in ("-O3", f"-DOPS_VERSION={version}"):
            expect(flag in flags, f"{vendor}: {flag} is missing in {flags}")


def case_fast_math(answer, random):
    """Fast math stays on ROCm, under clang's name"""
    flags = called(answer, random, hip=True)[1]
    expect("-ffast-math" in flags, f"-ffast-math is missing in {flags}")


def case_sources(answer, random):
    """Every source exists before the build"""
    for hip in (True, False):
        sources = called(answer, random, hip)[0]["sources"]
        missing = sorted(set(sources) - FOLDER)
        expect(not missing, f"{', '.join(missing)}: no such file")
        expect("ops.cu" in sources, "ops.cu is no longer built")


def case_cuda(answer, random):
    """The CUDA build is the same as before"""
    arguments, flags, _ = called(answer, random, hip=False)
    libraries = arguments["libraries"]
    expect(sorted(libraries) == ["cublas", "nccl"], f"libraries: {libraries}")
    text = " ".join(flags)
    expect("use_fast_math" in text and "arch=compute_90,code=sm_90" in text, f"options: {flags}")
