"""A compiled layer, called often. The backend counts the compilations and runs each graph as it is."""

import copy

import torch
import torch._dynamo
from hipward_kernels.exercise import expect, expect_close, tensor

CALLS = 6  # below PyTorch's limit of 8 recompilations, so that their number can be reported


class Counter:
    def __init__(self):
        self.graphs, self.reads = 0, 0

    def __call__(self, module, inputs):
        self.graphs += 1
        self.reads += sum(node.op == "call_method" and node.target == "item" for node in module.graph.nodes)
        return module.forward


def layer(answer, random):
    torch.manual_seed(random.getrandbits(31))
    return answer.Ramp(5)


def expected(weight, bias, x, call):
    return (x.double() @ weight.double().T + bias.double()) * min(call / 100, 1.0)


def weights(ramp):
    return ramp.linear.weight.detach().clone(), ramp.linear.bias.detach().clone()


def case_eager(answer, random):
    """The scale grows by 1/100 with each call and stays at 1"""
    ramp = layer(answer, random)
    weight, bias = weights(ramp)
    for call in range(1, 106):
        x = tensor(random, 3, 5)
        # float32 with sums of five products: a few units of 1.2e-7, relative to values of about 1.
        expect_close(ramp(x.clone()), expected(weight, bias, x, call), atol=2e-6)


def case_compilations(answer, random):
    """At most 2 compilations in 6 calls, as one graph"""
    torch._dynamo.reset()
    ramp, counter = layer(answer, random), Counter()
    weight, bias = weights(ramp)
    compiled = torch.compile(ramp, backend=counter, fullgraph=True)
    for call in range(1, CALLS + 1):
        x = tensor(random, 3, 5)
        expect_close(compiled(x.clone()), expected(weight, bias, x, call), atol=2e-6)
    expect(counter.graphs > 0, "nothing was compiled: `forward` must stay inside the graph")
    expect(counter.graphs <= 2, f"{counter.graphs} compilations in {CALLS} calls, expected at most 2")
    expect(counter.reads == 0, "the graph contains `.item()`, for which the host waits for the GPU")


def case_copies_count_alone(answer, random):
    """Each layer has a counter of its own"""
    first = layer(answer, random)
    second = copy.deepcopy(first)
    weight, bias = weights(first)
    x = tensor(random, 2, 5)
    for _ in range(3):
        first(x)
    expect_close(second(x.clone()), expected(weight, bias, x, 1), atol=2e-6)
