//! HW908: parts of cooperative groups that HIP lacks.

use super::cuda_header::whole_line;
use crate::{CudaChecker, Setting};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds parts of cooperative groups that HIP does not have (`reduce`, the scans, `memcpy_async`, clusters and
    /// their headers), and tiles of 32 lanes.
    ///
    /// ## Why on ROCm
    ///
    /// HIP has thread blocks, grids, tiles, and coalesced groups with their shuffles and votes. From ROCm 7.13 on it has `reduce`, in
    /// `hip/cooperative_groups/hip_reduce.h`, an include that PyTorch's hipify does not write. The headers for scans
    /// and asynchronous copies do not exist, and no AMD GPU has clusters of thread blocks. A tile of 32
    /// lanes is correct on AMD, but uses half of a wavefront of 64: the severity is advice.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <hip/hip_cooperative_groups.h>
    /// #include <cooperative_groups/reduce.h>
    ///
    /// __device__ float sum(cooperative_groups::thread_block_tile<16> tile, float x) {
    ///     return cooperative_groups::reduce(tile, x, cooperative_groups::plus<float>());
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <hip/hip_cooperative_groups.h>
    /// #include <hip/cooperative_groups/hip_reduce.h>
    ///
    /// __device__ float sum(cooperative_groups::thread_block_tile<16> tile, float x) {
    ///     return cooperative_groups::reduce(tile, x, cooperative_groups::plus<float>());
    /// }
    /// ```
    ///
    /// For an older ROCm, reduce with the tile's shuffles, or with hipCUB's `WarpReduce` and `BlockReduce`.
    ///
    /// ## Fix safety
    ///
    /// Unsafe, and offered for the headers only: an include of which the source uses nothing is removed, although another source may rely on it.
    ///
    /// ## References
    ///
    /// * [HIP: cooperative groups](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_runtime_api/cooperative_groups.html)
    "HW908" "cooperative-groups" {
        title: "HIP supports a part of cooperative groups",
        family: CudaCpp,
        severity: Error,
        also: [Advice "for correct tiles that are narrower than a wavefront"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/lanes"),
        cuda: check,
    }
}

const HEADERS: &[&str] = &["reduce.h", "scan.h", "memcpy_async.h"];

/// Members of the namespace that HIP lacks, and the alternatives.
const MEMBERS: &[(&str, &str)] = &[
    (
        "reduce",
        "Reduce with `shfl_down` of the tile, or hipCUB's `WarpReduce`",
    ),
    (
        "reduce_store_async",
        "Reduce with `shfl_down` of the tile, or hipCUB's `WarpReduce`",
    ),
    (
        "inclusive_scan",
        "Scan with `shfl_up` of the tile, or hipCUB's `WarpScan`",
    ),
    (
        "exclusive_scan",
        "Scan with `shfl_up` of the tile, or hipCUB's `WarpScan`",
    ),
    (
        "memcpy_async",
        "Copy with plain loads and stores, then `__syncthreads()`",
    ),
    (
        "labeled_partition",
        "Find the lanes of a label with `__match_any` and a 64-bit mask",
    ),
    (
        "wait_prior",
        "Copy with plain loads and stores, then `__syncthreads()`",
    ),
    (
        "this_cluster",
        "Exchange through global memory: there are no clusters",
    ),
    (
        "cluster_group",
        "Exchange through global memory: there are no clusters",
    ),
];

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    for (header, token) in source.includes() {
        if header
            .strip_prefix("cooperative_groups/")
            .is_some_and(|file| HEADERS.contains(&file))
        {
            report_header(cx, header, token);
        }
    }
    // `namespace cg = cooperative_groups;`.
    let alias = source.places("cooperative_groups").iter().find_map(|at| {
        (source.before(*at, 1) == "=" && source.before(*at, 3) == "namespace")
            .then(|| source.before(*at, 2))
    });
    for (member, fix) in MEMBERS {
        if *member == "reduce" && has_reduce(cx) {
            continue;
        }
        for at in source.places(member) {
            let space = source.before(*at, 2);
            if source.before(*at, 1) == "::"
                && (space == "cooperative_groups" || Some(space) == alias)
            {
                cx.report(
                    &RULE,
                    at - 2..at + 1,
                    format!("HIP's cooperative groups have no `{member}`."),
                    RawFix::display_only(*fix),
                );
            }
        }
    }
    let tile = ["tiled_partition", "thread_block_tile"]
        .iter()
        .flat_map(|word| source.places(word))
        .filter(|at| source.reads(**at + 1, &["<", "32"]) && cx.is_for_both(**at))
        .min();
    if let Some(at) = tile
        && cx.target.arch.wavefront() == 64
    {
        cx.report_as(
            &RULE,
            Severity::Advice,
            HandledBy::You,
            *at..at + 3,
            format!(
                "Tiles of 32 are correct on {}, but each uses half of a wavefront's 64 lanes.",
                cx.target.arch.name()
            ),
            RawFix::display_only("Try tiles of 64 and measure"),
        );
    }
}

fn has_reduce(cx: &CudaChecker<'_>) -> bool {
    cx.target.rocm >= Version::new(7, 13)
}

fn report_header(cx: &CudaChecker<'_>, header: &str, token: u32) {
    let source = cx.source;
    let line = source
        .directive_of(token)
        .cloned()
        .unwrap_or(token..token + 1);
    // `reduce.h` also declares `plus`, `less` and `bit_and`.
    let is_used = source.words().any(|(word, places)| {
        let mut places = places
            .iter()
            .filter(|at| source.directive_of(**at).is_none());
        USES.split(' ').any(|use_| word.contains(use_)) && places.next().is_some()
    });
    let in_extension = cx.setting == Setting::PyTorchExtension;
    let reduce = (header == "cooperative_groups/reduce.h" && has_reduce(cx))
        .then_some("hip/cooperative_groups/hip_reduce.h");
    let message = match reduce {
        Some(hip) if in_extension => {
            format!("PyTorch's hipify does not convert `{header}`; it is `{hip}` in HIP.")
        }
        Some(hip) => format!("`{header}` is `{hip}` in HIP."),
        None => format!("HIP has no `{header}`."),
    };
    let fix = if !is_used && line.end == token + 1 {
        let span = whole_line(source.text, source.span(line));
        RawFix::unsafe_edits(
            "Remove the include: nothing of it is used here",
            vec![(span, String::new())],
        )
    } else if let Some(hip) = reduce {
        if in_extension {
            RawFix::display_only(format!("Include `{hip}` under `#ifdef USE_ROCM`"))
        } else {
            let edits = vec![(source.span(token..token + 1), format!("<{hip}>"))];
            RawFix::unsafe_edits(format!("Include `{hip}`"), edits)
        }
    } else {
        RawFix::display_only("Use the tile's shuffles, or hipCUB")
    };
    cx.report(&RULE, token..token + 1, message, fix);
}

/// Parts of the names that the headers declare.
const USES: &str = "reduce scan memcpy wait plus less greater bit_";
