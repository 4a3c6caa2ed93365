# test: run
# anchor: probe
import importlib
import importlib.util
import inspect


def usable(module, function, needed):
    """Why `module.function` cannot be used with these keywords, or None if it can."""
    if importlib.util.find_spec(module) is None:
        return f"{module} is not installed"
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        return f"{module} cannot be used: {error}"
    missing = set(needed) - set(inspect.signature(found).parameters)
    return f"{function} takes no {', '.join(sorted(missing))}" if missing else None


print(usable("aiter", "flash_attn_func", ["softmax_scale", "causal"]))
# end: probe
assert usable("no_such_library", "f", []) == "no_such_library is not installed"
assert usable("textwrap", "shorten", ["width"]) is None
assert usable("textwrap", "shorten", ["causal"]) == "shorten takes no causal"
