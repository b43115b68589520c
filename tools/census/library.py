"""What functions and methods of Python itself return, as far as they matter for names and labels."""

from __future__ import annotations

import ast
import inspect
import itertools
import operator

from values import (
    UNREAD, Arguments, Choice, Class, Items, Kind, Member, Metric, Object, Partial, Table, choose, hashable, options, plain, same,
)

MOST_TURNS = 300  # How many things of a loop are followed.
BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}
STRING_METHODS = {
    "format", "replace", "lower", "upper", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "title", "capitalize",
    "rsplit", "split", "partition", "rpartition",
}


class Library:
    def __init__(self, reader):
        self.reader = reader

    def call(self, name, arguments):
        """Calls a function by its last name."""
        handler = getattr(self, "call_" + name.split(".")[-1], None)
        if handler is None or arguments.open:
            return UNREAD
        try:
            inspect.signature(handler).bind(*arguments.positional, **arguments.named)
        except TypeError:
            return UNREAD
        return handler(*arguments.positional, **arguments.named)

    def method(self, name, value, arguments):
        if isinstance(value, Metric):
            return value.reading.series(name, arguments, self.reader)
        if isinstance(value, str):
            return self.string_method(name, value, arguments)
        if isinstance(value, Table):
            return self.table_method(name, value, arguments)
        given = arguments.positional
        if name in ("append", "add") and given:
            value.entries.append((given[0], self.reader.doubt <= value.born))
        elif name in ("extend", "update") and given:
            self.reader.extend(value, given[0])
        elif name == "insert" and len(given) == 2:
            value.entries.insert(0, (given[1], self.reader.doubt <= value.born))
        elif name == "copy":
            return Items(list(value.entries), value.open, self.reader.doubt)
        elif name == "union" and given:
            return self.reader.binary(ast.Add(), value, given[0])
        elif name not in ("index", "count", "sort"):
            value.open = True
        return None if name in ("append", "add", "extend", "update", "insert", "sort") else UNREAD

    def table_method(self, name, table, arguments):
        given = arguments.positional
        if name == "keys":
            return Items([(key, sure) for key, (_, sure) in table.entries.items()], table.open, self.reader.doubt)
        if name == "values":
            return Items(list(table.entries.values()), table.open, self.reader.doubt)
        if name == "items":
            pairs = [(Items.of([key, value]), sure) for key, (value, sure) in table.entries.items()]
            return Items(pairs, table.open, self.reader.doubt)
        if name == "copy":
            return Table(dict(table.entries), table.open, self.reader.doubt)
        if name == "update":
            for one in given:
                self.reader.update(table, one)
            for key, value in arguments.named.items():
                self.reader.put(table, key, value)
            table.open |= arguments.open
            return None
        if name in ("get", "setdefault") and given:
            other = given[1] if len(given) > 1 else None
            if name == "setdefault" and hashable(given[0]) and given[0] not in table.entries:
                self.reader.put(table, given[0], other)
            found = [self.reader.item(table, key) for key in options(given[0])]
            return choose([*found, *([other] if UNREAD in found else [])])
        if name in ("pop", "clear", "popitem"):
            table.open = True
        return UNREAD

    def string_method(self, name, value, arguments):
        given = arguments.positional
        if name == "join" and given:
            items = given[0]
            fine = isinstance(items, Items) and items.known() and all(isinstance(one, str) for one in items.values())
            return value.join(items.values()) if fine else UNREAD
        if name not in STRING_METHODS or arguments.open or not all(map(plain, [*given, *arguments.named.values()])):
            return UNREAD
        try:
            made = getattr(value, name)(*given, **arguments.named)
        except (TypeError, ValueError, LookupError):
            return UNREAD
        return Items.of(made, self.reader.doubt) if isinstance(made, (list, tuple)) else made

    def call_list(self, value=None):
        if value is None:
            return Items(born=self.reader.doubt)
        if isinstance(value, Choice):
            return choose([self.call_list(one) for one in value.options])
        if isinstance(value, Items):
            return Items(list(value.entries), value.open, self.reader.doubt)
        if isinstance(value, Table):
            return self.table_method("keys", value, Arguments())
        values, more = self.reader.iterate(value)
        return Items([(one, True) for one in values], more, self.reader.doubt)

    call_tuple = call_set = call_frozenset = call_sorted = call_reversed = call_deque = call_list

    def call_dict(self, value=None, /, **named):
        made = Table(born=self.reader.doubt)
        if isinstance(value, Items) and all(isinstance(one, Items) and len(one.entries) == 2 for one in value.values()):
            for one in value.values():
                self.reader.put(made, *one.values())
            made.open = value.open
        elif value is not None:
            self.reader.update(made, value)
        for key, one in named.items():
            self.reader.put(made, key, one)
        return made

    call_OrderedDict = call_MappingProxyType = call_dict

    def call_str(self, value=""):
        return choose([self.reader.text(one) for one in options(value)])

    def call_range(self, *bounds):
        fine = all(isinstance(one, int) for one in bounds) and 0 < len(bounds) < 4 and 0 not in bounds[2:]
        return Items.of(list(range(*bounds))[:MOST_TURNS], self.reader.doubt) if fine else UNREAD

    def call_len(self, value):
        return len(value.entries) if isinstance(value, Items) and value.known() else UNREAD

    def call_zip(self, *values):
        if not all(isinstance(one, Items) and one.known() for one in values):
            return UNREAD
        return Items.of([Items.of(row) for row in zip(*(one.values() for one in values))], self.reader.doubt)

    def call_enumerate(self, value):
        values, more = self.reader.iterate(value)
        return Items([(Items.of(pair), True) for pair in enumerate(values)], more, self.reader.doubt)

    def call_product(self, *values):
        parts = [self.reader.iterate(one) for one in values]
        rows = itertools.islice(itertools.product(*(part for part, _ in parts)), MOST_TURNS)
        return Items([(Items.of(row), True) for row in rows], any(more for _, more in parts), self.reader.doubt)

    def call_chain(self, *values):
        made = Items(born=self.reader.doubt)
        for one in values:
            self.reader.extend(made, one)
        return made

    def call_getattr(self, value, name, other=UNREAD):
        found = [
            self.reader.attribute(one, key) if isinstance(key, str) else UNREAD for one in options(value) for key in options(name)
        ]
        return choose([*found, *([other] if UNREAD in found and other is not UNREAD else [])])

    def call_isinstance(self, value, kinds):
        return self.call_issubclass(value.kind, kinds) if isinstance(value, Object) else UNREAD

    def call_issubclass(self, kind, kinds):
        wanted = kinds.values() if isinstance(kinds, Items) else [kinds]
        if not isinstance(kind, Class) or not all(isinstance(one, Class) for one in wanted):
            return UNREAD
        return any(one in kind.line() for one in wanted)

    def call_type(self, value):
        return value.kind if isinstance(value, Object) else UNREAD

    def call_cast(self, kind, value):
        return value

    def call_copy(self, value):
        return value

    call_deepcopy = call_copy

    def call_partial(self, function, /, *given, **named):
        return Partial(function, Arguments(list(given), named))


def compare(op, left, right):
    """Compares two values, if both are known; what is None may have become something else."""
    if isinstance(op, (ast.Is, ast.IsNot)) and right is None:
        unclear = any(one is UNREAD or one is None for one in options(left))
        return None if unclear else isinstance(op, ast.IsNot)
    if isinstance(op, (ast.In, ast.NotIn)):
        known = isinstance(right, Items) and right.known() and all(map(plain, right.values())) and plain(left)
        return (left in right.values()) == isinstance(op, ast.In) if known else None
    comparable = all(plain(one) or isinstance(one, (Kind, Member)) for one in (left, right))
    if not comparable or not isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return None
    return same(left, right) == isinstance(op, (ast.Eq, ast.Is))


def arithmetic(op, left, right):
    """Adds, multiplies and so on, with numbers and strings of a sane size."""
    if isinstance(right, Items) and isinstance(left, str) and right.known() and all(map(plain, right.values())):
        right = tuple(right.values())
    elif not plain(left) or not plain(right):
        return UNREAD
    if isinstance(op, ast.Mult) and str in (type(left), type(right)) or isinstance(op, ast.Mod) and "*" in str(left):
        return UNREAD
    try:
        if isinstance(op, ast.Pow):
            return float(left) ** float(right) if abs(right) < 64 else UNREAD
        return BINARY[type(op)](left, right) if type(op) in BINARY else UNREAD
    except (TypeError, ValueError, ArithmeticError):
        return UNREAD
