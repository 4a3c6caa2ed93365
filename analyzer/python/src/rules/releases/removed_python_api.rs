//! HW407: modules and functions that the Python for the target's PyTorch does not have any more.

use super::versions::is_for_a_version;
use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::table_rules::imported;
use crate::semantic::is_import_guarded;
use crate::syntax::{Field, Node};
use hipward_analyzer_core::Version;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds imports and uses of modules and functions that a release of Python removed, if the target's Python is newer:
    /// `collections.Sequence`, `inspect.getargspec`, `imp`, `numpy.distutils` and others. `distutils` is not reported, because
    /// setuptools, which PyTorch requires, contains it.
    ///
    /// ## Why on ROCm
    ///
    /// Code that pins an old PyTorch runs on an old Python too. PyTorch's builds for ROCm 7 begin with Python 3.10, and AMD's images have 3.12.
    ///
    /// Imports in a `try` that handles the failure, and uses behind a test of the version, are not reported.
    ///
    /// ## Example
    ///
    /// ```python
    /// from collections import Sequence
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from collections.abc import Sequence
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe for the abstract classes of `collections`: `collections.abc` exists since Python 3.3. Display-only for the others.
    ///
    /// ## References
    ///
    /// * [What's new in Python 3.10](https://docs.python.org/3/whatsnew/3.10.html)
    /// * [What's new in Python 3.12](https://docs.python.org/3/whatsnew/3.12.html)
    /// * [What's new in Python 3.13](https://docs.python.org/3/whatsnew/3.13.html)
    "HW407" "removed-python-api" {
        title: "The target's Python does not have this any more",
        family: PythonVersion,
        severity: Error,
        applicability: Safe,
        targets: "targets with a Python from the release on that removed it",
        lesson: Some("port/right-pytorch"),
        visit: [ImportStatement, ImportFromStatement, Attribute],
    }
}

/// The abstract classes that `collections` lent from `collections.abc` until Python 3.9.
const ABSTRACT: &str = "Awaitable Coroutine AsyncIterable AsyncIterator AsyncGenerator Hashable Iterable Iterator Generator \
    Reversible Sized Container Callable Collection Set MutableSet Mapping MutableMapping MappingView KeysView ItemsView ValuesView \
    Sequence MutableSequence ByteString";

/// The modules in [`REMOVED`] that are parts of others.
const MODULES: &str = "numpy.distutils xml.etree.cElementTree";

/// The minor version that removed the names, and what to use.
const REMOVED: &[(u16, &str, &str)] = &[
    (8, "time.clock", "Use time.perf_counter"),
    (
        8,
        "platform.linux_distribution platform.dist",
        "Use the package distro",
    ),
    (9, "fractions.gcd", "Use math.gcd"),
    (9, "xml.etree.cElementTree", "Use xml.etree.ElementTree"),
    (
        9,
        "base64.encodestring base64.decodestring",
        "Use base64.encodebytes and decodebytes",
    ),
    (11, "inspect.getargspec", "Use inspect.getfullargspec"),
    (11, "asyncio.coroutine", "Write async def"),
    (12, "imp", "Use importlib"),
    (
        12,
        "numpy.distutils",
        "Build with setuptools, scikit-build-core or meson-python",
    ),
    (12, "asyncore asynchat smtpd", "Use asyncio"),
    (
        12,
        "configparser.SafeConfigParser",
        "Use configparser.ConfigParser",
    ),
    (13, "pipes", "Use subprocess; shlex has quote"),
    (13, "imghdr sndhdr", "Use the package filetype"),
    (
        13,
        "cgi cgitb crypt telnetlib nntplib uu xdrlib audioop aifc lib2to3",
        "Use a package that replaces it",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let member = tree
        .child(node, Field::Attribute)
        .map(|name| tree.text(name));
    if abstract_classes(cx, node, member) {
        return;
    }
    for (minor, names, advice) in REMOVED {
        let removed = Version::new(3, *minor);
        if cx.target().python < removed {
            continue;
        }
        let find = |name: &'static str| {
            let found = match member {
                // Of a module, the import is reported.
                Some(member) => (name.ends_with(member)
                    && name.contains('.')
                    && !listed(MODULES, name)
                    && cx.resolve(node)?.is(name))
                .then_some(node),
                None => imported(cx, node, name),
            };
            Some((name, found?))
        };
        let Some((name, found)) = names.split(' ').find_map(find) else {
            continue;
        };
        if !is_told_apart(cx, node) {
            let message = format!("{name} does not exist since Python {removed}.");
            cx.report(&RULE, found, message, RawFix::display_only(*advice));
        }
        return;
    }
}

/// Reports `from collections import Sequence` and `collections.Sequence`. True if the node is one of them.
fn abstract_classes(cx: &PythonChecker<'_>, node: Node, member: Option<&str>) -> bool {
    let tree = cx.tree();
    let is_fine = || cx.target().python < Version::new(3, 10) || is_told_apart(cx, node);
    let message = |name: &str| {
        format!(
            "collections.{name} does not exist since Python 3.10; the class is in collections.abc."
        )
    };
    const TITLE: &str = "Use collections.abc";
    if let Some(member) = member {
        let is_it = listed(ABSTRACT, member)
            && tree
                .child(node, Field::Object)
                .is_some_and(|object| tree.text(object) == "collections");
        if is_it && !is_fine() {
            let start = tree.end(node) - member.len();
            // `import collections` alone loads `collections.abc` only by chance.
            let fix = match tree.source().contains("collections.abc") {
                true => RawFix::safe_edits(TITLE, vec![(start..start, "abc.".to_owned())]),
                false => RawFix::display_only("Import collections.abc, and use its class"),
            };
            cx.report(&RULE, node, message(member), fix);
        }
        return is_it;
    }
    let Some(module) = tree
        .child(node, Field::ModuleName)
        .filter(|module| tree.text(*module) == "collections")
    else {
        return false;
    };
    let names = tree.children_in(node, Field::Name).map(|item| {
        (
            item,
            tree.text(tree.child(item, Field::Name).unwrap_or(item)),
        )
    });
    let (old, other): (Vec<_>, Vec<_>) = names.partition(|(_, name)| listed(ABSTRACT, name));
    let Some((first, name)) = old.first().filter(|_| !is_fine()) else {
        return false;
    };
    let fix = match other.is_empty() {
        true => RawFix::safe_edits(
            TITLE,
            vec![(tree.span(module), "collections.abc".to_owned())],
        ),
        false => RawFix::display_only("Import it from collections.abc"),
    };
    cx.report(&RULE, *first, message(name), fix);
    true
}

fn is_told_apart(cx: &PythonChecker<'_>, node: Node) -> bool {
    is_for_a_version(cx, node)
        || is_import_guarded(&cx.semantics, node, &["ImportError", "AttributeError"])
}
