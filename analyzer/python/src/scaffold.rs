//! Completes pasted code to the snippet contract, with comments where the author has to fill in values.

use crate::semantic::{Semantics, Value};
use crate::snippet_contract::modules;
use crate::syntax::{Field, Kind, LastParse, Node, parse};
use hipward_analyzer_core::{Report, Target};

/// The pasted code with the missing parts of the contract appended: `Model` around the last module (or function), and
/// `get_inputs` and `get_init_inputs` for it.
///
/// A source that is complete or cannot be parsed is returned unchanged.
pub fn scaffold(source: &str, report: &Report) -> String {
    if report.contract.is_complete() {
        return source.to_owned();
    }
    let Some(tree) = parse(source, &mut LastParse::default()) else {
        return source.to_owned();
    };
    let semantics = Semantics::new(tree, Target::default());
    let newline = if source.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let mut text = source.trim_end().to_owned();
    for part in missing_parts(&semantics, report) {
        if !text.is_empty() {
            text.push_str("\n\n\n");
        }
        text.push_str(part.trim_end());
    }
    text.push('\n');
    if newline == "\r\n" {
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    text
}

/// The code that `Model` wraps.
enum Subject<'a> {
    Module(&'a str, Node),
    Function(&'a str, Node),
    Nothing,
}

fn missing_parts(semantics: &Semantics<'_>, report: &Report) -> Vec<String> {
    let contract = &report.contract;
    let subject = subject(semantics);
    let mut parts = Vec::new();
    let mut imports = Vec::new();
    let has = |path: &str, name: &'static str| {
        semantics
            .names
            .at_top_level(name)
            .iter()
            .any(|binding| match binding.value {
                Value::Module(module) => module == path,
                Value::Member(module, member) => {
                    path.strip_suffix(member) == Some(&format!("{module}."))
                }
                _ => false,
            })
    };
    let inputs = inputs(semantics, &subject);
    if !contract.get_inputs && !has("torch", "torch") {
        imports.push("import torch");
    }
    if !contract.model && !has("torch.nn", "nn") {
        imports.push("from torch import nn");
    }
    if !imports.is_empty() {
        parts.push(imports.join("\n"));
    }
    if !contract.model {
        parts.push(model(&subject));
    }
    if !contract.get_inputs {
        parts.push(inputs);
    }
    if !contract.get_init_inputs {
        parts.push(init_inputs(semantics, &subject));
    }
    parts
}

/// `Model` itself if it exists, otherwise the last module, otherwise the last function.
fn subject<'a>(semantics: &Semantics<'a>) -> Subject<'a> {
    let mut all: Vec<_> = modules(semantics).collect();
    if let Some((name, class)) = all.iter().find(|(name, _)| *name == "Model").copied() {
        return Subject::Module(name, class);
    }
    if let Some((name, class)) = all.pop() {
        return Subject::Module(name, class);
    }
    let tree = &semantics.tree;
    tree.parts(tree.root())
        .filter(|statement| tree.kind(*statement) == Kind::FunctionDefinition)
        .filter_map(|function| Some((tree.text(tree.child(function, Field::Name)?), function)))
        .filter(|(name, _)| !matches!(*name, "get_inputs" | "get_init_inputs" | "main"))
        .last()
        .map_or(Subject::Nothing, |(name, function)| {
            Subject::Function(name, function)
        })
}

fn model(subject: &Subject<'_>) -> String {
    match subject {
        Subject::Module(name, _) => format!(
            "class Model(nn.Module):\n    \"\"\"What is benchmarked: {name}.\"\"\"\n\n    def __init__(self, *args):\n        super().__init__()\n        self.module = {name}(*args)\n\n    def forward(self, *inputs):\n        return self.module(*inputs)"
        ),
        Subject::Function(name, _) => format!(
            "class Model(nn.Module):\n    \"\"\"What is benchmarked: {name}.\"\"\"\n\n    def forward(self, *inputs):\n        return {name}(*inputs)"
        ),
        Subject::Nothing => "class Model(nn.Module):\n    \"\"\"What is benchmarked.\"\"\"\n\n    def forward(self, x):\n        # Fill in: the computation to benchmark, from its inputs to its result.\n        return x".to_owned(),
    }
}

/// `get_inputs`: a tensor for each argument of `forward`.
fn inputs(semantics: &Semantics<'_>, subject: &Subject<'_>) -> String {
    let arguments = match subject {
        Subject::Module(_, class) => method(semantics, *class, "forward")
            .map_or_else(Vec::new, |forward| required(semantics, forward, true)),
        Subject::Function(_, function) => required(semantics, *function, false),
        Subject::Nothing => vec!["x"],
    };
    let mut text = "def get_inputs():\n    # Fill in: shapes and dtypes as they are in real use. A benchmark is only as true as its inputs.\n".to_owned();
    give(&mut text, &arguments, "torch.randn(8, 128, 1024)");
    text
}

/// A line for each value, and a list of the values.
fn give(text: &mut String, names: &[&str], value: &str) {
    for name in names {
        text.push_str(&format!("    {name} = {value}\n"));
    }
    text.push_str(&format!("    return [{}]", names.join(", ")));
}

/// `get_init_inputs`: a value for each argument of `__init__` without a default.
fn init_inputs(semantics: &Semantics<'_>, subject: &Subject<'_>) -> String {
    let arguments = match subject {
        Subject::Module(_, class) => method(semantics, *class, "__init__")
            .map_or_else(Vec::new, |init| required(semantics, init, true)),
        _ => Vec::new(),
    };
    let mut text = "def get_init_inputs():\n".to_owned();
    if !arguments.is_empty() {
        text.push_str("    # Fill in: what the model is made with.\n");
    }
    give(&mut text, &arguments, "1024");
    text
}

fn method(semantics: &Semantics<'_>, class: Node, name: &str) -> Option<Node> {
    let tree = &semantics.tree;
    tree.parts(tree.child(class, Field::Body)?)
        .map(|member| tree.child(member, Field::Definition).unwrap_or(member))
        .filter(|member| tree.kind(*member) == Kind::FunctionDefinition)
        .find(|member| {
            tree.child(*member, Field::Name)
                .map(|found| tree.text(found))
                == Some(name)
        })
}

/// The positional parameters without a default.
fn required<'a>(semantics: &Semantics<'a>, function: Node, is_method: bool) -> Vec<&'a str> {
    let tree = &semantics.tree;
    let Some(parameters) = tree.child(function, Field::Parameters) else {
        return Vec::new();
    };
    tree.parts(parameters)
        .take_while(|parameter| {
            !matches!(tree.kind(*parameter), Kind::ListSplatPattern | Kind::Other)
        })
        .filter_map(|parameter| match tree.kind(parameter) {
            Kind::Identifier => Some(tree.text(parameter)),
            Kind::TypedParameter => tree
                .parts(parameter)
                .next()
                .filter(|name| tree.kind(*name) == Kind::Identifier)
                .map(|name| tree.text(name)),
            _ => None,
        })
        .skip(usize::from(is_method))
        .collect()
}
