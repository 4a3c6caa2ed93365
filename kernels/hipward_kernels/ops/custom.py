"""The ops as operators of PyTorch, `torch.ops.hipward.<op>`, which compilers call and do not trace into.

A compiled graph has such an operator as one node, and the dispatch selects the tier at each call, so that HIP kernels
stay in compiled code. The backward of an operator is `torch.ops.hipward.differentiate`. Half of the ops have a backward
op with tiers of its own, which needs what the forward has saved. The others use the HIP tier's backward kernels, or run
the op again with autograd. Where a backward needs more than arguments and results, an operator with further results,
such as the statistics of the rows, is called in place of the op.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hipward_kernels.dispatch import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Kernels = Callable[[Any, Sequence[Any], Sequence[Tensor]], Any]
    Gradients = Callable[[Sequence[Any], Sequence[bool], Sequence[Tensor]], Sequence["Tensor | None"]]
    Fallback = Callable[[Any, list[Any], Sequence[bool], Sequence[Tensor]], Sequence["Tensor | None"]]


# --- Shapes of results ---


def _like(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _two_like(x: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return _like(x), _like(x)


def _half(x: Tensor) -> Tensor:
    return x.new_empty((*x.shape[:-1], x.shape[-1] // 2))


def _losses(logits: Tensor, labels: Tensor, _: int) -> Tensor:
    return logits.new_empty(labels.shape, dtype=torch.float64 if logits.dtype == torch.float64 else torch.float32)


def _heads(qkv: Tensor, _cos: Tensor, _sin: Tensor, heads: int, kv_heads: int, _layout: str) -> tuple[Tensor, ...]:
    batch, length, width = qkv.shape
    size = width // (heads + 2 * kv_heads)
    return tuple(qkv.new_empty((batch, length, count, size)) for count in (heads, kv_heads, kv_heads))


def _layernorm_results(x: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    rows, wide = x.shape[:-1].numel(), torch.float64 if x.dtype == torch.float64 else torch.float32
    return _like(x), x.new_empty((rows,), dtype=wide), x.new_empty((rows,), dtype=wide)


def _cross_entropy_results(logits: Tensor, labels: Tensor, _: int) -> tuple[Tensor, Tensor]:
    losses = _losses(logits, labels, _)
    return losses, torch.empty_like(losses)


def _joined(gradients: Sequence[Tensor]) -> Tensor:
    batch, length, _, size = gradients[0].shape
    return gradients[0].new_empty((batch, length, sum(part.shape[2] for part in gradients) * size))


# --- Gradients ---


def _no_kernels(*_: Any) -> Any:
    return NotImplemented


def _rmsnorm(hip: Any, saved: Sequence[Any], gradients: Sequence[Tensor]) -> Any:
    x, weight, eps = saved
    fits = hip.differentiable("rmsnorm", x, None, weight)
    return hip.backward(gradients[0], None, x, weight, eps) if fits else NotImplemented


def _add_rmsnorm(_: Any, saved: Sequence[Any], gradients: Sequence[Tensor]) -> Any:
    # The kernels are those of RMSNorm, which can add the gradient of the sum.
    hip: Any = registry.op_of("rmsnorm").module("hip")
    total, weight, eps = saved
    fits = hip.differentiable("add_rmsnorm", total, total, weight)
    return hip.backward(*gradients, total, weight, eps) if fits else NotImplemented


def _softmax(hip: Any, saved: Sequence[Any], gradients: Sequence[Tensor]) -> Any:
    return (hip.backward(gradients[0], saved[0]),) if hip.differentiable(saved[0]) else NotImplemented


def _gated(hip: Any, saved: Sequence[Any], gradients: Sequence[Tensor]) -> Any:
    # The op of its module is an instance, and not a function.
    op = hip.silu_mul if hasattr(hip, "silu_mul") else hip.gelu_mul
    return op.backward(gradients[0], *saved) if hip.takes(*saved) else NotImplemented


def _with_autograd(
    op: Any, arguments: list[Any], wanted: Sequence[bool], gradients: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    """Gradients by running the op again."""
    leaves = [x.detach().requires_grad_() if want else x for x, want in zip(arguments, wanted, strict=False)]
    # An operator runs without PyTorch's autograd, which is needed here.
    key, excluded = torch._C.DispatchKey, torch._C._dispatch_tls_local_exclude_set()  # noqa: SLF001
    for each in (key.AutogradFunctionality, key.AutogradOther, key.AutogradNestedTensor):
        excluded = excluded.remove(each)
    guard = torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded)  # noqa: SLF001
    with torch.enable_grad(), guard:
        results = op(*leaves, *arguments[len(leaves) :])
        results = results if isinstance(results, tuple) else (results,)
        sources = [x for x, want in zip(leaves, wanted, strict=True) if want]
        found = iter(torch.autograd.grad(results, sources, gradients))
    return [next(found) if want else None for want in wanted]


def _of_sum(_op: Any, saved: list[Any], wanted: Sequence[bool], gradients: Sequence[Tensor]) -> Sequence[Tensor | None]:
    """Those of add+RMSNorm: of RMSNorm of the sum, and the sum's own."""
    dtotal, dweight = _with_autograd(registry.op_of("rmsnorm"), saved, wanted, gradients[:1])
    return None if dtotal is None else dtotal + gradients[1], dweight


def _of_softmax(
    _op: Any, saved: list[Any], _wanted: Sequence[bool], gradients: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    """`y * (dy - sum(dy * y))`."""
    (y,), (dy,) = saved, gradients
    wide = torch.float64 if y.dtype == torch.float64 else torch.float32
    y, dy = y.to(wide), dy.to(wide)
    return ((y * (dy - (y * dy).sum(-1, keepdim=True))).to(gradients[0].dtype),)


def _of_layernorm(
    saved: Sequence[Any], _wanted: Sequence[bool], gradients: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    *tensors, _eps = saved
    found: Sequence[Tensor | None] = registry.op_of("layernorm_backward")(*tensors, gradients[0])
    return found


def _of_cross_entropy(
    saved: Sequence[Any], _wanted: Sequence[bool], gradients: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    *tensors, ignore_index = saved
    return registry.op_of("cross_entropy_backward")(*tensors, gradients[0], ignore_index), None


def _of_swiglu(saved: Sequence[Any], _wanted: Sequence[bool], gradients: Sequence[Tensor]) -> Sequence[Tensor | None]:
    return (registry.op_of("swiglu_backward")(saved[0], gradients[0]),)


def _of_rope(saved: Sequence[Any], wanted: Sequence[bool], gradients: Sequence[Tensor]) -> Sequence[Tensor | None]:
    if any(wanted[1:]):
        # Tables that are trained: no kernel has their gradients.
        return _with_autograd(registry.op_of("rope").definition, list(saved), wanted, gradients)
    return registry.op_of("rope_backward")(gradients[0], *saved[1:]), None, None


def _of_qkv_rope(saved: Sequence[Any], wanted: Sequence[bool], gradients: Sequence[Tensor]) -> Sequence[Tensor | None]:
    if any(wanted[1:]):
        return _with_autograd(registry.op_of("qkv_rope").definition, list(saved), wanted, gradients)
    _, cos, sin, _heads, _kv_heads, layout = saved
    return registry.op_of("qkv_rope_backward")(*gradients, cos, sin, layout), None, None


# --- Operators ---


def _arguments(inputs: Sequence[Any], _: Any) -> Sequence[Any]:
    return inputs


def _turned(inputs: Sequence[Any], _: Any) -> Sequence[Any]:
    """A rotation's gradient needs the tables only; that of the tables needs the input."""
    x, cos, sin, *rest = inputs
    return x if cos.requires_grad or sin.requires_grad else None, cos, sin, *rest


@dataclass(frozen=True)
class Extended:
    """An op with further results, which the backward needs."""

    name: str
    returns: str
    """Its results, as PyTorch writes them. The first one is that of the op."""
    further: int
    shapes: Callable[..., tuple[Tensor, ...]]
    """Uninitialized results for the arguments."""


@dataclass(frozen=True)
class Form:
    """The arguments and results of an op, and its gradients."""

    schema: str
    """As PyTorch writes it: tensors first, then other values."""
    tensors: int
    """Number of the first arguments that are tensors, or None."""
    shapes: Callable[..., Tensor | tuple[Tensor, ...]]
    """Uninitialized results for the arguments."""
    kernels: Kernels = _no_kernels
    """Gradients from the HIP tier's module, what was saved, and the gradients of the results, or `NotImplemented`."""
    saves: Callable[[Sequence[Any], Any], Sequence[Any]] = _arguments
    """What the backward needs, from the arguments and the result: tensors first, as in the arguments."""
    fallback: Fallback = _with_autograd
    """The same as `kernels`, from the op, for any tier."""
    gradients: Gradients | None = None
    """In place of `kernels` and `fallback`: from what was saved, what is wanted, and the gradients of the results."""
    extended: Extended | None = None
    """The op whose further results are saved behind the tensors."""
    like_first: Callable[[Sequence[Tensor]], Tensor] = lambda gradients: _like(gradients[0])
    """An uninitialized gradient of the first argument, if that is not saved, from the gradients of the results."""
    summands: bool = False
    """Whether the first two tensors are only added, so that they have one gradient, and their sum is saved."""

    @property
    def saved_tensors(self) -> int:
        """Number of the saved tensors."""
        further = self.extended.further if self.extended else 0
        return self.tensors - int(self.summands) + further

    def operator(self, name: str) -> tuple[str, str, Callable[..., Tensor | tuple[Tensor, ...]]]:
        """Name, schema and shapes of the operator that runs the op called `name`."""
        if self.extended is None:
            return name, self.schema, self.shapes
        schema = self.schema.removesuffix("Tensor") + self.extended.returns
        return self.extended.name, schema, self.extended.shapes


FORMS = {
    "rmsnorm": Form("(Tensor x, Tensor? weight, float eps) -> Tensor", 2, _like, _rmsnorm),
    "add_rmsnorm": Form(
        "(Tensor x, Tensor residual, Tensor? weight, float eps) -> (Tensor, Tensor)",
        3,
        _two_like,
        _add_rmsnorm,
        lambda inputs, results: (results[1], *inputs[2:]),
        _of_sum,
        summands=True,
    ),
    "layernorm": Form(
        "(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor",
        3,
        _like,
        saves=lambda inputs, results: (*inputs[:3], *results[1:], inputs[3]),
        gradients=_of_layernorm,
        extended=Extended("layernorm_with_statistics", "(Tensor, Tensor, Tensor)", 2, _layernorm_results),
    ),
    "softmax": Form("(Tensor x) -> Tensor", 1, _like, _softmax, lambda _, y: (y,), _of_softmax),
    "silu_mul": Form("(Tensor gate, Tensor up) -> Tensor", 2, _like, _gated),
    "gelu_mul": Form("(Tensor gate, Tensor up) -> Tensor", 2, _like, _gated),
    "swiglu": Form("(Tensor gate_up) -> Tensor", 1, _half, gradients=_of_swiglu),
    "rope": Form(
        "(Tensor x, Tensor cos, Tensor sin, str layout) -> Tensor", 3, _like, saves=_turned, gradients=_of_rope
    ),
    "qkv_rope": Form(
        "(Tensor qkv, Tensor cos, Tensor sin, int heads, int kv_heads, str layout) -> (Tensor, Tensor, Tensor)",
        3,
        _heads,
        saves=_turned,
        gradients=_of_qkv_rope,
        like_first=_joined,
    ),
    "cross_entropy": Form(
        "(Tensor logits, Tensor labels, int ignore_index) -> Tensor",
        2,
        _losses,
        saves=lambda inputs, results: (*inputs[:2], results[1], inputs[2]),
        gradients=_of_cross_entropy,
        extended=Extended("cross_entropy_with_normalizers", "(Tensor, Tensor)", 1, _cross_entropy_results),
    ),
}
"""The form of each op."""


def _register(name: str, form: Form) -> None:
    called, schema, shapes = form.operator(name)

    def run(*arguments: Any) -> Any:
        with torch.no_grad():
            results = registry.op_of(called)(*arguments)
        # An operator must not return its argument, which the definition of an op may do.
        return _without_aliases(results, arguments) if isinstance(results, tuple) else results

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if form.extended:
            ctx.mark_non_differentiable(*output[1:])
            ctx.set_materialize_grads(False)
        saved = form.saves(inputs, output)
        ctx.save_for_backward(*saved[: form.saved_tensors])
        ctx.rest = json.dumps(saved[form.saved_tensors :])

    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        wanted = list(ctx.needs_input_grad[: form.tensors])
        summands = wanted[:2]
        if form.summands:
            wanted = [any(summands), *wanted[2:]]
        if form.extended:
            # The further results have no gradients.
            gradients = gradients[:1]
            if gradients[0] is None:
                return (None,) * (form.tensors + len(json.loads(ctx.rest)))
        found = iter(torch.ops.hipward.differentiate(name, ctx.saved_tensors, ctx.rest, wanted, gradients))
        returned = [next(found) if want else None for want in wanted]
        if form.summands:
            returned[:1] = [returned[0] if want else None for want in summands]
        return *returned, *(None for _ in json.loads(ctx.rest))

    operator = torch.library.custom_op(f"hipward::{called}", run, mutates_args=(), schema=schema)
    operator.register_fake(shapes)
    register: Callable[..., None] = operator.register_autograd
    register(backward, setup_context=keep)
    if form.extended:
        _define(name, form, operator)


def _define(name: str, form: Form, operator: Callable[..., Any]) -> None:
    """An op made of the operator with further results, which a compiled graph contains in its place."""
    define: Callable[..., None] = _library.define
    implement: Callable[..., None] = _library.impl
    define(name + form.schema)
    implement(name, lambda *arguments: operator(*arguments)[0], "CompositeImplicitAutograd")


_library = torch.library.Library("hipward", "FRAGMENT")  # type: ignore[no-untyped-call]


def _without_aliases(results: Sequence[Tensor], arguments: Sequence[Any]) -> tuple[Tensor, ...]:
    """The results, of which those are copied that share memory with an argument or with an earlier result."""
    taken = {x.untyped_storage().data_ptr() for x in arguments if isinstance(x, Tensor)}
    own = []
    for result in results:
        place = result.untyped_storage().data_ptr()
        own.append(result.clone() if place in taken and result.numel() else result)
        taken.add(place)
    return tuple(own)


def _differentiate(
    name: str, tensors: Sequence[Tensor | None], rest: str, wanted: Sequence[bool], gradients: Sequence[Tensor]
) -> list[Tensor]:
    """The gradients of those saved tensors that are `wanted`."""
    op, form = registry.op_of(name), FORMS[name]
    saved = [*tensors, *json.loads(rest)]
    found: Any = form.gradients(saved, wanted, gradients) if form.gradients else NotImplemented
    if found is NotImplemented and op.refusals(saved[0]).get("hip", "there is none") is None:
        found = form.kernels(op.module("hip"), saved, gradients)
    if found is NotImplemented:
        found = form.fallback(op, saved, wanted, gradients)
    returned = [gradient for gradient, want in zip(found, wanted, strict=True) if want]
    return list(_without_aliases(returned, [*tensors, *gradients]))


def _gradient_shapes(
    name: str,
    tensors: Sequence[Tensor | None],
    rest: str,  # noqa: ARG001 - as the operator is called
    wanted: Sequence[bool],
    gradients: Sequence[Tensor],
) -> list[Tensor]:
    like_first = FORMS[name].like_first
    pairs = zip(tensors, wanted, strict=False)
    return [_like(x) if x is not None else like_first(gradients) for x, want in pairs if want]


torch.library.custom_op(
    "hipward::differentiate",
    _differentiate,
    mutates_args=(),
    schema="(str name, Tensor?[] tensors, str rest, bool[] wanted, Tensor[] gradients) -> Tensor[]",
).register_fake(_gradient_shapes)
for _name, _form in FORMS.items():
    _register(_name, _form)
