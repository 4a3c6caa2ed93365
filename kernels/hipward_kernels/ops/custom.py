"""The ops as operators of PyTorch, `torch.ops.hipward.<op>`, which compilers call and do not trace into.

A compiled graph has such an operator as one node, and the dispatch selects the tier at each call, so that HIP kernels
stay in compiled code. The backward of an operator is `torch.ops.hipward.differentiate`. It uses the HIP tier's backward
kernels if they need nothing but arguments and results of the op; otherwise it runs the op again with autograd.
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


# --- Operators ---


def _arguments(inputs: Sequence[Any], _: Any) -> Sequence[Any]:
    return inputs


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
    summands: bool = False
    """Whether the first two tensors are only added, so that they have one gradient, and their sum is saved."""

    @property
    def saved_tensors(self) -> int:
        """Number of the saved tensors."""
        return self.tensors - 1 if self.summands else self.tensors


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
    "layernorm": Form("(Tensor x, Tensor? weight, Tensor? bias, float eps) -> Tensor", 3, _like),
    "softmax": Form("(Tensor x) -> Tensor", 1, _like, _softmax, lambda _, y: (y,), _of_softmax),
    "silu_mul": Form("(Tensor gate, Tensor up) -> Tensor", 2, _like, _gated),
    "gelu_mul": Form("(Tensor gate, Tensor up) -> Tensor", 2, _like, _gated),
    "swiglu": Form("(Tensor gate_up) -> Tensor", 1, _half),
    "rope": Form("(Tensor x, Tensor cos, Tensor sin, str layout) -> Tensor", 3, _like),
    "qkv_rope": Form(
        "(Tensor qkv, Tensor cos, Tensor sin, int heads, int kv_heads, str layout) -> (Tensor, Tensor, Tensor)",
        3,
        _heads,
    ),
    "cross_entropy": Form("(Tensor logits, Tensor labels, int ignore_index) -> Tensor", 2, _losses),
}
"""The form of each op."""


def _register(name: str, form: Form) -> None:
    def run(*arguments: Any) -> Any:
        with torch.no_grad():
            results = registry.op_of(name)(*arguments)
        # An operator must not return its argument, which the definition of an op may do.
        return _without_aliases(results, arguments) if isinstance(results, tuple) else results

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        saved = form.saves(inputs, output)
        ctx.save_for_backward(*saved[: form.saved_tensors])
        ctx.rest = json.dumps(saved[form.saved_tensors :])

    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        wanted = list(ctx.needs_input_grad[: form.tensors])
        summands = wanted[:2]
        if form.summands:
            wanted = [any(summands), *wanted[2:]]
        found = iter(torch.ops.hipward.differentiate(name, ctx.saved_tensors, ctx.rest, wanted, gradients))
        returned = [next(found) if want else None for want in wanted]
        if form.summands:
            returned[:1] = [returned[0] if want else None for want in summands]
        return *returned, *(None for _ in json.loads(ctx.rest))

    operator = torch.library.custom_op(f"hipward::{name}", run, mutates_args=(), schema=form.schema)
    operator.register_fake(form.shapes)
    register: Callable[..., None] = operator.register_autograd
    register(backward, setup_context=keep)


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
    found: Any = NotImplemented
    if op.refusals(saved[0]).get("hip", "there is none") is None:
        found = form.kernels(op.module("hip"), saved, gradients)
    if found is NotImplemented:
        found = form.fallback(op, saved, wanted, gradients)
    returned = [gradient for gradient, want in zip(found, wanted, strict=True) if want]
    return list(_without_aliases(returned, [*tensors, *gradients]))


def _gradient_shapes(
    name: str,  # noqa: ARG001 - as the operator is called
    tensors: Sequence[Tensor | None],
    rest: str,  # noqa: ARG001
    wanted: Sequence[bool],
    gradients: Sequence[Tensor],  # noqa: ARG001
) -> list[Tensor]:
    return [_like(x) for x, want in zip(tensors, wanted, strict=True) if want and x is not None]


torch.library.custom_op(
    "hipward::differentiate",
    _differentiate,
    mutates_args=(),
    schema="(str name, Tensor?[] tensors, str rest, bool[] wanted, Tensor[] gradients) -> Tensor[]",
).register_fake(_gradient_shapes)
for _name, _form in FORMS.items():
    _register(_name, _form)
