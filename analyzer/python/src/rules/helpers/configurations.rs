//! The configurations with which a Triton kernel is compiled: its `triton.Config`s and its launches.

use super::calls::{argument, decorators, keyword};
use super::kernels::{given, launched, launches};
use crate::checker::PythonChecker;
use crate::semantic::{Value, integer, string};
use crate::syntax::{Field, Kind, Node};

/// A `triton.Config` or a launch.
#[derive(Clone, Copy)]
pub(crate) struct Configuration {
    pub(crate) call: Node,
    kernel: Node,
    /// An autotuner tries it, and uses another one if it fails.
    pub(crate) is_tried: bool,
}

/// All configurations of `kernel`: the lists of its `triton.autotune`, also those that a function of the source returns, and its
/// launches.
pub(crate) fn configurations(cx: &PythonChecker<'_>, kernel: Node) -> Vec<Configuration> {
    let tree = cx.tree();
    let mut found = Vec::new();
    for decorator in decorators(cx, kernel) {
        let Some(list) = argument(cx, decorator, 0, "configs") else {
            continue;
        };
        let mut list = cx.semantics.expression(list);
        if let Some(function) = tree.child(list, Field::Function)
            && let Some(Value::Function(made)) =
                cx.semantics.binding(function).map(|found| found.value)
        {
            list = made;
        }
        let is_config = |call: &Node| {
            cx.callee(*call)
                .is_some_and(|name| name.root() == "triton" && name.last() == "Config")
        };
        found.extend(cx.within(list).filter(is_config).map(|call| (call, true)));
    }
    found.extend(
        launches(cx)
            .iter()
            .filter(|launch| launched(cx, **launch) == Some(kernel))
            .map(|launch| (*launch, false)),
    );
    found
        .into_iter()
        .map(|(call, is_tried)| Configuration {
            call,
            kernel,
            is_tried,
        })
        .collect()
}

impl Configuration {
    /// The value of the option or compile-time parameter `name`.
    pub(crate) fn value(&self, cx: &PythonChecker<'_>, name: &str) -> Option<Node> {
        if !self.is_tried {
            return keyword(cx, self.call, name)
                .or_else(|| given(cx, self.kernel, self.call, name));
        }
        let tree = cx.tree();
        keyword(cx, self.call, name).or_else(|| {
            let constants = cx
                .semantics
                .expression(argument(cx, self.call, 0, "kwargs")?);
            tree.parts(constants)
                .filter(|pair| tree.kind(*pair) == Kind::Pair)
                .find(|pair| {
                    tree.child(*pair, Field::Key)
                        .is_some_and(|key| string(&cx.semantics, key) == Some(name))
                })
                .and_then(|pair| tree.child(pair, Field::Value))
        })
    }

    /// Whether `name` is a parameter of the kernel.
    pub(crate) fn is_parameter(&self, cx: &PythonChecker<'_>, name: &str) -> bool {
        super::kernels::parameters(cx, self.kernel)
            .into_iter()
            .any(|parameter| cx.tree().text(parameter) == name)
    }

    /// [`Configuration::value`], if it is an integer in the source.
    pub(crate) fn number(&self, cx: &PythonChecker<'_>, name: &str) -> Option<i64> {
        integer(&cx.semantics, self.value(cx, name)?)
    }

    /// The sizes of the tiles of a product, by the names of the kernel's parameters: `BLOCK_M`, `BLOCK_SIZE_M`, `BM`.
    pub(crate) fn block(&self, cx: &PythonChecker<'_>, dimension: char) -> Option<i64> {
        super::kernels::parameters(cx, self.kernel)
            .into_iter()
            .map(|parameter| cx.tree().text(parameter))
            .filter(|name| {
                name.ends_with(dimension)
                    && (name.starts_with("BLOCK")
                        || name.starts_with("TILE")
                        || name.len() == 2 && name.starts_with('B'))
            })
            .find_map(|name| self.number(cx, name))
    }
}
