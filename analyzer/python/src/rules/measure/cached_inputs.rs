//! HW806: a benchmark whose inputs stay in the cache.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{arguments, called, has_text, keyword, values};
use crate::rules::helpers::timing::{
    is_benchmark, is_gpu_timing, region, repeating_loop, subjects,
};
use crate::semantic::{Value, integer};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds timed loops that call one operation on the same tensors, if the tensors fit into the GPU's last-level
    /// cache together, or may fit because the source does not contain their sizes.
    ///
    /// ## Why on ROCm
    ///
    /// MI300 and MI350 have 256 MB of Infinity Cache, MI200 has 8 MB of L2 on each of its two dies, Radeon GPUs have
    /// 32 to 96 MB of Infinity Cache, and an H100 has 50 MB of L2. From the second iteration on, the inputs come from the cache instead of memory, and a memory-bound kernel
    /// looks faster than it is in a model, where other layers run in between. A comparison of GPUs with different cache
    /// sizes then compares the caches. Such a number is valid if it is labelled as a hot-cache result.
    ///
    /// ## Example
    ///
    /// ```python arch=gfx942
    /// import time
    ///
    /// import torch
    ///
    /// x = torch.randn(1024, 1024, device="cuda")
    /// torch.exp(x)
    /// torch.cuda.synchronize()
    /// start = time.perf_counter()
    /// for _ in range(100):
    ///     torch.exp(x)
    /// torch.cuda.synchronize()
    /// elapsed = (time.perf_counter() - start) / 100
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python arch=gfx942
    /// import time
    ///
    /// import torch
    ///
    /// inputs = [torch.randn(1024, 1024, device="cuda") for _ in range(150)]
    /// torch.exp(inputs[0])
    /// torch.cuda.synchronize()
    /// start = time.perf_counter()
    /// for x in inputs:
    ///     torch.exp(x)
    /// torch.cuda.synchronize()
    /// elapsed = (time.perf_counter() - start) / 150
    /// ```
    ///
    /// Inputs of twice the cache size (here 600 MB in total) evict the data of the previous iteration.
    /// `triton.testing.do_bench` overwrites a buffer between iterations instead; check that the buffer is larger than
    /// the cache.
    ///
    /// ## Fix safety
    ///
    /// Display-only: a hot or a cold cache is a choice; state which one was measured.
    ///
    /// ## References
    ///
    /// * [AMD Instinct MI300 series microarchitecture](https://rocm.docs.amd.com/en/latest/conceptual/gpu-arch/mi300.html)
    /// * [triton.testing.do_bench](https://triton-lang.org/main/python-api/generated/triton.testing.do_bench.html)
    "HW806" "cached-inputs" {
        title: "The timed inputs stay in the cache",
        family: Measuring,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target whose cache size is known",
        lesson: Some("baseline/cold-hot-and-how-sure"),
        visit: [BinaryOperator, Call],
    }
}

const FACTORIES: &[&str] = &["randn", "rand", "zeros", "ones", "empty", "full", "randint"];

fn check(cx: &PythonChecker<'_>, node: Node) {
    if !has_text(cx, "torch") {
        return;
    }
    let Some((start, end)) = region(cx, node) else {
        return;
    };
    let tree = cx.tree();
    let Some(body) =
        repeating_loop(cx, start, end).and_then(|round| tree.child(round, Field::Body))
    else {
        return;
    };
    if !is_gpu_timing(cx, start, end) {
        return;
    }
    let Some(megabytes) = cx.target().arch.cache_mib() else {
        return;
    };
    let cache = i64::from(megabytes) << 20;
    // The author clears the cache or rotates the inputs.
    if has_text(cx, "flush") || has_text(cx, "cache.zero_") || has_text(cx, "rotat") {
        return;
    }
    let call = match subjects(cx, body)[..] {
        [call] => call,
        // `c = a @ b`
        [] => match operation(cx, body) {
            Some(operation) => operation,
            None => return,
        },
        _ => return,
    };
    let message = match input_bytes(cx, call) {
        Some(Some(0)) | None => return,
        Some(Some(bytes)) if bytes > cache => return,
        Some(Some(bytes)) => {
            let size = match bytes >> 20 {
                0 => "under 1".to_owned(),
                megabytes => megabytes.to_string(),
            };
            format!(
                "The inputs take {size} MB and stay in this GPU's {} MB cache from the second iteration on.",
                cache >> 20
            )
        }
        Some(None) if is_benchmark(cx, node, start, end) => format!(
            "Each iteration has the same inputs: together under {} MB, they come from this GPU's cache from the second iteration on.",
            cache >> 20
        ),
        Some(None) => return,
    };
    cx.report(
        &RULE,
        call,
        message,
        RawFix::display_only(
            "Rotate inputs that together exceed the cache, or label the result as hot",
        ),
    );
}

/// The operation of a loop whose body is that single statement.
fn operation(cx: &PythonChecker<'_>, body: Node) -> Option<Node> {
    let tree = cx.tree();
    let mut statements = tree.parts(body);
    let only = statements.next().filter(|_| statements.next().is_none())?;
    let expression = tree.parts(only).next()?;
    let value = tree.child(expression, Field::Right).unwrap_or(expression);
    let value = if tree.kind(expression) == Kind::Assignment {
        value
    } else {
        expression
    };
    (tree.kind(value) == Kind::BinaryOperator).then_some(value)
}

/// The bytes of all tensors that a call or an operation gets, if their sizes are known; `None` if one is not created
/// here, or if the weights of a module are used.
fn input_bytes(cx: &PythonChecker<'_>, call: Node) -> Option<Option<i64>> {
    let tree = cx.tree();
    let inputs = if tree.kind(call) == Kind::BinaryOperator {
        vec![
            tree.child(call, Field::Left)?,
            tree.child(call, Field::Right)?,
        ]
    } else {
        let function = tree.child(call, Field::Function)?;
        let is_function = cx.resolve(function).is_some()
            || matches!(cx.semantics.binding(function)?.value, Value::Function(_));
        if !is_function {
            return None;
        }
        values(cx, call)
    };
    let mut total = Some(0_i64);
    for value in inputs {
        match tree.kind(value) {
            Kind::Identifier => {
                let made = element(cx, value);
                match tree.kind(made) {
                    Kind::Call => {
                        let bytes = tensor_bytes(cx, made)?;
                        total = total.zip(bytes).and_then(|(a, b)| a.checked_add(b));
                    }
                    Kind::Integer | Kind::Float | Kind::True | Kind::False | Kind::None => {}
                    _ => return None,
                }
            }
            Kind::Integer | Kind::Float | Kind::True | Kind::False | Kind::None | Kind::String => {}
            _ => return None,
        }
    }
    Some(total)
}

/// The value assigned to a name, also as one of several: `a, b = torch.randn(64, 64), torch.randn(64, 64)`.
fn element(cx: &PythonChecker<'_>, name: Node) -> Node {
    let tree = cx.tree();
    match cx.semantics.binding(name).map(|binding| binding.value) {
        Some(Value::Unpacked(list, at))
            if matches!(tree.kind(list), Kind::ExpressionList | Kind::Tuple) =>
        {
            tree.parts(list).nth(at).unwrap_or(name)
        }
        _ => cx.semantics.expression(name),
    }
}

/// `torch.randn(4096, 4096, dtype=torch.bfloat16, device="cuda")`, optionally moved afterwards.
fn tensor_bytes(cx: &PythonChecker<'_>, made: Node) -> Option<Option<i64>> {
    let tree = cx.tree();
    if matches!(
        called(cx, made),
        "cuda" | "to" | "half" | "bfloat16" | "contiguous"
    ) {
        let inner = crate::rules::helpers::calls::receiver(cx, made)?;
        let bytes = tensor_bytes(cx, inner)?;
        let halves = matches!(called(cx, made), "half" | "bfloat16");
        return Some(bytes.map(|bytes| if halves { bytes / 2 } else { bytes }));
    }
    let is_factory = FACTORIES.contains(&called(cx, made))
        && cx.callee(made).is_some_and(|name| name.root() == "torch");
    if !is_factory {
        return None;
    }
    let width = match keyword(cx, made, "dtype").map(|dtype| tree.text(dtype)) {
        None => 4,
        Some(dtype) => match dtype.rsplit('.').next().unwrap_or_default() {
            "float16" | "half" | "bfloat16" => 2,
            "float32" | "float" | "int32" => 4,
            "float64" | "double" | "int64" => 8,
            "int8" | "uint8" | "bool" => 1,
            _ => return Some(None),
        },
    };
    Some(elements(cx, made).and_then(|elements| elements.checked_mul(width)))
}

fn elements(cx: &PythonChecker<'_>, made: Node) -> Option<i64> {
    let tree = cx.tree();
    let mut elements: i64 = 1;
    for argument in arguments(cx, made) {
        match tree.kind(argument) {
            Kind::KeywordArgument => continue,
            Kind::Tuple | Kind::List => {
                for size in tree.parts(argument) {
                    elements = elements.checked_mul(integer(&cx.semantics, element(cx, size))?)?;
                }
                break;
            }
            _ => elements = elements.checked_mul(integer(&cx.semantics, element(cx, argument))?)?,
        }
    }
    Some(elements)
}
