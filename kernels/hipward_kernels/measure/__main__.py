"""Writes `benchmark.md` for a snippet: `python -m hipward_kernels.measure FILE > benchmark.md`.

The precision of each variant is checked first; a variant with wrong results is not timed.
"""

from __future__ import annotations

import argparse
import datetime as dt
from typing import TYPE_CHECKING

import torch

from hipward_kernels.gpu.devices import describe
from hipward_kernels.harness.failure import summary
from hipward_kernels.harness.variants import CONTROL, VARIANT_INFO, Origin, UnavailableError, build, forget_compilations
from hipward_kernels.measure import subject
from hipward_kernels.measure.benchmark_inference import ITERATIONS, inference
from hipward_kernels.measure.benchmark_training import training
from hipward_kernels.measure.tables import Conditions, Step, baseline, progression
from hipward_kernels.measure.verify_precision import verify_precision

if TYPE_CHECKING:
    from hipward_kernels.harness.contract import Snippet
    from hipward_kernels.harness.lines import VariantId

NAMES: dict[VariantId, str] = {
    **{variant.id: f"+ {variant.label}" for variant in VARIANT_INFO if variant.id != CONTROL},
    "eager": "Eager baseline",
    "everything": "Everything",
    "model-new": "ModelNew",
}


def conditions(device: torch.device) -> Conditions:
    """Conditions for every table of this run."""
    here = describe(device)
    runtime = ""
    if device.type != "cpu":
        runtime = f", HIP {torch.version.hip}" if torch.version.hip else f", CUDA {torch.version.cuda}"
    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    return Conditions(f"{here.name} ({here.arch})", f"PyTorch {torch.__version__}{runtime}", today)


def measure_steps(snippet: Snippet, iterations: int) -> list[Step]:
    """Measures each variant together with the ones before it."""
    origin = Origin(snippet, snippet.build("Model"), snippet.inputs(0))
    steps: list[Step] = []
    below: list[VariantId] = []
    forget_compilations()
    for variant, name in NAMES.items():
        try:
            built = build(variant, origin, below)
            with torch.no_grad():
                found = verify_precision(built.call, snippet)
            if not found.passed:
                reason = found.float64_reason or found.guides_reason
                steps.append(Step(name, None, f"not timed: {reason}"))
                continue
            latency = inference(built.call, origin.inputs, snippet.device, iterations=iterations)
        except UnavailableError as error:
            steps.append(Step(name, None, str(error)))
        # A variant is user code or a compiler and may raise anything; the others are still measured.
        except Exception as error:  # noqa: BLE001
            steps.append(Step(name, None, summary(error)))
        else:
            steps.append(Step(name, latency))
            below.append(variant)
    return steps


@subject.script
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m hipward_kernels.measure", description=__doc__)
    subject.add_arguments(parser)
    subject.add_counts(parser, ITERATIONS, least=2)
    options = parser.parse_args()
    snippet = subject.load(parser, options)
    steps = measure_steps(snippet, options.iterations)
    if steps[0].latency is None:
        parser.exit(1, f"Model does not run: {steps[0].note}\n")
    here = conditions(snippet.device)
    model = snippet.build("Model")
    trains = any(parameter.requires_grad for parameter in model.parameters())
    trained = training(model, snippet.inputs(0), snippet.device) if trains else None
    print(baseline(here, steps[0].latency, trained))
    print(progression(here, steps))


if __name__ == "__main__":
    main()
