"""CUDA or HIP graphs of a training step and of a decoding step: captured once, launched as one.

A graph replays fixed kernels on fixed addresses. If that is no longer the same computation, there is no error, but the
results are wrong. So a graph is used only after its results were equal to those of the plain step; otherwise it is
refused with the difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hipward_kernels.decoding import decode_choose
from hipward_kernels.models.cache import StaticCache
from hipward_kernels.models.data import Batch
from hipward_kernels.models.generation import generate, likeliest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hipward_kernels.models.llama import TinyLlama
    from hipward_kernels.models.training import Trainer

WARM_CALLS = 3
"""Calls before the capture, on a side stream, as PyTorch's notes on CUDA graphs recommend: compilers run, libraries
allocate workspaces, and the optimizer its moments."""

SLACK = 2.0
"""Allowed difference of a graph from a plain run, relative to that of a second plain run. Some backward kernels add in
the order in which their blocks end, so that two plain runs differ."""


MOST_NOISE = 1e-2
"""Largest relative difference of the losses of two plain runs for which a graph can be checked."""


class GraphRefusedError(RuntimeError):
    """A graph cannot be captured here, or its results differ from those of the plain step."""


def capture(work: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Captures `work` after calling it `WARM_CALLS` times.

    Returns:
        A function that replays the graph, and the tensor with the result after each replay.

    Raises:
        GraphRefusedError: There is no GPU, or the work cannot be captured.
    """
    if not torch.cuda.is_available():
        raise GraphRefusedError("graphs need a GPU")
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_CALLS):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            result = work()
    except RuntimeError as error:
        raise GraphRefusedError(f"the step cannot be captured: {error}") from error
    return graph.replay, result


class GraphedStep:
    """A training step as one graph, for batches of one shape."""

    def __init__(self, trainer: Trainer, batches: Sequence[Batch]) -> None:
        """Captures a step of `trainer` and checks it on `batches`, all of one shape. The training state is restored.

        Raises:
            GraphRefusedError: See `capture`; or training with the graph has other results.
        """
        self._batch = Batch(*(part.clone() for part in batches[0]))
        state = TrainingState(trainer)

        def losses(step: Callable[[Batch], Tensor]) -> Tensor:
            try:
                return torch.stack([step(batch).clone() for batch in batches])
            finally:
                state.restore()

        expected, again = losses(trainer.step), losses(trainer.step)
        try:
            self._replay, self._loss = capture(lambda: trainer.step(self._batch))
        finally:
            state.restore()
        got = losses(self)
        self.difference = largest_difference(got, expected)
        """Largest relative difference of a loss between the graph and the plain steps."""
        noise = largest_difference(again, expected)
        if not noise <= MOST_NOISE:
            raise GraphRefusedError(
                f"two plain runs from the same state differ by {noise:.2g} in a loss, so a graph cannot be judged"
            )
        if not self.difference <= SLACK * noise:
            raise GraphRefusedError(
                f"after {len(batches)} steps the graph's loss is off by {self.difference:.2g} of it, "
                f"a second plain run's by {noise:.2g}"
            )

    def __call__(self, batch: Batch) -> Tensor:
        """See `Trainer.step`. The result is overwritten by the next call."""
        for mine, given in zip(self._batch, batch, strict=True):
            mine.copy_(given)
        self._replay()
        return self._loss


def largest_difference(got: Tensor, expected: Tensor) -> float:
    """Largest relative difference; NaN if an element is NaN."""
    return float(((got - expected).abs() / expected.abs()).max())


class TrainingState:
    """A copy of weights and moments, which can be restored in place without a change of addresses."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._saved = {tensor: tensor.detach().clone() for tensor in self._tensors()}

    def _tensors(self) -> list[Tensor]:
        optimizer = self._trainer.optimizer
        moments = [value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value)]
        return [*self._trainer.model.parameters(), *moments]

    @torch.no_grad()
    def restore(self) -> None:
        """Undoes all later steps."""
        for tensor in self._tensors():
            if tensor in self._saved:
                tensor.copy_(self._saved[tensor])
            else:
                # Created by a later step: moments and step counts start from zero.
                tensor.zero_()


class GraphedDecoding:
    """Greedy decoding with two graphs: the prompt, and a step; each includes the choice of the token."""

    @torch.no_grad()
    def __init__(self, model: TinyLlama, prompt: Tensor, count: int) -> None:
        """For prompts like `prompt`, `[B, S]`, and `count` tokens; checked on `prompt`.

        Raises:
            GraphRefusedError: See `capture`; or the graph generates other tokens than `generate`.
        """
        if not model.switches.static_cache:
            raise GraphRefusedError("a graph needs buffers that keep their addresses: switch static_cache on")
        batch, length = prompt.shape
        self._model = model
        self._prompt_shape = prompt.shape
        self._most = count
        weight = model.embed_tokens.weight
        self._cache = StaticCache(model.config, batch, length + count, weight.dtype, weight.device)
        self._token = torch.zeros(batch, 1, dtype=torch.int64, device=weight.device)
        self._text = torch.zeros(batch, length + count, dtype=torch.int64, device=weight.device)
        self._prompt = prompt.clone()
        self._start, _ = capture(self._prefill)
        self._replay, _ = capture(self._step)
        expected, got = generate(model, prompt, count), self.generate(prompt, count)
        if not torch.equal(got, expected):
            first = int((got != expected).any(0).nonzero()[0])
            raise GraphRefusedError(f"the graph's text differs from the plain text from token {first} on")

    def _prefill(self) -> Tensor:
        self._cache.clear()
        self._token.copy_(likeliest(self._model.prefill(self._prompt, self._cache)))
        self._text.index_copy_(1, self._cache.position, self._token)
        return self._token

    def _step(self) -> Tensor:
        # The graph increments the position of the cache.
        place = self._cache.position
        if self._model.decodes_in_kernels(len(self._token)):
            return decode_choose(
                self._model.decode_in_kernels(self._token, self._cache), self._token, self._text, place
            )
        self._token.copy_(likeliest(self._model.decode(self._token, self._cache)))
        self._text.index_copy_(1, place, self._token)
        return self._token

    @torch.no_grad()
    def generate(self, prompt: Tensor, count: int) -> Tensor:
        """See `generation.generate`. The next call overwrites the result."""
        if prompt.shape != self._prompt_shape or count > self._most:
            raise ValueError(
                f"the graph is for prompts {list(self._prompt_shape)} and at most {self._most} tokens; "
                f"this is a prompt {list(prompt.shape)} and {count} tokens"
            )
        self._prompt.copy_(prompt)
        self._start()
        for _ in range(count - 1):
            self._replay()
        return self._text[:, prompt.shape[1] : prompt.shape[1] + count]
