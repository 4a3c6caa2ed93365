"""The block in eager mode and as one graph, on inputs below and above the limit."""

import contextlib
import io

import torch
import torch._dynamo
from hipward_kernels.exercise import expect, expect_close, tensor
from hipward_kernels.profile.graph_breaks import graph_breaks

WIDTH, LIMIT, STEPS = 8, 4.0, 3
# float32, a few dozen operations on values up to 4: some units of 1.2e-7 each.
CLOSE = {"atol": 2e-5, "rtol": 2e-5}


def model(answer, random):
    torch.manual_seed(random.getrandbits(31))
    return answer.Model(WIDTH, LIMIT, STEPS)


def expected(made, x, gain=None):
    """The block in float64, with all its branches."""
    first, second = (
        (layer.weight.detach().double(), layer.bias.detach().double()) for layer in (made.first, made.second)
    )
    h = x.double() @ first[0].T + first[1]
    peak = h.abs().max()
    if peak > LIMIT:
        h = h * (LIMIT / peak)
    h = h * (made.gain.detach().double() if gain is None else gain)
    for _ in range(STEPS):
        h = h - 0.05 * h**3
    return h @ second[0].T + second[1] + h[h > 0].mean()


def quiet(call, *arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        return call(*arguments)


def inputs(random):
    return [factor * tensor(random, rows, WIDTH) for rows, factor in ((5, 0.5), (5, 20.0), (7, 0.5), (3, 30.0))]


def case_eager(answer, random):
    """Eager mode returns the same values as before"""
    made = model(answer, random)
    for x in inputs(random):
        want = expected(made, x)
        expect_close(quiet(made, x.clone()), want, **CLOSE)


def case_breaks(answer, random):
    """Dynamo reports no graph breaks"""
    made = model(answer, random)
    report = quiet(graph_breaks, made, [tensor(random, 4, WIDTH)])
    found = "; ".join(f"{each.place}: {each.reason}" for each in report.breaks)
    expect(not report.breaks, f"{len(report.breaks)} graph breaks: {found}")
    expect(report.graphs == 1, f"{report.graphs} graphs, expected 1")


def case_compiled(answer, random):
    """The compiled block is right on both sides of the limit"""
    torch._dynamo.reset()
    made = model(answer, random)
    compiled = torch.compile(made, backend="eager")
    # One size: another one would be compiled again, with symbolic shapes, which takes longest.
    for x in (factor * tensor(random, 5, WIDTH) for factor in (0.5, 20.0)):
        want = expected(made, x)
        expect_close(quiet(compiled, x.clone()), want, **CLOSE)


def case_gradient(answer, random):
    """The input and the gain receive their gradients"""
    made = model(answer, random)
    x = tensor(random, 4, WIDTH).requires_grad_()
    exact = x.detach().double().requires_grad_(), made.gain.detach().double().requires_grad_()
    direction = tensor(random, 4, WIDTH)
    want = torch.autograd.grad(expected(made, *exact), exact, direction.double())
    got = torch.autograd.grad(quiet(made, x), (x, made.gain), direction, allow_unused=True)
    expect(got[1] is not None, "`gain` receives no gradient")
    # Sums of 32 products of values up to about 10, in float32.
    for mine, right in zip(got, want, strict=True):
        expect_close(mine, right, atol=1e-3, rtol=1e-4)
