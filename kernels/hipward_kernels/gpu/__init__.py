"""GPUs: facts from data sheets, and the devices of this host.

* `gpus.toml`: the table of facts, with a source for each; `facts` reads it.
* `arch`: the architecture of a device, and the properties that launches depend on.
* `devices`: name, vendor, memory and cache size of each device that PyTorch lists.
* `roofline`: the lower bound of an operation's time.
"""
