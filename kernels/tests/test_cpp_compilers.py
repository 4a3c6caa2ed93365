"""Several C++ compilers run at a time, and none is left when a job goes on."""

import threading
from collections.abc import Iterator

import pytest
import torch

from hipward_kernels.harness import cpp_compilers

config = pytest.importorskip("torch._inductor.config")
AsyncCompile = pytest.importorskip("torch._inductor.async_compile").AsyncCompile


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Four cores, and Inductor's setting in a job."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    with config.patch(compile_threads=1):
        yield


def test_compilers_run_at_a_time_and_without_a_pool_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AsyncCompile, "process_pool", lambda: pytest.fail("a pool of processes is started"))
    both = threading.Barrier(2, timeout=30)
    with cpp_compilers.several():
        from torch._inductor.async_compile import maybe_warm_pool

        maybe_warm_pool()
        tasks = [AsyncCompile.submit(both.wait) for _ in range(2)]
        assert {task.result() for task in tasks} == {0, 1}
    assert AsyncCompile.submit(lambda: "at once") == "at once"


def test_after_an_error_no_compiler_is_left() -> None:
    started: list[int] = []
    released = threading.Event()

    def compiler() -> None:
        started.append(threading.get_ident())
        released.wait(30)

    def run() -> None:
        with cpp_compilers.several():
            for _ in range(100):
                AsyncCompile.submit(compiler)
            threading.Timer(0.2, released.set).start()
            raise TimeoutError

    with pytest.raises(TimeoutError):
        run()
    assert len(started) <= cpp_compilers.MOST
    assert not {thread.ident for thread in threading.enumerate()} & {*started}
