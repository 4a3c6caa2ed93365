//! HW908: parts of cooperative groups that HIP lacks.

use crate::CudaChecker;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds parts of cooperative groups that HIP does not have (`reduce`, the scans, `memcpy_async`, clusters and
    /// their headers), and tiles of 32 lanes.
    ///
    /// ## Why on ROCm
    ///
    /// HIP has thread blocks, grids, tiles, and coalesced groups with their shuffles and votes. The headers for
    /// collectives and asynchronous copies do not exist, and no AMD GPU has clusters of thread blocks. A tile of 32
    /// lanes is correct on AMD, but uses half of a wavefront of 64: the severity is advice.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <hip/hip_cooperative_groups.h>
    /// #include <cooperative_groups/reduce.h>
    /// ```
    ///
    /// ## Use instead
    ///
    /// Reduce with the tile's shuffles, or with hipCUB's `WarpReduce` and `BlockReduce`:
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <hip/hip_cooperative_groups.h>
    ///
    /// namespace cg = cooperative_groups;
    ///
    /// template <typename Tile>
    /// __device__ float sum(Tile tile, float x) {
    ///     for (int offset = tile.size() / 2; offset > 0; offset /= 2) x += tile.shfl_down(x, offset);
    ///     return x;
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only.
    ///
    /// ## References
    ///
    /// * [HIP: cooperative groups](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_runtime_api/cooperative_groups.html)
    "HW908" "cooperative-groups" {
        title: "HIP supports a part of cooperative groups",
        family: CudaCpp,
        severity: Error,
        also: [Advice "for correct tiles that are narrower than a wavefront"],
        applicability: DisplayOnly,
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
            cx.report(
                &RULE,
                token..token + 1,
                format!("HIP has no `{header}`."),
                RawFix::display_only("Use the tile's shuffles, or hipCUB"),
            );
        }
    }
    // `namespace cg = cooperative_groups;`.
    let alias = source.places("cooperative_groups").iter().find_map(|at| {
        (source.before(*at, 1) == "=" && source.before(*at, 3) == "namespace")
            .then(|| source.before(*at, 2))
    });
    for (member, fix) in MEMBERS {
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
