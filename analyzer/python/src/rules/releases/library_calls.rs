//! HW413: calls of other libraries with arguments that their releases do not accept any more, and methods that they removed.

use super::removed_library_api::report_removed;
use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    arguments, called, class_of, first_value, has_text, keyword, name_of, receiver,
};
use crate::semantic::string;
use crate::syntax::{Field, Kind, Node};

/// Keywords that a function does not accept any more: its last name, its library, since when, the keywords, and what to do.
const KEYWORDS: &[(&str, &str, Option<&str>, &str, &str)] = &[
    (
        "read_csv",
        "pandas",
        None,
        "error_bad_lines warn_bad_lines squeeze mangle_dupe_cols prefix",
        "Use on_bad_lines, or change the DataFrame after reading",
    ),
    (
        "TrainingArguments",
        "transformers",
        Some("4.51"),
        "evaluation_strategy",
        "Use eval_strategy",
    ),
    (
        "Seq2SeqTrainingArguments",
        "transformers",
        Some("4.51"),
        "evaluation_strategy",
        "Use eval_strategy",
    ),
    (
        "Trainer",
        "transformers",
        Some("5.0"),
        "tokenizer",
        "Use processing_class",
    ),
    (
        "Trainer",
        "pytorch_lightning",
        Some("2.0"),
        LIGHTNING,
        "Use accelerator, devices and strategy, or a callback",
    ),
];

const LIGHTNING: &str = "gpus tpu_cores num_processes auto_select_gpus distributed_backend progress_bar_refresh_rate weights_summary \
    resume_from_checkpoint checkpoint_callback terminate_on_nan auto_lr_find auto_scale_batch_size replace_sampler_ddp amp_backend amp_level \
    flush_logs_every_n_steps log_gpu_memory process_position prepare_data_per_node weights_save_path track_grad_norm multiple_trainloader_mode";

/// Functions of librosa 0.10 and later, and how many arguments they take by position.
const POSITIONS: &[(&str, usize)] = &[
    ("librosa.resample", 1),
    ("librosa.core.resample", 1),
    ("librosa.load", 1),
    ("librosa.core.load", 1),
    ("librosa.stft", 1),
    ("librosa.istft", 1),
    ("librosa.filters.mel", 0),
    ("librosa.feature.melspectrogram", 0),
    ("librosa.feature.mfcc", 0),
    ("librosa.util.pad_center", 1),
];

/// Metrics that need `task=…` since torchmetrics 0.11.
const METRICS: &[&str] = &[
    "Accuracy",
    "AUROC",
    "AveragePrecision",
    "CohenKappa",
    "ConfusionMatrix",
    "F1Score",
    "JaccardIndex",
    "Precision",
    "Recall",
    "ROC",
    "Specificity",
    "StatScores",
];

pub(super) fn check_call(cx: &PythonChecker<'_>, call: Node) {
    let name = called(cx, call);
    match name {
        "load" => check_yaml(cx, call),
        "get_data" => check_nibabel(cx, call),
        "textsize" | "getsize" => check_text_size(cx, call, name),
        "gca" => check_axes(cx, call),
        "use" => check_style(cx, call),
        "tostring_rgb" if has_text(cx, "matplotlib") => {
            let fix = RawFix::display_only("Use buffer_rgba() without its last channel");
            report_removed(
                cx,
                "matplotlib",
                Some("3.10"),
                "have FigureCanvasAgg.tostring_rgb",
                call,
                fix,
            );
        }
        "voxel_grid" => check_voxel_grid(cx, call),
        "FileDescriptor" => check_generated(cx, call),
        "register" => check_llava(cx, call),
        _ => {}
    }
    for (function, library, since, keywords, advice) in KEYWORDS {
        if *function == name && is_of(cx, call, library) {
            let found = keywords
                .split(' ')
                .find_map(|known| Some((known, keyword(cx, call, known)?)));
            if let Some((known, value)) = found {
                let lacking = format!("accept {name}({known}=…)");
                report_removed(
                    cx,
                    library,
                    *since,
                    &lacking,
                    value,
                    RawFix::display_only(*advice),
                );
            }
        }
    }
    // `librosa_mel_fn(…)` is `librosa.filters.mel` under another name.
    let may_be = |(function, _): &(&str, usize)| function.ends_with(name);
    if !name.is_empty() && (name.contains("mel") || POSITIONS.iter().any(may_be)) {
        check_positions(cx, call);
    }
    let is_metric = || {
        cx.callee(call)
            .is_some_and(|found| found.root() == "torchmetrics")
    };
    if METRICS.contains(&name)
        && is_metric()
        && by_position(cx, call) == 0
        && keyword(cx, call, "task").is_none()
        && !arguments(cx, call)
            .iter()
            .any(|part| cx.tree().kind(*part) == Kind::DictionarySplat)
    {
        let fix = RawFix::display_only("Pass task=\"binary\", \"multiclass\" or \"multilabel\"");
        report_removed(
            cx,
            "torchmetrics",
            Some("0.11"),
            &format!("accept {name}() without task"),
            call,
            fix,
        );
    }
}

/// `librosa.resample(y, 44100, 16000)`, also under another name
fn check_positions(cx: &PythonChecker<'_>, call: Node) {
    let Some(callee) = cx.callee(call).filter(|found| found.root() == "librosa") else {
        return;
    };
    let row = POSITIONS.iter().find(|(function, _)| callee.is(function));
    if let Some((function, most)) = row
        && by_position(cx, call) > *most
    {
        let fix = RawFix::display_only("Pass the arguments by their names");
        let lacking = format!("take the arguments of {function} by position");
        report_removed(cx, "librosa", Some("0.10"), &lacking, call, fix);
    }
}

/// Whether the function of a call is of a library; Lightning has two modules.
fn is_of(cx: &PythonChecker<'_>, call: Node, library: &str) -> bool {
    cx.callee(call).is_some_and(|found| {
        found.root() == library || library == "pytorch_lightning" && found.root() == "lightning"
    })
}

fn by_position(cx: &PythonChecker<'_>, call: Node) -> usize {
    let kind = |part: &Node| cx.tree().kind(*part);
    arguments(cx, call)
        .iter()
        .take_while(|part| {
            !matches!(
                kind(part),
                Kind::KeywordArgument | Kind::ListSplat | Kind::DictionarySplat
            )
        })
        .count()
}

/// `yaml.load(file)`: PyYAML 6 needs a loader.
fn check_yaml(cx: &PythonChecker<'_>, call: Node) {
    let is_it = cx.callee(call).is_some_and(|found| found.is("yaml.load"));
    if is_it && arguments(cx, call).len() == 1 && by_position(cx, call) == 1 {
        let tree = cx.tree();
        let name = tree
            .child(call, Field::Function)
            .and_then(|function| tree.child(function, Field::Attribute));
        let title = "Use yaml.safe_load, or pass a loader";
        let fix = match name {
            Some(name) => {
                RawFix::unsafe_edits(title, vec![(tree.span(name), "safe_load".to_owned())])
            }
            None => RawFix::display_only(title),
        };
        report_removed(
            cx,
            "yaml",
            None,
            "accept yaml.load(file) without a loader",
            call,
            fix,
        );
    }
}

/// `nib.load(path).get_data()`, and the same in two statements.
fn check_nibabel(cx: &PythonChecker<'_>, call: Node) {
    let image = receiver(cx, call).map(|image| cx.semantics.expression(image));
    let is_it = image.is_some_and(|image| {
        cx.callee(image)
            .is_some_and(|found| found.is("nibabel.load") || found.is("nibabel.loadsave.load"))
    });
    if is_it {
        let fix = RawFix::display_only("Use get_fdata(), or np.asanyarray(image.dataobj)");
        report_removed(cx, "nibabel", Some("5.0"), "have get_data()", call, fix);
    }
}

/// `draw.textsize(text)` and `font.getsize(text)`
fn check_text_size(cx: &PythonChecker<'_>, call: Node, name: &str) {
    if !has_text(cx, "ImageDraw") && !has_text(cx, "ImageFont") {
        return;
    }
    let is_font = || {
        receiver(cx, call)
            .is_some_and(|of| cx.tree().text(of).to_ascii_lowercase().contains("font"))
    };
    if name == "textsize" || is_font() {
        let fix = RawFix::display_only("Use textbbox() of the drawing, or getbbox() of the font");
        report_removed(cx, "PIL", None, &format!("have {name}()"), call, fix);
    }
}

/// `fig.gca(projection="3d")`
fn check_axes(cx: &PythonChecker<'_>, call: Node) {
    if keyword(cx, call, "projection").is_some() && has_text(cx, "matplotlib") {
        let fix = RawFix::display_only("Use fig.add_subplot(projection=…)");
        report_removed(
            cx,
            "matplotlib",
            None,
            "accept gca(projection=…)",
            call,
            fix,
        );
    }
}

/// `plt.style.use("seaborn-whitegrid")`
fn check_style(cx: &PythonChecker<'_>, call: Node) {
    let is_it = || {
        cx.callee(call).is_some_and(|found| {
            found.is("matplotlib.pyplot.style.use") || found.is("matplotlib.style.use")
        })
    };
    let style = first_value(cx, call).and_then(|value| string(&cx.semantics, value));
    if let Some(style) = style
        && style.starts_with("seaborn")
        && !style.starts_with("seaborn-v0_8")
        && is_it()
    {
        let fix = RawFix::display_only("Put v0_8 into the name: seaborn-v0_8-whitegrid");
        report_removed(
            cx,
            "matplotlib",
            Some("3.8"),
            &format!("have the style {style}"),
            call,
            fix,
        );
    }
}

/// `voxel_grid(pos, batch, size)`: the second argument is the size since PyTorch Geometric 2.
fn check_voxel_grid(cx: &PythonChecker<'_>, call: Node) {
    let parts = arguments(cx, call);
    let is_batch = by_position(cx, call) > 1
        && parts
            .get(1)
            .is_some_and(|second| cx.tree().text(*second).contains("batch"));
    if is_batch && is_of(cx, call, "torch_geometric") {
        let fix = RawFix::display_only("Pass size and batch by their names");
        report_removed(
            cx,
            "torch_geometric",
            Some("2.0"),
            "accept voxel_grid(pos, batch, size)",
            call,
            fix,
        );
    }
}

/// `AutoConfig.register("llava", LlavaConfig)`: since then Transformers has a model of this name.
fn check_llava(cx: &PythonChecker<'_>, call: Node) {
    let is_it = first_value(cx, call)
        .and_then(|name| string(&cx.semantics, name))
        .is_some_and(|name| name == "llava")
        && cx
            .callee(call)
            .is_some_and(|found| found.is("transformers.AutoConfig.register"));
    if is_it {
        report_removed(
            cx,
            "transformers",
            Some("4.36"),
            "accept a configuration with the name llava",
            call,
            RawFix::display_only("Give the model_type another name, such as llava_llama"),
        );
    }
}

/// `DESCRIPTOR = _descriptor.FileDescriptor(…)` in a module that protoc has generated
fn check_generated(cx: &PythonChecker<'_>, call: Node) {
    let is_it = cx
        .callee(call)
        .is_some_and(|found| found.is("google.protobuf.descriptor.FileDescriptor"));
    if is_it {
        report_removed(
            cx,
            "google",
            Some("4.21"),
            "accept modules that protoc before 3.19 has generated",
            call,
            RawFix::display_only("Generate the module again, or require protobuf<4"),
        );
    }
}

/// `def validation_epoch_end(self, outputs)` of a Lightning module
pub(super) fn check_hook(cx: &PythonChecker<'_>, function: Node) {
    let name = name_of(cx, function);
    if !matches!(
        name,
        "training_epoch_end" | "validation_epoch_end" | "test_epoch_end"
    ) {
        return;
    }
    let is_module = class_of(cx, function).is_some_and(|class| {
        cx.tree()
            .child(class, Field::Superclasses)
            .is_some_and(|bases| cx.tree().text(bases).contains("LightningModule"))
    });
    if is_module && has_text(cx, "lightning") {
        let fix = RawFix::display_only(format!(
            "Use on_{name}, and keep the outputs in an attribute"
        ));
        let at = cx.tree().child(function, Field::Name).unwrap_or(function);
        report_removed(
            cx,
            "pytorch_lightning",
            Some("2.0"),
            &format!("support the hook {name}"),
            at,
            fix,
        );
    }
}
