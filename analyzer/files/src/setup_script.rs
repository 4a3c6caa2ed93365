//! The requirements in Python: the arguments of `setup(…)`, the files that a `setup.py` reads them from, and the packages
//! of a container image that is described in Python: `image.pip_install("torch==2.4.0")`. And the GPUs that a pod requests.

use hipward_analyzer_core::Language;
use hipward_analyzer_core::Target;
use hipward_analyzer_python::semantic::{Semantics, Value, never_runs_on_target};
use hipward_analyzer_python::syntax::{Field, Kind, LastParse, Node, parse};
use hipward_analyzer_python::{Extra, PythonExtension, checker};

use crate::FileOptions;
use crate::checker::FileChecker;
use crate::facts::{Entry, Facts, Image, Include};
use crate::requirements::{is_guarded_group, requirement};
use crate::shell;
use crate::text::Text;

/// The arguments of `setup` with requirements.
const KEYS: &[&str] = &[
    "install_requires",
    "extras_require",
    "setup_requires",
    "tests_require",
];

/// The end of the methods of an image that install packages: `pip_install`, `uv_pip_install`.
const INSTALL: &str = "pip_install";

/// The key of pip's requirements in a conda environment, which a source may hold as a dictionary.
const PIP: [&str; 2] = ["\"pip\": [", "'pip': ["];

/// The resource of Kubernetes that a pod requests.
const GPU: &str = "nvidia.com/gpu";

/// The method for an image of a registry.
const REGISTRY: &str = "from_registry";

/// The method of an image that runs commands.
const RUN: &str = "run_commands";

/// The start of an image with CUDA.
const CUDA_IMAGE: &str = "nvidia/cuda:";

/// The options for a C++ standard, before its number.
const STANDARDS: [&str; 2] = ["-std=c++", "-std=gnu++"];

/// Arguments that select the GPU of a job.
const KINDS: &[&str] = &["gpu", "instance_type"];

/// Further words of a source that has such facts.
const WORDS: &[&str] = &[
    INSTALL,
    GPU,
    RUN,
    CUDA_IMAGE,
    "image = \"",
    "-std=",
    "modal",
    "=\"ml.",
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
        // Each kind of fact has rules for another kind of file.
        let pods = Facts {
            entries: std::mem::take(&mut facts.entries),
            images: std::mem::take(&mut facts.images),
            ..Facts::default()
        };
        let parts = [
            (Language::Pyproject, facts),
            (Language::Yaml, pods),
            (Language::Shell, commands(semantics)),
        ];
        for (language, mut facts) in parts {
            let is_empty = facts.requirements.is_empty()
                && facts.entries.is_empty()
                && facts.images.is_empty()
                && facts.cpp_standards.is_empty()
                && facts.commands.is_empty();
            if !is_empty {
                facts.comments = semantics.tree.comments(Vec::new());
                let diagnostics = FileChecker::run(source, language, facts, &self.0);
                found.diagnostics.extend(diagnostics);
            }
        }
    }
}

/// Cheap: most Python is no set-up script.
fn has_requirements(source: &str) -> bool {
    let has = |word: &&str| source.contains(*word);
    KEYS.iter().any(has) || PIP.iter().any(has) || WORDS.iter().any(has)
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
    let reader = Reader { semantics };
    for argument in tree.nodes() {
        if tree.kind(argument) != Kind::KeywordArgument {
            match tree.kind(argument) {
                Kind::Call => reader.image(argument, &mut facts),
                Kind::Pair => reader.environment(argument, &mut facts),
                Kind::String => {
                    reader.resource(argument, &mut facts);
                    reader.constant(argument, &mut facts);
                    reader.standard(argument, &mut facts);
                }
                _ => {}
            }
            continue;
        }
        let name = tree.child(argument, Field::Name);
        let name = name.map_or("", |name| tree.text(name));
        let is_setup = || {
            let call = tree.parent(argument).and_then(|list| tree.parent(list));
            let function = call.and_then(|call| tree.child(call, Field::Function));
            function.is_some_and(|function| tree.text(function).ends_with("setup"))
        };
        if KINDS.contains(&name) {
            reader.kind(argument, &mut facts);
        }
        if KEYS.contains(&name)
            && is_setup()
            && let Some(value) = tree.child(argument, Field::Value)
        {
            reader.read(value, false, MAX_DEPTH, &mut facts);
            reader.assigned(value, &mut facts);
        }
    }
    facts
}

/// `image.run_commands("apt-get install -y libcudnn9-cuda-12")`
fn commands<'a>(semantics: &Semantics<'a>) -> Facts<'a> {
    let tree = &semantics.tree;
    let mut facts = Facts::default();
    let runs = |call: &Node| {
        let function = tree.child(*call, Field::Function);
        let method = function.and_then(|function| tree.child(function, Field::Attribute));
        method.is_some_and(|method| tree.text(method) == RUN)
    };
    for call in tree.nodes().filter(|node| tree.kind(*node) == Kind::Call) {
        if let Some(arguments) = tree.child(call, Field::Arguments).filter(|_| runs(&call)) {
            for command in tree.parts(arguments) {
                if let Some(text) = (Reader { semantics }).text(command) {
                    shell::read(text, &mut facts);
                }
            }
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

    /// `image.pip_install("torch==2.4.0", "numpy")`, except with options: an index decides which build is installed.
    fn image(&self, call: Node, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        let function = tree.child(call, Field::Function);
        let method = function.and_then(|function| tree.child(function, Field::Attribute));
        let arguments = tree.child(call, Field::Arguments);
        // `Image.from_registry("nvidia/cuda:12.4.1-devel-ubuntu22.04")`
        if method.is_some_and(|method| tree.text(method) == REGISTRY) {
            let name = arguments.and_then(|list| tree.parts(list).next());
            let name = name.map(|name| self.semantics.expression(name));
            facts.images.extend(name.and_then(|name| {
                Some(Image {
                    name: self.text(name)?,
                    guarded: never_runs_on_target(self.semantics, call),
                })
            }));
            return;
        }
        let arguments =
            arguments.filter(|_| method.is_some_and(|name| tree.text(name).ends_with(INSTALL)));
        let arguments = arguments.map_or(Vec::new(), |list| tree.parts(list).collect());
        let is_option = |part: &Node| tree.kind(*part) == Kind::KeywordArgument;
        if !arguments.iter().any(is_option) {
            for argument in arguments {
                self.read(argument, false, MAX_DEPTH, facts);
            }
        }
    }

    /// `{"dependencies": ["python=3.11", {"pip": ["torch==2.4.0"]}]}`
    fn environment(&self, pair: Node, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        if PIP.iter().any(|start| tree.text(pair).starts_with(start))
            && let Some(value) = tree.child(pair, Field::Value)
        {
            self.read(value, false, MAX_DEPTH, facts);
        }
    }

    /// `limits={"nvidia.com/gpu": 1}`, in a source that knows no other resource.
    fn resource(&self, string: Node, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        let is_compared = tree
            .parent(string)
            .is_some_and(|parent| tree.kind(parent) == Kind::ComparisonOperator);
        let name = self.text(string).filter(|name| {
            name.as_str().starts_with(GPU) && !is_compared && !tree.source().contains("amd.com/gpu")
        });
        if let Some(key) = name
            && !never_runs_on_target(self.semantics, string)
        {
            facts.entries.push(Entry {
                key,
                value: key,
                parent: None,
                column: 0,
                begins_item: false,
            });
        }
    }

    /// `@app.function(gpu="A100")`
    fn kind(&self, argument: Node, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        let source = tree.source();
        let key = tree.child(argument, Field::Name);
        let value = tree.child(argument, Field::Value);
        let value = value.map(|value| self.semantics.expression(value));
        if let Some((key, value)) = key.zip(value.and_then(|value| self.text(value)))
            && !never_runs_on_target(self.semantics, argument)
        {
            let span = tree.span(key);
            facts.entries.push(Entry {
                key: Text::whole(source).part(span),
                value,
                parent: None,
                column: 0,
                begins_item: false,
            });
        }
    }

    /// `image = "nvidia/cuda:12.4.1-devel-ubuntu22.04"`, and `f"nvidia/cuda:{version}-devel"` anywhere
    fn constant(&self, string: Node, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        let parts = tree.parts(string);
        let content = parts.fold(None::<(usize, usize)>, |whole, part| {
            let start = whole.map_or(tree.start(part), |(start, _)| start);
            Some((start, tree.end(part)))
        });
        let Some((start, end)) = content else { return };
        let name = Text::whole(tree.source()).part(start..end);
        let is_given = || {
            tree.parent(string).is_some_and(|parent| {
                let left = tree.child(parent, Field::Left);
                tree.kind(parent) == Kind::Assignment
                    && left
                        .is_some_and(|left| tree.text(left).to_ascii_lowercase().contains("image"))
            })
        };
        let is_image = match name.as_str().strip_prefix(CUDA_IMAGE) {
            Some(tag) => !tag.is_empty() && !tag.contains(' '),
            None => name.as_str().contains("cuda") && name.as_str().contains(':') && is_given(),
        };
        if is_image && !never_runs_on_target(self.semantics, string) {
            facts.images.push(Image {
                name,
                guarded: false,
            });
        }
    }

    /// `"-std=c++14"` in a source that builds an extension
    fn standard(&self, string: Node, facts: &mut Facts<'a>) {
        let source = self.semantics.tree.source();
        let option = self
            .text(string)
            .filter(|_| source.contains("cpp_extension"));
        let Some(option) = option else { return };
        let number = STANDARDS
            .iter()
            .find_map(|start| option.as_str().strip_prefix(start));
        if let Some(number) = number
            && !never_runs_on_target(self.semantics, string)
        {
            let start = option.as_str().len() - number.len();
            facts.cpp_standards.push(option.from(start));
        }
    }

    /// `extras["train"] = ["apex"]`, for `extras_require=extras`
    fn assigned(&self, dictionary: Node, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        for assignment in tree.nodes() {
            let left = tree.child(assignment, Field::Left);
            let Some(item) = left.filter(|_| tree.kind(assignment) == Kind::Assignment) else {
                continue;
            };
            let owner = tree.child(item, Field::Value);
            if tree.kind(item) == Kind::Subscript
                && owner.is_some_and(|owner| tree.text(owner) == tree.text(dictionary))
            {
                let key = tree.child(item, Field::Subscript);
                self.group(key, tree.child(assignment, Field::Right), MAX_DEPTH, facts);
            }
        }
    }

    /// `"gpu": ["cupy-cuda12x"]`
    fn extra(&self, pair: Node, depth: u8, facts: &mut Facts<'a>) {
        let tree = &self.semantics.tree;
        let key = tree.child(pair, Field::Key);
        self.group(key, tree.child(pair, Field::Value), depth, facts);
    }

    /// The requirements of an extra.
    fn group(&self, key: Option<Node>, value: Option<Node>, depth: u8, facts: &mut Facts<'a>) {
        let name = key.and_then(|key| self.text(key));
        let name = name.map_or("", Text::as_str);
        let Some(value) = value else { return };
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
        let source = "extras = {}\nextras['watch'] = {'pynvml'}\nextras['gpu'] = ['cupy-cuda12x']\nother['x'] = ['apex']\nsetup(extras_require=extras)\n";
        assert_eq!(shown(source), ["pynvml", "?cupy-cuda12x"]);
    }

    #[test]
    fn packages_of_an_image_are_requirements() {
        let source = "PINS = ['numpy']\nimage = modal.Image.debian_slim().pip_install('torch==2.4.0', PINS).uv_pip_install(['vllm'])\nother = image.pip_install('torch', index_url='https://h/whl/rocm6.4').run('pip_install')\npip_install('apex')\n";
        assert_eq!(shown(source), ["vllm", "torch==2.4.0", "numpy"]);
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
