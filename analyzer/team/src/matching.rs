//! Matches a pattern against a node of a source: the same syntax, independent of formatting, quotes, parentheses and
//! comments.

use std::ops::Range;

use super::pattern::{Element, Form, Pattern, gaps};
use hipward_analyzer_python::checker::PythonChecker;
use hipward_analyzer_python::semantic::literal_text;
use hipward_analyzer_python::syntax::{Kind, Node};

/// The maximum number of comparisons for one node. Several `$...` metavariables in one list have many possible matches;
/// beyond the limit there is no match.
const MAX_STEPS: u32 = 5000;

/// The value of a metavariable: adjacent nodes, or none for an empty `$...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filling<'a> {
    pub(super) text: &'a str,
    /// Its range in the source; empty if there are no nodes.
    pub(super) range: Range<usize>,
    /// Its single node, if it has one.
    pub(super) only: Option<Node>,
}

/// A match of a rule.
pub(super) struct Match<'a> {
    /// The reported range, which a fix replaces.
    pub(super) span: Range<usize>,
    /// The node with that span.
    pub(super) node: Node,
    /// The values of the metavariables, in the pattern's order.
    pub(super) fillings: Vec<Option<Filling<'a>>>,
}

impl Match<'_> {
    pub(super) fn without_holes(span: Range<usize>, node: Node) -> Self {
        Match {
            span,
            node,
            fillings: Vec::new(),
        }
    }
}

/// The match of `pattern` at `node`.
pub(super) fn find<'a>(cx: &PythonChecker<'a>, pattern: &Pattern, node: Node) -> Option<Match<'a>> {
    // `a` in `a.b` or in `import a` is not an expression.
    if matches!(pattern.root.form, Form::Name(_)) && !stands_alone(cx, node) {
        return None;
    }
    let mut matcher = Matcher {
        cx,
        pattern,
        fillings: vec![None; pattern.holes.len()],
        steps: MAX_STEPS,
    };
    matcher.form(&pattern.root.form, node).then(|| Match {
        span: cx.tree().span(node),
        node,
        fillings: matcher.fillings,
    })
}

fn stands_alone(cx: &PythonChecker<'_>, node: Node) -> bool {
    cx.tree().parent(node).is_some_and(|parent| {
        !matches!(
            cx.tree().kind(parent),
            Kind::Attribute | Kind::DottedName | Kind::AliasedImport
        )
    })
}

struct Matcher<'c, 'p, 'a> {
    cx: &'c PythonChecker<'a>,
    pattern: &'p Pattern,
    fillings: Vec<Option<Filling<'a>>>,
    steps: u32,
}

impl<'a> Matcher<'_, '_, 'a> {
    fn element(&mut self, element: &Element, node: Node) -> bool {
        element.field == self.cx.tree().field(node) && self.form(&element.form, node)
    }

    fn form(&mut self, form: &Form, node: Node) -> bool {
        let Some(steps) = self.steps.checked_sub(1) else {
            return false;
        };
        self.steps = steps;
        if let Form::Hole(hole) = form {
            return self.fill(*hole, &[node]);
        }
        let tree = self.cx.tree();
        let node = tree.unparenthesized(node);
        match form {
            Form::Hole(_) => false,
            Form::Name(path) => match self.cx.resolve(node) {
                Some(name) => name.is(path),
                None => {
                    matches!(tree.kind(node), Kind::Identifier | Kind::Attribute)
                        && tree
                            .text(node)
                            .chars()
                            .filter(|c| !c.is_whitespace())
                            .eq(path.chars())
                }
            },
            Form::Text(plain, written) => {
                let is_plain = || plain.is_some() && literal_text(tree, node) == plain.as_deref();
                tree.text(node) == written || is_plain()
            }
            Form::Leaf(kind, text) => {
                tree.kind(node) == *kind
                    && tree.text(node) == text
                    && tree.parts(node).next().is_none()
            }
            Form::Inner(kind, elements, punctuation) => {
                if tree.kind(node) != *kind {
                    return false;
                }
                let children: Vec<_> = tree.parts(node).collect();
                let found = gaps(tree, node);
                let is_same = match &punctuation[..] {
                    // The number of children of the pattern varies: only brackets can be compared.
                    [all] => *all == found.concat(),
                    each => *each == found,
                };
                is_same && self.list(elements, &children)
            }
        }
    }

    fn list(&mut self, elements: &[Element], nodes: &[Node]) -> bool {
        let Some((first, elements)) = elements.split_first() else {
            return nodes.is_empty();
        };
        if let Form::Hole(hole) = first.form
            && self.pattern.holes[hole].many
        {
            if elements.is_empty() {
                return self.fill(hole, nodes);
            }
            for count in 0..=nodes.len() {
                let before = self.fillings.clone();
                let (taken, left) = nodes.split_at(count);
                if self.fill(hole, taken) && self.list(elements, left) {
                    return true;
                }
                if self.steps == 0 {
                    return false;
                }
                self.fillings = before;
            }
            return false;
        }
        match nodes.split_first() {
            Some((node, nodes)) => self.element(first, *node) && self.list(elements, nodes),
            None => false,
        }
    }

    /// Assigns a metavariable; if it already has a value, the text has to be the same.
    fn fill(&mut self, hole: usize, nodes: &[Node]) -> bool {
        self.steps = self.steps.saturating_sub(1);
        let tree = self.cx.tree();
        let range = match (nodes.first(), nodes.last()) {
            (Some(first), Some(last)) => tree.start(*first)..tree.end(*last),
            _ => 0..0,
        };
        let filling = Filling {
            text: tree.source().get(range.clone()).unwrap_or_default(),
            range,
            only: nodes.first().copied().filter(|_| nodes.len() == 1),
        };
        if self.pattern.holes[hole].is_anonymous() {
            return true;
        }
        match &self.fillings[hole] {
            Some(known) => known.text == filling.text,
            None => {
                self.fillings[hole] = Some(filling);
                true
            }
        }
    }
}
