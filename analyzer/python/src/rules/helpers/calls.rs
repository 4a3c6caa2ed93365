//! The syntax of a call: its arguments, the method and its receiver. Independent of any library.

use crate::checker::PythonChecker;
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

/// The last name of the callee of `call`: `exp` of `tl.exp(x)` and of `exp(x)`. Empty for any other node.
///
/// Cheap: rules compare it before they resolve the name.
pub(crate) fn called<'a>(cx: &PythonChecker<'a>, call: Node) -> &'a str {
    let tree = cx.tree();
    let Some(function) = tree.child(call, Field::Function) else {
        return "";
    };
    match tree.kind(function) {
        Kind::Identifier => tree.text(function),
        Kind::Attribute => tree
            .child(function, Field::Attribute)
            .map_or("", |name| tree.text(name)),
        _ => "",
    }
}

/// The call whose function is `function`.
pub(crate) fn call_of(cx: &PythonChecker<'_>, function: Node) -> Option<Node> {
    let tree = cx.tree();
    tree.parent(function).filter(|call| {
        tree.kind(*call) == Kind::Call && tree.child(*call, Field::Function) == Some(function)
    })
}

/// The receiver of `receiver.method(…)`.
pub(crate) fn receiver(cx: &PythonChecker<'_>, call: Node) -> Option<Node> {
    let tree = cx.tree();
    tree.child(tree.child(call, Field::Function)?, Field::Object)
}

/// The arguments of `call`, keywords included.
pub(crate) fn arguments(cx: &PythonChecker<'_>, call: Node) -> Vec<Node> {
    let tree = cx.tree();
    tree.child(call, Field::Arguments)
        .map(|arguments| tree.parts(arguments).collect())
        .unwrap_or_default()
}

/// The first argument of `call`, which may be a keyword argument.
pub(crate) fn first(cx: &PythonChecker<'_>, call: Node) -> Option<Node> {
    arguments(cx, call).first().copied()
}

/// The values of all arguments of `call`.
pub(crate) fn values(cx: &PythonChecker<'_>, call: Node) -> Vec<Node> {
    let tree = cx.tree();
    let mut values = arguments(cx, call);
    for value in &mut values {
        if tree.kind(*value) == Kind::KeywordArgument {
            *value = tree.child(*value, Field::Value).unwrap_or(*value);
        }
    }
    values
}

/// The value of the first argument of `call`.
pub(crate) fn first_value(cx: &PythonChecker<'_>, call: Node) -> Option<Node> {
    values(cx, call).first().copied()
}

/// The value of the argument `name`.
pub(crate) fn keyword(cx: &PythonChecker<'_>, call: Node, name: &str) -> Option<Node> {
    let tree = cx.tree();
    arguments(cx, call)
        .into_iter()
        .filter(|argument| tree.kind(*argument) == Kind::KeywordArgument)
        .find(|argument| {
            tree.child(*argument, Field::Name)
                .is_some_and(|known| tree.text(known) == name)
        })
        .and_then(|argument| tree.child(argument, Field::Value))
}

/// The argument at `position`, or the argument with this name.
pub(crate) fn argument(
    cx: &PythonChecker<'_>,
    call: Node,
    position: usize,
    name: &str,
) -> Option<Node> {
    arguments(cx, call)
        .get(position)
        .copied()
        .filter(|argument| {
            !matches!(
                cx.tree().kind(*argument),
                Kind::KeywordArgument | Kind::ListSplat | Kind::DictionarySplat
            )
        })
        .or_else(|| keyword(cx, call, name))
}

/// The name of the keyword argument, dictionary pair, assignment or default whose value is `value`, through
/// `a if b else c`, parentheses, lists and tuples.
pub(crate) fn given_to<'a>(cx: &PythonChecker<'a>, value: Node) -> Option<&'a str> {
    let tree = cx.tree();
    let mut child = value;
    for parent in tree.ancestors(value) {
        let name = match tree.kind(parent) {
            Kind::ConditionalExpression
            | Kind::ParenthesizedExpression
            | Kind::List
            | Kind::Tuple
            | Kind::ExpressionList => {
                child = parent;
                continue;
            }
            Kind::KeywordArgument | Kind::DefaultParameter | Kind::TypedDefaultParameter => {
                tree.child(parent, Field::Name)
            }
            Kind::Assignment | Kind::ForInClause | Kind::ForStatement
                if tree.field(child) == Field::Right =>
            {
                tree.child(parent, Field::Left)
            }
            Kind::Pair => tree
                .child(parent, Field::Key)
                .and_then(|key| tree.parts(key).next()),
            _ => None,
        };
        return name.map(|name| tree.text(name));
    }
    None
}

/// Whether a call unpacks arguments, which may be any: `f(*values, **options)`.
pub(crate) fn unpacks_arguments(cx: &PythonChecker<'_>, call: Node) -> bool {
    arguments(cx, call).iter().any(|part| {
        matches!(
            cx.tree().kind(*part),
            Kind::ListSplat | Kind::DictionarySplat
        )
    })
}

/// What a value is assigned to: `target` of `target = value`.
pub(crate) fn assigned_to(cx: &PythonChecker<'_>, value: Node) -> Option<Node> {
    let tree = cx.tree();
    tree.parent(value)
        .filter(|parent| tree.kind(*parent) == Kind::Assignment)
        .and_then(|assignment| tree.child(assignment, Field::Left))
}

/// The `x` of `self.x`.
pub(crate) fn own_attribute<'a>(cx: &PythonChecker<'a>, node: Node) -> Option<&'a str> {
    let tree = cx.tree();
    let object = tree.child(node, Field::Object)?;
    if tree.text(object) != "self" {
        return None;
    }
    tree.child(node, Field::Attribute)
        .map(|name| tree.text(name))
}

/// The function around `node`, lambdas excluded.
pub(crate) fn function_around(cx: &PythonChecker<'_>, node: Node) -> Option<Node> {
    let tree = cx.tree();
    tree.ancestors(node)
        .find(|ancestor| tree.kind(*ancestor) == Kind::FunctionDefinition)
}

/// The name of the parameter of `definition` at `position`, if no parameter before it is starred.
pub(crate) fn function_parameter<'a>(
    cx: &PythonChecker<'a>,
    definition: Node,
    position: usize,
) -> Option<&'a str> {
    let tree = cx.tree();
    let parameter = tree
        .parts(tree.child(definition, Field::Parameters)?)
        .nth(position)?;
    let name = match tree.kind(parameter) {
        Kind::Identifier => parameter,
        Kind::DefaultParameter | Kind::TypedDefaultParameter => {
            tree.child(parameter, Field::Name)?
        }
        Kind::TypedParameter => tree.parts(parameter).next()?,
        _ => return None,
    };
    (tree.kind(name) == Kind::Identifier).then(|| tree.text(name))
}

/// The value of a call of a function of this source, if the function returns in one place and the value does not depend
/// on the call's arguments in a way that matters to the rule.
pub(crate) fn only_returned(cx: &PythonChecker<'_>, call: Node) -> Option<Node> {
    let tree = cx.tree();
    let function = tree.child(call, Field::Function)?;
    let Value::Function(definition) = cx.semantics.binding(function)?.value else {
        return None;
    };
    let mut returns = cx
        .within(definition)
        .filter(|node| tree.kind(*node) == Kind::ReturnStatement);
    let (only, other) = (returns.next()?, returns.next());
    let value = tree.parts(only).next()?;
    other.is_none().then_some(value)
}

/// The class in which the method `function` is defined.
pub(crate) fn class_of(cx: &PythonChecker<'_>, function: Node) -> Option<Node> {
    let tree = cx.tree();
    let mut around = tree
        .ancestors(function)
        .filter(|node| tree.kind(*node) != Kind::DecoratedDefinition);
    let body = around.next()?;
    let class = around.next()?;
    (tree.kind(body) == Kind::Block && tree.kind(class) == Kind::ClassDefinition).then_some(class)
}

/// The name of a function or class.
pub(crate) fn name_of<'a>(cx: &PythonChecker<'a>, definition: Node) -> &'a str {
    let tree = cx.tree();
    tree.child(definition, Field::Name)
        .map_or("", |name| tree.text(name))
}

/// The decorators of a function or class: the name, or the name that is called.
pub(crate) fn decorators(cx: &PythonChecker<'_>, definition: Node) -> Vec<Node> {
    let tree = cx.tree();
    tree.parent(definition)
        .filter(|parent| tree.kind(*parent) == Kind::DecoratedDefinition)
        .map(|parent| {
            tree.parts(parent)
                .filter(|part| tree.kind(*part) == Kind::Decorator)
                .filter_map(|decorator| tree.parts(decorator).next())
                .collect()
        })
        .unwrap_or_default()
}

/// True if `within` contains an identifier with the text `name`.
pub(crate) fn mentions(cx: &PythonChecker<'_>, within: Node, name: &str) -> bool {
    let tree = cx.tree();
    cx.any_within(within, &|node| {
        tree.kind(node) == Kind::Identifier && tree.text(node) == name
    })
}

/// True if any identifier in `within` contains one of `parts`.
pub(crate) fn mentions_any(cx: &PythonChecker<'_>, within: Node, parts: &[&str]) -> bool {
    let tree = cx.tree();
    cx.within(within)
        .filter(|node| tree.kind(*node) == Kind::Identifier)
        .any(|node| contains_any(tree.text(node), parts))
}

/// True if `text` contains one of `parts`.
pub(crate) fn contains_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// The operator between the sides of a binary operation or an augmented assignment, such as `@` or `+=`.
///
/// Read from the text between them, because most operators are not in the tree.
pub(crate) fn operator<'a>(cx: &PythonChecker<'a>, node: Node) -> &'a str {
    let tree = cx.tree();
    if !matches!(
        tree.kind(node),
        Kind::BinaryOperator | Kind::AugmentedAssignment
    ) {
        return "";
    }
    let (Some(left), Some(right)) = (
        tree.child(node, Field::Left),
        tree.child(node, Field::Right),
    ) else {
        return "";
    };
    tree.source()
        .get(tree.end(left)..tree.start(right))
        .unwrap_or_default()
        .split_whitespace()
        .find(|word| *word != "\\")
        .unwrap_or_default()
}

/// The two sides of `left operator right`, if the operator is `wanted`.
pub(crate) fn sides(cx: &PythonChecker<'_>, node: Node, wanted: &str) -> Option<(Node, Node)> {
    let tree = cx.tree();
    if tree.kind(node) != Kind::BinaryOperator || operator(cx, node) != wanted {
        return None;
    }
    Some((
        tree.unparenthesized(tree.child(node, Field::Left)?),
        tree.unparenthesized(tree.child(node, Field::Right)?),
    ))
}

/// The expression assigned to a name, followed once and only to earlier code; otherwise `node` itself.
///
/// Unlike the semantic layer's `expression`, it accepts the latest assignment even if a branch may skip it. This is
/// enough to recognize a formula, but not to prove a value.
pub(crate) fn latest(cx: &PythonChecker<'_>, node: Node) -> Node {
    let tree = cx.tree();
    let node = tree.unparenthesized(node);
    if tree.kind(node) != Kind::Identifier {
        return node;
    }
    earlier(cx, node).last().copied().unwrap_or(node)
}

/// How many earlier assignments of one name are checked.
const MAX_EARLIER: usize = 16;

/// The values assigned to the name at `node` before it, in its scope, oldest first.
pub(crate) fn earlier(cx: &PythonChecker<'_>, node: Node) -> Vec<Node> {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let Some((_, bindings)) = names.lookup(names.scope_of(node), tree.text(node)) else {
        return Vec::new();
    };
    let mut values: Vec<Node> = bindings
        .before(node)
        .iter()
        .rev()
        .take(MAX_EARLIER)
        .filter_map(|binding| match binding.value {
            Value::Expression(value) if !tree.contains(value, node) => {
                Some(tree.unparenthesized(value))
            }
            _ => None,
        })
        .collect();
    values.reverse();
    values
}

/// True if the source contains one of `words` anywhere; see [`has_text`].
pub(crate) fn has_any_text(cx: &PythonChecker<'_>, words: &[&'static str]) -> bool {
    words.iter().any(|word| has_text(cx, word))
}

/// True if the source contains `word` anywhere. A cheap filter before exact checks; the text is searched once.
pub(crate) fn has_text(cx: &PythonChecker<'_>, word: &'static str) -> bool {
    let root = cx.tree().root();
    let find = || {
        let found = cx.tree().source().contains(word);
        if found { vec![root] } else { Vec::new() }
    };
    !cx.once(word, find).is_empty()
}

/// True in a condition that skips a test: `@pytest.mark.skipif(…)`, `if …: self.skipTest("…")`.
pub(crate) fn decides_a_skip(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let mut child = node;
    for ancestor in tree.ancestors(node) {
        let decision = match tree.kind(ancestor) {
            Kind::Decorator => Some(ancestor),
            Kind::Call => tree.child(ancestor, Field::Function),
            Kind::IfStatement if tree.field(child) == Field::Condition => tree
                .child(ancestor, Field::Consequence)
                .and_then(|consequence| tree.parts(consequence).next()),
            Kind::Block => return false,
            _ => None,
        };
        if decision.is_some_and(|decision| tree.text(decision).contains("skip")) {
            return true;
        }
        child = ancestor;
    }
    false
}

/// True in a function or class with a name that refers to AMD: `class ROCmAttention`.
pub(crate) fn is_named_after_amd(cx: &PythonChecker<'_>, node: Node) -> bool {
    is_within_name(cx, node, &|name| {
        contains_any(name, &["rocm", "_hip", "hip_", "amd"])
    })
}

/// True in a function or class whose name, in lower case, is accepted by `is_such`.
pub(crate) fn is_within_name(
    cx: &PythonChecker<'_>,
    node: Node,
    is_such: &dyn Fn(&str) -> bool,
) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .filter(|ancestor| {
            matches!(
                tree.kind(*ancestor),
                Kind::FunctionDefinition | Kind::ClassDefinition
            )
        })
        .any(|definition| is_such(&name_of(cx, definition).to_ascii_lowercase()))
}
