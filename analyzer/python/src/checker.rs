//! The interface for Python rules: the semantic model, the target, and the findings.
//!
//! A single traversal of the tree passes each node to the rules for its kind.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::PythonOptions;
use crate::rules::PythonRule;
use crate::rules::helpers::calls::contains_any;
use crate::semantic::{
    QualifiedName, Semantics, is_checked_for_both, never_called, never_runs_on_target,
};
use crate::syntax::{KIND_COUNT, Kind, Node, Tree};
use hipward_analyzer_core::diagnostic::{DiagnosticSink, RawDiagnostic};
pub use hipward_analyzer_core::diagnostic::{RawFix, Replacement};
use hipward_analyzer_core::rule::{Family, Rule};
use hipward_analyzer_core::{HandledBy, Severity, Target};

/// How often each node of a source can be visited, on average, by rules that search whole functions.
const LOOKS_PER_NODE: usize = 200;

/// The check of a rule for a node of one of its kinds.
type Check = fn(&PythonChecker<'_>, Node);

/// The cached results of searches, by key.
type Found = (&'static str, Rc<[Node]>);

/// The source, and its findings so far.
pub struct PythonChecker<'a> {
    pub semantics: Semantics<'a>,
    diagnostics: DiagnosticSink,
    found_once: RefCell<Vec<Found>>,
    /// Nodes that rules have searched so far.
    looked: Cell<usize>,
    first_party_modules: &'a [String],
    saved_with_arguments: &'a [String],
    release_limits: &'a [String],
    /// Whether the source can run commands, and whether one can install something: most sources do neither, and the
    /// rules about commands look at every call.
    pub(crate) may_run: bool,
    pub(crate) may_install: bool,
    /// Whether the source can import a module by a call.
    pub(crate) may_import: bool,
}

impl<'a> PythonChecker<'a> {
    /// Runs the selected rules on a source.
    pub fn run(semantics: Semantics<'a>, options: &PythonOptions<'a>) -> Self {
        let mut by_kind: [Vec<Check>; KIND_COUNT] = [const { Vec::new() }; KIND_COUNT];
        // Every rule of that family uses a name in Triton's package, so most sources need none of them.
        let names = |parts: &[&str]| contains_any(semantics.tree.source(), parts);
        let has_triton = names(&["triton"]);
        let may_run = names(&["subprocess", "popen", "system"]);
        let may_install = names(&["install", "pytorch.org", "check_requirements"]);
        let may_import = names(&["import_module", "__import__"]);
        for PythonRule { rule, visit, check } in options.rules {
            let applies = has_triton || rule.family != Family::Triton;
            if applies && options.filter.includes(rule.id, rule.on_request) {
                for kind in *visit {
                    by_kind[*kind as usize].push(*check);
                }
            }
        }
        let checker = PythonChecker {
            semantics,
            diagnostics: DiagnosticSink::default(),
            found_once: RefCell::default(),
            looked: Cell::new(0),
            first_party_modules: options.first_party_modules,
            saved_with_arguments: options.saved_with_arguments,
            release_limits: options.release_limits,
            may_run,
            may_install,
            may_import,
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

    /// The syntax tree.
    pub fn tree(&self) -> &Tree<'a> {
        &self.semantics.tree
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.semantics.target
    }

    /// True if the source's own project contains the top-level module of `path`.
    pub fn is_first_party(&self, path: &str) -> bool {
        let top = path.split('.').next();
        self.first_party_modules
            .iter()
            .any(|own| Some(&**own) == top)
    }

    /// Keys of the checkpoints that the project's modules save together with the parsed arguments of their command line.
    pub fn saved_with_arguments(&self) -> &'a [String] {
        self.saved_with_arguments
    }

    /// The newest releases of other libraries that the project's requirements allow: `transformers 4.36`.
    pub fn release_limits(&self) -> &'a [String] {
        self.release_limits
    }

    /// `node` and its descendants, for another search of a function; empty if the budget is used up.
    pub fn within(&self, node: Node) -> impl Iterator<Item = Node> + use<> {
        let may_look = self.may_look_at(self.tree().size(node));
        let most = if may_look { usize::MAX } else { 0 };
        self.tree().subtree(node).take(most)
    }

    /// True if `is_it` accepts a node of [`PythonChecker::within`].
    ///
    /// Not generic: one loop for all rules makes the browser's module smaller.
    pub fn any_within(&self, node: Node, is_it: &dyn Fn(Node) -> bool) -> bool {
        self.within(node).any(is_it)
    }

    /// Whether `count` more nodes can be visited.
    ///
    /// The budget of a source is proportional to its length, so that the analysis takes linear time for any text.
    pub fn may_look_at(&self, count: usize) -> bool {
        let looked = self.looked.get().saturating_add(count);
        self.looked.set(looked);
        looked <= LOOKS_PER_NODE * self.tree().node_count()
    }

    /// The qualified name of the expression at `node`.
    pub fn resolve(&self, node: Node) -> Option<QualifiedName<'a>> {
        self.semantics.resolve(node)
    }

    /// The qualified name of the callee of `call`.
    pub fn callee(&self, call: Node) -> Option<QualifiedName<'a>> {
        self.semantics.callee(call)
    }

    /// Reports a finding of `rule` at `node`, unless this code never runs on the target.
    pub fn report(
        &self,
        rule: &'static Rule,
        node: Node,
        message: impl Into<String>,
        fix: impl Into<Option<RawFix>>,
    ) {
        self.report_as(rule, rule.severity, node, message, fix);
    }

    /// [`PythonChecker::report`] with a different severity.
    pub fn report_as(
        &self,
        rule: &'static Rule,
        severity: Severity,
        node: Node,
        message: impl Into<String>,
        fix: impl Into<Option<RawFix>>,
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

    /// True if `rule` already has a finding whose text and message `covers` accepts.
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

    /// The result of `find` for the whole source. It runs once for each `key`.
    pub fn once(&self, key: &'static str, find: impl FnOnce() -> Vec<Node>) -> Rc<[Node]> {
        // Compiled for each `find`, so the rest is in functions of its own.
        match self.found(key) {
            Some(known) => known,
            None => self.keep(key, find()),
        }
    }

    fn found(&self, key: &str) -> Option<Rc<[Node]>> {
        let found = self.found_once.borrow();
        let entry = found.iter().find(|(known, _)| *known == key);
        entry.map(|(_, nodes)| Rc::clone(nodes))
    }

    fn keep(&self, key: &'static str, nodes: Vec<Node>) -> Rc<[Node]> {
        let nodes: Rc<[Node]> = nodes.into();
        self.found_once.borrow_mut().push((key, Rc::clone(&nodes)));
        nodes
    }

    /// True if the source checks `torch.version.hip` anywhere, except in a test for any GPU: its author supports ROCm.
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
                        && !is_checked_for_both(&self.semantics, *node)
                })
                .into_iter()
                .collect()
        };
        !self.once("torch.version.hip", find).is_empty()
    }

    /// The findings, and the semantic model.
    pub fn finish(self) -> (Semantics<'a>, Vec<RawDiagnostic>) {
        (self.semantics, self.diagnostics.finish())
    }
}
