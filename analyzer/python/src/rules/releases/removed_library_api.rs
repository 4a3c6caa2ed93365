//! HW413: names that releases of other libraries do not have any more. Calls with removed arguments: `library_calls`.

use std::sync::LazyLock;

use super::library_calls;
use super::versions::is_told_apart;
use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::table_rules::imported;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::{Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds names and arguments that releases of other libraries removed, in code for a PyTorch of ROCm 7: `Image.ANTIALIAS` of Pillow,
    /// `yaml.load(file)`, `scipy.integrate.simps`, `transformers.AdamW`, `datasets.load_metric`, Lightning's `Trainer(gpus=1)` and
    /// `validation_epoch_end`, `librosa.resample(y, 44100, 16000)`, modules that protoc before 3.19 has generated, and others.
    ///
    /// ## Why on ROCm
    ///
    /// PyTorch for ROCm 7 needs Python 3.10 or later, and ROCm's images have Python 3.12. Old releases of compiled libraries have no wheel
    /// for it, so a project moves to new ones together with PyTorch. Of libraries in pure Python pip installs the newest release, unless a
    /// requirement limits it.
    ///
    /// An error is a name that no release with a wheel for the target's Python has. A warning depends on the release: it is not reported if a
    /// requirements file around the source limits the library to older ones. Uses behind a test of the version are not reported.
    ///
    /// ## Example
    ///
    /// ```python
    /// from PIL import Image
    ///
    /// small = Image.open("in.png").resize((64, 64), Image.ANTIALIAS)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from PIL import Image
    ///
    /// small = Image.open("in.png").resize((64, 64), Image.LANCZOS)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe where the removed name was an alias of the one that the fix writes; otherwise display-only.
    ///
    /// ## References
    ///
    /// * [Pillow: deprecations and removals](https://pillow.readthedocs.io/en/stable/deprecations.html)
    /// * [Transformers 5: migration guide](https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md)
    /// * [Lightning 2: upgrade guide](https://lightning.ai/docs/pytorch/stable/upgrade/migration_guide.html)
    "HW413" "removed-library-api" {
        title: "The library's releases do not have this any more",
        family: PythonVersion,
        severity: Error,
        also: [Warning "for what an older release still has, which pip can install for the target's Python"],
        applicability: Safe,
        targets: "every ROCm target; the severity depends on the target's Python",
        lesson: Some("port/right-pytorch"),
        visit: [ImportStatement, ImportFromStatement, Attribute, Call, FunctionDefinition],
    }
}

/// What a library removed.
pub(super) struct Removed {
    /// The library's module.
    library: &'static str,
    /// The first release without it; `None` if no release with a wheel for Python 3.12 has it.
    since: Option<&'static str>,
    /// In the module, separated by spaces.
    names: &'static str,
    advice: &'static str,
}

const fn gone(library: &'static str, names: &'static str, advice: &'static str) -> Removed {
    Removed {
        library,
        since: None,
        names,
        advice,
    }
}

const fn since(
    library: &'static str,
    since: &'static str,
    names: &'static str,
    advice: &'static str,
) -> Removed {
    Removed {
        library,
        since: Some(since),
        names,
        advice,
    }
}

/// By library. The releases are those of their wheels: the last one that has the name, and the first one without it, were searched.
const ROWS: &[Removed] = &[
    gone(
        "PIL",
        "Image.ANTIALIAS Image.LINEAR Image.CUBIC",
        "Use LANCZOS for ANTIALIAS, BILINEAR for LINEAR, BICUBIC for CUBIC",
    ),
    gone(
        "scipy",
        "misc.imread misc.imsave misc.imresize misc.imrotate misc.imshow misc.toimage misc.fromimage misc.bytescale misc.imfilter",
        "Use imageio, or Pillow",
    ),
    gone(
        "scipy",
        "misc.logsumexp misc.comb misc.factorial",
        "Import it from scipy.special",
    ),
    since(
        "scipy",
        "1.15",
        "misc.face misc.ascent misc.derivative misc.electrocardiogram",
        "Use scipy.datasets, or scipy.differentiate",
    ),
    since(
        "scipy",
        "1.14",
        "integrate.simps integrate.trapz integrate.cumtrapz",
        "Use simpson, trapezoid or cumulative_trapezoid",
    ),
    since(
        "scipy",
        "1.13",
        "signal.hann signal.hamming signal.gaussian signal.blackman signal.triang signal.bartlett",
        "Use the function of scipy.signal.windows",
    ),
    since(
        "scipy",
        "1.12",
        "stats.binom_test",
        "Use scipy.stats.binomtest",
    ),
    gone(
        "skimage",
        "measure.compare_ssim measure.compare_psnr measure.compare_mse measure.compare_nrmse",
        "Use the function of skimage.metrics",
    ),
    gone(
        "sklearn",
        "externals.joblib externals.six cross_validation grid_search utils.testing",
        "Import joblib or six, or the function of sklearn.model_selection",
    ),
    gone(
        "sklearn",
        "utils.linear_assignment_",
        "Use scipy.optimize.linear_sum_assignment, which returns two arrays",
    ),
    gone(
        "sklearn",
        "datasets.load_boston preprocessing.Imputer metrics.plot_confusion_matrix metrics.plot_roc_curve metrics.jaccard_similarity_score",
        "Use its successor: SimpleImputer, ConfusionMatrixDisplay, RocCurveDisplay, jaccard_score",
    ),
    gone(
        "pandas",
        "Panel datetime np Int64Index Float64Index io.json.json_normalize util.testing",
        "Use its successor: pandas.json_normalize, pandas.testing, pandas.Index, datetime or numpy",
    ),
    since(
        "networkx",
        "3.0",
        "from_numpy_matrix to_numpy_matrix from_scipy_sparse_matrix to_scipy_sparse_matrix write_gpickle read_gpickle",
        "Use the function for arrays, or pickle",
    ),
    since(
        "matplotlib",
        "3.9",
        "cm.get_cmap cm.register_cmap",
        "Use matplotlib.colormaps",
    ),
    gone("ortools", "graph.pywrapgraph", "Use ortools.graph.python"),
    gone("librosa", "output.write_wav", "Use soundfile.write"),
    since(
        "kornia",
        "0.6",
        "get_rotation_matrix2d warp_affine warp_perspective rgb_to_grayscale",
        "Use the function of kornia.geometry or kornia.color",
    ),
    // TensorFlow 1 needs Python 3.7.
    gone(
        "tensorflow",
        "contrib Session InteractiveSession ConfigProto GraphDef gfile logging flags app Summary summary.FileWriter get_variable \
            global_variables_initializer get_default_graph reset_default_graph set_random_seed python_io HistogramProto",
        "Use torch.utils.tensorboard for logs, or tensorflow.compat.v1",
    ),
    since("trimesh", "3.0", "io", "Use trimesh.exchange"),
    // The wheels for ROCm begin with 0.14.
    since(
        "vllm",
        "0.14",
        "model_executor.parallel_utils model_executor.input_metadata model_executor.weight_utils model_executor.sampling_metadata \
            model_executor.layers.sampler engine.metrics engine.ray_utils core.policy core.scheduler core.block_manager block worker executor \
            spec_decode transformers_utils.detokenizer transformers_utils.tokenizer_group attention.backends.abstract utils.Counter utils.in_wsl \
            utils.Device utils.is_hip utils.get_ip utils.get_open_port sequence.SamplerOutput sequence.SequenceGroupMetadata sequence.SequenceData",
        "Use the interfaces of the release that is installed for ROCm",
    ),
    since("datasets", "3.0", "load_metric", "Use evaluate.load"),
    since(
        "huggingface_hub",
        "0.26",
        "cached_download",
        "Use hf_hub_download",
    ),
    since(
        "huggingface_hub",
        "1.0",
        "HfFolder Repository InferenceApi",
        "Use get_token, HfApi or InferenceClient",
    ),
    since(
        "peft",
        "0.10",
        "prepare_model_for_int8_training",
        "Use prepare_model_for_kbit_training",
    ),
    since(
        "torchdata",
        "0.10",
        "datapipes dataloader2",
        "Use torch.utils.data, or torchdata's StatefulDataLoader",
    ),
    since("moviepy", "2.0", "editor", "Import it from moviepy"),
    since(
        "torchmetrics",
        "0.8",
        "SSIM PSNR IoU FID F1 functional.ssim functional.psnr functional.iou functional.f1",
        "Use the metric's whole name",
    ),
    since(
        "pytorch_lightning",
        "1.9",
        "plugins.DDPPlugin plugins.DeepSpeedPlugin metrics loggers.TestTubeLogger loggers.LightningLoggerBase loggers.base callbacks.base callbacks.GPUStatsMonitor core.lightning utilities.cli",
        "Use its successor in Lightning 2",
    ),
    since(
        "pytorch_lightning",
        "2.0",
        "utilities.types.EPOCH_OUTPUT profiler lite overrides.data_parallel Trainer.from_argparse_args Trainer.add_argparse_args",
        "Use its successor in Lightning 2",
    ),
    since(
        "pytorch_lightning",
        "2.1",
        "utilities.distributed",
        "Use pytorch_lightning.utilities.rank_zero, or torch.distributed",
    ),
    since(
        "gradio",
        "4.0",
        "inputs outputs",
        "Use the components themselves: gradio.Image",
    ),
    gone(
        "gensim",
        "summarization models.wrappers",
        "Use an older gensim with its Python, or another library",
    ),
    since("kornia", "0.9", "utils.grid", "Import it from kornia.utils"),
    since(
        "diffusers",
        "0.25",
        "modeling_utils pipeline_utils utils.randn_tensor utils.DIFFUSERS_CACHE models.attention.CrossAttention models.cross_attention models.vae models.autoencoder_kl models.embeddings.CaptionProjection",
        "Import it from where the release has it",
    ),
    since(
        "diffusers",
        "0.29",
        "models.unet_2d_blocks models.unet_2d_condition models.unet_3d_condition models.dual_transformer_2d models.transformer_2d models.transformer_temporal models.prior_transformer",
        "Import it from diffusers.models.unets or diffusers.models.transformers",
    ),
    since(
        "transformers",
        "4.50",
        "AdamW optimization.AdamW",
        "Use torch.optim.AdamW",
    ),
    since(
        "transformers",
        "4.22",
        "cached_path",
        "Use huggingface_hub.hf_hub_download",
    ),
    since(
        "transformers",
        "4.40",
        "generation_utils",
        "Import it from transformers.generation",
    ),
    since(
        "transformers",
        "4.48",
        "models.llama.modeling_llama.LlamaFlashAttention2 models.llama.modeling_llama.LlamaSdpaAttention",
        "Choose the attention with attn_implementation",
    ),
    since(
        "transformers",
        "4.52",
        "is_torch_tpu_available models.llama.modeling_llama.LLAMA_INPUTS_DOCSTRING",
        "Use is_torch_xla_available, or leave the text out",
    ),
    since(
        "transformers",
        "4.56",
        "modeling_utils.apply_chunking_to_forward modeling_utils.find_pruneable_heads_and_indices \
            modeling_utils.prune_linear_layer modeling_utils.Conv1D",
        "Import it from transformers.pytorch_utils, or copy it",
    ),
    since(
        "transformers",
        "4.57",
        "BeamSearchScorer generation.BeamSearchScorer",
        "Generate with generate(num_beams=…)",
    ),
    since(
        "transformers",
        "5.24",
        "modeling_attn_mask_utils",
        "Use transformers.masking_utils",
    ),
    since(
        "transformers",
        "5.0",
        "modeling_utils.no_init_weights utils.model_parallel_utils AutoModelForVision2Seq CLIPFeatureExtractor \
            TextDataset LineByLineTextDataset utils.is_torch_fx_available utils.import_utils.is_torch_fx_available generation.SampleDecoderOnlyOutput \
            generation.GreedySearchDecoderOnlyOutput",
        "Use its successor in Transformers 5",
    ),
];

/// Names that were aliases of others in the same module.
const ALIASES: &[(&str, &str)] = &[
    ("ANTIALIAS", "LANCZOS"),
    ("CUBIC", "BICUBIC"),
    ("LINEAR", "BILINEAR"),
    ("trapz", "trapezoid"),
    ("cumtrapz", "cumulative_trapezoid"),
    ("from_numpy_matrix", "from_numpy_array"),
];

/// The releases that a project may limit, as requirements name them.
pub const LIMITED: &[&str] = &[
    "datasets",
    "diffusers",
    "gradio",
    "huggingface-hub",
    "kornia",
    "librosa",
    "lightning",
    "matplotlib",
    "moviepy",
    "networkx",
    "nibabel",
    "peft",
    "protobuf",
    "pytorch-lightning",
    "scipy",
    "torch-geometric",
    "torchdata",
    "torchmetrics",
    "transformers",
    "trimesh",
    "vllm",
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    match cx.tree().kind(node) {
        Kind::Call => library_calls::check_call(cx, node),
        Kind::FunctionDefinition => library_calls::check_hook(cx, node),
        Kind::Attribute => check_attribute(cx, node),
        _ => check_import(cx, node),
    }
}

fn check_import(cx: &PythonChecker<'_>, statement: Node) {
    let text = cx.tree().text(statement);
    for row in ROWS.iter().filter(|row| text.contains(row.library)) {
        let find = |name| {
            let whole = format!("{}.{name}", row.library);
            let found = imported(cx, statement, &whole)?;
            Some((name, found))
        };
        if let Some((name, found)) = row.names.split_whitespace().find_map(find) {
            report(cx, row, name, found);
            return;
        }
    }
}

/// The last part of each name with its row and the name, sorted: most attributes have none of them.
static BY_LAST: LazyLock<Vec<(&str, &Removed, &str)>> = LazyLock::new(|| {
    let mut sorted: Vec<(&str, &Removed, &str)> = Vec::new();
    for row in ROWS {
        for name in row.names.split_whitespace() {
            let last = name.rsplit('.').next().unwrap_or(name);
            let at = sorted.partition_point(|(known, ..)| *known <= last);
            sorted.insert(at, (last, row, name));
        }
    }
    sorted
});

fn check_attribute(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some(member) = tree.child(node, Field::Attribute) else {
        return;
    };
    let last = tree.text(member);
    let start = BY_LAST.partition_point(|(name, ..)| *name < last);
    for (_, row, name) in BY_LAST
        .iter()
        .skip(start)
        .take_while(|(name, ..)| *name == last)
    {
        let is_it = cx.resolve(node).is_some_and(|found| {
            found.root() == row.library && found.is(&format!("{}.{name}", row.library))
        });
        if is_it {
            report(cx, row, name, node);
            return;
        }
    }
}

fn report(cx: &PythonChecker<'_>, row: &Removed, name: &str, found: Node) {
    let tree = cx.tree();
    let last = name.rsplit('.').next();
    let alias = ALIASES.iter().find(|(old, _)| last == Some(old));
    let fix = match (alias, tree.child(found, Field::Attribute)) {
        (Some((_, new)), Some(member)) => RawFix::safe_edits(
            format!("Use {new}"),
            vec![(tree.span(member), (*new).to_owned())],
        ),
        _ => RawFix::display_only(row.advice),
    };
    let lacking = format!("have {}.{name}", row.library);
    report_removed(cx, row.library, row.since, &lacking, found, fix);
}

/// Reports what the releases of a library from `since` on do not do, unless the project requires older ones: `have yaml.load`.
pub(super) fn report_removed(
    cx: &PythonChecker<'_>,
    library: &'static str,
    since: Option<&'static str>,
    lacking: &str,
    found: Node,
    fix: RawFix,
) {
    if cx.is_first_party(library) || is_told_apart(cx, found) {
        return;
    }
    let name = distribution(library);
    let python = cx.target().python;
    let (severity, releases) = match since {
        None if python >= Version::new(3, 12) => (
            Severity::Error,
            format!("The releases of {name} with a wheel for Python {python}"),
        ),
        None => (Severity::Warning, format!("The current releases of {name}")),
        Some(since) if is_limited_before(cx, name, since) => return,
        Some(since) => (Severity::Warning, format!("{name} {since} and later")),
    };
    let message = format!("{releases} do not {lacking} any more.");
    // A module that is imported often is one finding, and so are a part of TensorFlow and a source that is written for an
    // old vLLM.
    let is_import = cx.tree().field(found) == Field::ModuleName;
    let is_repeated = |reported: &str| match library {
        "vllm" => reported.starts_with(library),
        _ => reported == message && (is_import || library == "tensorflow"),
    };
    if cx.has_reported(&RULE, &|_, reported| is_repeated(reported)) {
        return;
    }
    cx.report_as(&RULE, severity, found, message, fix);
}

/// The name of a module's library in requirements.
fn distribution(module: &str) -> &str {
    match module {
        "PIL" => "pillow",
        "google" => "protobuf",
        "huggingface_hub" => "huggingface-hub",
        "pytorch_lightning" => "pytorch-lightning",
        "skimage" => "scikit-image",
        "sklearn" => "scikit-learn",
        "torch_geometric" => "torch-geometric",
        "yaml" => "PyYAML",
        other => other,
    }
}

/// The first releases that run with PyTorch for ROCm: with a wheel for Python 3.10 or, of vLLM, for ROCm, and librosa without
/// `np.complex`. A requirement of an older one has to change, so it limits nothing.
const FLOORS: &[(&str, Version)] = &[
    ("librosa", Version::new(0, 9)),
    ("matplotlib", Version::new(3, 5)),
    ("scipy", Version::new(1, 7)),
    ("vllm", Version::new(0, 14)),
];

/// Whether a requirement of the project allows only releases before `since`.
fn is_limited_before(cx: &PythonChecker<'_>, library: &str, since: &str) -> bool {
    let since = Version::try_from(since.to_owned());
    let floor = FLOORS.iter().find(|(name, _)| *name == library);
    cx.release_limits().iter().any(|limit| {
        limit
            .strip_prefix(library)
            // The other name of the same library.
            .or_else(|| limit.strip_prefix("lightning").filter(|_| library == "pytorch-lightning"))
            .and_then(|rest| rest.strip_prefix(' '))
            .is_some_and(|newest| {
                matches!((&since, Version::try_from(newest.to_owned())), (Ok(since), Ok(newest)) if newest < *since && floor.is_none_or(|(_, floor)| newest >= *floor))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_with_a_first_release_can_be_limited() {
        for row in ROWS.iter().filter(|row| row.since.is_some()) {
            let name = distribution(row.library);
            assert!(LIMITED.contains(&name), "{name}");
        }
    }
}
