//! Replaces functions that a browser module never needs by traps, to make the module smaller.
//!
//! A panic in the browser ends in a trap, and its message is lost: there is no standard error. So the functions that write
//! such messages trap at once, and wasm-opt removes the functions that only they call. The same goes for the parser's own
//! log, which is never on, and for asynchronous hydration. A caller sees the same error: `RuntimeError: unreachable`.

use walrus::{FunctionBuilder, FunctionId, FunctionKind, Module};

/// Parts of the names of functions that only a panic calls.
const PANICS: [&str; 10] = [
    "core::panicking::",
    "std::panicking::",
    "slice_error_fail",
    "slice_index_fail",
    "len_mismatch_fail",
    "unwrap_failed",
    "expect_failed",
    "alloc::raw_vec::handle_error",
    "alloc::raw_vec::capacity_overflow",
    "alloc::handle_alloc_error",
];

/// Parts of the names of functions that format floats and `{:?}`. Most modules call them only in the messages of panics and
/// of errors that serde reports for a value of another type; a number on a page is formatted in site/src/format.rs.
const FORMATS: [&str; 3] = [
    "core::fmt::Debug>::fmt",
    "core::fmt::builders::",
    "core::num::flt2dec::",
];

/// Leptos's functions that hydrate a page whose parts load one after another. An island is hydrated at once. Those of the
/// views inside are not named here: the compiler merges them with functions that are called.
const ASYNC_HYDRATION: &str = "into_any::hydrate_async";

/// tree-sitter's functions that write its log. `ts_parser_print_dot_graphs` is none: it also turns that log off.
const LOG: [&str; 4] = [
    "ts_parser__log",
    "ts_stack_print_dot_graph",
    "ts_subtree__print_dot_graph",
    "vsnprintf_impl",
];

/// Makes a trap of each such function. `formats`: whether the module's answers contain formatted floats or `{:?}`.
pub(crate) fn silence(module: &mut Module, formats: bool) {
    let silent: Vec<FunctionId> = module
        .funcs
        .iter()
        .filter(|function| {
            function
                .name
                .as_deref()
                .is_some_and(|name| is_silent(name, formats))
        })
        .map(|function| function.id())
        .collect();
    for id in silent {
        let FunctionKind::Local(function) = &module.funcs.get(id).kind else {
            continue;
        };
        let ty = module.types.get(function.ty());
        let (params, results) = (ty.params().to_vec(), ty.results().to_vec());
        let arguments = params.iter().map(|ty| module.locals.add(*ty)).collect();
        let mut trap = FunctionBuilder::new(&mut module.types, &params, &results);
        trap.func_body().unreachable();
        module.funcs.get_mut(id).kind = FunctionKind::Local(trap.local_func(arguments));
    }
}

fn is_silent(name: &str, formats: bool) -> bool {
    let path = without_hashes(name);
    let unused = if formats { &[][..] } else { &FORMATS };
    PANICS
        .iter()
        .chain(unused)
        .chain(&LOG)
        .chain([&ASYNC_HYDRATION])
        .any(|silent| path.contains(silent))
}

/// `core[c5930c85a12de822]::fmt` → `core::fmt`.
fn without_hashes(name: &str) -> String {
    let mut depth = 0;
    name.chars()
        .filter(|character| {
            let inside = depth > 0;
            match character {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => return !inside,
            }
            false
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_trap_and_the_rest_stays() {
        let mut module = Module::default();
        for name in [
            "core[c5930c85a12de822]::panicking::panic_fmt",
            "<alloc[3c]::string::String as core[c5]::fmt::Debug>::fmt",
            "ts_stack_print_dot_graph",
            "<T as tachys[1a]::view::any_view::IntoAny>::into_any::hydrate_async::{{closure}}",
            "<T as tachys[1a]::view::any_view::IntoAny>::into_any::hydrate_async",
            "ts_parser_print_dot_graphs",
            "tree_sitter::Parser::stop_printing_dot_graphs::hc49a53e0c305e932",
            "ts_parser_parse",
            "<alloc[3c]::string::String as core[c5]::fmt::Display>::fmt",
        ] {
            let mut function = FunctionBuilder::new(&mut module.types, &[], &[]);
            function.func_body().i32_const(1).drop();
            let id = function.finish(Vec::new(), &mut module.funcs);
            module.funcs.get_mut(id).name = Some(name.to_owned());
        }
        silence(&mut module, false);
        let traps = |function: &walrus::Function| match &function.kind {
            FunctionKind::Local(local) => local
                .block(local.entry_block())
                .instrs
                .iter()
                .any(|(instruction, _)| instruction.is_unreachable()),
            _ => false,
        };
        let all: Vec<bool> = module.funcs.iter().map(traps).collect();
        assert_eq!(
            all,
            [true, true, true, true, true, false, false, false, false]
        );
        assert!(!is_silent("core::num::flt2dec::to_exact_exp_str", true));
    }
}
