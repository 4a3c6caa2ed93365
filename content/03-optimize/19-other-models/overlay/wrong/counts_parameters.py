# fails: case_signature
# message: Compare the names and their order, not only the number.
import inspect
from contextlib import contextmanager


class OverlayError(RuntimeError):
    pass


@contextmanager
def patched(library, owner, name, make, versions, parameters):
    installed = tuple(int(part) for part in library.__version__.split(".")[:2])
    if not versions[0] <= installed < versions[1]:
        raise OverlayError(f"version {library.__version__} is not from {versions[0]} up to {versions[1]}")
    original = getattr(owner, name)
    found = list(inspect.signature(original).parameters)
    if len(found) != len(parameters):
        raise OverlayError(f"{name} has the parameters {found}, expected {list(parameters)}")
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)
