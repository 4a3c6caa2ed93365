"""Snippets that try to appear faster than they are: each is rejected, or its result is marked.

The list follows what was seen on public kernel leaderboards. What one process cannot prevent is said in
`hipward_kernels/harness/tamper.py`; the last test shows what is left of it.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from setuptools.command import editable_wheel  # type: ignore[import-untyped]
from test_harness import Outcome, run, snippet

import hipward_kernels.harness.job  # noqa: F401 - what a job's process has imported
from hipward_kernels.harness import contract
from hipward_kernels.harness.model_seals import ModelSeals
from hipward_kernels.harness.object_seals import ObjectSeals
from hipward_kernels.harness.race import Entrant
from hipward_kernels.harness.tamper import Seals
from hipward_kernels.harness.timing import HostClock
from hipward_kernels.kernelbench.workers import Worker

NEW = """
import hashlib, itertools, threading, time
turns = itertools.cycle([torch.empty(4, 16) for _ in range(16)])
class ModelNew(Model):
    kept = {{}}
    def forward(self, x):
        {body}
"""

CACHES = {
    "the last result": "self.kept.setdefault(0, super().forward(x)); return self.kept[0]",
    "by the identity of the input": """
        if id(x) not in self.kept:
            time.sleep(0.005)
            self.kept[id(x)] = (x, super().forward(x))
        return self.kept[id(x)][1].clone()""",
    "by the address of the input": """
        if x.data_ptr() not in self.kept:
            time.sleep(0.005)
            self.kept[x.data_ptr()] = (x, super().forward(x))
        return self.kept[x.data_ptr()][1].clone()""",
    "by the contents of the input": """
        key = x.flatten()[0].item()
        if key not in self.kept:
            time.sleep(0.005)
            self.kept[key] = super().forward(x)
        return self.kept[key].clone()""",
}


def attempt(directory: Path, body: str, **parts: str) -> Outcome:
    """A job whose ModelNew does `body`."""
    return run(snippet(new=NEW.format(body=body), **parts), "model-new", directory=directory)


@pytest.mark.parametrize("cache", CACHES.values(), ids=CACHES)
def test_memoized_results_are_rejected(tmp_path: Path, cache: str) -> None:
    job = attempt(tmp_path, cache)
    reason = job.reason("model-new")
    assert "caches results" in reason or "far from the reference" in reason or "other inputs" in reason, reason
    assert len(job.of("sampled", "eager")) == 1


def test_memoization_that_starts_during_timing_gains_nothing(tmp_path: Path) -> None:
    """Correct for every call, because it identifies the contents of a buffer by its version.

    Contents change before each timed call, so that each sample contains the computation: 5 ms, and 20 ms
    more once results are stored. A stored result would take microseconds.
    """
    body = """
        self.kept[0] = self.kept.get(0, 0) + 1
        if self.kept[0] < 90:
            return super().forward(x)
        key = (x.data_ptr(), x._version, float(x.flatten()[0]))
        if key not in self.kept:
            time.sleep(0.02)
            self.kept[key] = super().forward(x)
        return self.kept[key].clone()"""
    code = snippet("(time.sleep(0.005), x + self.weight)[1]", top="import time", new=NEW.format(body=body))
    job = run(code, "model-new", directory=tmp_path, cap=4.0)
    times = [ms for line in job.of("samples", "model-new") for ms in line["ms"]]
    assert max(times) >= 25, "memoization did not start during timing"
    assert min(times) >= 5


@pytest.mark.parametrize(
    ("body", "says"),
    [
        # A subclass that would compute when it is looked at.
        (
            "return super().forward(x).as_subclass(type('Lazy', (torch.Tensor,), {}))",
            "a Lazy as output 0, not a plain tensor",
        ),
        ("return lambda: super().forward(x)", "a function as output 0, not a tensor"),
        # Filled in by a thread, after the clock was stopped.
        (
            """
        y, w = torch.zeros_like(x), self.weight
        threading.Thread(target=lambda: (time.sleep(0.02), y.copy_(x + w))).start()
        return y""",
            "all zeros",
        ),
        # One buffer for all results.
        (
            "self.kept.setdefault('y', torch.empty_like(x)); return torch.add(x, self.weight, out=self.kept['y'])",
            "returned memory that its next call overwrote",
        ),
        # One row, expanded to all.
        ("y = super().forward(x); return y[:1].expand_as(y)", "elements that share memory"),
        # Sixteen buffers in turn.
        ("return torch.add(x, self.weight, out=next(turns))", "returned memory that"),
        ("x += self.weight; return x", "changed its inputs"),
        ("self.weight.data.add_(0.01); return x + self.weight", "is too far from the reference"),
    ],
)
def test_missing_and_short_lived_results_are_rejected(tmp_path: Path, body: str, says: str) -> None:
    assert says in attempt(tmp_path, body).reason("model-new")


def test_result_in_the_memory_of_an_input_is_rejected(tmp_path: Path) -> None:
    job = run(
        snippet("x * 1", new="class ModelNew(Model):\n    def forward(self, x):\n        return x"),
        "model-new",
        directory=tmp_path,
    )
    assert job.reason("model-new") == "ModelNew returned the memory of an input."


@pytest.mark.parametrize(
    ("forward", "parts", "says"),
    [
        ("self.weight * 2", {}, ["Model's results for different inputs are the same"]),
        # Rounding is all that is left of the input.
        ("(x - x).mean() + self.weight.exp() + 0 * x.sum()", {}, ["Model's results for different inputs are the same"]),
        ("x + self.weight", {"inputs": "[torch.ones(4, 16)]"}, ["get_inputs() returns the same values each time"]),
        ("x + self.weight", {}, []),
        ("x + 1e-7 * torch.tanh(x)", {}, ["Model's result is the same as its input"]),
        # What is drawn does depend on the seed, and on nothing else.
        ("torch.rand(16) + self.weight", {}, ["Model's results for different inputs are the same"]),
    ],
)
def test_result_that_need_not_be_computed_is_marked(
    tmp_path: Path, forward: str, parts: dict[str, str], says: list[str]
) -> None:
    job = run(snippet(forward, **parts), directory=tmp_path)
    told = [line["text"] for line in job.of("warning")]
    assert [text.partition(", ")[0] for text in told] == says
    assert all("cannot be recognized" in text for text in told)
    assert job.of("sampled", "eager")


REPLACED = {
    "time.perf_counter_ns = lambda: 0": "time.perf_counter_ns",
    "torch.cuda.Event.elapsed_time = lambda self, other: 1e-6": "torch.cuda.Event.elapsed_time",
    "torch.cuda.synchronize = lambda *a: None": "torch.cuda.synchronize",
    "torch.isfinite = torch.ones_like": "torch.isfinite",
    "torch.Tensor.double = lambda self: torch.zeros(self.shape, dtype=torch.float64)": "torch.Tensor.double",
    "torch.Tensor.__sub__ = lambda a, b: torch.zeros_like(a)": "torch.Tensor.__sub__",
    "secrets.randbits = lambda n: 7": "secrets.randbits",
    "json.JSONEncoder.encode = None; json.dumps = None": "json.dumps",
    "import hipward_kernels.harness.precision as p; p.check = None": "hipward_kernels.harness.precision.check",
    "import hipward_kernels.harness.precision as p; p.ERROR_RATIO = 1e9": (
        "hipward_kernels.harness.precision.ERROR_RATIO"
    ),
    "import hipward_kernels.harness.timing as t; t.HostClock.samples = None": (
        "hipward_kernels.harness.timing.HostClock.samples"
    ),
    "import hipward_kernels.harness.timing as t; t.HostClock.samples.__code__ = (lambda *a: ([], 0)).__code__": (
        "hipward_kernels.harness.timing.HostClock.samples.__code__"
    ),
    "import hipward_kernels.numerics.nested as o; o.same_bits.__code__ = (lambda a, b: True).__code__": (
        "hipward_kernels.numerics.nested.same_bits.__code__"
    ),
    "import builtins; builtins.max = min": "builtins.max",
    "torch.special.expit = torch.erf": "torch.special.expit",
    "l = torch.library.Library('aten', 'IMPL'); l.impl('abs', lambda x: x, 'CPU')": "PyTorch's operator aten::abs",
    "import sys; sys.modules['time'] = type(sys)('time')": "the module time",
    "import sys; sys.setprofile(lambda *a: None)": "the interpreter's tracing, with a function of its own",
    "class M(torch.overrides.TorchFunctionMode):\n    pass\nM().__enter__()": (
        "PyTorch's dispatch, with a mode that it left on"
    ),
}


@pytest.mark.parametrize(("code", "what"), REPLACED.items(), ids=REPLACED.values())
def test_replaced_timers_are_detected(code: str, what: str) -> None:
    read, write = os.pipe()
    # In a copy of this process, because what is replaced stays so.
    if (child := os.fork()) == 0:
        tell, leave = os.write, os._exit
        try:
            seals = Seals()
            assert seals.broken() is None
            exec(f"import torch, time, secrets, json\n{code}", {})
            tell(write, str(seals.broken()).encode())
        finally:
            leave(0)
    os.close(write)
    with os.fdopen(read) as told:
        assert told.read() == what
    os.waitpid(child, 0)


def test_replacing_timers_fails_the_job(tmp_path: Path) -> None:
    job = run(snippet(top="torch.isfinite = torch.ones_like"), directory=tmp_path)
    assert job.error["code"] == "tampered"
    assert "replaced torch.isfinite, so measurements" in job.error["message"]
    assert job.of("sampled") == []


@pytest.mark.parametrize(
    ("does", "what"),
    [
        ("Model.forward = lambda self, x: (time.sleep(0.001), x + self.weight)[1]", "methods of Model"),
        ("torch.set_num_threads(torch.get_num_threads() + 1)", "PyTorch's setting for all, number of threads"),
    ],
)
def test_slowing_eager_down_fails_the_job(tmp_path: Path, does: str, what: str) -> None:
    late = f"self.kept[0] = self.kept.get(0, 0) + 1\n        if self.kept[0] == 100: {does}\n"
    job = attempt(tmp_path, f"{late}        return x + self.weight")
    assert job.error["code"] == "tampered"
    assert f"replaced {what}, so measurements" in job.error["message"]


def test_top_level_settings_apply_to_all_variants(tmp_path: Path) -> None:
    top = "torch.set_float32_matmul_precision('high'); torch.set_num_threads(1)"
    job = run(snippet(top=top, new="class ModelNew(Model):\n    pass"), "model-new", directory=tmp_path)
    assert job.lines[-1] == {"type": "finished"}


def test_replacing_timers_during_timing_fails_the_job(tmp_path: Path) -> None:
    late = "self.kept[0] = self.kept.get(0, 0) + 1\n        if self.kept[0] > 100: time.perf_counter_ns = lambda: 0\n"
    job = attempt(tmp_path, f"{late}        return super().forward(x)")
    assert job.error["code"] == "tampered"


def test_forged_lines_lack_the_jobs_secret(tmp_path: Path) -> None:
    forged = json.dumps({"type": "samples", "variant": "model-new", "round": 0, "ms": [1e-6] * 100})
    body = f"[os.write(fds.pop(), {forged!r}.encode() + b'\\n') for _ in fds[:]]; return x + self.weight"
    # Every pipe that this process can write to.
    find = """
import os, stat
fds = []
for fd in range(3, 1024):
    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            fds.append(fd)
    except OSError:
        pass
"""
    job = run(
        snippet(top=find, new=f"class ModelNew(Model):\n    def forward(self, x):\n        {body}"),
        "model-new",
        directory=tmp_path,
        nonce="5ec2e7",
        checked=False,
    )
    told = [line for line in job.lines if line.get("nonce") == "5ec2e7"]
    others = [line for line in job.lines if "nonce" not in line]
    assert others
    assert all(line["ms"] == [1e-6] * 100 for line in others)
    assert all(1e-6 not in line["ms"] for line in told if line["type"] == "samples")
    assert "5ec2e7" not in os.environ.values()


FORGER = """
import gc, os
lines = next(each for each in gc.get_objects() if type(each).__name__ == "Lines")
for variant in ("eager", "model-new"):
    lines.samples(variant, 0, [1.0] * 50)
    lines.sampled(variant, "converged", 0)
lines.finished()
os._exit(0)
"""


@pytest.mark.parametrize(
    ("top", "body"),
    [
        (FORGER, "return x + self.weight"),
        ("import gc", "return (gc.get_referrers(os.write), x + self.weight)[1]"),
        ("import sys", "return (sys._current_frames(), x + self.weight)[1]"),
        ("import gc, contextlib\nwith contextlib.suppress(Exception): gc.get_objects()", "return x + self.weight"),
        ("import sys", "return (sys._getframe(1), x + self.weight)[1]"),
        ("import inspect", "return (inspect.stack(), x + self.weight)[1]"),
        ("import logging", "return (logging.currentframe(), x + self.weight)[1]"),
        ("import traceback", "return (list(traceback.walk_stack(None)), x + self.weight)[1]"),
        (
            "try: 1 / 0\nexcept ZeroDivisionError as error: caught = error.__traceback__.tb_frame",
            "return x + self.weight",
        ),
        ("steps = (step for step in [1])", "return (steps.gi_frame, x + self.weight)[1]"),
        ("import sys", "return (sys.setprofile(print), x + self.weight)[1]"),
        (
            "import re\nspoofed = compile('import gc; gc.get_objects()', torch.__file__, 'exec')",
            "return (exec(spoofed), x + self.weight)[1]",
        ),
        ("import ctypes", "return (ctypes.py_object.from_address(id(x)), x + self.weight)[1]"),
        ("import ctypes", "return (ctypes.string_at(id(x), 8), x + self.weight)[1]"),
        ("import _ctypes", "return (_ctypes.PyObj_FromPtr(id(x)), x + self.weight)[1]"),
        ("import ctypes", "return (ctypes.pythonapi.PyThreadState_Get, x + self.weight)[1]"),
        ("import types\ndef own(): pass", "own.__code__.replace(co_filename=torch.__file__); return x + self.weight"),
    ],
    ids=[
        "lines forged on import",
        "referrers in a call",
        "frames of threads",
        "refusal ignored",
        "the caller's frame",
        "frames through inspect",
        "a frame through logging",
        "frames through traceback",
        "the frame of a traceback",
        "the frame of a generator",
        "a profiler",
        "compiled under PyTorch's name",
        "an object at an address",
        "bytes at an address",
        "an object by its number",
        "Python's C interface",
        "renamed to PyTorch's name",
    ],
)
def test_searching_for_objects_of_the_harness_fails_the_job(tmp_path: Path, top: str, body: str) -> None:
    new = f"class ModelNew(Model):\n    def forward(self, x):\n        {body}"
    job = run(snippet(top=f"import os\n{top}", new=new), "model-new", directory=tmp_path)
    assert job.error["code"] == "tampered"
    assert "which finds the objects that measure it" in job.error["message"]
    assert job.of("samples") == job.of("sampled") == []


HARMLESS = """
import collections, ctypes, dataclasses, enum, logging, traceback, typing, warnings
from typing import NamedTuple

Pair = collections.namedtuple("Pair", "first second")
Typed = typing.NamedTuple("Typed", [("value", int)])
Color = enum.Enum("Color", "RED GREEN")
exec("answer = 42")
absolute = ctypes.CDLL(None).abs


@dataclasses.dataclass
class Settings:
    scale: float = 1.0


def tell():
    assert absolute(ctypes.c_int(-2)) == 2
    warnings.warn("slow")
    logging.getLogger("mine").warning("slow")
    try:
        raise ValueError
    except ValueError:
        traceback.print_exc()


@torch.library.custom_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


tell()
"""


def test_ordinary_use_of_pythons_library_is_not_refused(tmp_path: Path) -> None:
    body = "tell() if not torch.compiler.is_compiling() else None; return x + self.weight"
    new = f"class ModelNew(Model):\n    def forward(self, x):\n        {body}"
    job = run(snippet(top=HARMLESS, new=new), "compile", "model-new", directory=tmp_path)
    assert job.lines[-1] == {"type": "finished"}
    assert {line["variant"] for line in job.of("sampled")} >= {"compile", "model-new"}


def test_packages_of_pythonpath_may_use_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "framed.py").write_text("import sys\nNAME = sys._getframe(0).f_code.co_name\n", encoding="utf-8")
    # The folder of the snippet is below the second one, which makes the snippet no package.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), tempfile.gettempdir()]))

    def last_line(top: str) -> dict[str, Any]:
        return Worker().run(snippet(top=top), "cpu", 0.2, 60.0, ["eager", "eager-control"]).lines[-1][1]

    assert last_line("import framed") == {"type": "finished"}
    assert last_line("import sys; sys._getframe(0)")["code"] == "tampered"


def test_editable_packages_may_use_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed by setuptools with a finder, so that no folder on `sys.path` contains them."""
    package, installed = tmp_path / "sources" / "framed", tmp_path / "installed"
    package.mkdir(parents=True)
    installed.mkdir()
    (package / "__init__.py").write_text("import sys\nNAME = sys._getframe(0).f_code.co_name\n", encoding="utf-8")
    finder = editable_wheel._finder_template("__editable___framed_finder", {"framed": str(package)}, {})
    (installed / "__editable___framed_finder.py").write_text(finder, encoding="utf-8")
    start = "import __editable___framed_finder\n__editable___framed_finder.install()\n"
    (installed / "sitecustomize.py").write_text(start, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    code = snippet(top="import framed")
    assert Worker().run(code, "cpu", 0.2, 60.0, ["eager", "eager-control"]).lines[-1][1] == {"type": "finished"}


def test_no_work_is_faster_than_the_roofline(tmp_path: Path) -> None:
    """What passes every check would still be marked: its time is under the floor that the job states."""
    big = "[torch.zeros(1 << 22)]"
    code = snippet("x[:16] * 2 + self.weight", inputs=big)
    (floor,) = run(code, directory=tmp_path).of("roofline")
    # A slice is read, not the whole input; the weight is read, the result written.
    assert (floor["bytes_read"], floor["bytes_written"]) == (128, 64)
    whole = snippet("(x * 2).sum() + self.weight", inputs=big)
    job = run(whole, directory=tmp_path)
    (floor,) = job.of("roofline")
    assert floor["bytes_read"] == 4 * (1 << 22) + 64
    assert floor["bound"] == "memory"
    samples = sorted(ms for line in job.of("samples", "eager") for ms in line["ms"])
    assert 0.01 < floor["floor_ms"] < samples[len(samples) // 2]


FRAME_IN_C = """
void *PyThreadState_Get(void), *PyThreadState_GetFrame(void *);
void *this_frame(void) { return PyThreadState_GetFrame(PyThreadState_Get()); }
"""


def frame_library() -> Path:
    """A library whose function returns the frame of its caller."""
    folder = Path(tempfile.mkdtemp(prefix="hipward-frame-"))
    atexit.register(shutil.rmtree, folder)
    library = folder / "frame.so"
    subprocess.run(
        ["/usr/bin/cc", "-x", "c", "-", "-shared", "-fPIC", "-o", library], input=FRAME_IN_C, text=True, check=True
    )
    return library


FRAME = f"""
import ctypes
api = ctypes.PyDLL({str(frame_library())!r})
api.this_frame.restype = ctypes.py_object
"""
"""Code in C reaches frames without an audit event; what a snippet changes there is detected."""

THIS_FRAME = "api.this_frame()"

LATE = f"""{FRAME}
import time
turns = [0]


def reachable():
    frame, found = {THIS_FRAME}, []
    while frame is not None:
        found += frame.f_locals.values()
        frame = frame.f_back
    return found + [inner for each in found if hasattr(each, "__dict__") for inner in vars(each).values()]


class ModelNew(Model):
    def forward(self, x):
        turns[0] += 1
        if turns[0] == 100:
            cheat()
        return x + self.weight


def slow(*_):
    time.sleep(0.001)


def cheat():
"""

IN_A_TIMED_CALL = f"""
        frame = {THIS_FRAME}.f_back
        while frame is not None:
            names = frame.f_locals
            if "times" in names and names.get("after") is not None:
                {{does}}
            frame = frame.f_back
        return super().forward(x)"""

IN_MEMORY = {
    # The list of the samples, found in a frame.
    "samples": (
        IN_A_TIMED_CALL.format(does="names['times'][:] = [ms / 3 if ms > 3 else ms for ms in names['times']]"),
        "its samples do not contain its work",
    ),
    # Which result will be compared is not known before the call, so garbage is found.
    "decision": (
        IN_A_TIMED_CALL.format(
            does="""if getattr(names["after"].__self__, "looked_at", None) != names["index"]:
                    return torch.ones_like(x)"""
        ),
        "returned output 0 of other inputs, or changed it, in a timed call",
    ),
    # Computes when the harness reads it, after the clock has stopped.
    "list": ("return Later(lambda: Model.forward(self, x))", "returned its outputs in a Later; Model does not"),
}
LATER = f"""{FRAME}
class Later(list):
    def __init__(self, work):
        self.work = work
    def __iter__(self):
        return iter([self.work()])
"""


@pytest.mark.parametrize(("body", "says"), IN_MEMORY.values(), ids=IN_MEMORY)
def test_forged_samples_and_results_of_timed_calls_are_rejected(tmp_path: Path, body: str, says: str) -> None:
    slow = "(time.sleep(0.004), x + self.weight)[1]"
    job = run(snippet(slow, new=LATER + NEW.format(body=body)), "model-new", directory=tmp_path, cap=1.0)
    (reason,) = [line["reason"] for line in job.of("precision", "model-new") if not line["passed"]]
    assert says in reason
    assert job.lines[-1] == {"type": "finished"}


def test_a_model_that_waits_instead_of_computing_is_marked(tmp_path: Path) -> None:
    new = "class ModelNew(Model):\n    def forward(self, x):\n        return x + self.weight\n"
    waits = snippet("(time.sleep(0.004), x + self.weight)[1]", top="import time", new=new)
    job = run(waits, "model-new", directory=tmp_path)
    (marked,) = [line["text"] for line in job.of("warning") if "waits in its calls" in line["text"]]
    assert "no speed-up over eager says how fast it computes" in marked
    works = run(snippet("x + self.weight"), "eager-control", directory=tmp_path)
    assert not any("waits in its calls" in line["text"] for line in works.of("warning"))


KEEPS_INPUTS = """
kept, calls = {}, itertools.count()
class Model(Model):
    def forward(self, x):
        # What eager computes with, also when a result is compared.
        kept[x.data_ptr()] = x
        return super().forward(x)
class ModelNew(Model):
    def forward(self, x):
        if next(calls) < CALLS:
            return super().forward(x)
        for each in kept.values():
            each.fill_(1.0)
        return 1.0 + self.weight.expand(4, 16)
"""


def test_the_contents_that_a_result_is_compared_for_are_not_in_the_reach_of_the_snippet(tmp_path: Path) -> None:
    # Times that differ, so that the timing does not end before the call that begins to cheat.
    slow = "(time.sleep(0.002 + time.time() % 0.004), x + self.weight)[1]"
    new = f"import itertools, time\n{KEEPS_INPUTS.replace('CALLS', '260')}"
    job = run(snippet(slow, new=new), "model-new", directory=tmp_path, cap=2.0)
    (reason,) = [line["reason"] for line in job.of("precision", "model-new") if not line["passed"]]
    assert "in a timed call" in reason


def test_changing_an_object_of_the_timing_fails_the_job(tmp_path: Path) -> None:
    does = """
    lines = next(each for each in reachable() if type(each).__name__ == "Lines")
    write = lines.samples
    lines.samples = lambda variant, round_, ms: write(variant, round_, [each / 3 for each in ms])
"""
    job = run(snippet(new=LATE + does), "model-new", directory=tmp_path)
    assert job.error["code"] == "tampered"
    assert "replaced the attribute samples of the harness's Lines, so measurements" in job.error["message"]


def test_changes_of_the_objects_of_the_timing_are_detected() -> None:
    clock, entrant = HostClock(), Entrant(torch.neg, 0.1)
    seals = ObjectSeals(clock, entrant)
    clock.samples(torch.neg, [[torch.ones(2)]])
    assert seals.broken() is None
    object.__setattr__(entrant, "call", torch.abs)
    assert seals.broken() == "the attribute call of the harness's Entrant"
    seals = ObjectSeals(clock)
    clock.__class__ = type("Fast", (HostClock,), {})
    assert seals.broken() == "the harness's HostClock"


CHANGES_OF_MODEL = {
    "m.register_forward_pre_hook(slow)": "what runs before or after Model, with a hook",
    "hook = torch.nn.modules.module.register_module_forward_pre_hook(slow)": (
        "what runs before or after Model, with a hook"
    ),
    "m.forward = slow": "the attribute forward of Model",
    "m.pause = True": "the attribute pause of Model",
    "vars(snippet)['helper'] = slow": "its own function helper",
    "snippet.helper.__code__ = slow.__code__": "its own function helper",
    "vars(snippet)['Model'] = torch.nn.Linear": "its own class Model",
    "m.weight.requires_grad_(False).mul_(1 + 1e-6)": "the weight weight of Model",
    "m.weight.data = m.weight.data * (1 + 1e-6)": "the weight weight of Model",
}


@pytest.mark.parametrize(("does", "what"), CHANGES_OF_MODEL.items(), ids=CHANGES_OF_MODEL)
def test_changes_of_model_are_detected(tmp_path: Path, does: str, what: str) -> None:
    module, model, seals = sealed_model(tmp_path)
    names: dict[str, Any] = {"torch": torch, "m": model, "snippet": module, "slow": lambda *_: None}
    try:
        exec(does, names)
        assert seals.broken() == what
    finally:
        if "hook" in names:
            names["hook"].remove()


def test_changed_contents_of_a_weight_are_detected_at_the_end(tmp_path: Path) -> None:
    _, model, seals = sealed_model(tmp_path)
    model.weight.data.mul_(1 + 1e-6)
    assert seals.broken() is None
    assert seals.weights_broken() == "the weight weight of Model"


def sealed_model(directory: Path) -> tuple[Any, Any, ModelSeals]:
    code = snippet(top="def helper():\n    pass", init="self.pause = False")
    loaded = contract.load(code, directory, torch.device("cpu"))
    model = loaded.build("Model")
    seals = ModelSeals(model, loaded.module)
    model(*loaded.inputs(0))
    seals.settle()
    assert seals.broken() is seals.weights_broken() is None
    return loaded.module, model, seals


def test_changing_model_while_modelnew_runs_fails_the_job(tmp_path: Path) -> None:
    does = "    next(each for each in reachable() if type(each) is Model).register_forward_pre_hook(slow)"
    job = run(snippet(new=LATE + does), "model-new", directory=tmp_path)
    assert job.error["code"] == "tampered"
    assert "replaced what runs before or after Model, with a hook, so measurements" in job.error["message"]


def test_model_that_changes_itself_is_measured(tmp_path: Path) -> None:
    init = "self.calls = 0; self.register_buffer('steps', torch.zeros(()))"
    counts = "[setattr(self, 'calls', self.calls + 1), self.steps.add_(1), x + self.weight][2]"
    job = run(snippet(counts, init=init), "eager-control", directory=tmp_path)
    assert job.lines[-1] == {"type": "finished"}


def test_slower_eager_than_in_a_process_without_modelnew_is_marked(tmp_path: Path) -> None:
    """No record covers the snippet's data; the second process does not have what changed them."""
    slowed = snippet("(pause and slow(), x + self.weight)[1]", top="pause = []", new=LATE + "    pause.append(1)")
    job = run(slowed, "model-new", directory=tmp_path, cap=2.0)
    (warning,) = [line["text"] for line in job.of("warning") if "process that never ran ModelNew" in line["text"]]
    assert "no speed-up over eager is reliable" in warning
    honest = run(snippet(new="class ModelNew(Model):\n    pass"), "model-new", directory=tmp_path)
    assert not any("process" in line["text"] for line in honest.of("warning"))


def test_model_that_needs_modelnew_is_marked(tmp_path: Path) -> None:
    job = run(
        snippet("(ModelNew, x + self.weight)[1]", new="class ModelNew(Model):\n    pass"),
        "model-new",
        directory=tmp_path,
    )
    warnings = [line["text"] for line in job.of("warning")]
    assert any("could not be timed in a process that never ran ModelNew: NameError" in text for text in warnings), (
        warnings
    )


LATER_STEP = """
import time

class ModelNew(Model):
    calls = 0
    def forward(self, x):
        ModelNew.calls += 1
        if ModelNew.calls == 30:
            change()
        return torch.tanh(x) + self.weight
"""
"""A ModelNew that calls `change` while it is timed."""

SLOWER_PART = "def change():\n    Part.forward = lambda self, x: (time.sleep(0.001), torch.tanh(x))[1]"
SLOWER_OPERATOR = """
kept = []
def slow(x):
    time.sleep(0.001)
    return x.sinh() / x.cosh()
def change():
    kept.append(torch.library.Library('aten', 'IMPL'))
    kept[0].impl('tanh', slow, 'CPU')
"""


@pytest.mark.parametrize(
    ("change", "what"),
    [(SLOWER_PART, "methods of Part"), (SLOWER_OPERATOR, "PyTorch's operator aten::tanh")],
    ids=["a method of a module in Model", "an operator that Model runs"],
)
def test_slower_parts_of_model_fail_the_job(tmp_path: Path, change: str, what: str) -> None:
    part = "class Part(nn.Module):\n    def forward(self, x):\n        return torch.tanh(x)"
    code = snippet("self.part(x) + self.weight", top=part, init="self.part = Part()", new=f"{LATER_STEP}\n{change}\n")
    job = run(code, "model-new", directory=tmp_path)
    assert job.error["code"] == "tampered"
    assert f"The snippet replaced {what}" in job.error["message"]


def test_modelnew_under_a_computed_name_is_compared_with_a_clean_process(tmp_path: Path) -> None:
    new = LATE.replace("class ModelNew(Model)", "class Quick(Model)") + "    pause.append(1)\n"
    new += "globals()['Model' + 'New'] = Quick\n"
    code = snippet("(pause and slow(), x + self.weight)[1]", top="pause = []", new=new)
    job = run(code, "model-new", directory=tmp_path, cap=2.0)
    assert any("process that never ran ModelNew" in line["text"] for line in job.of("warning"))


def test_threads_of_the_snippet_are_those_of_the_clean_process(tmp_path: Path) -> None:
    """Its Model takes longer with more threads, in both processes."""
    waits = "(time.sleep(0.002 * torch.get_num_threads()), x + self.weight)[1]"
    top = "import time\ntorch.set_num_threads(torch.get_num_threads() + 2)"
    job = run(snippet(waits, top=top, new="class ModelNew(Model):\n    pass"), "model-new", directory=tmp_path)
    warnings = [line["text"] for line in job.of("warning")]
    assert any("The snippet sets PyTorch's threads to" in text for text in warnings), warnings
    assert not any("process" in text for text in warnings), warnings


def test_answers_that_get_inputs_computes_are_of_no_use(tmp_path: Path) -> None:
    top = (
        "import time\nanswers = {}\n"
        "def work(x):\n    time.sleep(0.004)\n    return x * 2\n"
        "def made():\n    x = torch.randn(64, 16)\n    answers[float(x[0, 0])] = work(x)\n    return x"
    )
    new = (
        "class ModelNew(Model):\n    def forward(self, x):\n"
        "        found = answers.get(float(x[0, 0]))\n        return work(x) if found is None else found.clone()"
    )
    job = run(snippet("work(x)", top=top, new=new, inputs="[made()]"), "model-new", directory=tmp_path, cap=1.0)
    eager, mine = (
        sorted(ms for line in job.of("samples", name) for ms in line["ms"]) for name in ("eager", "model-new")
    )
    assert mine[len(mine) // 2] > 0.8 * eager[len(eager) // 2]


def test_container_whose_elements_are_computed_when_read_is_refused(tmp_path: Path) -> None:
    top = (
        "class Out(list):\n    def __iter__(self):\n"
        "        return (each if isinstance(each, torch.Tensor) else each() for each in list.__iter__(self))"
    )
    new = "class ModelNew(Model):\n    def forward(self, x):\n        return Out([lambda: x + self.weight])"
    job = run(snippet("Out([x + self.weight])", top=top, new=new), "model-new", directory=tmp_path)
    assert "returned a Out, a class of the snippet whose elements are computed" in job.error["message"]


HIDDEN_CTYPES = "import importlib\nc = importlib.import_module('c' + 'types')\nown = c.CDLL(None)"


@pytest.mark.parametrize("through", ["ctypes", "PyTorch"])
def test_code_in_c_that_a_snippet_loads_by_a_computed_name_is_marked(tmp_path: Path, through: str) -> None:
    library = tmp_path / "own.so"
    compiler = [shutil.which("cc") or "cc", "-shared", "-x", "c", "-"]
    subprocess.run([*compiler, "-o", str(library)], input=b"int two = 2;", check=True)
    top = HIDDEN_CTYPES if through == "ctypes" else f"getattr(torch.ops, 'load_' + 'library')({str(library)!r})"
    job = run(snippet(top=top), "eager-control", directory=tmp_path)
    assert job.lines[-1] == {"type": "finished"}
    assert any("loads code in C, by a name that it computes" in line["text"] for line in job.of("warning"))


def test_packages_with_code_in_c_are_not_marked(tmp_path: Path) -> None:
    job = run(snippet(top="import sqlite3, numpy, triton"), "compile", "model-new", directory=tmp_path, cap=0.1)
    assert not any("code in C" in line["text"] for line in job.of("warning"))


def test_looking_up_functions_in_c_fails_the_job(tmp_path: Path) -> None:
    job = run(snippet(top=f"{HIDDEN_CTYPES}\nfind = own.dlsym"), "eager-control", directory=tmp_path)
    assert job.error["code"] == "tampered"
    assert "called dlsym with ctypes" in job.error["message"]
