//! A Python pattern with metavariables, parsed once: `torch.softmax($X, $...REST)`.
//!
//! `$X` matches one node, `$...XS` any number of adjacent nodes; `$_` and `$..._` are not reused. An imported name is
//! matched by its qualified name, under any alias.

use hipward_analyzer_python::semantic::literal_text;
use hipward_analyzer_python::syntax::{Field, Kind, LastParse, Node, Tree, parse};

/// An upper limit for the length of a pattern.
pub(super) const MAX_LENGTH: usize = 2000;
/// An upper limit for the depth of a pattern; matching recurses to the depth of the pattern.
const MAX_DEPTH: usize = 60;

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) root: Element,
    /// The kinds of nodes that the root can match.
    pub(super) kinds: Vec<Kind>,
    /// The metavariables, in the order of their first appearance.
    pub(super) holes: Vec<Hole>,
}

/// A metavariable: its name, and whether it matches several nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) name: String,
    pub(super) many: bool,
}

impl Hole {
    /// A metavariable that may match different texts.
    pub(super) fn is_anonymous(&self) -> bool {
        self.name == "_"
    }
}

/// A node of a pattern, and its relation to its parent.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) field: Field,
    pub(super) form: Form,
}

/// The condition of a pattern node.
#[derive(Debug)]
pub(super) enum Form {
    /// Any one node, or any number of them.
    Hole(usize),
    /// A dotted name, resolved: `torch.load`.
    Name(String),
    /// A string without metavariables, with any quotes: its text if it is plain, and its source text.
    Text(Option<String>, String),
    /// A node without children.
    Leaf(Kind, String),
    /// A node with children, and the punctuation between them.
    Inner(Kind, Vec<Element>, Vec<String>),
}

/// A text in which metavariables are replaced by valid Python names.
pub(super) struct Source {
    pub(super) text: String,
    pub(super) holes: Vec<Hole>,
}

const ONE: &str = "hipward_one_";
const MANY: &str = "hipward_many_";

impl Source {
    /// Replaces each metavariable by a name.
    pub(super) fn new(text: &str) -> Result<Source, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("it is longer than {MAX_LENGTH} bytes"));
        }
        let mut source = Source {
            text: String::new(),
            holes: Vec::new(),
        };
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            let (many, name) = match after.strip_prefix("...") {
                Some(after) => (true, after),
                None => (false, after),
            };
            let length = name
                .bytes()
                .position(|byte| !matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
                .unwrap_or(name.len());
            let (name, after) = name.split_at(length);
            if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
                return Err(
                    "a `$` begins a metavariable: `$X`, `$...ARGS`, in capital letters".to_owned(),
                );
            }
            let hole = Hole {
                name: name.to_owned(),
                many,
            };
            if source
                .holes
                .iter()
                .any(|known| known.name == hole.name && known.many != many && !hole.is_anonymous())
            {
                return Err(format!(
                    "`${name}` and `$...{name}` cannot be used in the same pattern"
                ));
            }
            if !source.holes.contains(&hole) {
                source.holes.push(hole);
            }
            source.text.push_str(before);
            source.text.push_str(if many { MANY } else { ONE });
            source.text.push_str(name);
            rest = after;
        }
        source.text.push_str(rest);
        Ok(source)
    }

    /// The text as a tree, if it is valid Python.
    pub(super) fn parse(&self) -> Result<Tree<'_>, String> {
        let tree = parse(&self.text, &mut LastParse::default()).ok_or("it cannot be parsed")?;
        match tree.first_error() {
            None => Ok(tree),
            Some(at) => {
                let rest = self.text.get(at..).unwrap_or_default();
                let near: String = rest
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .chars()
                    .take(20)
                    .collect();
                let near = near.replace(ONE, "$").replace(MANY, "$...");
                Err(format!("not valid Python at `{near}`"))
            }
        }
    }

    /// The metavariable for an identifier.
    pub(super) fn hole(&self, name: &str) -> Option<usize> {
        let (many, name) = match name.strip_prefix(MANY) {
            Some(name) => (true, name),
            None => (false, name.strip_prefix(ONE)?),
        };
        self.holes
            .iter()
            .position(|hole| hole.name == name && hole.many == many)
    }
}

impl Pattern {
    /// Parses one expression or one statement.
    pub(super) fn new(text: &str) -> Result<Pattern, String> {
        let source = Source::new(text.trim())?;
        let tree = source.parse()?;
        let statements: Vec<_> = tree.parts(tree.root()).collect();
        let [statement] = statements[..] else {
            return Err("expected one expression or one statement".to_owned());
        };
        let reader = Reader {
            source: &source,
            tree: &tree,
        };
        let root = reader.element(reader.sole_expression(statement), MAX_DEPTH)?;
        let kinds = match &root.form {
            Form::Hole(_) => {
                return Err("a pattern cannot be a single metavariable".to_owned());
            }
            Form::Name(_) => vec![Kind::Identifier, Kind::Attribute],
            Form::Text(..) => vec![Kind::String, Kind::ConcatenatedString],
            Form::Leaf(kind, _) | Form::Inner(kind, ..) => vec![*kind],
        };
        drop(tree);
        Ok(Pattern {
            root,
            kinds,
            holes: source.holes,
        })
    }
}

struct Reader<'s, 't> {
    source: &'s Source,
    tree: &'t Tree<'s>,
}

impl Reader<'_, '_> {
    /// The expression that a statement consists of; otherwise the statement.
    fn sole_expression(&self, statement: Node) -> Node {
        let mut parts = self.tree.parts(statement);
        match (self.tree.kind(statement), parts.next(), parts.next()) {
            (Kind::ExpressionStatement, Some(only), None) => self.tree.unparenthesized(only),
            _ => statement,
        }
    }

    fn element(&self, node: Node, depth: usize) -> Result<Element, String> {
        let depth = depth.checked_sub(1).ok_or("it is nested too deeply")?;
        let tree = self.tree;
        let field = tree.field(node);
        // `$...BODY` on a line of its own is a statement that consists of the metavariable.
        let node = tree.unparenthesized(node);
        let inner = self.sole_expression(node);
        if let Some(hole) = self.hole(inner) {
            return Ok(Element {
                field,
                form: Form::Hole(hole),
            });
        }
        let kind = tree.kind(node);
        let text = tree.text(node).to_owned();
        let form = if matches!(kind, Kind::String | Kind::ConcatenatedString) {
            if text.contains(ONE) || text.contains(MANY) {
                return Err(
                    "a metavariable cannot be part of a string; use one for the whole string"
                        .to_owned(),
                );
            }
            Form::Text(literal_text(tree, node).map(str::to_owned), text)
        } else if let Some(name) = self.meaningful_name(node) {
            Form::Name(name)
        } else {
            let children = tree
                .parts(node)
                .map(|child| self.element(child, depth))
                .collect::<Result<Vec<_>, _>>()?;
            if children.is_empty() {
                Form::Leaf(kind, text)
            } else {
                let mut gaps = gaps(tree, node);
                if self.has_many(&children) {
                    gaps = vec![gaps.concat()];
                }
                Form::Inner(kind, children, gaps)
            }
        };
        Ok(Element { field, form })
    }

    fn hole(&self, node: Node) -> Option<usize> {
        (self.tree.kind(node) == Kind::Identifier)
            .then(|| self.source.hole(self.tree.text(node)))
            .flatten()
    }

    fn has_many(&self, children: &[Element]) -> bool {
        children
            .iter()
            .any(|child| matches!(child.form, Form::Hole(index) if self.source.holes[index].many))
    }

    /// `a.b.c` where it is read, without metavariables: it is matched by its meaning, not by its text.
    fn meaningful_name(&self, node: Node) -> Option<String> {
        let tree = self.tree;
        let mut root = node;
        let mut members = Vec::new();
        while tree.kind(root) == Kind::Attribute {
            let member = tree.child(root, Field::Attribute)?;
            if self.hole(member).is_some() {
                return None;
            }
            members.push(tree.text(member));
            root = tree.unparenthesized(tree.child(root, Field::Object)?);
        }
        let is_read = !matches!(
            tree.field(node),
            Field::Name | Field::Attribute | Field::Alias | Field::Left | Field::ModuleName
        ) && tree.parent(node).is_none_or(|parent| {
            !matches!(
                tree.kind(parent),
                Kind::DottedName
                    | Kind::Parameters
                    | Kind::LambdaParameters
                    | Kind::GlobalStatement
                    | Kind::NonlocalStatement
            )
        });
        if !is_read || tree.kind(root) != Kind::Identifier || self.hole(root).is_some() {
            return None;
        }
        members.push(tree.text(root));
        members.reverse();
        Some(members.join("."))
    }
}

/// The punctuation before, between and after the children of a node, without formatting.
pub(super) fn gaps(tree: &Tree<'_>, node: Node) -> Vec<String> {
    let source = tree.source();
    let mut gaps = Vec::new();
    let mut gap = String::new();
    let mut from = tree.start(node);
    let add = |gap: &mut String, from: usize, to: usize| {
        let text = source.get(from..to).unwrap_or_default();
        gap.extend(
            text.chars()
                .filter(|c| !c.is_whitespace() && !matches!(c, ',' | ';' | '\\')),
        );
    };
    for child in tree.children(node) {
        add(&mut gap, from, tree.start(child));
        if tree.kind(child) != Kind::Comment {
            gaps.push(std::mem::take(&mut gap));
        }
        from = tree.end(child);
    }
    add(&mut gap, from, tree.end(node));
    gaps.push(gap);
    gaps
}
