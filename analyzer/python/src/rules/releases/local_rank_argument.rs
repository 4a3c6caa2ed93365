//! HW406: the argument of `torch.distributed.launch`, which has another name since PyTorch 2.0.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, has_any_text, has_text, receiver, values};
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds a parser of the command line that declares `--local_rank`, and not `--local-rank`.
    ///
    /// ## Why on ROCm
    ///
    /// `python -m torch.distributed.launch` passes the number of the GPU as `--local-rank=0` since PyTorch 2.0, and as
    /// `--local_rank=0` before. argparse takes these for two arguments, and stops: `unrecognized arguments: --local-rank=0`. Code that pins an
    /// old PyTorch gets a newer one with ROCm: the builds for ROCm 6 begin with PyTorch 2.3.
    ///
    /// A source that mentions DeepSpeed, whose launcher passes `--local_rank`, or Accelerate, or that asks for `LOCAL_RANK` in the environment, and a
    /// parser of known arguments only, are not reported. Nor is one that starts its processes itself, or does not use the argument.
    ///
    /// ## Example
    ///
    /// ```python
    /// import argparse
    ///
    /// import torch
    ///
    /// parser = argparse.ArgumentParser()
    /// parser.add_argument("--local_rank", type=int, default=0)
    /// args = parser.parse_args()
    /// torch.cuda.set_device(args.local_rank)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import argparse
    ///
    /// import torch
    ///
    /// parser = argparse.ArgumentParser()
    /// parser.add_argument("--local-rank", "--local_rank", type=int, default=0)
    /// args = parser.parse_args()
    /// torch.cuda.set_device(args.local_rank)
    /// ```
    ///
    /// With `torchrun` no argument is passed, and the script reads `LOCAL_RANK` in its environment.
    ///
    /// ## Fix safety
    ///
    /// Safe: both names set `args.local_rank`.
    ///
    /// ## References
    ///
    /// * [PyTorch: the launch utility](https://docs.pytorch.org/docs/stable/distributed.html#launch-utility)
    "HW406" "local-rank-argument" {
        title: "torch.distributed.launch passes --local-rank",
        family: PythonVersion,
        severity: Warning,
        applicability: Safe,
        targets: "targets with PyTorch 2.0 or later",
        lesson: Some("port/right-pytorch"),
        visit: [Call],
    }
}

/// The first release that passes the argument with a hyphen.
const SINCE: Version = Version::new(2, 0);

/// Their launchers pass `--local_rank`, or nothing.
const OTHER_LAUNCHERS: [&str; 3] = ["deepspeed", "accelerate", "environ.get(\"LOCAL_RANK\""];

fn check(cx: &PythonChecker<'_>, node: Node) {
    if called(cx, node) != "add_argument" || cx.target().torch < SINCE {
        return;
    }
    let tree = cx.tree();
    let name = |value: &Node| tree.text(*value).trim_matches(['"', '\'']);
    let values = values(cx, node);
    let is_old =
        |value: &&Node| tree.kind(**value) == Kind::String && name(value) == "--local_rank";
    let Some(old) = values.iter().find(is_old) else {
        return;
    };
    if values.iter().any(|value| name(value) == "--local-rank")
        || !has_text(cx, "torch")
        || !has_any_text(
            cx,
            &[
                ".local_rank",
                "\"--distributed\"",
                "'--distributed'",
                "init_distributed_mode(",
            ],
        )
        || has_any_text(cx, &["mp.spawn", "multiprocessing.spawn"])
        // torchrun's variable decides.
        || has_text(cx, "local_rank = int(os.")
        || ignores_others(cx, node)
        || OTHER_LAUNCHERS.iter().any(|word| has_text(cx, word))
    {
        return;
    }
    let message = format!(
        "Since PyTorch {SINCE} torch.distributed.launch passes --local-rank, which this parser refuses."
    );
    let start = tree.span(*old).start;
    let fix = RawFix::safe_edits(
        "Declare --local-rank as well",
        vec![(start..start, "\"--local-rank\", ".to_owned())],
    );
    cx.report(&RULE, *old, message, fix);
}

/// Whether the parser leaves unknown arguments alone: `parser.parse_known_args()`.
fn ignores_others(cx: &PythonChecker<'_>, argument: Node) -> bool {
    let source = cx.tree().source();
    let parser = receiver(cx, argument).map_or("", |parser| cx.tree().text(parser));
    source.match_indices("parse_known_args").any(|(at, _)| {
        let before = source.get(..at).and_then(|before| before.strip_suffix('.'));
        // Another parser, `config_parser`, may read a part of them first.
        before.is_none_or(|before| {
            before.strip_suffix(parser).is_some_and(|rest| {
                !rest.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            })
        })
    })
}
