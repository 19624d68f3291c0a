"""Reads pickled predictions without running what is in them.

A pickle is a program; only plain values and numpy arrays are let through. Anything else is refused by name.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.errors import DataError

_NUMPY = {
    (module, name): value
    for module in ("numpy.core.multiarray", "numpy._core.multiarray")
    for name, value in (("scalar", None), ("_reconstruct", None))
}

ALLOWED: frozenset[tuple[str, str]] = frozenset(
    {
        *_NUMPY,
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("collections", "OrderedDict"),
        ("builtins", "set"),
        ("builtins", "frozenset"),
        ("builtins", "slice"),
        ("builtins", "complex"),
    }
)
"""What a pickle may name. Neither can run code or reach files."""


class _Restricted(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """The class or function, if it is harmless."""
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not plain data")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)

    def persistent_load(self, pid: Any) -> Any:
        """Tensors and other things outside the stream: refused."""
        raise pickle.UnpicklingError("it holds tensors, not plain numbers")


def read_pickle(path: Path, *, member: str | None = None) -> Any:
    """The plain value pickled at `path`: `.pkl`, or `.pth` (a zip with `data.pkl`), or `member` of a zip.

    Arrays and numpy numbers become lists and numbers. DataError where it holds anything but plain data.
    """
    try:
        data = path.read_bytes()
        if zipfile.is_zipfile(io.BytesIO(data)):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                data = archive.read(_member(archive, member, path))
        return _plain(_Restricted(io.BytesIO(data)).load())
    except OSError as error:
        raise DataError(f"file cannot be read: {error.strerror or error}: {path}") from error
    except DataError:
        raise
    except Exception as error:  # a broken pickle raises nearly anything
        raise DataError(f"this pickle is not read: {str(error) or type(error).__name__}: {path}") from error


def _member(archive: zipfile.ZipFile, member: str | None, path: Path) -> str:
    names = archive.namelist()
    chosen = [n for n in names if n == member or (member is None and n.rpartition("/")[2] == "data.pkl")]
    if not chosen:
        raise DataError(f"the archive holds no {member or 'data.pkl'}, but {', '.join(names[:5])}: {path}")
    return chosen[0]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value
