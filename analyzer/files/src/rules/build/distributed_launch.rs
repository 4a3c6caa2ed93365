//! HW019: `torch.distributed.launch`, whose argument for the script has another name since PyTorch 2.0.

use crate::checker::FileChecker;
use crate::facts::Command;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds the first command of a file that starts a script with `torch.distributed.launch`, without `--use_env`.
    ///
    /// ## Why on ROCm
    ///
    /// The launcher passes the number of the GPU as `--local-rank=0` since PyTorch 2.0, and as `--local_rank=0` before. A script of an old project
    /// declares the second, and argparse stops: `unrecognized arguments: --local-rank=0`. Code that pins an old PyTorch gets a newer one with
    /// ROCm: the builds for ROCm 6 begin with PyTorch 2.3.
    ///
    /// A script that declares both names works.
    ///
    /// ## Example
    ///
    /// ```shell
    /// python -m torch.distributed.launch --nproc_per_node=8 main.py --epochs 300
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import argparse
    ///
    /// parser = argparse.ArgumentParser()
    /// parser.add_argument("--local-rank", "--local_rank", type=int, default=0)
    /// ```
    ///
    /// ```shell
    /// python -m torch.distributed.launch --use_env --nproc_per_node=8 main.py --epochs 300
    /// ```
    ///
    /// With `--use_env`, and with `torchrun`, the launcher passes no argument, and the script reads `LOCAL_RANK` in its environment.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the script has to be changed.
    ///
    /// ## References
    ///
    /// * [PyTorch: the launch utility](https://docs.pytorch.org/docs/stable/distributed.html#launch-utility)
    "HW019" "distributed-launch" {
        title: "The launcher passes --local-rank",
        family: BuildFiles,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/right-pytorch"),
        files: [Shell, Dockerfile, Yaml, Makefile] check,
    }
}

const LAUNCHER: &str = "torch.distributed.launch";

fn check(cx: &FileChecker<'_>) {
    if cx.target.torch < Version::new(2, 0) {
        return;
    }
    let mut commands = cx.facts.commands.iter();
    let Some(launcher) = commands.find_map(|command| launcher(command)) else {
        return;
    };
    cx.report(
        &RULE,
        Severity::Warning,
        launcher.range(),
        "Since PyTorch 2.0 this passes --local-rank to the script; argparse refuses it if only --local_rank is declared.",
        RawFix::display_only("Declare both names in the script, or read LOCAL_RANK and pass --use_env"),
    );
}

/// The launcher's name in `python -m torch.distributed.launch --nproc_per_node=8 main.py`.
fn launcher<'c, 'a>(command: &'c Command<'a>) -> Option<&'c Text<'a>> {
    let words = &command.words;
    let at = words.iter().position(|word| word.as_str() == LAUNCHER)?;
    let has = |name: &str| words.iter().any(|word| word.as_str() == name);
    let names_script = words.iter().any(|word| word.as_str().ends_with(".py"));
    (names_script && !has("--use_env") && !has("--use-env")).then(|| &words[at])
}
