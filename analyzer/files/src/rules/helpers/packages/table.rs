//! The packages, and what each does on ROCm.

use hipward_analyzer_core::{Severity, Version};

/// A package.
pub(super) struct Package {
    /// As indexes normalize names; a final `*` matches any suffix. Hyphens do not count: a repository may be called
    /// `TransformerEngine`.
    pub(super) name: &'static str,
    /// The rule that reports it, here and in code.
    pub(super) owner: &'static str,
    pub(super) severity: Severity,
    /// The behavior on ROCm.
    pub(super) message: &'static str,
    pub(super) advice: &'static str,
    /// The name of a replacement.
    pub(super) instead: Option<&'static str>,
    /// The first version that is not reported.
    pub(super) fine_from: Option<Version>,
}

const fn unavailable(
    name: &'static str,
    owner: &'static str,
    message: &'static str,
    advice: &'static str,
) -> Package {
    Package {
        name,
        owner,
        severity: Severity::Error,
        message,
        advice,
        instead: None,
        fine_from: None,
    }
}

const fn other_build(
    name: &'static str,
    owner: &'static str,
    message: &'static str,
    advice: &'static str,
) -> Package {
    Package {
        severity: Severity::Warning,
        ..unavailable(name, owner, message, advice)
    }
}

/// A package of NVML. Installing it does no harm; the rule reports its imports as errors.
const fn nvml(name: &'static str) -> Package {
    Package {
        instead: Some("amdsmi"),
        ..other_build(
            name,
            "pynvml",
            "NVML reads NVIDIA's driver only; on a ROCm host its calls fail.",
            "Require amdsmi, which comes with ROCm",
        )
    }
}

/// A wheel that contains one of NVIDIA's libraries: `nvidia-` and one of these beginnings.
const LIBRARIES: &str = "cublas cuda- cudnn cufft cufile curand cusolver cusparse nccl npp \
    nvcomp nvimgcodec nvjitlink nvjpeg nvshmem nvtx nvvm mathdx";

static LIBRARY: Package = other_build(
    "",
    OWN,
    "This package contains NVIDIA's libraries; ROCm's PyTorch includes its own and does not load them.",
    "Remove it on ROCm: PyTorch's wheel requires the packages it needs",
);

fn is_library(name: &str) -> bool {
    name.strip_prefix("nvidia-").is_some_and(|rest| {
        !rest.contains("rocm") && LIBRARIES.split(' ').any(|start| rest.starts_with(start))
    })
}

/// A wheel that is named after the CUDA release it is built for: `acme-cu12`, `acme-cuda12x`.
static CUDA_WHEEL: Package = unavailable(
    "",
    OWN,
    "The name says that this package is built for CUDA.",
    "Look for the project's build for ROCm",
);

fn is_cuda_wheel(name: &str) -> bool {
    let end = name.rsplit('-').next().unwrap_or_default();
    let release = end.strip_prefix("cuda").or_else(|| end.strip_prefix("cu"));
    release.is_some_and(|release| {
        let digits = release.trim_end_matches('x');
        (2..=3).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// The rule for packages without a rule of their own.
pub(super) const OWN: &str = "nvidia-package";

/// Sources: the packages' own pages and install guides, read in November 2026.
const PACKAGES: &[Package] = &[
    nvml("nvidia-ml-py"),
    // The former name of `nvidia-ml-py`, and the package that contains the module `nvidia_smi`.
    Package {
        instead: None,
        ..nvml("nvidia-ml-py3")
    },
    nvml("pynvml"),
    nvml("py3nvml"),
    other_build(
        "flash-attn",
        "flash-attn",
        "flash-attn has no prebuilt ROCm wheel here: build it from source, after installing ROCm's PyTorch and hipcc.",
        "Build it for ROCm (--no-build-isolation), or use aiter or scaled_dot_product_attention",
    ),
    other_build(
        "apex",
        "apex",
        "NVIDIA's apex builds CUDA kernels; AMD maintains a fork of it.",
        "Build https://github.com/ROCm/apex, or use PyTorch's own AMP and fused optimizers; PyPI's apex is another project",
    ),
    Package {
        instead: Some("cupy-rocm-7-0"),
        ..unavailable(
            "cupy-cuda*",
            "cupy",
            "This CuPy wheel is built for CUDA; on a ROCm host it finds no GPU.",
            "Require cupy-rocm-7-0",
        )
    },
    Package {
        instead: Some("cupy-rocm-7-0"),
        ..other_build(
            "cupy",
            "cupy",
            "This is CuPy's source, which is built for CUDA unless CUPY_INSTALL_USE_HIP is set.",
            "Require cupy-rocm-7-0",
        )
    },
    Package {
        severity: Severity::Info,
        ..other_build(
            "nvtx",
            "nvtx",
            "The nvtx package marks ranges for NVIDIA's profilers only; on a ROCm host it has no effect.",
            "Mark ranges with torch.cuda.nvtx, which is roctx in a ROCm build",
        )
    },
    other_build(
        "xformers",
        "xformers",
        "PyPI's xformers wheels are built for CUDA; those for ROCm are in PyTorch's ROCm indexes.",
        "Install it from the ROCm index of your PyTorch, or use scaled_dot_product_attention",
    ),
    Package {
        fine_from: Some(Version::new(0, 49)),
        ..other_build(
            "bitsandbytes",
            "bitsandbytes",
            "Before 0.49 bitsandbytes has no support for AMD GPUs, or only experimental support.",
            "Require a current bitsandbytes",
        )
    },
    // Read in the sdists of 0.7.7 to 0.8.3; https://github.com/deepspeedai/DeepSpeed/pull/2863
    Package {
        fine_from: Some(Version::new(0, 8)),
        ..unavailable(
            "deepspeed",
            OWN,
            "Before 0.8.2 DeepSpeed imports torch._six, which PyTorch 2 does not have.",
            "Require a current DeepSpeed",
        )
    },
    // https://pypi.org/project/timm/0.3.2/, timm/models/layers/helpers.py
    Package {
        fine_from: Some(Version::new(0, 4)),
        ..unavailable(
            "timm",
            OWN,
            "Before 0.4 timm imports torch._six, which PyTorch 2 does not have.",
            "Require timm 0.4.12 or later",
        )
    },
    // https://pypi.org/project/basicsr/1.4.2/: basicsr/data/degradations.py. It is the newest release; the others require it.
    unavailable(
        "basicsr",
        OWN,
        "basicsr imports torchvision.transforms.functional_tensor, which torchvision does not have since 0.17.",
        "Install it, and import rgb_to_grayscale from torchvision.transforms.functional in its degradations.py",
    ),
    unavailable(
        "gfpgan",
        OWN,
        "gfpgan imports basicsr, and that torchvision.transforms.functional_tensor, which torchvision does not have since 0.17.",
        "Correct the import in basicsr's degradations.py",
    ),
    unavailable(
        "realesrgan",
        OWN,
        "realesrgan imports basicsr, and that torchvision.transforms.functional_tensor, which torchvision does not have since 0.17.",
        "Correct the import in basicsr's degradations.py",
    ),
    // https://pypi.org/project/torchdata/0.6.1/: torch==2.0.1
    Package {
        fine_from: Some(Version::new(0, 7)),
        ..other_build(
            "torchdata",
            OWN,
            "Before 0.7 torchdata requires one release of torch, which pip installs from PyPI, for CUDA.",
            "Require torchdata 0.7 to 0.9, or a current one, which has no datapipes",
        )
    },
    // https://docs.pytorch.org/FBGEMM/fbgemm_gpu/development/InstallationInstructions.html
    other_build(
        "fbgemm-gpu",
        OWN,
        "PyPI's FBGEMM is built for CUDA; its kernels do not run on an AMD GPU.",
        "Install it from the ROCm index of your PyTorch, or build it",
    ),
    other_build(
        "fbgemm-gpu-genai",
        OWN,
        "PyPI's FBGEMM is built for CUDA; its kernels do not run on an AMD GPU.",
        "Install it from the ROCm index of your PyTorch, or build it",
    ),
    // https://docs.vllm.ai/en/latest/getting_started/installation/gpu/
    other_build(
        "vllm",
        OWN,
        "PyPI's vLLM is built for CUDA; the wheels for ROCm are in vLLM's own index, from 0.14 on.",
        "Install it from the index https://wheels.vllm.ai/rocm/, or use its image for ROCm",
    ),
    // https://github.com/OpenNMT/CTranslate2/pull/2004
    other_build(
        "ctranslate2",
        OWN,
        "PyPI's CTranslate2 is built for CUDA; on ROCm it finds no GPU.",
        "Install CTranslate2's ROCm wheel, a file of its releases on GitHub since 4.7",
    ),
    // It requires CTranslate2.
    other_build(
        "faster-whisper",
        OWN,
        "PyPI's CTranslate2 is built for CUDA; on ROCm it finds no GPU.",
        "Install CTranslate2's ROCm wheel, a file of its releases on GitHub since 4.7",
    ),
    // https://github.com/NVIDIA/warp/pull/1932
    unavailable(
        "tiny-cuda-nn",
        OWN,
        "tiny-cuda-nn is CUDA code without a ROCm build.",
        "Write the network in PyTorch and compile it",
    ),
    // https://rocm.docs.amd.com/projects/gsplat/en/latest/install/gsplat-install.html
    other_build(
        "gsplat",
        OWN,
        "PyPI's gsplat compiles CUDA code at its first use; AMD's build is another package.",
        "Install amd_gsplat from the index https://pypi.amd.com/rocm-7.0.0/simple/",
    ),
    other_build(
        "deepspeed-kernels",
        OWN,
        "deepspeed-kernels contains compiled CUDA code, which DeepSpeed's inference engine v2 loads.",
        "Serve large language models with vLLM or SGLang, which have builds for ROCm",
    ),
    other_build(
        "deepspeed-mii",
        OWN,
        "deepspeed-mii's engine loads deepspeed-kernels, compiled CUDA code; only its legacy API does without.",
        "Serve large language models with vLLM or SGLang, which have builds for ROCm",
    ),
    other_build(
        "auto-gptq",
        OWN,
        "PyPI's auto-gptq is built for CUDA, and the project is archived.",
        "Use GPTQModel, which can be built for ROCm",
    ),
    // https://github.com/state-spaces/mamba/pull/831, in 2.3.1
    Package {
        fine_from: Some(Version::new(2, 3)),
        ..unavailable(
            "mamba-ssm",
            OWN,
            "Before 2.3.1 mamba-ssm does not compile with ROCm 7.",
            "Require mamba-ssm 2.3.1 or later",
        )
    },
    unavailable(
        "cpm-kernels",
        OWN,
        "cpm-kernels contains machine code for NVIDIA GPUs.",
        "Leave it out: only ChatGLM's quantized models of 2023 import it",
    ),
    other_build(
        "warp-lang",
        OWN,
        "Warp's kernels run on NVIDIA GPUs and CPUs only.",
        "Port the kernels to Triton or PyTorch",
    ),
    unavailable(
        "eetq",
        OWN,
        "EETQ's kernels are CUDA.",
        "Quantize with torchao or bitsandbytes",
    ),
    // https://github.com/turboderp-org/exllamav3/issues/41
    unavailable(
        "exllamav3",
        OWN,
        "ExLlamaV3's kernels are CUDA.",
        "Use exllamav2, with a model in its format",
    ),
    unavailable(
        "tensorrt*",
        "tensorrt",
        "TensorRT runs on NVIDIA GPUs only.",
        "Use MIGraphX or torch.compile",
    ),
    unavailable(
        "nvidia-tensorrt",
        "tensorrt",
        "TensorRT runs on NVIDIA GPUs only.",
        "Use MIGraphX or torch.compile",
    ),
    unavailable(
        "torch-tensorrt",
        "tensorrt",
        "TensorRT runs on NVIDIA GPUs only.",
        "Use torch_migraphx or torch.compile",
    ),
    unavailable(
        "nvidia-dali-*",
        "dali",
        "DALI runs on NVIDIA GPUs only.",
        "Use rocAL, or a data loader on the CPU",
    ),
    other_build(
        "cuda-python",
        "cuda-python",
        "cuda-python binds NVIDIA's driver and runtime; a ROCm host has neither.",
        "Use hip-python",
    ),
    other_build(
        "cuda-bindings",
        "cuda-python",
        "cuda-python binds NVIDIA's driver and runtime; a ROCm host has neither.",
        "Use hip-python",
    ),
    unavailable(
        "pycuda",
        "cuda-python",
        "PyCUDA binds NVIDIA's driver; a ROCm host does not have it.",
        "Use hip-python, or a PyTorch extension",
    ),
    unavailable(
        "numba-cuda",
        "cuda-python",
        "numba-cuda compiles for NVIDIA GPUs only.",
        "Use numba-hip, or Triton",
    ),
    Package {
        instead: Some("onnxruntime-migraphx"),
        ..unavailable(
            "onnxruntime-gpu",
            OWN,
            "onnxruntime-gpu has the CUDA and TensorRT providers; on a ROCm host it falls back to the CPU or does not load.",
            "Require onnxruntime-migraphx",
        )
    },
    unavailable(
        "transformer-engine*",
        "cuda-only-library",
        "NVIDIA's Transformer Engine is built for CUDA.",
        "Build https://github.com/ROCm/TransformerEngine",
    ),
    // https://github.com/tatsy/torchmcubes
    other_build(
        "torchmcubes",
        OWN,
        "torchmcubes' kernels are CUDA; without nvcc it is built for the CPU.",
        "Extract surfaces on the CPU, or write the kernel in Triton",
    ),
    unavailable(
        "nvdiffrast",
        "cuda-only-library",
        "nvdiffrast's kernels are CUDA.",
        "Rasterize with a library that has a HIP build",
    ),
    unavailable(
        "flashinfer-python",
        "cuda-only-library",
        "FlashInfer's kernels are CUDA.",
        "Use aiter, or your server's attention backend for ROCm",
    ),
    unavailable(
        "flashinfer-cubin",
        "cuda-only-library",
        "FlashInfer's kernels are CUDA.",
        "Use aiter, or your server's attention backend for ROCm",
    ),
    unavailable(
        "flashinfer-jit-cache",
        "cuda-only-library",
        "FlashInfer's kernels are CUDA.",
        "Use aiter, or your server's attention backend for ROCm",
    ),
    unavailable(
        "flash-attn-3",
        "flash-attn",
        "FlashAttention-3 is for Hopper GPUs.",
        "Use flash-attn's ROCm build or aiter",
    ),
    unavailable(
        "flash-attn-4",
        "flash-attn",
        "FlashAttention-4 is for NVIDIA GPUs.",
        "Use flash-attn's ROCm build or aiter",
    ),
    unavailable(
        "nvidia-modelopt*",
        OWN,
        "ModelOpt's kernels and export are for NVIDIA GPUs.",
        "Use AMD Quark (amd-quark)",
    ),
    unavailable(
        "nvidia-cutlass*",
        "cuda-only-library",
        "CUTLASS compiles for NVIDIA GPUs only.",
        "Use Composable Kernel or Triton",
    ),
    unavailable(
        "cudf-cu*",
        "cuda-only-library",
        "RAPIDS is built for CUDA.",
        "Use hipDF, or pandas",
    ),
    unavailable(
        "cuml-cu*",
        "cuda-only-library",
        "RAPIDS is built for CUDA.",
        "Use scikit-learn",
    ),
    unavailable(
        "cugraph-cu*",
        "cuda-only-library",
        "RAPIDS is built for CUDA.",
        "Use a graph library for the CPU",
    ),
    unavailable(
        "rmm-cu*",
        "cuda-only-library",
        "RAPIDS is built for CUDA.",
        "Use hipMM",
    ),
    // https://github.com/nerfstudio-project/nerfacc: nerfacc/cuda compiles with nvcc.
    unavailable(
        "nerfacc",
        "cuda-only-library",
        "nerfacc's kernels are CUDA code that nvcc compiles.",
        "Render with a library that has a HIP build, or with PyTorch's own operators",
    ),
    unavailable(
        "faiss-gpu*",
        OWN,
        "PyPI's faiss-gpu is built for CUDA.",
        "Build faiss with -DFAISS_ENABLE_ROCM=ON, or use faiss-cpu",
    ),
    unavailable(
        "spconv-cu*",
        "cuda-only-library",
        "This spconv wheel is built for CUDA.",
        "Build a sparse-convolution library for ROCm",
    ),
    unavailable(
        "bitblas",
        "cuda-only-library",
        "PyPI's bitblas links libcuda and NVRTC, so its import fails.",
        "Use another back end for quantized weights",
    ),
    // https://github.com/Dao-AILab/fast-hadamard-transform/pull/21, open
    unavailable(
        "fast-hadamard-transform",
        "cuda-only-library",
        "fast-hadamard-transform's setup.py needs nvcc, and its kernels pass masks of 32 lanes.",
        "Build it from the project's pull request for ROCm, or multiply with the Hadamard matrix",
    ),
    // https://github.com/ROCm/TheRock/issues/5711
    unavailable(
        "cumm-cu*",
        "cuda-only-library",
        "cumm generates CUDA code, and has no back end for HIP.",
        "Build a sparse-convolution library for ROCm",
    ),
    other_build(
        "cumm",
        "cuda-only-library",
        "cumm generates CUDA code, and has no back end for HIP.",
        "Build a sparse-convolution library for ROCm",
    ),
    unavailable(
        "minkowskiengine",
        "cuda-only-library",
        "MinkowskiEngine's kernels are CUDA.",
        "Build a sparse-convolution library for ROCm",
    ),
    // Its `setup.py` passes nvcc's options in every build.
    unavailable(
        "grouped-gemm",
        "cuda-only-library",
        "grouped_gemm's build needs nvcc and CUTLASS.",
        "Use torch.nn.functional.grouped_mm",
    ),
    unavailable(
        "nv-grouped-gemm",
        "cuda-only-library",
        "grouped_gemm's build needs nvcc and CUTLASS.",
        "Use torch.nn.functional.grouped_mm",
    ),
    // https://github.com/databricks/megablocks/pull/187
    unavailable(
        "megablocks",
        "cuda-only-library",
        "megablocks builds its kernels for CUDA only, and is without them on ROCm.",
        "Build databricks/megablocks#187, or AMD's former fork ROCm/megablocks",
    ),
    unavailable(
        "curobo",
        "cuda-only-library",
        "CuRobo's kernels are CUDA.",
        "Plan motions on the CPU",
    ),
    unavailable(
        "nvidia-curobo",
        "cuda-only-library",
        "CuRobo's kernels are CUDA.",
        "Plan motions on the CPU",
    ),
    other_build(
        "gputil",
        "cuda-only-library",
        "GPUtil calls nvidia-smi, which a ROCm host does not have.",
        "Use amdsmi, or torch.cuda.mem_get_info()",
    ),
    unavailable(
        "tensorflow-gpu",
        OWN,
        "tensorflow-gpu is built for CUDA.",
        "Install AMD's build of TensorFlow; tensorflow-rocm on PyPI ends with ROCm 6.0",
    ),
    // https://github.com/horovod/horovod/issues/3996
    unavailable(
        "horovod",
        OWN,
        "Horovod's last release, 0.28.1, does not build with PyTorch 2.1 or later.",
        "Use torch.distributed, or build Horovod's main branch with HOROVOD_GPU=ROCM",
    ),
    Package {
        fine_from: Some(Version::new(1, 8)),
        ..other_build(
            "pytorch-lightning",
            OWN,
            "This Lightning was written for PyTorch 1, and pip 24.1 and later refuses the metadata of 1.5 to 1.7.",
            "Require Lightning 2",
        )
    },
    unavailable(
        "paddlepaddle-gpu",
        OWN,
        "paddlepaddle-gpu is built for CUDA.",
        "Require paddlepaddle, which computes on the CPU, or build PaddlePaddle for ROCm",
    ),
    unavailable(
        "jax-cuda*",
        OWN,
        "This is JAX's plugin for CUDA.",
        "Require the jax-rocm7 plugin",
    ),
    unavailable(
        "isaacgym",
        "cuda-only-library",
        "Isaac Gym's simulator is compiled for NVIDIA GPUs.",
        "Port the environment to Genesis, or MuJoCo's MJX",
    ),
    unavailable(
        "isaacsim*",
        "cuda-only-library",
        "Isaac Sim needs an NVIDIA GPU.",
        "Port the environment to Genesis, or MuJoCo's MJX",
    ),
    unavailable(
        "deep-ep",
        "cuda-only-library",
        "DeepEP is built on NVSHMEM.",
        "Use mori, AMD's expert-parallel communication",
    ),
    unavailable(
        "deep-gemm",
        "cuda-only-library",
        "DeepGEMM's kernels are for NVIDIA GPUs.",
        "Use aiter's FP8 GEMM",
    ),
    // https://github.com/deepseek-ai/FlashMLA#amd-instinct
    unavailable(
        "flash-mla",
        "cuda-only-library",
        "FlashMLA's kernels are for NVIDIA GPUs.",
        "Use aiter's MLA kernels",
    ),
    unavailable(
        "sgl-kernel",
        OWN,
        "PyPI's sgl-kernel is built for CUDA.",
        "Build it from source for ROCm",
    ),
    other_build(
        "pytorch-quantization",
        OWN,
        "pytorch-quantization is for export to TensorRT.",
        "Use AMD Quark (amd-quark) or torchao",
    ),
];

/// The package with a normalized name.
pub(super) fn find(name: &str) -> Option<&'static Package> {
    PACKAGES
        .iter()
        .find(|package| matches(package.name, name))
        .or_else(|| is_library(name).then_some(&LIBRARY))
        .or_else(|| is_cuda_wheel(name).then_some(&CUDA_WHEEL))
}

fn matches(pattern: &str, name: &str) -> bool {
    let start = pattern.trim_end_matches('*');
    let rest = start.split('-').try_fold(name, |rest, part| {
        rest.strip_prefix('-').unwrap_or(rest).strip_prefix(part)
    });
    // The names of AMD's and the community's builds contain `rocm`.
    rest.is_some_and(|rest| rest.is_empty() || start != pattern && !name.contains("rocm"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hipward_analyzer_core::Language;

    #[test]
    fn each_owner_is_a_rule_for_requirements() {
        for package in PACKAGES {
            let owner = crate::rules::all()
                .find(|rule| rule.rule.name == package.owner)
                .expect(package.owner);
            assert!(
                owner.languages.contains(&Language::Requirements),
                "{}",
                package.owner
            );
        }
    }

    #[test]
    fn names_are_unique_and_exact_names_come_first() {
        for (at, package) in PACKAGES.iter().enumerate() {
            let name = package.name.trim_end_matches('*');
            let found = PACKAGES.iter().position(|other| matches(other.name, name));
            assert_eq!(found, Some(at), "{name}");
        }
        assert!(!matches("cupy-cuda*", "cupy-rocm-7-0"));
    }
}
