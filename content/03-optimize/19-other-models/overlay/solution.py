"""Replaces a method of another library while a `with` block runs, after checks."""

import inspect
from contextlib import contextmanager


class OverlayError(RuntimeError):
    """The installed library is not the one that the replacement was written for. Nothing was changed."""


@contextmanager
def patched(library, owner, name, make, versions, parameters):
    """In the block, `owner.name` is `make(original)`.

    Args:
        library: Its module, with `__version__` such as "4.57.1".
        owner: The class with the method.
        name: Name of the method.
        make: Makes the replacement from the original.
        versions: The first supported version and the first that is not, as `((4, 53), (6, 0))`.
        parameters: Names of the method's parameters, in order.
    """
    # hole: version
    # Compare numbers: as text, "4.9" would be above "4.53".
    installed = tuple(int(part) for part in library.__version__.split(".")[:2])
    if not versions[0] <= installed < versions[1]:
        raise OverlayError(f"version {library.__version__} is not from {versions[0]} up to {versions[1]}")
    # end: version
    original = getattr(owner, name)
    # hole: signature
    # A new parameter in the middle would receive the value of another one.
    found = list(inspect.signature(original).parameters)
    if found != list(parameters):
        raise OverlayError(f"{name} has the parameters {found}, expected {list(parameters)}")
    # end: signature
    # hole: replace
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)
    # end: replace
