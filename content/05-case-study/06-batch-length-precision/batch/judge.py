"""Cases for the search of a batch size: simulated devices, and TinyLlama on the CPU."""

import torch
from hipward_kernels.exercise import expect
from hipward_kernels.models.config import VERSIONS, Config
from hipward_kernels.models.llama import TinyLlama

# kernels of the page's table: batch size, step in ms, memory in MiB (TinyLlama tiny on a CPU, version 1).
PAGE = [(1, 2.587, 2), (2, 3.006, 3), (4, 4.013, 4), (8, 6.184, 6), (16, 10.838, 10), (32, 20.019, 17)]


class Device:
    """Memory grows linearly, and a step has a fixed part."""

    def __init__(self, answer, random, total_mib, base, each):
        self.answer, self.total, self.base, self.each = answer, total_mib, base, each
        self.start, self.rate = random.uniform(1, 50), random.uniform(0.5, 5)
        self.runs = []

    def __call__(self, size):
        self.runs.append(size)
        memory = self.base + self.each * size
        if memory > self.total:
            raise self.answer.OutOfMemory
        return self.answer.Candidate(size, self.start + self.rate * size, memory)


def check(answer, device, limit, largest):
    """The largest size that fits is known; the search must come within an eighth of it."""
    found = answer.fitting(device, limit, largest)
    sizes = [candidate.batch_size for candidate in found]
    most = min(largest, int((min(limit, device.total) - device.base) // device.each))
    expect(sizes == sorted(set(sizes)), f"sizes {sizes} are not in order, or one is there twice")
    expect(len(device.runs) == len(set(device.runs)), f"a size was run twice: {device.runs}")
    expect(all(1 <= size <= most for size in sizes), f"{max(sizes, default=0)} was accepted; at most {most} fits")
    reached = max(sizes, default=0)
    expect(most - reached <= max(0, reached // 8), f"the search stops at {reached}; {most} fits")
    return device.runs


def case_limit(answer, random):
    """The limit decides, and the device has more memory"""
    for most in (1, 5, 7, 8, 9, random.randint(40, 90)):
        each = random.uniform(10, 30)
        device = Device(answer, random, 1e9, 100, each)
        check(answer, device, 100 + each * (most + 0.5), 1024)


def case_out_of_memory(answer, random):
    """The device runs out of memory below the limit"""
    for most in (3, random.randint(20, 60), 127):
        each = random.uniform(10, 30)
        check(answer, Device(answer, random, 100 + each * (most + 0.5), 100, each), 1e9, 1024)


def case_largest(answer, random):
    """The largest size to try is no power of two, and fits"""
    for largest in (1, 2, 3, 31, 48, random.randint(70, 120)):
        check(answer, Device(answer, random, 1e9, 1, 1), 1e9, largest)


def case_nothing(answer, random):
    """Not even one sample fits: an empty result"""
    for total, limit in ((5, 1e9), (1e9, 5)):
        found = answer.fitting(Device(answer, random, total, 100, 10), limit, 64)
        expect(found == [], f"{len(found)} candidates, expected none")


def case_runs(answer, random):
    """Few runs: a search up to 4096 needs at most 16"""
    most = random.randint(1500, 4000)
    runs = check(answer, Device(answer, random, 1e9, 10, 1), 10 + most, 4096)
    expect(len(runs) <= 16, f"{len(runs)} runs")


def case_model(answer, random):
    """TinyLlama on the CPU, with the bytes that its forward keeps for the backward"""
    config = Config(16, 1, 2, 1, 32, vocab_size=20, max_positions=8)
    model = TinyLlama(config, VERSIONS["v1"])
    seen = {}

    def run(size):
        tokens = torch.randint(config.vocab_size, (size, 8))
        saved = {}

        def save(tensor):
            saved[tensor.untyped_storage().data_ptr()] = tensor
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
            loss = model(tokens, tokens)
            total = sum(tensor.untyped_storage().nbytes() for tensor in saved.values())
        loss.backward()
        seen[size] = total / 2**20
        return answer.Candidate(size, float(size), seen[size])

    run(1), run(2)
    each = seen[2] - seen[1]
    most = random.randint(9, 25)
    limit = seen[1] + each * (most - 0.5)
    sizes = [candidate.batch_size for candidate in answer.fitting(run, limit, 64)]
    expect(sizes and max(sizes) <= most, f"sizes {sizes}; at most {most} fits")
    expect(most - max(sizes) <= max(0, max(sizes) // 8), f"the search stops at {max(sizes)}; {most} fits")


def case_choose(answer, random):
    """The table of the page: 32 is best by more than 3 %, and 16 with a slack of 10 %"""
    fits = [answer.Candidate(*row) for row in PAGE]
    got = answer.choose(fits).batch_size
    expect(got == 32, f"{got}, expected 32: 16 is 8 % slower")
    got = answer.choose(fits, slack=0.1).batch_size
    expect(got == 16, f"{got}, expected 16 with a slack of 10 %")


def case_flat(answer, random):
    """Throughput does not grow above a size: the smallest such size"""
    knee = random.choice([4, 8, 16])
    rate = random.uniform(0.5, 3)
    sizes = [1, 2, 4, 8, 16, 32, 64, 96]
    # The largest is 1 % better, which a slack of 3 % ignores.
    fits = [answer.Candidate(s, rate * max(s, knee) * (0.99 if s == 96 else 1), 10.0 * s) for s in sizes]
    got = answer.choose(fits).batch_size
    expect(got == knee, f"{got}, expected {knee}")


def case_saturates(answer, random):
    """Throughput falls for the largest sizes"""
    fits = [answer.Candidate(s, t, 1.0) for s, t in ((1, 10.0), (2, 11.0), (4, 13.0), (8, 30.0), (16, 90.0))]
    got = answer.choose(fits).batch_size
    expect(got == 4, f"{got}, expected 4")
