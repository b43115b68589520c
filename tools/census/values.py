"""What an expression of somebody else's program may stand for, as far as it can be told without running that program."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

MOST_OPTIONS = 64


class Unread:
    """A value that only a running program knows."""

    def __repr__(self):
        return "UNREAD"


UNREAD = Unread()


@dataclass(frozen=True)
class Choice:
    """One of several values: branches differ, or callers."""

    options: tuple


@dataclass(frozen=True)
class Kind:
    """A class of prometheus_client. A family is what a custom collector returns, with other parameters."""

    type: str
    family: bool = False


@dataclass(frozen=True)
class External:
    """A name of a package that is not in the archive."""

    name: str


@dataclass(frozen=True)
class Builtin:
    name: str


@dataclass(eq=False)
class Module:
    """A file of the archive, with the values of its names once it was read."""

    name: str
    path: str
    package: str
    names: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Import:
    """A name of another module, which is looked up when somebody uses it; without a name the module itself."""

    module: str
    name: str = ""


@dataclass(eq=False)
class Function:
    node: Any
    frame: Any  # Where it was defined.
    owner: Any = None  # The class.
    receiver: Any = None  # What self or cls is.
    how: str = "function"  # Or method, classmethod, staticmethod, property.


@dataclass(eq=False)
class Class:
    node: ast.ClassDef
    module: Module
    bases: list
    names: dict
    enum: bool = False
    texts: bool = False  # Members of the enum are strings.
    client: Any = None  # The class of prometheus_client that it extends.

    def line(self):
        """The class and those that it inherits from, in the order of a look-up."""
        seen, todo = [], [self]
        while todo:
            one = todo.pop(0)
            if isinstance(one, Class) and one not in seen:
                seen.append(one)
                todo = [*one.bases, *todo]
        return seen

    def find(self, name):
        """The class that has the name, and its value."""
        for one in self.line():
            if name in one.names:
                return one, one.names[name]
        return None, UNREAD


@dataclass(frozen=True)
class Member:
    """A member of an enum."""

    owner: Class
    name: str
    value: Any


@dataclass(eq=False)
class Object:
    kind: Class
    born: int  # The doubt at its birth.
    names: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Super:
    owner: Class
    receiver: Any


@dataclass(eq=False)
class Partial:
    function: Any
    arguments: Arguments


@dataclass(eq=False)
class Metric:
    """A family that was constructed."""

    reading: Any


@dataclass(eq=False)
class Items:
    """A list, tuple or set. Entries that only some runs have are not sure; an open one may have more."""

    entries: list = field(default_factory=list)  # Pairs of value and whether it is sure.
    open: bool = False
    born: int = 0

    @staticmethod
    def of(values, born=0):
        return Items([(value, True) for value in values], False, born)

    def values(self):
        return [value for value, _ in self.entries]

    def known(self):
        return not self.open and all(sure for _, sure in self.entries)


@dataclass(eq=False)
class Table:
    """A dictionary, like Items."""

    entries: dict = field(default_factory=dict)  # Pairs of value and whether it is sure, by key.
    open: bool = False
    born: int = 0


@dataclass(eq=False)
class Arguments:
    positional: list = field(default_factory=list)
    named: dict = field(default_factory=dict)
    open: bool = False  # There may be more.


def options(value):
    """Every value that it may be."""
    return value.options if isinstance(value, Choice) else (value,)


def choose(values):
    """Joins values to one."""
    found = []
    for value in values:
        for one in options(value):
            if not any(same(one, other) for other in found):
                found.append(one)
    if not found or len(found) > MOST_OPTIONS:
        return UNREAD
    return found[0] if len(found) == 1 else Choice(tuple(found))


def same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, Items):
        return one is other or one.open == other.open and len(one.entries) == len(other.entries) and all(
            same(a, b) and sure == other_sure for (a, sure), (b, other_sure) in zip(one.entries, other.entries))
    return one is other or one == other


def hashable(value):
    return value is None or isinstance(value, (str, int, float, bool, Kind, Member, Class, External))


def plain(value):
    """Reports whether it is a string or a number."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)
