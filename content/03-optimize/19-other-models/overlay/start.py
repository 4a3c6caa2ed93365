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
    ...
    # end: version
    original = getattr(owner, name)
    # hole: signature
    ...
    # end: signature
    # hole: replace
    setattr(owner, name, make(original))
    yield
    # end: replace
