# fails: case_version
# message: Versions are compared as text. "4.9" is older than "4.53".
import inspect
from contextlib import contextmanager


class OverlayError(RuntimeError):
    pass


@contextmanager
def patched(library, owner, name, make, versions, parameters):
    first, last = (".".join(str(part) for part in version) for version in versions)
    if not first <= library.__version__ < last:
        raise OverlayError(f"version {library.__version__} is not from {versions[0]} up to {versions[1]}")
    original = getattr(owner, name)
    found = list(inspect.signature(original).parameters)
    if found != list(parameters):
        raise OverlayError(f"{name} has the parameters {found}, expected {list(parameters)}")
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)
