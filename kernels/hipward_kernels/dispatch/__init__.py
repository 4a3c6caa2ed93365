"""Selection of the implementation (tier) that runs an op.

* `registry`: an op with its tiers, in order of preference. `tier_failure`: errors that another tier may avoid.
* `tuning`: the table of tuned choices, `tuned.csv`.
* `switches`: environment variables that switch optimizations.
* `cache`: bounded cache of decisions, by everything that they depend on.
"""
