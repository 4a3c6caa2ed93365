"""Measures a snippet: checks that each variant computes the same as eager PyTorch, then times them.

The harness is a process of its own. It is given one job, writes one JSON object a line, and computes no verdict:
statistics belong to whoever reads the lines.

* `worker`: what the runner starts. `__main__`: the same by hand. `probe`: what this host can run on.
* `job`: the order of the steps. `contract`: the snippet. `variants`: the variants of the ladder.
* `precision`, `reference`, `distance`, `outputs`: are the results right?
* `worth`: does a step of the ladder pay?
* `race`, `sampling`, `timing`, `inputs`: how long does it take? `roofline`: how long must it take?
* `tamper`, `probes`, `doubts`, `throttle`: can what was measured be believed?
* `lines`: the only writer. `failure`: an exception in words. `environment`, `devices`: the conditions.
"""
