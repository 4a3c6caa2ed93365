"""Fields of a job line, and the device of inputs. Errors of snippets are in `test_harness.py`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import torch

from hipward_kernels.harness import contract
from hipward_kernels.harness.job import Job
from hipward_kernels.harness.variants import VARIANTS, parse_variants

if TYPE_CHECKING:
    from pathlib import Path

JOB = {"code": "x = 1", "variants": ["model-new", "eager", "compile"], "device": "cpu", "time_cap_s": 15}


def test_variants_are_in_ladder_order_with_eager_first() -> None:
    assert Job.from_json(json.dumps(JOB)) == Job("x = 1", ["eager", "compile", "model-new"], "cpu", 15.0)
    assert parse_variants([]) == ["eager"]
    assert tuple(parse_variants(VARIANTS)) == VARIANTS


@pytest.mark.parametrize(
    "change",
    [
        {"variants": ["fast"]},
        {"variants": None},
        {"code": 1},
        {"device": None},
        {"time_cap_s": 0},
        {"time_cap_s": "nan"},
        {"time_cap_s": None},
    ],
)
def test_invalid_field_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Job.from_json(json.dumps({**JOB, **change}))


@pytest.mark.parametrize("line", ["", "nonsense", "[1]", "{}", '{"code": ""}'])
def test_unknown_line_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Job.from_json(line)


SNIPPET = """
import torch

made_on = []


class Model(torch.nn.Module):
    def forward(self, x):
        return x


def get_inputs():
    x = torch.rand(4)
    made_on.append(x.device.type)
    return [BODY]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("body", "made_on"),
    [("x", ["meta", "meta"]), ("torch.from_numpy(x.numpy())", ["meta", "cpu", "cpu"])],
    ids=["on the device", "on the CPU where NumPy is used"],
)
def test_inputs_are_created_on_the_device_if_possible(body: str, made_on: list[str], tmp_path: Path) -> None:
    # PyTorch's meta device replaces a GPU: its tensors have no values that NumPy could read.
    snippet = contract.load(SNIPPET.replace("BODY", body), tmp_path, torch.device("meta"))
    for seed in range(2):
        (x,) = snippet.inputs(seed)
        assert x.device.type == "meta"
    assert snippet.module.made_on == made_on


BEFORE = """from __future__ import annotations
ran = ["before"]
class Model(torch.nn.Module): pass
def get_inputs(): return []
def get_init_inputs(): return []
def uses_it(): return ModelNew()
"""


@pytest.mark.parametrize(
    "defines",
    [
        "class ModelNew(Model):\n    ran.append('defined')",
        "if ran:\n    class ModelNew(Model):\n        ran.append('defined')",
        "from torch.nn import Identity as ModelNew\nModelNew.now = ran.append('defined')",
        "ModelNew = (Model, ran.append('defined'))[0]",
        "class ModelNew(Model): pass\nclass Faster(ModelNew): pass\nFaster.now = ran.append('defined')",
        "class ModelNew(Model): pass\nfor n in (ModelNew,):\n    made = n\nmade.now = ran.append('defined')",
        "class ModelNew(Model): pass\n@(lambda f, model=ModelNew: ran.append('defined'))\ndef other(): pass",
    ],
)
def test_statements_that_need_modelnew_run_last(defines: str, tmp_path: Path) -> None:
    seen = []

    def look(snippet: contract.Snippet) -> None:
        seen.append((list(snippet.module.ran), snippet.has_model_new))

    code = BEFORE.replace("ran =", "import torch\nran =", 1) + defines + "\nran.append('after')\n"
    snippet = contract.load(code, tmp_path, torch.device("cpu"), look)
    assert seen == [(["before", "after"], False)]
    assert snippet.module.ran == ["before", "after", "defined"]
    assert snippet.has_model_new
    assert contract.load(code, tmp_path, torch.device("cpu")).module.ran == ["before", "defined", "after"]


def test_snippet_without_modelnew_runs_at_once(tmp_path: Path) -> None:
    code = BEFORE.replace("ran =", "import torch\nran =", 1)
    contract.load(code, tmp_path, torch.device("cpu"), lambda _: pytest.fail("there is no ModelNew"))
