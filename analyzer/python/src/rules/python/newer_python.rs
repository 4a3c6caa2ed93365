//! HW403: additions of later Python releases to the library and the language.

use crate::checker::{PythonChecker, RawFix};
use crate::semantic::is_import_guarded;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds names and syntax that were added in Python 3.11, 3.12 or 3.13, if the target's Python is older:
    /// `enum.StrEnum`, `typing.Self`, `asyncio.TaskGroup`, `ExceptionGroup`, `except*` and others. `datetime.UTC` and
    /// `tomllib` have rules of their own.
    ///
    /// ## Why on ROCm
    ///
    /// A port often runs on an older Python: ROCm images shipped 3.10 for years. There the import raises `ImportError`,
    /// or the file does not even compile. `match`, `X | Y` in annotations and parenthesized `with` are part of 3.10 and
    /// are not reported.
    ///
    /// ## Example
    ///
    /// ```python python=3.10
    /// from typing import Self
    ///
    ///
    /// class Config:
    ///     def copy(self) -> Self:
    ///         return self
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python python=3.10
    /// from typing_extensions import Self
    ///
    ///
    /// class Config:
    ///     def copy(self) -> Self:
    ///         return self
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: `typing_extensions`, `exceptiongroup` and `backports` have to be installed.
    ///
    /// ## References
    ///
    /// * [What's new in Python 3.11](https://docs.python.org/3/whatsnew/3.11.html)
    /// * [What's new in Python 3.12](https://docs.python.org/3/whatsnew/3.12.html)
    /// * [typing_extensions](https://typing-extensions.readthedocs.io/en/stable/)
    "HW403" "newer-python" {
        title: "The target's Python is too old for this",
        family: PythonVersion,
        severity: Error,
        applicability: DisplayOnly,
        targets: "targets with a Python before 3.13",
        lesson: Some("how-to/python-310"),
        visit: [Attribute, ImportFromStatement, Identifier, ExceptClause],
    }
}
/// A module, the names that a release of Python 3 added to it, and the alternative.
struct Added {
    module: &'static str,
    names: &'static [&'static str],
    minor: u16,
    instead: &'static str,
}

const TYPING: &str = "Import it from typing_extensions";
const ASYNCIO: &str = "Use asyncio.gather or wait_for, or the packages taskgroup and async-timeout";

const ADDED: &[Added] = &[
    Added {
        module: "typing",
        names: &[
            "Self",
            "Never",
            "LiteralString",
            "NotRequired",
            "Required",
            "Unpack",
            "TypeVarTuple",
            "assert_never",
            "assert_type",
            "reveal_type",
            "dataclass_transform",
            "get_overloads",
            "clear_overloads",
        ],
        minor: 11,
        instead: TYPING,
    },
    Added {
        module: "typing",
        names: &["override", "TypeAliasType"],
        minor: 12,
        instead: TYPING,
    },
    Added {
        module: "typing",
        names: &["ReadOnly", "TypeIs", "NoDefault"],
        minor: 13,
        instead: TYPING,
    },
    Added {
        module: "enum",
        names: &["StrEnum", "EnumType", "verify", "ReprEnum"],
        minor: 11,
        instead: "Derive from str and Enum, or use the package backports.strenum",
    },
    Added {
        module: "asyncio",
        names: &["TaskGroup", "timeout", "timeout_at", "Runner", "Barrier"],
        minor: 11,
        instead: ASYNCIO,
    },
    Added {
        module: "contextlib",
        names: &["chdir"],
        minor: 11,
        instead: "Call os.chdir in a try with finally",
    },
    Added {
        module: "hashlib",
        names: &["file_digest"],
        minor: 11,
        instead: "Read the file in blocks and update the hash",
    },
    Added {
        module: "math",
        names: &["cbrt", "exp2"],
        minor: 11,
        instead: "Use a power",
    },
    Added {
        module: "logging",
        names: &["getLevelNamesMapping"],
        minor: 11,
        instead: "Use logging.getLevelName",
    },
    Added {
        module: "http",
        names: &["HTTPMethod"],
        minor: 11,
        instead: "Write the method as a string",
    },
    Added {
        module: "itertools",
        names: &["batched"],
        minor: 12,
        instead: "Slice with itertools.islice",
    },
    Added {
        module: "warnings",
        names: &["deprecated"],
        minor: 13,
        instead: TYPING,
    },
    Added {
        module: "copy",
        names: &["replace"],
        minor: 13,
        instead: "Use dataclasses.replace",
    },
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let python = cx.target().python;
    if python >= Version::new(3, 13) {
        return;
    }
    let tree = cx.tree();
    match tree.kind(node) {
        Kind::ImportFromStatement => imports(cx, node),
        Kind::Attribute => {
            let Some(member) = tree.child(node, Field::Attribute) else {
                return;
            };
            if let Some(added) = added(cx, tree.text(member))
                && cx.resolve(node).is_some_and(
                    |name| matches!(name.parts(), [module, _] if *module == added.module),
                )
            {
                report(cx, node, added.minor, added.instead);
            }
        }
        Kind::Identifier => {
            if python < Version::new(3, 11)
                && matches!(tree.text(node), "ExceptionGroup" | "BaseExceptionGroup")
                && is_builtin_use(cx, node)
            {
                report(cx, node, 11, "Import it from the package exceptiongroup");
            }
        }
        _ => {
            let is_star = tree
                .text(node)
                .strip_prefix("except")
                .is_some_and(|rest| rest.trim_start().starts_with('*'));
            if is_star && python < Version::new(3, 11) {
                report(cx, node, 11, "Use exceptiongroup.catch");
            }
        }
    }
}

/// True for a name that the source reads and never binds.
fn is_builtin_use(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let is_read = !matches!(tree.field(node), Field::Attribute | Field::Name)
        && tree.parent(node).is_some_and(|parent| {
            !matches!(
                tree.kind(parent),
                Kind::DottedName | Kind::AliasedImport | Kind::ClassDefinition
            )
        });
    let is_bound = names
        .lookup(names.scope_of(node), tree.text(node))
        .is_some();
    is_read && !is_bound && names.stars.is_empty()
}

/// The entry for a name that the target's Python lacks, in any module.
fn added(cx: &PythonChecker<'_>, name: &str) -> Option<&'static Added> {
    let python = cx.target().python;
    ADDED
        .iter()
        .find(|added| python < Version::new(3, added.minor) && added.names.contains(&name))
}

fn imports(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    let Some(module) = tree.child(statement, Field::ModuleName) else {
        return;
    };
    for item in tree.children_in(statement, Field::Name) {
        let name = tree.text(tree.child(item, Field::Name).unwrap_or(item));
        if let Some(added) = added(cx, name)
            && tree.text(module) == added.module
        {
            report(cx, item, added.minor, added.instead);
        }
    }
}

fn report(cx: &PythonChecker<'_>, node: Node, minor: u16, instead: &'static str) {
    if is_import_guarded(
        &cx.semantics,
        node,
        &["ImportError", "AttributeError", "NameError"],
    ) {
        return;
    }
    let tree = cx.tree();
    let what = match tree.kind(node) {
        Kind::ExceptClause => "except*",
        _ => tree.text(node),
    };
    let python = cx.target().python;
    cx.report(
        &RULE,
        node,
        format!("{what} was added in Python 3.{minor}; Python {python} does not have it."),
        RawFix::display_only(instead),
    );
}
