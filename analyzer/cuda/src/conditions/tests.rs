//! For which vendors the branches of a text are compiled.

use super::*;
use crate::source::Source;

/// The vendors for which the words `a`, `b`, … of a text are compiled.
fn vendors(text: &str) -> String {
    let source = Source::new(text);
    (0..source.token_count())
        .filter(|token| matches!(source.token_text(*token), "a" | "b" | "c"))
        .map(|token| match source.vendors(token) {
            Vendors::Both => '.',
            Vendors::Amd => 'A',
            Vendors::NotAmd => 'N',
        })
        .collect()
}

#[test]
fn branches_for_cuda_versions_are_not_compiled_on_amd() {
    let skipped = |text: &str, arch| {
        let source = Source::new(text);
        changes_with(&source, arch, "")
            .iter()
            .any(|(_, vendors)| *vendors == Vendors::NotAmd)
    };
    for text in [
        "#if CUDA_VERSION >= 12000\na\n#endif",
        "#if defined(CUDART_VERSION) && CUDART_VERSION > 11080\na\n#endif",
        "#if __CUDACC_VER_MAJOR__ > 11 || (__CUDACC_VER_MAJOR__ == 11 && __CUDACC_VER_MINOR__ >= 8)\na\n#endif",
    ] {
        assert!(skipped(text, CudaArch::Absent), "{text}");
    }
    assert!(!skipped("#ifdef USE_CUDA\na\n#endif", CudaArch::Absent));
    assert!(skipped("#ifdef USE_CUDA\na\n#endif", CudaArch::Unbuilt));
    assert!(!skipped("#ifndef WITH_CUDA\na\n#endif", CudaArch::Unbuilt));
    assert!(!skipped(
        "#if CUDA_VERSION < 9000\na\n#endif",
        CudaArch::Unbuilt
    ));
}

#[test]
fn conditions_determine_the_vendor_of_branches() {
    for (text, wanted) in [
        ("#ifdef USE_ROCM\na\n#else\nb\n#endif\nc", "AN."),
        ("#ifndef __HIP_PLATFORM_AMD__\na\n#else\nb\n#endif", "NA"),
        (
            "#if defined(__HIPCC__) && X\na\n#elif Y > 2\nb\n#else\nc\n#endif",
            "A..",
        ),
        ("#if !defined(USE_ROCM) && (X || Z)\na\n#endif\nb", "N."),
        (
            "#if defined(__CUDACC__) || defined(__HIPCC__)\na\n#endif",
            ".",
        ),
        ("#if 0\na\n#else\nb\n#endif", "N."),
        ("#define X 1\n#if X\na\n#else\nb\n#endif", ".N"),
        ("#define X 0\n#if !X\na\n#else\nb\n#endif", ".N"),
        (
            "#ifndef G\n#define G\n#define X 1\n#if X\na\n#else\nb\n#endif\n#endif",
            ".N",
        ),
        (
            "#ifndef X\n#define X 1\n#endif\n#if X\na\n#else\nb\n#endif",
            "..",
        ),
        ("#define X 1\n#undef X\n#if X\na\n#else\nb\n#endif", ".."),
        (
            "#ifndef X\n#define X 1\n#endif\n#if Y\n#define Z 1\n#endif\n#if Z\na\n#else\nb\n#endif",
            "..",
        ),
        ("#define USE_HIP 0\n#if USE_HIP\na\n#else\nb\n#endif", "AN"),
        ("#if __CUDA_ARCH__ >= 800\na\n#else\nb\n#endif", "N."),
        ("#if __CUDA_ARCH__ >= 800\na\n#endif", "."),
        (
            "#ifdef USE_ROCM\n#if X\na\n#else\nb\n#endif\n#endif\nc",
            "AA.",
        ),
        ("#ifndef MY_HIP_H\na\n#endif", "."),
        ("#if BUILD_CUDA\na\n#endif\n#if BUILD_HIP\nb\n#endif", "NA"),
        ("#if BUILD_CUDA\na\n#endif", "."),
        ("#if USE_CUFFT\na\n#endif\n#if USE_ROCFFT\nb\n#endif", "N."),
        ("#ifdef HAS_GEMM_SM75\na\n#else\nb\n#endif", "N."),
        ("#ifndef DISABLE_SM80\na\n#endif", "."),
        ("#if CUDART_VERSION >= 13000\na\n#else\nb\n#endif", "N."),
        ("#if CUDA_VERSION < 9000\na\n#else\nb\n#endif", ".."),
        ("#if CUDART_VERSION >= 13000\na\n#endif", "."),
        ("#if CUDART_VERSION < 13000\na\n#else\nb\n#endif", ".N"),
        ("#if __CUDACC_VER_MAJOR__ >= 12\na\n#else\nb\n#endif", "N."),
        ("#if 12000 <= CUDA_VERSION\na\n#else\nb\n#endif", "N."),
        ("#if CUDA_VERSION == 12000\na\n#else\nb\n#endif", "N."),
        ("#if 12000 > CUDA_VERSION\na\n#else\nb\n#endif", ".."),
        (
            "#define X (__CUDA_ARCH__ >= 800)\n#if X\na\n#else\nb\n#endif",
            "N.",
        ),
        ("#define X X\n#if X\na\n#else\nb\n#endif", ".."),
        ("#ifdef HAS_CUPTI\na\n#endif\nb", "N."),
        ("#if !defined(USE_CUDNN)\na\n#else\nb\n#endif", ".N"),
        ("#ifdef TURING_MMA_AVAILABLE\na\n#endif", "N"),
        ("#ifndef NO_CUTLASS\na\n#endif", "."),
        ("#if GGML_USE_HIP\na\n#endif", "A"),
        ("#ifndef MY_CUDA2HIP\na\n#else\nb\n#endif", "NA"),
        ("#if X || Y\na\n#elif defined(USE_HIP)\nb\n#endif\nc", "NA."),
        ("#if X\na\n#elif !defined(USE_HIP)\nb\n#endif", ".N"),
        ("#if USE_HIP && X\na\n#elif USE_HIP\nb\n#endif", "AA"),
        (
            "#ifndef USE_ROCM\n#define X\n#endif\n#ifdef X\na\n#endif\n#ifndef X\nb\n#endif",
            "N.",
        ),
        (
            "#ifdef USE_ROCM\n#define X 2\n#else\n#define X 4\n#endif\n#if defined(X)\na\n#endif",
            ".",
        ),
        (
            "#if CUDART_VERSION >= 11070\n#define X\n#else\nb\n#endif\n#if defined X\na\n#endif",
            ".N",
        ),
        ("#endif\n#else\na", "."),
    ] {
        assert_eq!(vendors(text), wanted, "{text}");
    }
}
