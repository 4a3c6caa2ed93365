"""Cases for the baseline of training, with a simulated clock and memory."""

import torch
from hipward_kernels.exercise import expect, expect_close, tensor
from torch import nn

MIB = 2**20


class Simulated:
    """A clock that only the parts of a step advance, and memory that only they use."""

    def __init__(self, forward, backward, update, slow_steps=0, spike=0, outlier=None):
        self.seconds = {"forward": forward, "backward": backward, "update": update}
        self.slow_steps, self.spike, self.outlier = slow_steps, spike, outlier
        self.time, self.step, self.highest = 50.0, 0, 0

    def now(self):
        return self.time

    def spend(self, part):
        factor = 100 if self.step < self.slow_steps or self.step == self.outlier else 1
        self.time += self.seconds[part] * factor
        used = 800 * MIB + (self.spike if self.step < self.slow_steps else 0)
        self.highest = max(self.highest, used)
        self.step += part == "update"

    def reset_peak(self):
        self.highest = 100 * MIB

    def peak(self):
        return self.highest


class Timed(torch.autograd.Function):
    """The identity; its forward and backward take the device's time."""

    @staticmethod
    def forward(ctx, x, device):
        ctx.device = device
        device.spend("forward")
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.device.spend("backward")
        return gradient, None


class Model(nn.Module):
    def __init__(self, device, cut=False, frozen=False):
        super().__init__()
        self.device, self.cut = device, cut
        self.first, self.last = nn.Linear(7, 5), nn.Linear(5, 3)
        if frozen:
            self.first.requires_grad_(False)

    def forward(self, x):
        x = self.first(x)
        return Timed.apply(self.last(x.detach() if self.cut else x), self.device)


class Optimizer:
    """Gradient descent that takes the device's time."""

    def __init__(self, device, model):
        self.device, self.parameters = device, list(model.parameters())

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self):
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter -= 1e-3 * parameter.grad
        self.device.spend("update")


def run(answer, random, device, batch=8, warm_up=2, **options):
    model = Model(device, **options)
    return answer.baseline(model, tensor(random, batch, 7), Optimizer(device, model), device, warm_up)


def parts(random):
    return [random.uniform(0.001, 0.2) for _ in range(3)]


def same(found, want):
    # Differences of a simulated clock near 50 s, in float64.
    for name, seconds in zip(("forward_ms", "backward_ms", "optimizer_ms"), want, strict=True):
        try:
            expect_close(getattr(found, name), 1e3 * seconds, atol=1e-6)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def case_parts(answer, random):
    """The step is divided into forward, backward and optimizer"""
    want = parts(random)
    same(run(answer, random, Simulated(*want)), want)


def case_throughput(answer, random):
    """Samples per second of whole steps"""
    want, batch = parts(random), random.randint(2, 33)
    found = run(answer, random, Simulated(*want), batch=batch)
    expect_close(found.samples_per_second, batch / sum(want), rtol=1e-6)


def case_warm_up(answer, random):
    """The steps of the warm-up are slow: they compile"""
    want = parts(random)
    same(run(answer, random, Simulated(*want, slow_steps=6), warm_up=6), want)


def case_outlier(answer, random):
    """One timed step is interrupted"""
    want, batch = parts(random), 4
    found = run(answer, random, Simulated(*want, outlier=random.randint(2, 6)), batch=batch)
    same(found, want)
    expect_close(found.samples_per_second, batch / sum(want), rtol=1e-6)


def case_peak(answer, random):
    """Compilation needs more memory than training"""
    found = run(answer, random, Simulated(*parts(random), slow_steps=2, spike=random.randint(1, 900) * MIB))
    expect(found.peak_bytes == 800 * MIB, f"the peak is {found.peak_bytes // MIB} MiB, expected 800 MiB")


def case_missing_gradient(answer, random):
    """A layer that gets no gradient"""
    found = run(answer, random, Simulated(*parts(random)), cut=True)
    want = ["first.weight", "first.bias"]
    expect(found.without_gradient == want, f"without a gradient: {found.without_gradient}, expected {want}")


def case_frozen(answer, random):
    """A frozen layer needs no gradient"""
    found = run(answer, random, Simulated(*parts(random)), frozen=True)
    expect(found.without_gradient == [], f"without a gradient: {found.without_gradient}, expected none")
