"""Measures a snippet: checks that each variant computes the same results as eager PyTorch, then times the variants.

The harness runs in a separate process. It receives one job and writes one JSON object per line. The runner computes
statistics and the verdict from these lines.

* `worker`: the process that the runner starts. `__main__`: the same from a command line. `host_probe`: devices of a
  host.
* `job`: the steps of a job, in order. `contract`, `stages`: load the snippet. `variants`: builds the variants.
* `precision`, `reference`: checks of results.
* `step_cost`: whether an optimization step costs time.
* `race`, `sampling`, `timing`, `inputs`: timing. `roofline`: the lower bound of the time.
* `tamper`, `model_alone`, `snippet_checks`, `input_dependence`, `throttle`: reliability of the measurement.
* `lines`: the lines of the protocol. `failure`: error messages. `environment`: conditions of the measurement.
"""
