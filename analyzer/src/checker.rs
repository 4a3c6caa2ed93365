//! The interface for Python rules: the semantic model, the target, and the findings.
//!
//! A single traversal of the tree passes each node to the rules for its kind.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::analysis::Options;
use crate::draft::{Draft, Drafts};
pub(crate) use crate::draft::{Replacement, Suggestion};
use crate::report::{HandledBy, Severity, Target};
use crate::rules::{Family, RuleMeta};
use crate::semantic::{
    QualifiedName, Semantics, is_asked_of_both, never_called, never_runs_on_target,
};
use crate::syntax::{KIND_COUNT, Kind, Node, Tree};

/// How often each node of a source can be visited, on average, by rules that search whole functions.
const LOOKS_PER_NODE: usize = 200;

/// The check of a rule for a node of one of its kinds.
type Check = fn(&Checker<'_>, Node);

/// The cached results of searches, by key.
type Found = (&'static str, Rc<[Node]>);

/// The source, and its findings so far.
pub(crate) struct Checker<'a> {
    pub(crate) semantics: Semantics<'a>,
    drafts: Drafts,
    found_once: RefCell<Vec<Found>>,
    /// Nodes that rules have searched so far.
    looked: Cell<usize>,
    own_modules: &'a [String],
}

impl<'a> Checker<'a> {
    /// Runs the selected rules on a source.
    pub(crate) fn run(semantics: Semantics<'a>, options: &'a Options) -> Self {
        let mut by_kind: [Vec<Check>; KIND_COUNT] = [const { Vec::new() }; KIND_COUNT];
        // Every rule of that family uses a name in Triton's package, so most sources need none of them.
        let has_triton = semantics.tree.source().contains("triton");
        for rule in options
            .selected()
            .filter(|rule| has_triton || rule.family != Family::Triton)
        {
            for kind in rule.visit {
                by_kind[*kind as usize].extend(rule.check);
            }
        }
        let checker = Checker {
            semantics,
            drafts: Drafts::default(),
            found_once: RefCell::default(),
            looked: Cell::new(0),
            own_modules: &options.own_modules,
        };
        for node in checker.tree().nodes() {
            for check in &by_kind[checker.tree().kind(node) as usize] {
                check(&checker, node);
            }
            if checker.drafts.is_full() {
                break;
            }
        }
        checker
    }

    /// The syntax tree.
    pub(crate) fn tree(&self) -> &Tree<'a> {
        &self.semantics.tree
    }

    /// The target.
    pub(crate) fn target(&self) -> &Target {
        &self.semantics.target
    }

    /// True if the source's own project contains the top-level module of `path`.
    pub(crate) fn is_own(&self, path: &str) -> bool {
        let top = path.split('.').next();
        self.own_modules.iter().any(|own| Some(&**own) == top)
    }

    /// `node` and its descendants, for another search of a function; empty if the budget is used up.
    pub(crate) fn within(&self, node: Node) -> impl Iterator<Item = Node> + use<> {
        let may_look = self.may_look_at(self.tree().size(node));
        let most = if may_look { usize::MAX } else { 0 };
        self.tree().subtree(node).take(most)
    }

    /// Whether `count` more nodes can be visited.
    ///
    /// The budget of a source is proportional to its length, so that the analysis takes linear time for any text.
    pub(crate) fn may_look_at(&self, count: usize) -> bool {
        let looked = self.looked.get().saturating_add(count);
        self.looked.set(looked);
        looked <= LOOKS_PER_NODE * self.tree().len()
    }

    /// The qualified name of the expression at `node`.
    pub(crate) fn resolve(&self, node: Node) -> Option<QualifiedName<'a>> {
        self.semantics.resolve(node)
    }

    /// The qualified name of the callee of `call`.
    pub(crate) fn callee(&self, call: Node) -> Option<QualifiedName<'a>> {
        self.semantics.callee(call)
    }

    /// Reports a finding of `rule` at `node`, unless this code never runs on the target.
    pub(crate) fn report(
        &self,
        rule: &'static RuleMeta,
        node: Node,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        self.report_as(rule, rule.severity, node, message, fix);
    }

    /// [`Checker::report`] with a different severity.
    pub(crate) fn report_as(
        &self,
        rule: &'static RuleMeta,
        severity: Severity,
        node: Node,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        self.push(
            Draft {
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
    pub(crate) fn has_reported(
        &self,
        rule: &RuleMeta,
        covers: &dyn Fn(&str, &str) -> bool,
    ) -> bool {
        let source = self.tree().source();
        self.drafts.any(|draft| {
            draft.rule.id() == rule.id
                && source
                    .get(draft.span.clone())
                    .is_some_and(|text| covers(text, &draft.message))
        })
    }

    fn push(&self, draft: Draft, node: Node) {
        if self.drafts.is_full() {
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
        self.drafts.push(draft);
    }

    /// The result of `find` for the whole source. It runs once for each `key`.
    pub(crate) fn once(&self, key: &'static str, find: impl FnOnce() -> Vec<Node>) -> Rc<[Node]> {
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

    /// True if the source checks `torch.version.hip` anywhere, except in a test for any GPU: its author supports ROCm.
    pub(crate) fn mentions_hip(&self) -> bool {
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

    /// The findings, and the semantic model.
    pub(crate) fn finish(self) -> (Semantics<'a>, Vec<Draft>) {
        (self.semantics, self.drafts.finish())
    }
}
