//! The ops of the kernels package: what each promises, the source of its backends, what was measured of it, and the
//! machine code that AMD's compilers make of it.

use super::csv::Table;
use super::highlight::highlight;
use super::models::{self, Study};
use crate::isa::{Launches, Recorded};
use std::collections::BTreeMap;

/// The package.
const PACKAGE: &str = "hipward_kernels/";
/// The mark of a module in the package's `ops/` that is an op, and not a helper of several.
const MARK: &str = "\nOP = Op(";
/// Parts of a model that go one of several ways to the same result. They lie beside the ops and are shown as these are.
const ROUTED: [&str; 4] = ["attention", "linear", "projections", "quantization"];

/// Every op, by name.
#[derive(Clone, Debug, Default)]
pub struct Ops {
    pub(crate) list: Vec<Op>,
    /// `results/models.csv`: what was measured of models that are made of them.
    pub(crate) models: Vec<Study>,
    /// `results/kernelbench.csv`: jobs of unchanged KernelBench problems.
    pub(crate) kernelbench: Table,
    /// `results/isa_example.json`: a kernel and its machine code.
    pub(crate) recorded: Option<Recorded>,
    /// `results/launches.json`: kernels that the page for machine code executes.
    pub(crate) launches: Option<Launches>,
}

/// One op.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) name: String,
    /// It is one of several ways that are chosen from, not one computation.
    pub(crate) is_routed: bool,
    /// The first line of its module's docstring.
    pub(crate) summary: String,
    /// A call of it, highlighted: the first example of its module's docstrings.
    pub(crate) example: Option<String>,
    /// Its signature and docstring, or its whole module if it is several classes.
    pub(crate) contract: Source,
    /// Reference first.
    pub(crate) backends: Vec<Source>,
    /// Rows of `results/results.csv`, or of `results/routed.csv`.
    pub(crate) measured: Table,
    /// Rows of `results/training.csv`.
    pub(crate) training: Table,
    /// `results/linear.csv`, for what it measures.
    pub(crate) sweep: Table,
    /// Rows of `results/amd_code.csv`.
    pub(crate) machine_code: Table,
    /// Rows of `results/amd_instructions.csv`.
    pub(crate) executed: Table,
}

/// A file of an op.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) language: &'static str,
    /// The first line of a Python file's docstring.
    pub(crate) summary: String,
    /// Highlighted.
    pub(crate) html: String,
}

impl Ops {
    /// Reads the `kernels` folder, given as paths below it (with `/`) and texts.
    pub fn parse(files: impl IntoIterator<Item = (String, String)>) -> Ops {
        let files: BTreeMap<String, String> = files.into_iter().collect();
        let table = |path: &str| Table::parse(files.get(path).map_or("", String::as_str));
        let measured = table("results/results.csv");
        let routed = table("results/routed.csv");
        let training = table("results/training.csv");
        let sweep = table("results/linear.csv");
        let machine_code = table("results/amd_code.csv");
        let executed = table("results/amd_instructions.csv");
        let list = files
            .iter()
            .filter_map(|(path, text)| {
                let folder = path.strip_suffix("__init__.py")?;
                let place = folder.strip_prefix(PACKAGE)?.strip_suffix('/')?;
                let (name, is_routed) = match place.strip_prefix("ops/") {
                    Some(name) => text.contains(MARK).then_some((name, false))?,
                    None => ROUTED.contains(&place).then_some((place, true))?,
                };
                let kernels = if name == "quantization" {
                    "quantize"
                } else {
                    name
                };
                Some(Op {
                    name: name.to_owned(),
                    is_routed,
                    summary: summary(text).to_owned(),
                    example: example(text).map(|code| highlight(&code, "python")),
                    contract: source("__init__.py", &contract(text, name)),
                    backends: backends(&files, folder, is_routed),
                    measured: match is_routed {
                        true => routed.matching("op", name),
                        false => measured.matching("op", name),
                    },
                    training: training.matching("op", name),
                    sweep: match name {
                        "linear" | "quantization" => sweep.clone(),
                        _ => Table::default(),
                    },
                    machine_code: machine_code.matching("op", kernels),
                    executed: executed.matching("op", kernels),
                })
            })
            .collect();
        let recorded = files
            .get("results/isa_example.json")
            .and_then(|json| serde_json::from_str(json).ok());
        let launches = files
            .get("results/launches.json")
            .and_then(|json| Launches::parse(json));
        Ops {
            list,
            models: models::parse(&table("results/models.csv")),
            kernelbench: table("results/kernelbench.csv"),
            recorded,
            launches,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Op> {
        self.list.iter().find(|op| op.name == name)
    }
}

/// The files beside `__init__.py` that a reader wants to see: the reference, then the kernels, then the routes.
fn backends(files: &BTreeMap<String, String>, folder: &str, is_routed: bool) -> Vec<Source> {
    const FIRST: [&str; 4] = ["eager.py", "triton.py", "hip.hip", "backward.hip"];
    let routes = files
        .range(folder.to_owned()..)
        .map_while(|(path, _)| path.strip_prefix(folder))
        .filter(|file| {
            is_routed && file.ends_with(".py") && *file != "__init__.py" && !FIRST.contains(file)
        });
    FIRST
        .into_iter()
        .chain(routes)
        .filter_map(|file| Some(source(file, files.get(&format!("{folder}{file}"))?)))
        .collect()
}

fn source(file: &str, text: &str) -> Source {
    let language = if file.ends_with(".py") {
        "python"
    } else {
        "cpp"
    };
    Source {
        file: file.to_owned(),
        language,
        summary: match language {
            "python" => summary(text).to_owned(),
            _ => String::new(),
        },
        html: highlight(text, language),
    }
}

/// The first example of a module's docstrings: its statements, and what they print as comments.
fn example(module: &str) -> Option<String> {
    let is_statement = |line: &&str| line.trim_start().starts_with(">>> ");
    let lines = module.lines().skip_while(|line| !is_statement(line));
    let lines = lines.take_while(|line| !matches!(line.trim(), "" | "\"\"\""));
    let code: Vec<String> = lines
        .map(|line| match line.trim_start().split_once(' ') {
            Some((">>>" | "...", statement)) => statement.to_owned(),
            _ => format!("# {}", line.trim()),
        })
        .collect();
    (!code.is_empty()).then(|| code.join("\n") + "\n")
}

/// The signature and the docstring of the function `name`, without its example; the module if it does not define one.
fn contract(module: &str, name: &str) -> String {
    const QUOTES: &str = "\"\"\"";
    let function = module.find(&format!("\ndef {name}(")).and_then(|start| {
        let function = &module[start + 1..];
        let docstring = function.find(QUOTES)? + QUOTES.len();
        let end = docstring + function[docstring..].find(QUOTES)?;
        let text = function[..end].trim_end();
        let text = text
            .split_once("\n\n    Example:")
            .map_or(text, |(text, _)| text);
        Some(format!("{text}\n    {QUOTES}\n"))
    });
    function.unwrap_or_else(|| module.to_owned())
}

fn summary(module: &str) -> &str {
    let text = module.trim_start().trim_start_matches('"');
    let end = text.find(['"', '\n']).unwrap_or(text.len());
    text[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_is_a_module_with_its_files_and_rows() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let ops = Ops::parse([
            file(
                "hipward_kernels/ops/add/__init__.py",
                "\"\"\"Adds.\n\nMore.\"\"\"\n\nOP = Op(\"add\")\n\n\ndef add(x, y):\n    \"\"\"Adds `y`.\n\n    Example:\n        >>> add(1, 2)\n        3\n    \"\"\"\n    return OP(x, y)\n",
            ),
            file("hipward_kernels/ops/add/eager.py", "x + y\n"),
            file("hipward_kernels/ops/add/hip.hip", "int x;\n"),
            file(
                "hipward_kernels/ops/shared/__init__.py",
                "\"\"\"Helps.\"\"\"\n",
            ),
            file(
                "hipward_kernels/attention/__init__.py",
                "\"\"\"Attends.\"\"\"\n",
            ),
            file(
                "hipward_kernels/attention/sdpa.py",
                "\"\"\"By PyTorch.\"\"\"\n",
            ),
            file("hipward_kernels/attention/eager.py", "q @ k\n"),
            file(
                "hipward_kernels/harness/__init__.py",
                "\"\"\"Measures.\"\"\"\n",
            ),
            file("results/results.csv", "op,shape\nadd,2x2\nmul,2x2\n"),
            file("results/routed.csv", "op,part\nattention,prompt\n"),
        ]);
        let names: Vec<_> = ops
            .list
            .iter()
            .map(|op| (op.name.as_str(), op.is_routed))
            .collect();
        assert_eq!(names, [("attention", true), ("add", false)]);
        let attention = ops.get("attention").expect("it is there");
        let files: Vec<_> = attention
            .backends
            .iter()
            .map(|source| (source.file.as_str(), source.summary.as_str()))
            .collect();
        assert_eq!(files, [("eager.py", "q @ k"), ("sdpa.py", "By PyTorch.")]);
        let add = ops.get("add").expect("it is there");
        assert_eq!(add.summary, "Adds.");
        let text = |html: &str| {
            let parts = html
                .split('<')
                .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
            parts.collect::<String>()
        };
        assert_eq!(
            add.example.as_deref().map(text).as_deref(),
            Some("add(1, 2)\n# 3\n")
        );
        assert_eq!(
            text(&add.contract.html).replace("&quot;", "\""),
            "def add(x, y):\n    \"\"\"Adds `y`.\n    \"\"\"\n"
        );
        let files: Vec<_> = add
            .backends
            .iter()
            .map(|source| source.file.as_str())
            .collect();
        assert_eq!(files, ["eager.py", "hip.hip"]);
        assert_eq!((add.measured.len(), add.machine_code.len()), (1, 0));
        assert_eq!(attention.measured.len(), 1);
    }
}
