"""Attention's router: every route has the result of the definition, and reports why it is not used."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

import hipward_kernels.attention as router
from hipward_kernels.attention import MaskKind, attention, classify, refusals
from hipward_kernels.attention import aiter as amd
from hipward_kernels.attention.call import Call
from hipward_kernels.attention.sdpa import aligned
from hipward_kernels.dispatch.registry import disabled
from hipward_kernels.dispatch.switches import switched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def qkv(queries: int, keys: int, heads: int = 4, kv_heads: int = 2, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    shapes = ((2, queries, heads, 16), (2, keys, kv_heads, 16), (2, keys, kv_heads, 8))
    return [torch.randn(shape, dtype=dtype) for shape in shapes]


def test_unaligned_tensor_is_copied_under_compile() -> None:
    """What Inductor traces the router with: tensors on a GPU that have no memory, even on a host without one."""
    with FakeTensorMode():
        whole = torch.empty(2 * 9 * 4 * 64 + 8, device="cuda", dtype=torch.bfloat16)
        x, after, between = (whole[start:][: 2 * 9 * 4 * 64].view(2, 9, 4, 64) for start in (0, 8, 1))
        assert aligned(x) is x
        assert aligned(after) is after
        assert aligned(between) is not between
        assert attention(x, x, x, causal=True).shape == x.shape


def one_query_at_a_time(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Causal attention as a decoder without a cache would compute it, row by row."""
    out = torch.empty(*q.shape[:3], v.shape[-1], dtype=q.dtype)
    first = k.shape[1] - q.shape[1]
    for head in range(q.shape[2]):
        group = head // (q.shape[2] // k.shape[2])
        for i in range(q.shape[1]):
            seen = first + i + 1
            scores = torch.einsum("bd,bsd->bs", q[:, i, head], k[:, :seen, group]) * scale
            out[:, i, head] = torch.einsum("bs,bsd->bd", scores.softmax(-1), v[:, :seen, group])
    return out


@pytest.mark.parametrize("routes_off", [(), ("sdpa",)])
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (1, 7), (3, 7), (1, 1)])
def test_causal_mask_is_lower_right_for_prefill_decode_and_chunks(
    queries: int, keys: int, routes_off: tuple[str, ...]
) -> None:
    q, k, v = qkv(queries, keys)
    with disabled(*routes_off):
        got = attention(q, k, v, causal=True, scale=0.3)
    torch.testing.assert_close(got, one_query_at_a_time(q, k, v, 0.3))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "mask",
    [
        None,
        torch.rand(2, 1, 5, 9) > 0.3,
        torch.randn(2, 4, 5, 9),
        torch.zeros(1, 9, dtype=torch.bool).logical_not(),
        torch.tril(torch.ones(5, 9, dtype=torch.bool), 4),
    ],
)
def test_sdpa_and_eager_agree_on_masks_and_gradients(mask: Tensor | None, causal: bool) -> None:
    if mask is not None and mask.dtype == torch.bool:
        mask = mask.clone()
        mask[..., 0] = True  # Every query sees a key.
    results = []
    leaves = qkv(5, 9, dtype=torch.float32)
    for routes_off in ((), ("sdpa",)):
        q, k, v = (leaf.clone().requires_grad_() for leaf in leaves)
        with disabled(*routes_off):
            out = attention(q, k, v, mask=mask, causal=causal)
        results.append([out, *torch.autograd.grad(out.square().sum(), (q, k, v))])
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_masks_are_classified() -> None:
    causal = torch.ones(3, 5, dtype=torch.bool).tril(2)
    lowest = torch.finfo(torch.float32).min
    assert classify(None, 3, 5) is MaskKind.FULL
    assert classify(torch.zeros(2, 1, 3, 5), 3, 5) is MaskKind.FULL
    assert classify(causal, 3, 5) is MaskKind.CAUSAL
    assert classify(torch.where(causal, 0.0, lowest), 3, 5) is MaskKind.CAUSAL
    assert classify(torch.where(causal, 0.0, -torch.inf)[None, None], 3, 5) is MaskKind.CAUSAL
    assert classify(causal.tril(1), 3, 5) is MaskKind.OTHER, "upper-left: one position short"
    assert classify(torch.where(causal, 0.5, lowest), 3, 5) is MaskKind.OTHER, "a bias"
    padded = causal.repeat(2, 1, 1, 1)
    padded[1, ..., 0] = False
    assert classify(padded, 3, 5) is MaskKind.OTHER, "padding of one sequence"
    assert classify(torch.ones(1, 5, dtype=torch.bool).tril(4), 1, 5) is MaskKind.FULL, "decode"


Seen = dict[str, Any]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[..., Any]], None]]:
    """Installs a stand-in for aiter with a `flash_attn_func` of some version."""

    def install(function: Callable[..., Any]) -> None:
        module = ModuleType("aiter")
        module.__spec__ = type("Spec", (), {"name": "aiter"})()
        module.flash_attn_func = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "aiter", module)
        forget()

    yield install
    forget()


def forget() -> None:
    """What was found installed, and chosen by it."""
    amd._find.cache_clear()
    router._cache.clear()


def reference(q: Tensor, k: Tensor, v: Tensor, seen: Seen) -> Tensor:
    with disabled("aiter", "sdpa"):
        return attention(q, k, v, causal=seen["causal"], scale=seen["softmax_scale"])


def test_aiter_is_called_by_keyword_in_all_versions(
    installed: Callable[[Callable[..., Any]], None],
) -> None:
    seen: Seen = {}

    def old(
        q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, softmax_scale: Any = None, causal: bool = False
    ) -> Any:
        seen.update(dropout_p=dropout_p, softmax_scale=softmax_scale, causal=causal)
        return reference(q, k, v, seen)

    def new(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        sink_size: int = 0,
        dropout_p: float = 0.0,
        softmax_scale: Any = None,
        causal: bool = False,
        window_size: tuple[int, int] = (0, 0),
        return_lse: bool = True,
        **_: Any,
    ) -> Any:
        assert (sink_size, window_size, return_lse) == (0, (-1, -1), False)
        seen.update(dropout_p=dropout_p, softmax_scale=softmax_scale, causal=causal)
        return reference(q, k, v, seen), None

    q, k, v = qkv(3, 7, dtype=torch.bfloat16)
    v = torch.randn_like(k)
    for version in (old, new):
        installed(version)
        with switched(USE_AITER_ATTENTION="1"):
            mask = torch.ones(3, 7, dtype=torch.bool).tril(4)
            for keywords in ({"causal": True}, {"mask": mask}):
                got = attention(q, k, v, scale=0.2, **keywords)
                assert seen == {"dropout_p": 0.0, "softmax_scale": 0.2, "causal": True}
                torch.testing.assert_close(got, reference(q, k, v, seen))
                seen.clear()


def test_aiter_without_a_required_keyword_is_rejected(installed: Callable[[Callable[..., Any]], None]) -> None:
    installed(lambda q, k, v, scale, causal: None)  # noqa: ARG005
    q, k, v = qkv(3, 3, dtype=torch.bfloat16)
    with switched(USE_AITER_ATTENTION="1"):
        said = refusals(Call(q, k, v, None, False, 1.0, 0.0))
        assert said["aiter"] is not None
        assert "takes no dropout_p, softmax_scale" in said["aiter"]
        assert attention(q, k, v).shape == (2, 3, 4, 8)


def test_reason_for_leaving_each_route_is_reported() -> None:
    q, k, v = qkv(3, 3)
    call = Call(q, k, v, None, False, 1.0, 0.0)
    assert refusals(call) == {"aiter": "USE_AITER_ATTENTION is not 1", "sdpa": None, "eager": None}
    with switched(USE_AITER_ATTENTION="1"):
        assert refusals(call)["aiter"] == "aiter is not installed"
    with switched(FORCE_EAGER_ATTENTION="1"):
        assert refusals(call) == {"aiter": "FORCE_EAGER_ATTENTION=1", "sdpa": "FORCE_EAGER_ATTENTION=1", "eager": None}
    with disabled("sdpa"):
        assert refusals(call)["sdpa"] == "sdpa is disabled"
    with switched(USE_AITER_ATTENTION="yes"), pytest.raises(ValueError, match="must be 0 or 1"):
        refusals(call)


def test_choice_is_cached_per_form_and_renewed_when_a_switch_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(name: str, prepared: Callable[[Call], Any]) -> Callable[[Call], Any]:
        def count(call: Call) -> Any:
            made.append(name)
            return prepared(call)

        return count

    for name, prepared in list(router.ROUTES.items()):
        monkeypatch.setitem(router.ROUTES, name, counted(name, prepared))
    forget()
    q, k, v = qkv(3, 7)
    for _ in range(3):
        attention(q, k, v, causal=True)
    assert made == ["sdpa"]
    monkeypatch.setenv("FORCE_EAGER_ATTENTION", "1")
    attention(q, k, v, causal=True)
    with switched(FORCE_EAGER_ATTENTION="0"):
        attention(q, k, v, causal=True)
    monkeypatch.delenv("FORCE_EAGER_ATTENTION")
    with disabled("sdpa"):
        attention(q, k, v, causal=True)
    attention(q, k, v, causal=True)
    assert made == ["sdpa", "eager", "sdpa", "eager"]
    monkeypatch.setenv("FORCE_EAGER_ATTENTION", "yes")
    with pytest.raises(ValueError, match="must be 0 or 1"):
        attention(q, k, v, causal=True)


def test_mask_for_aiter_is_read_at_each_call(installed: Callable[[Callable[..., Any]], None]) -> None:
    installed(lambda q, k, v, dropout_p, softmax_scale, causal: F.relu(v) * (2.0 if causal else 1.0))  # noqa: ARG005
    q, k, v = qkv(4, 4, heads=2, dtype=torch.bfloat16)
    v = torch.ones_like(k)
    masks = {"full": torch.ones(4, 4).bool(), "causal": torch.ones(4, 4).bool().tril(), "other": torch.eye(4).bool()}
    with switched(USE_AITER_ATTENTION="1"):
        got = {name: attention(q, k, v, mask=mask) for name, mask in masks.items()}
    assert torch.equal(got["full"], v)
    assert torch.equal(got["causal"], 2 * v)
    torch.testing.assert_close(got["other"], v)


def calls_of(run: Callable[[], Any]) -> list[str]:
    """The functions in Python that a call runs, once what it chose is known."""
    run()
    seen: list[str] = []
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        run()
    finally:
        sys.setprofile(None)
    return seen


def test_later_call_only_looks_up_its_choice() -> None:
    """A small decode step waits for the host: checking and choosing took it 16 µs, and PyTorch's own call takes 8."""
    q, k, v = qkv(1, 7)
    seen = calls_of(lambda: attention(q, k, v, causal=True))
    assert len(seen) <= 8, seen


@pytest.mark.parametrize("kind", ["fake", "symbolic", "real"])
def test_router_works_under_make_fx(kind: Any) -> None:
    q, k, v = qkv(7, 7)
    graph = make_fx(lambda q, k, v: attention(q, k, v, causal=True), tracing_mode=kind)(q, k, v)
    torch.testing.assert_close(graph(q, k, v), attention(q, k, v, causal=True))


def test_router_works_with_torch_func() -> None:
    q, k, v = qkv(3, 7)
    many = torch.func.vmap(lambda q: attention(q, k, v, causal=True))(torch.stack([q, 2 * q]))
    torch.testing.assert_close(many[1], attention(2 * q, k, v, causal=True))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda q, k, v: attention(q.tolist(), k, v), "query is a list; a tensor is needed"),
        (lambda q, k, v: attention(q, k.numpy(), v), "key is a ndarray; a tensor is needed"),
        (lambda q, k, v: attention(q, k, v, mask=v.tolist()), "mask is a list; a tensor is needed"),
        (lambda q, k, v: attention(q[0], k, v), r"\[B, S, H, D\] is needed"),
        (lambda q, k, v: attention(q[:, :, :3], k, v), "multiple of the key's"),
        (lambda q, k, v: attention(q, k[:, :2], v), "must share"),
        (lambda q, k, v: attention(q.half(), k, v), "one floating dtype"),
        (lambda q, k, v: attention(q, k.to("meta"), v), "devices are cpu, meta"),
        (lambda q, k, v: attention(q, k[:, :2], v[:, :2], causal=True), "first 1 queries see nothing"),
        (lambda q, k, v: attention(q, k, v, mask=torch.ones(4, 3)), "must broadcast to"),
        (lambda q, k, v: attention(q, k, v, mask=torch.ones(3, 3, dtype=torch.int32)), "bool or a floating dtype"),
        (lambda q, k, v: attention(q, k, v, dropout=1.0), "a probability below 1"),
    ],
)
def test_invalid_arguments_are_rejected_with_a_message(change: Callable[..., Tensor], says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        change(*qkv(3, 3))


def test_dropout_preserves_the_mean() -> None:
    q, k, v = torch.zeros(1, 4, 2, 8), torch.zeros(1, 400, 2, 8), torch.ones(1, 400, 2, 8)
    for routes_off in ((), ("sdpa",)):
        with disabled(*routes_off):
            out = attention(q, k, v, dropout=0.5)
        assert not torch.equal(out, F.relu(out.round()))
        assert abs(float(out.mean()) - 1) < 0.2
