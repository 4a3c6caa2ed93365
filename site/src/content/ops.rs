//! The ops of the kernels package: what each promises, the source of its backends, what was measured of it, and the
//! machine code that AMD's compilers make of it.

use super::csv::Table;
use super::highlight::highlight;
use crate::isa::Recorded;
use crate::wire::Decode;
use serde_json::Value;
use std::collections::BTreeMap;

/// Where ops lie in the package.
const FOLDER: &str = "hipward_kernels/ops/";
/// The mark of a module that is an op, and not a helper of several.
const MARK: &str = "\nOP = Op(";

/// Every op, by name.
#[derive(Clone, Debug, Default)]
pub struct Ops {
    pub(crate) list: Vec<Op>,
    /// `results/isa_example.json`: a kernel and its machine code.
    pub(crate) recorded: Option<Recorded>,
}

/// One op.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) name: String,
    /// The first line of its module's docstring.
    pub(crate) summary: String,
    /// Its module: signature, shapes, formula.
    pub(crate) contract: Source,
    /// Reference first.
    pub(crate) backends: Vec<Source>,
    /// Rows of `results/results.csv`.
    pub(crate) measured: Table,
    /// Rows of `results/amd_code.csv`.
    pub(crate) machine_code: Table,
}

/// A file of an op.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) language: &'static str,
    /// Highlighted.
    pub(crate) html: String,
}

impl Ops {
    /// Reads the `kernels` folder, given as paths below it (with `/`) and texts.
    pub fn parse(files: impl IntoIterator<Item = (String, String)>) -> Ops {
        let files: BTreeMap<String, String> = files.into_iter().collect();
        let table = |path: &str| Table::parse(files.get(path).map_or("", String::as_str));
        let measured = table("results/results.csv");
        let machine_code = table("results/amd_code.csv");
        let list = files
            .iter()
            .filter_map(|(path, text)| {
                let name = path.strip_prefix(FOLDER)?.strip_suffix("/__init__.py")?;
                text.contains(MARK).then(|| Op {
                    name: name.to_owned(),
                    summary: summary(text).to_owned(),
                    contract: source("__init__.py", text),
                    backends: backends(&files, name),
                    measured: measured.matching("op", name),
                    machine_code: machine_code.matching("op", name),
                })
            })
            .collect();
        let recorded = files
            .get("results/isa_example.json")
            .and_then(|json| Recorded::decode(&serde_json::from_str::<Value>(json).ok()?));
        Ops { list, recorded }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Op> {
        self.list.iter().find(|op| op.name == name)
    }
}

/// The files beside `__init__.py` that a reader wants to see: the reference, then the kernels.
fn backends(files: &BTreeMap<String, String>, name: &str) -> Vec<Source> {
    ["eager.py", "triton.py", "hip.hip", "backward.hip"]
        .into_iter()
        .filter_map(|file| {
            let text = files.get(&format!("{FOLDER}{name}/{file}"))?;
            Some(source(file, text))
        })
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
        html: highlight(text, language),
    }
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
                "\"\"\"Adds.\n\nMore.\"\"\"\n\nOP = Op(\"add\")\n",
            ),
            file("hipward_kernels/ops/add/eager.py", "x + y\n"),
            file("hipward_kernels/ops/add/hip.hip", "int x;\n"),
            file(
                "hipward_kernels/ops/shared/__init__.py",
                "\"\"\"Helps.\"\"\"\n",
            ),
            file("results/results.csv", "op,shape\nadd,2x2\nmul,2x2\n"),
        ]);
        assert_eq!(ops.list.len(), 1);
        let add = ops.get("add").expect("it is there");
        assert_eq!(add.summary, "Adds.");
        let files: Vec<_> = add
            .backends
            .iter()
            .map(|source| source.file.as_str())
            .collect();
        assert_eq!(files, ["eager.py", "hip.hip"]);
        assert_eq!((add.measured.len(), add.machine_code.len()), (1, 0));
    }
}
