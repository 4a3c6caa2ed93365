//! The requirements in a `setup.py`: the arguments of `setup(…)`, and the files that it reads them from.

use hipward_analyzer_core::Language;
use hipward_analyzer_core::Target;
use hipward_analyzer_python::semantic::{Semantics, Value, never_runs_on_target};
use hipward_analyzer_python::syntax::{Field, Kind, LastParse, Node, parse};
use hipward_analyzer_python::{Extra, PythonExtension, checker};

use crate::FileOptions;
use crate::checker::FileChecker;
use crate::facts::{Facts, Include};
use crate::requirements::{is_guarded_group, requirement};
use crate::text::Text;

/// The arguments of `setup` with requirements.
const KEYS: &[&str] = &[
    "install_requires",
    "extras_require",
    "setup_requires",
    "tests_require",
];

/// How many nested names, sums and lists are followed.
const MAX_DEPTH: u8 = 8;

/// Checks the requirements in a `setup.py` with the rules for a `pyproject.toml`.
pub struct SetupScript<'a>(pub FileOptions<'a>);

impl PythonExtension for SetupScript<'_> {
    fn check(&self, checker: &checker::PythonChecker<'_>, found: &mut Extra) {
        let semantics = &checker.semantics;
        let source = semantics.tree.source();
        if !has_requirements(source) {
            return;
        }
        let mut facts = facts(semantics);
        if facts.requirements.is_empty() {
            return;
        }
        facts.comments = semantics.tree.comments(Vec::new());
        let diagnostics = FileChecker::run(source, Language::Pyproject, facts, &self.0);
        found.diagnostics.extend(diagnostics);
    }
}

/// Cheap: most Python is no set-up script.
fn has_requirements(source: &str) -> bool {
    KEYS.iter().any(|key| source.contains(key))
}

/// The files that a `setup.py` reads requirements from.
pub(crate) fn includes(source: &str) -> Vec<String> {
    if !has_requirements(source) {
        return Vec::new();
    }
    let Some(tree) = parse(source, &mut LastParse::default()) else {
        return Vec::new();
    };
    let found = facts(&Semantics::new(tree, Target::default()));
    let paths = found.includes.iter();
    paths
        .map(|include| include.path.as_str().to_owned())
        .collect()
}

/// The requirements and the included files.
fn facts<'a>(semantics: &Semantics<'a>) -> Facts<'a> {
    let tree = &semantics.tree;
    let mut facts = Facts::default();
    for argument in tree.nodes() {
        if tree.kind(argument) != Kind::KeywordArgument {
            continue;
        }
        let name = tree.child(argument, Field::Name);
        let name = name.map_or("", |name| tree.text(name));
        let is_setup = || {
            let call = tree.parent(argument).and_then(|list| tree.parent(list));
            let function = call.and_then(|call| tree.child(call, Field::Function));
            function.is_some_and(|function| tree.text(function).ends_with("setup"))
        };
        if KEYS.contains(&name)
            && is_setup()
            && let Some(value) = tree.child(argument, Field::Value)
        {
            Reader { semantics }.read(value, false, MAX_DEPTH, &mut facts);
        }
    }
    facts
}

struct Reader<'s, 'a> {
    semantics: &'s Semantics<'a>,
}

impl<'a> Reader<'_, 'a> {
    /// The requirements in a list, a string, a sum of lists or a dictionary of extras, also through names.
    fn read(&self, value: Node, guarded: bool, depth: u8, facts: &mut Facts<'a>) {
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        let tree = &self.semantics.tree;
        let value = self.semantics.expression(value);
        match tree.kind(value) {
            Kind::String => {
                let asked = self.text(value);
                let runs = !never_runs_on_target(self.semantics, value);
                let asked = asked.filter(|_| runs);
                facts
                    .requirements
                    .extend(asked.and_then(|asked| requirement(asked.trim(), guarded)));
            }
            Kind::List | Kind::Tuple | Kind::Set | Kind::ListSplat => {
                for item in tree.parts(value) {
                    self.read(item, guarded, depth, facts);
                }
            }
            Kind::BinaryOperator => {
                for side in [Field::Left, Field::Right] {
                    if let Some(side) = tree.child(value, side) {
                        self.read(side, guarded, depth, facts);
                    }
                }
            }
            Kind::ConditionalExpression => {
                let parts: Vec<_> = tree.parts(value).collect();
                if let [yes, _, no] = parts[..] {
                    self.read(yes, true, depth, facts);
                    self.read(no, true, depth, facts);
                }
            }
            Kind::Dictionary => {
                for pair in tree.parts(value) {
                    self.extra(pair, depth, facts);
                }
            }
            Kind::Call => self.files(value, facts),
            _ => {}
        }
    }

    /// `"gpu": ["cupy-cuda12x"]`
    fn extra(&self, pair: Node, depth: u8, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        let key = tree.child(pair, Field::Key);
        let name = key.and_then(|key| self.text(key));
        let name = name.map_or("", Text::as_str);
        let Some(value) = tree.child(pair, Field::Value) else {
            return;
        };
        let first = facts.requirements.len();
        self.read(value, is_guarded_group(name), depth, facts);
        for found in facts.requirements.iter_mut().skip(first) {
            // An extra that is named after its package is requested by users who can use it.
            found.guarded |= name.replace('_', "-") == found.normalized();
        }
    }

    /// `open("requirements.txt").read().splitlines()`, `read_requirements("requirements.txt")`: the strings in the
    /// call are paths. A function of the script may hold them instead.
    fn files(&self, call: Node, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        let known = facts.includes.len();
        for node in tree.subtree(call) {
            if let Some(path) = self.text(node).filter(|path| is_path(path.as_str())) {
                facts.includes.push(Include::in_file(path));
            }
        }
        if facts.includes.len() > known {
            return;
        }
        let function = tree.child(call, Field::Function);
        let binding = function.and_then(|function| self.semantics.binding(function));
        if let Some(Value::Function(function)) = binding.map(|binding| binding.value) {
            let strings = tree.subtree(function).filter_map(|node| self.text(node));
            let paths = strings.filter(|path| is_path(path.as_str()));
            facts.includes.extend(paths.map(Include::in_file));
        }
    }

    /// The content of a string without escapes.
    fn text(&self, string: Node) -> Option<Text<'a>> {
        let tree = &self.semantics.tree;
        if tree.kind(string) != Kind::String {
            return None;
        }
        let mut parts = tree.parts(string);
        let content = parts.next()?;
        let is_plain = parts.next().is_none()
            && tree.kind(content) == Kind::StringContent
            && tree.parts(content).next().is_none();
        is_plain.then(|| Text::whole(tree.source()).part(tree.span(content)))
    }
}

fn is_path(text: &str) -> bool {
    text.ends_with(".txt") || text.ends_with(".in")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> Vec<String> {
        let tree = parse(source, &mut LastParse::default()).expect("Python");
        let facts = facts(&Semantics::new(tree, Target::default()));
        let requirements = facts.requirements.iter().map(|found| {
            let guard = if found.guarded { "?" } else { "" };
            let whole = &source[found.whole.range()];
            assert_eq!(whole, found.whole.as_str());
            format!("{guard}{whole}")
        });
        let includes = facts.includes.iter();
        let includes = includes.map(|include| format!("<{}", include.path.as_str()));
        requirements.chain(includes).collect()
    }

    #[test]
    fn requirements_are_found_through_names_sums_and_extras() {
        let source = "from setuptools import setup\nBASE = ['torch==2.4.0', \"numpy>=1\"]\nEXTRAS = {'gpu': ['cupy-cuda12x'], 'dev': ['pytest'] + BASE, 'xformers': ['xformers']}\nsetup(name='x', install_requires=BASE + ['apex @ git+https://h/apex', *MORE], extras_require=EXTRAS, setup_requires='pynvml')\n";
        assert_eq!(
            shown(source),
            [
                "torch==2.4.0",
                "numpy>=1",
                "apex @ git+https://h/apex",
                "?cupy-cuda12x",
                "pytest",
                "torch==2.4.0",
                "numpy>=1",
                "?xformers",
                "pynvml",
            ]
        );
    }

    #[test]
    fn files_with_requirements_are_includes() {
        for (source, path) in [
            (
                "setup(install_requires=open('deps.txt').read().splitlines(), long_description=open('README.txt'))",
                "<deps.txt",
            ),
            (
                "def pins():\n    with open('pins.in') as f:\n        return f.read().split()\nsetup(install_requires=pins())",
                "<pins.in",
            ),
            (
                "import setuptools\nreqs = parse('a/b.txt')\nsetuptools.setup(install_requires=reqs)",
                "<a/b.txt",
            ),
        ] {
            assert_eq!(shown(source), [path], "{source}");
        }
        assert!(shown("f(install_requires=['torch'])").is_empty());
    }
}
