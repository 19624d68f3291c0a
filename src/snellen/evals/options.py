"""Options of tasks, checked against the signature of what builds the task, before anything is loaded."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from snellen.core.errors import SpecError, unknown
from snellen.parsing.choice import READERS

P = ParamSpec("P")
T = TypeVar("T")

WORDS: Mapping[Any, str] = {
    str: "a text", bool: "true or false", int: "a whole number", float: "a number", Mapping: "a mapping",
    Sequence: "a list",
}  # fmt: skip
"""Kind of value -> what a message calls it."""


def checked(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Makes a builder refuse options that its signature does not allow; `name` is what the task is called.

    SpecError for an option that is missing, or whose value is of another kind than declared. Options that the builder
    passes on (`**options`) are left to whom they reach.
    """

    def around(build: Callable[P, T]) -> Callable[P, T]:
        parameters = inspect.signature(build).parameters
        needed = [key for key, given in parameters.items() if given.default is given.empty and _named(given)]

        @functools.wraps(build)
        def make(*args: P.args, **options: P.kwargs) -> T:
            missing = [key for key in needed if key not in options]
            if missing:
                raise SpecError(f"the task {name} needs {missing[0]}:  -T {missing[0]}=...")
            hints = _hints(build, [key for key in options if key in parameters])
            for key, value in options.items():
                if key in hints and not fits(value, hints[key]):
                    raise SpecError(f"option {key} of {name} must be {worded(hints[key])}, got {value!r}")
            return build(*args, **options)

        return make

    return around


def _hints(build: Callable[..., Any], names: Sequence[str]) -> dict[str, Any]:
    """The types of these parameters; other annotations of `build` may name what its module does not import."""
    declared = type("Declared", (), {"__annotations__": {name: build.__annotations__[name] for name in names}})
    return get_type_hints(declared, globalns=build.__globals__)


def _named(given: inspect.Parameter) -> bool:
    return given.kind is given.KEYWORD_ONLY


def check_like(name: str, options: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """SpecError where an option is of another kind than its default: true or false, a whole number, a list."""
    for key, value in options.items():
        kind = type(defaults.get(key))
        hint: Any = Sequence if kind is tuple else kind
        if kind in {bool, int, tuple} and not fits(value, hint):
            raise SpecError(f"option {key} of {name} must be {worded(hint)}, got {value!r}")


def check_reader(reader: str) -> None:
    """SpecError for a reader of closed answers that there is none of."""
    if reader not in READERS:
        raise unknown("reader of answers", reader, READERS)


def fits(value: object, hint: Any) -> bool:
    """Whether `value` is what the type `hint` says. A path is a text, a whole number is a number, true is neither."""
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return any(type(value) is type(known) and value == known for known in get_args(hint))
    if origin in {Union, UnionType}:
        return any(fits(value, part) for part in get_args(hint))
    kind = origin or hint
    if kind is str:
        return isinstance(value, str | PathLike)
    if kind is Sequence:
        return isinstance(value, list | tuple)
    if kind in {int, float}:
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    return isinstance(value, kind)


def worded(hint: Any) -> str:
    """The type `hint` in words: `all or present`, `a whole number`."""
    origin = get_origin(hint)
    if origin is Literal:
        *first, last = map(str, get_args(hint))
        return f"{', '.join(first)} or {last}" if first else last
    if origin in {Union, UnionType}:
        return " or ".join(worded(part) for part in get_args(hint) if part is not NoneType)
    return WORDS.get(origin or hint, str(hint))
