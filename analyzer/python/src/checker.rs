//! What a rule works with: the source's meaning, the target, and a place to put findings.
//!
//! One walk over the tree hands each node to the rules that asked for its kind.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::PythonOptions;
use crate::rules::PythonRule;
use crate::semantic::{
    QualifiedName, Semantics, is_asked_of_both, never_called, never_runs_on_target,
};
use crate::syntax::{KIND_COUNT, Kind, Node, Tree};
use hipward_analyzer_core::diagnostic::{DiagnosticSink, RawDiagnostic};
pub use hipward_analyzer_core::diagnostic::{Replacement, Suggestion};
use hipward_analyzer_core::rule::{Family, Rule};
use hipward_analyzer_core::{HandledBy, Severity, Target};

/// How often each node of a source is looked at, on average, by rules that look through whole functions.
const LOOKS_PER_NODE: usize = 200;

/// What a rule does with a node of a kind that it asked for.
type Check = fn(&Checker<'_>, Node);

/// Nodes that were looked for once, under the name they were asked for by.
type Found = (&'static str, Rc<[Node]>);

/// The source, and what was found in it so far.
pub struct Checker<'a> {
    pub semantics: Semantics<'a>,
    diagnostics: DiagnosticSink,
    found_once: RefCell<Vec<Found>>,
    /// Nodes that rules have looked through so far.
    looked: Cell<usize>,
    first_party_modules: &'a [String],
}

impl<'a> Checker<'a> {
    /// Runs the selected rules over a source.
    pub fn run(semantics: Semantics<'a>, options: &PythonOptions<'a>) -> Self {
        let mut by_kind: [Vec<Check>; KIND_COUNT] = [const { Vec::new() }; KIND_COUNT];
        // Every rule of that family asks for a name in Triton's package, so most sources need none of them.
        let has_triton = semantics.tree.source().contains("triton");
        for PythonRule { rule, visit, check } in options.rules.iter().copied().flatten() {
            let applies = has_triton || rule.family != Family::Triton;
            if applies && options.filter.includes(rule.id, rule.on_request) {
                for kind in *visit {
                    by_kind[*kind as usize].push(*check);
                }
            }
        }
        let checker = Checker {
            semantics,
            diagnostics: DiagnosticSink::default(),
            found_once: RefCell::default(),
            looked: Cell::new(0),
            first_party_modules: options.first_party_modules,
        };
        for node in checker.tree().nodes() {
            for check in &by_kind[checker.tree().kind(node) as usize] {
                check(&checker, node);
            }
            if checker.diagnostics.is_full() {
                break;
            }
        }
        checker
    }

    /// The syntax.
    pub fn tree(&self) -> &Tree<'a> {
        &self.semantics.tree
    }

    /// What the source is judged for.
    pub fn target(&self) -> &Target {
        &self.semantics.target
    }

    /// True when the source's own project holds the top module of `path`.
    pub fn is_first_party(&self, path: &str) -> bool {
        let top = path.split('.').next();
        self.first_party_modules
            .iter()
            .any(|own| Some(&**own) == top)
    }

    /// `node` and everything within, to look through a function once more; nothing when the budget is spent.
    pub fn within(&self, node: Node) -> impl Iterator<Item = Node> + use<> {
        let may_look = self.may_look_at(self.tree().size(node));
        let most = if may_look { usize::MAX } else { 0 };
        self.tree().subtree(node).take(most)
    }

    /// Whether `count` more nodes may be looked at.
    ///
    /// A source has a budget of such looks in proportion to its length, so that no text makes the analysis quadratic.
    pub fn may_look_at(&self, count: usize) -> bool {
        let looked = self.looked.get().saturating_add(count);
        self.looked.set(looked);
        looked <= LOOKS_PER_NODE * self.tree().node_count()
    }

    /// The qualified name that the expression at `node` stands for.
    pub fn resolve(&self, node: Node) -> Option<QualifiedName<'a>> {
        self.semantics.resolve(node)
    }

    /// The qualified name of the function that `call` calls.
    pub fn callee(&self, call: Node) -> Option<QualifiedName<'a>> {
        self.semantics.callee(call)
    }

    /// Puts a finding of `rule` at `node`, unless the source says that this code never runs on the target.
    pub fn report(
        &self,
        rule: &'static Rule,
        node: Node,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        self.report_as(rule, rule.severity, node, message, fix);
    }

    /// [`Checker::report`] with a severity of its own.
    pub fn report_as(
        &self,
        rule: &'static Rule,
        severity: Severity,
        node: Node,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        self.push(
            RawDiagnostic {
                rule: rule.into(),
                span: self.tree().span(node),
                message: message.into(),
                severity,
                handled_by: HandledBy::You,
                fix: fix.into(),
            },
            node,
        );
    }

    /// True when `rule` has a finding already whose text and message `covers` accepts.
    pub fn has_reported(&self, rule: &Rule, covers: &dyn Fn(&str, &str) -> bool) -> bool {
        let source = self.tree().source();
        self.diagnostics.any(|diagnostic| {
            diagnostic.rule.id() == rule.id
                && source
                    .get(diagnostic.span.clone())
                    .is_some_and(|text| covers(text, &diagnostic.message))
        })
    }

    fn push(&self, diagnostic: RawDiagnostic, node: Node) {
        if self.diagnostics.is_full() {
            return;
        }
        let is_left_out = || {
            let left_out = self.once("called elsewhere", || never_called(&self.semantics));
            !left_out.is_empty()
                && self
                    .tree()
                    .ancestors(node)
                    .any(|around| left_out.contains(&around))
        };
        if never_runs_on_target(&self.semantics, node) || is_left_out() {
            return;
        }
        self.diagnostics.push(diagnostic);
    }

    /// What `find` finds in the whole source. It runs once for each `key`, however often a rule asks.
    pub fn once(&self, key: &'static str, find: impl FnOnce() -> Vec<Node>) -> Rc<[Node]> {
        let known = self
            .found_once
            .borrow()
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, nodes)| Rc::clone(nodes));
        known.unwrap_or_else(|| {
            let nodes: Rc<[Node]> = find().into();
            self.found_once.borrow_mut().push((key, Rc::clone(&nodes)));
            nodes
        })
    }

    /// True when the source asks for `torch.version.hip` anywhere, and not only for either vendor's GPU: its author has ROCm in
    /// mind.
    pub fn mentions_hip(&self) -> bool {
        let tree = self.tree();
        let find = || {
            tree.nodes()
                .filter(|node| {
                    matches!(
                        tree.kind(*node),
                        Kind::Attribute | Kind::Call | Kind::Identifier
                    )
                })
                .find(|node| {
                    tree.text(*node).ends_with(['p', ')'])
                        && self
                            .resolve(*node)
                            .is_some_and(|name| name.is("torch.version.hip"))
                        && !is_asked_of_both(&self.semantics, *node)
                })
                .into_iter()
                .collect()
        };
        !self.once("torch.version.hip", find).is_empty()
    }

    /// The findings, and the source's meaning.
    pub fn finish(self) -> (Semantics<'a>, Vec<RawDiagnostic>) {
        (self.semantics, self.diagnostics.finish())
    }
}
