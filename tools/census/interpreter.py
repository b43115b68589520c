"""Follows a Python program by its syntax tree. Nothing of the program is run.

Where a condition is not known both branches are followed, and what they change is then not sure. What a call site of a class
of prometheus_client was given is handed to `record`.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re

from archive import dotted
from library import MOST_TURNS, Library, arithmetic, compare
from values import (
    UNREAD, Arguments, Builtin, Choice, Class, External, Function, Import, Items, Kind, Member, Metric, Module, Object, Partial,
    Super, Table, choose, hashable, options, plain,
)

CLIENT = "prometheus_client"
TYPES = ("Counter", "Gauge", "Histogram", "Summary", "Info", "Enum")
# How many steps one function may take with all that it calls, how deep calls are followed, up to how many lines a function is
# followed that leads to no metric, how deep in such functions, and how many methods a call of an unknown object may reach.
MOST_STEPS, MOST_CALLS, MOST_LINES, MOST_ASIDE, MOST_STRANGERS = 1_000_000, 12, 40, 3, 12


class Exhausted(Exception):
    """The program is too long to be followed further."""


class Frame:
    """The names of a function, module or class body, and where it was defined."""

    def __init__(self, module, names, parent=None, owner=None, receiver=None):
        self.module, self.names, self.parent, self.owner, self.receiver = module, names, parent, owner, receiver
        self.returned, self.yielded, self.shared = [], [], set()


class Interpreter:
    def __init__(self, archive, record):
        self.archive, self.record, self.library = archive, record, Library(self)
        self.modules, self.relevant, self.by_name = {}, set(), {}
        self.doubt = self.steps = 0
        self.stack, self.defined, self.reached, self.watched = [], [], set(), {}
        self.lost = {}  # Why files could not be followed to their end.

    # Modules and names.

    def module(self, name):
        """The module of that name, after its top level was followed; None without one."""
        if name not in self.modules:
            self.modules[name] = found = self.archive.module(name)
            tree = self.archive.tree(found.path) if found else None
            if tree:
                kept = self.doubt, self.steps, self.stack
                self.attempt(found.path, lambda: self.run(tree.body, Frame(found, found.names)))
                self.doubt, self.steps, self.stack = kept
        return self.modules[name]

    def attempt(self, path, action):
        """Follows something from its beginning. Whatever it is, it must not end the program that reads it."""
        self.doubt, self.steps, self.stack = 0, 0, []
        try:
            action()
        except Exhausted:
            self.lost[path] = "it is too long to be followed to its end"
        except Exception as err:
            self.lost[path] = f"it could not be followed to its end: {type(err).__name__}: {err}"

    def imported(self, path, name=""):
        """The value of a name of a module, which may be another package's."""
        dotted = f"{path}.{name}" if name else path
        if path.split(".")[0] == CLIENT and name:
            return client_class(name) or External(dotted)
        if not self.archive.has(path) and not self.archive.has(dotted):
            return External(dotted)
        return Import(path, name)

    def resolve(self, value):
        """Follows an import to its value."""
        for _ in range(10):
            if not isinstance(value, Import):
                return value
            module = self.module(value.module)
            if module and not value.name:
                return module
            if module and value.name in module.names:
                value = module.names[value.name]
                continue
            module = self.module(f"{value.module}.{value.name}")
            return module or UNREAD
        return UNREAD

    def look_up(self, name, frame):
        while frame:
            if name in frame.names:
                return self.resolve(frame.names[name])
            frame = frame.parent
        return Builtin(name) if hasattr(builtins, name) else UNREAD

    # Statements. Each returns how the block ends: with return, raise, break or continue, or "" if it goes on.

    def run(self, statements, frame):
        for statement in statements:
            self.step()
            handler = getattr(self, "do_" + type(statement).__name__, None)
            end = handler(statement, frame) if handler else ""
            if end:
                return end
        return ""

    def step(self):
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Exhausted

    def do_Expr(self, node, frame):
        self.see(node.value, frame)

    def do_Assign(self, node, frame):
        value = self.see(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)

    def do_AnnAssign(self, node, frame):
        if node.value:
            self.assign(node.target, self.see(node.value, frame), frame)
        elif isinstance(node.target, ast.Name):
            frame.names.setdefault(" fields", []).append(node.target.id)

    def do_AugAssign(self, node, frame):
        old, new = self.see(loaded(node.target), frame), self.see(node.value, frame)
        if isinstance(node.op, ast.Add) and isinstance(old, Items):
            self.extend(old, new)
        elif isinstance(node.op, ast.BitOr) and isinstance(old, Table):
            self.update(old, new)
        else:
            self.assign(node.target, self.binary(node.op, old, new), frame)

    def do_Return(self, node, frame):
        frame.returned.append(self.see(node.value, frame) if node.value else None)
        return "return"

    def do_Raise(self, node, frame):
        if node.exc:
            self.see(node.exc, frame)
        return "raise"

    def do_Break(self, node, frame):
        return "break"

    def do_Continue(self, node, frame):
        return "continue"

    def do_Global(self, node, frame):
        frame.shared.update(node.names)

    def do_Nonlocal(self, node, frame):
        frame.shared.update(node.names)

    def do_Import(self, node, frame):
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.split(".")[0]
            frame.names[alias.asname or path] = self.imported(path)

    def do_ImportFrom(self, node, frame):
        path = node.module or ""
        if node.level:
            package = frame.module.package.split(".")
            path = ".".join([*package[:len(package) - node.level + 1], *([path] if path else [])])
        for alias in node.names:
            if alias.name == "*":
                self.import_all(path, frame)
            else:
                frame.names[alias.asname or alias.name] = self.imported(path, alias.name)

    def import_all(self, path, frame):
        module = self.module(path) if self.archive.has(path) else None
        if module:
            frame.names.update({name: value for name, value in module.names.items() if not name.startswith((" ", "_"))})

    def do_FunctionDef(self, node, frame):
        how = "function"
        for decorator in node.decorator_list:
            name = last_name(decorator)
            if name in ("classmethod", "staticmethod"):
                how = name
            elif name in ("property", "cached_property", "setter"):
                how = "property"
        if how == "function" and frame.owner and frame.names is frame.owner.names:
            how = "method"
        frame.names[node.name] = made = Function(node, frame, frame.owner, None, how)
        self.defined.append(made)

    do_AsyncFunctionDef = do_FunctionDef

    def do_ClassDef(self, node, frame):
        bases = [one for base in node.bases for one in options(self.see(base, frame))]
        made = Class(node, frame.module, [base for base in bases if isinstance(base, Class)], {})
        outside = [base.name.split(".")[-1] for base in bases if isinstance(base, (External, Builtin))]
        made.enum = any(name.endswith(("Enum", "Flag")) for name in outside) or any(base.enum for base in made.bases)
        made.texts = "str" in outside or "StrEnum" in outside or any(base.texts for base in made.bases)
        made.client = next((base if isinstance(base, Kind) else base.client for base in bases if is_client(base)), None)
        frame.names[node.name] = made
        self.run(node.body, Frame(frame.module, made.names, frame, made))

    def do_If(self, node, frame):
        truth = self.truth(node.test, frame)
        if truth is not None:
            return self.run(node.body if truth else node.orelse, frame)
        return self.fork([node.body, node.orelse], frame)

    def fork(self, branches, frame):
        """Follows each branch from here on; the names are then those of any that goes on."""
        before, after, ends = dict(frame.names), [], []
        self.doubt += 1
        for branch in branches:
            frame.names.clear()
            frame.names.update(before)
            ends.append(self.run(branch, frame))
            if not ends[-1]:
                after.append(dict(frame.names))
        self.doubt -= 1
        merged = merge(after) if after else before
        frame.names.clear()
        frame.names.update(merged)
        return "" if after else ends[0]

    def do_Match(self, node, frame):
        self.see(node.subject, frame)
        for case in node.cases:
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None)
                if isinstance(name, str):
                    frame.names[name] = UNREAD
        return self.fork([*(case.body for case in node.cases), []], frame) and ""

    def do_Try(self, node, frame):
        end = self.run(node.body, frame)
        for handler in node.handlers:
            if handler.name:
                frame.names[handler.name] = UNREAD
        end = end or self.run(node.orelse, frame)
        goes_on = [] if end else [[]]
        if node.handlers:
            end = self.fork([*goes_on, *(handler.body for handler in node.handlers)], frame)
        return self.run(node.finalbody, frame) or end

    do_TryStar = do_Try

    def do_With(self, node, frame):
        for item in node.items:
            value = self.see(item.context_expr, frame)
            if item.optional_vars:
                self.assign(item.optional_vars, value if isinstance(value, Object) else UNREAD, frame)
        return self.run(node.body, frame)

    do_AsyncWith = do_With

    def do_While(self, node, frame):
        self.truth(node.test, frame)
        self.fork([node.body, []], frame)
        return self.run(node.orelse, frame)

    def do_For(self, node, frame):
        values, more = self.iterate(self.see(node.iter, frame))
        for value in values:
            self.assign(node.target, value, frame)
            end = self.run(node.body, frame)
            if end in ("return", "raise"):
                return end
            if end == "break":
                return ""
        if more:
            self.assign(node.target, UNREAD, frame)
            self.fork([node.body, []], frame)
        return self.run(node.orelse, frame)

    do_AsyncFor = do_For

    def assign(self, target, value, frame):
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value, frame)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target.elts, value, frame)
        elif isinstance(target, ast.Attribute):
            for one in options(self.see(target.value, frame)):
                if isinstance(one, Object):
                    old = [one.names[target.attr]] if self.doubt > one.born and target.attr in one.names else []
                    one.names[target.attr] = choose([*old, value])
        elif isinstance(target, ast.Subscript):
            key = self.see(target.slice, frame)
            for one in options(self.see(target.value, frame)):
                if isinstance(one, Table):
                    self.put(one, key, value)

    def assign_name(self, name, value, frame):
        if name not in frame.shared:
            frame.names[name] = value
            return
        owner = frame.parent
        while owner and name not in owner.names:
            owner = owner.parent
        names = owner.names if owner else frame.module.names
        names[name] = choose([value, *([names[name]] if name in names else [])])

    def unpack(self, targets, value, frame):
        if isinstance(value, Items) and value.known() and len(value.entries) == len(targets):
            for target, one in zip(targets, value.values()):
                self.assign(target, one, frame)
            return
        for target in targets:
            self.assign(target.value if isinstance(target, ast.Starred) else target, UNREAD, frame)

    def put(self, table, key, value):
        """Sets an entry, which is not sure if the table is older than the doubt."""
        for one in options(key):
            if not hashable(one):
                table.open = True
                continue
            sure = self.doubt <= table.born and not isinstance(key, Choice)
            old = table.entries.get(one)
            if old and not sure:
                table.entries[one] = (choose([old[0], value]), old[1])
            else:
                table.entries[one] = (value, sure)

    def extend(self, items, more):
        values, open_end = self.iterate(more)
        pairs = more.entries if isinstance(more, Items) else [(value, True) for value in values]
        items.entries += [(value, sure and self.doubt <= items.born) for value, sure in pairs]
        items.open |= open_end

    def update(self, table, more):
        if isinstance(more, Choice):
            self.doubt += 1
            for one in more.options:
                self.update(table, one)
            self.doubt -= 1
            return
        if not isinstance(more, Table):
            table.open = True
            return
        table.open |= more.open
        for key, (value, sure) in more.entries.items():
            table.entries[key] = (value, sure and self.doubt <= table.born)

    def iterate(self, value):
        """The things that a loop over the value sees, and whether there may be others."""
        if isinstance(value, Items):
            return value.values()[:MOST_TURNS], value.open
        if isinstance(value, Table):
            return list(value.entries)[:MOST_TURNS], value.open
        if isinstance(value, Class) and value.enum:
            return self.members(value), False
        if isinstance(value, str):
            return list(value)[:MOST_TURNS], False
        if isinstance(value, Choice):
            parts = [self.iterate(one) for one in value.options if one is not None]
            return [one for values, _ in parts for one in values][:MOST_TURNS], any(more for _, more in parts)
        return [], True

    def members(self, enum):
        return [
            self.attribute(enum, name) for name, value in enum.names.items()
            if not name.startswith(("_", " ")) and not isinstance(value, Function)
        ]

    # Conditions: True, False, or None if it is not known. None and flags may change where this does not look.

    def truth(self, node, frame):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand, frame)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(value, frame) for value in node.values]
            decisive = isinstance(node.op, ast.Or)
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return compare(node.ops[0], self.see(node.left, frame), self.see(node.comparators[0], frame))
        value = self.see(node, frame)
        is_check = isinstance(node, ast.Call) and last_name(node.func) in ("isinstance", "issubclass")
        return value if is_check and isinstance(value, bool) else None

    # Expressions.

    def see(self, node, frame):
        self.step()
        handler = getattr(self, "see_" + type(node).__name__, None)
        return handler(node, frame) if handler else UNREAD

    def see_Constant(self, node, frame):
        return node.value if node.value is None or isinstance(node.value, (str, int, float, bool)) else UNREAD

    def see_Name(self, node, frame):
        return self.look_up(node.id, frame)

    def see_NamedExpr(self, node, frame):
        value = self.see(node.value, frame)
        self.assign(node.target, value, frame)
        return value

    def see_Await(self, node, frame):
        return self.see(node.value, frame)

    def see_Yield(self, node, frame):
        frame.yielded.append(self.see(node.value, frame) if node.value else None)
        return UNREAD

    def see_Starred(self, node, frame):
        return self.see(node.value, frame)

    def see_Lambda(self, node, frame):
        return Function(node, frame)

    def see_UnaryOp(self, node, frame):
        value = self.see(node.operand, frame)
        return -value if isinstance(node.op, ast.USub) and plain(value) and not isinstance(value, str) else UNREAD

    def see_IfExp(self, node, frame):
        truth = self.truth(node.test, frame)
        if truth is not None:
            return self.see(node.body if truth else node.orelse, frame)
        return choose([self.see(node.body, frame), self.see(node.orelse, frame)])

    def see_BoolOp(self, node, frame):
        values = [self.see(value, frame) for value in node.values]
        if isinstance(node.op, ast.And):
            return choose(values)
        kept = [one for value in values for one in options(value) if one is not None] or [None]
        first = kept[0]
        return first if isinstance(first, (Kind, Class, Function)) else choose(kept)

    def see_Compare(self, node, frame):
        for part in (node.left, *node.comparators):
            self.see(part, frame)
        return UNREAD

    def see_JoinedStr(self, node, frame):
        text = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                text = self.binary(ast.Add(), text, part.value)
                continue
            shown = self.see(part.value, frame)
            if part.format_spec:
                return UNREAD
            text = self.binary(ast.Add(), text, choose([self.text(one) for one in options(shown)]))
        return text

    def text(self, value):
        """What str() makes of it."""
        if isinstance(value, Member):
            own = value.owner.find("__str__")[1]
            return self.call(bound(own, value), Arguments()) if isinstance(own, Function) else UNREAD
        return str(value) if plain(value) else UNREAD

    def see_BinOp(self, node, frame):
        return self.binary(node.op, self.see(node.left, frame), self.see(node.right, frame))

    def binary(self, op, left, right):
        if isinstance(left, Choice) or isinstance(right, Choice):
            pairs = itertools.islice(itertools.product(options(left), options(right)), 256)
            return choose([self.binary(op, *pair) for pair in pairs])
        if isinstance(op, ast.Add) and isinstance(left, Items) and isinstance(right, (Items, Table, Class)):
            values, more = self.iterate(right)
            surely = right.entries if isinstance(right, Items) else [(value, True) for value in values]
            return Items([*left.entries, *surely], left.open or more, self.doubt)
        if isinstance(op, ast.Add) and Items in (type(left), type(right)):
            known = left if isinstance(left, Items) else right
            return Items(list(known.entries), True, self.doubt)
        if isinstance(op, ast.BitOr) and isinstance(left, Table):
            merged = Table(dict(left.entries), left.open, self.doubt)
            self.update(merged, right)
            return merged
        return arithmetic(op, left, right)

    def see_List(self, node, frame):
        made = Items(born=self.doubt)
        for part in node.elts:
            value = self.see(part, frame)
            if isinstance(part, ast.Starred):
                self.extend(made, value)
            else:
                made.entries.append((value, True))
        return made

    see_Tuple = see_Set = see_List

    def see_Dict(self, node, frame):
        made = Table(born=self.doubt)
        for key, part in zip(node.keys, node.values):
            value = self.see(part, frame)
            if key is None:
                self.update(made, value)
            else:
                self.put(made, self.see(key, frame), value)
        return made

    def see_ListComp(self, node, frame):
        made = Items(born=self.doubt)

        def add(inner, counts):
            value = self.see(node.elt, inner)
            if counts:
                made.entries.append((value, True))

        made.open = self.comprehend(node.generators, frame, add)
        return made

    see_SetComp = see_GeneratorExp = see_ListComp

    def see_DictComp(self, node, frame):
        made = Table(born=self.doubt)

        def add(inner, counts):
            key, value = self.see(node.key, inner), self.see(node.value, inner)
            if counts:
                self.put(made, key, value)

        made.open |= self.comprehend(node.generators, frame, add)
        return made

    def comprehend(self, generators, frame, add, counts=True):
        """Follows a comprehension and reports whether it may have more than what was added."""
        if not generators:
            add(frame, counts)
            return False
        first, rest = generators[0], generators[1:]
        inner = Frame(frame.module, {}, frame, frame.owner, frame.receiver)
        values, more = self.iterate(self.see(first.iter, frame))
        for value in values:
            self.assign(first.target, value, inner)
            if False not in [self.truth(test, inner) for test in first.ifs]:
                more |= self.comprehend(rest, inner, add, counts)
        if more:
            self.assign(first.target, UNREAD, inner)
            self.comprehend(rest, inner, add, False)
        return more

    def see_Subscript(self, node, frame):
        value, key = self.see(node.value, frame), self.see(node.slice, frame)
        return choose([self.item(one, chosen) for one in options(value) for chosen in options(key)])

    def item(self, value, key):
        if isinstance(value, Table) and hashable(key) and key in value.entries:
            return value.entries[key][0]
        if isinstance(value, Items) and isinstance(key, int) and value.known() and -len(value.entries) <= key < len(value.entries):
            return value.values()[key]
        # A table of implementations by class of the client, whose keys are what its entries stand in for.
        return key if value is UNREAD and isinstance(key, Kind) else UNREAD

    def see_Attribute(self, node, frame):
        value = self.see(node.value, frame)
        return choose([self.attribute(one, node.attr) for one in options(value)])

    def attribute(self, value, name):
        if isinstance(value, Module):
            if name in value.names:
                return self.resolve(value.names[name])
            return self.resolve(Import(value.name, name)) if self.archive.has(f"{value.name}.{name}") else UNREAD
        if isinstance(value, External):
            return self.imported(value.name, name)
        if isinstance(value, Class):
            return self.of_class(value, name)
        if isinstance(value, Super):
            for one in value.owner.line()[1:]:
                if isinstance(one.names.get(name), Function):
                    return bound(one.names[name], value.receiver)
            return value.owner.client if name == "__init__" and value.owner.client else UNREAD
        if isinstance(value, Object):
            return self.of_object(value, name)
        if isinstance(value, Member):
            known = {"value": value.value, "_value_": value.value, "name": value.name}
            return known[name] if name in known else self.of_class(value.owner, name)
        if isinstance(value, (str, Items, Table, Metric)):
            return Partial(Builtin("." + name), Arguments([value]))
        return Partial(Builtin("?" + name), Arguments()) if value is UNREAD and self.strangers(name) else UNREAD

    def of_class(self, value, name):
        owner, found = value.find(name)
        if isinstance(found, Function):
            return bound(found, value) if found.how == "classmethod" else found
        if owner and value.enum and not name.startswith("_"):
            return found if value.texts and isinstance(found, str) else Member(owner, name, found if hashable(found) else UNREAD)
        if name == "__name__":
            return value.node.name
        return self.resolve(found)

    def of_object(self, value, name):
        if name in value.names:
            return self.resolve(value.names[name])
        if name == "__class__":
            return value.kind
        found = value.kind.find(name)[1]
        if not isinstance(found, Function):
            return self.resolve(found)
        if found.how == "property":
            return self.call(bound(found, value), Arguments())
        return bound(found, value.kind if found.how == "classmethod" else value)

    # Calls.

    def see_Call(self, node, frame):
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return Super(frame.owner, frame.receiver) if frame.owner else UNREAD
        function = self.see(node.func, frame)
        arguments = Arguments()
        for part in node.args:
            value = self.see(part, frame)
            if isinstance(part, ast.Starred):
                known = isinstance(value, Items) and value.known()
                arguments.positional += value.values() if known else []
                arguments.open |= not known
            else:
                arguments.positional.append(value)
        for keyword in node.keywords:
            self.name_argument(arguments, keyword.arg, self.see(keyword.value, frame))
        if node in self.watched:
            self.watched[node] += options(function)
        chosen = options(function)
        self.doubt += len(chosen) > 1
        values = [self.call(one, arguments, node, frame) for one in chosen]
        self.doubt -= len(chosen) > 1
        return choose(values)

    def name_argument(self, arguments, name, value):
        if name:
            arguments.named[name] = value
        elif isinstance(value, Table):
            arguments.named.update({key: entry for key, (entry, _) in value.entries.items() if isinstance(key, str)})
            arguments.open |= value.open
        else:
            arguments.open = True

    def call(self, function, arguments, node=None, frame=None):
        if isinstance(function, Kind):
            return self.record(function, arguments, node, frame) if node else UNREAD
        if isinstance(function, Class) and function.client and not isinstance(function.find("__init__")[1], Function):
            return self.call(function.client, arguments, node, frame)
        if isinstance(function, Class):
            return self.build(function, arguments)
        if isinstance(function, Function):
            return self.enter(function, arguments)
        if isinstance(function, Partial):
            given = function.arguments
            joined = Arguments(
                [*given.positional, *arguments.positional], {**given.named, **arguments.named}, given.open or arguments.open)
            return self.call(function.function, joined, node, frame)
        if isinstance(function, (Builtin, External)):
            return self.built_in(function.name, arguments)
        return UNREAD

    def enter(self, function, arguments):
        """Follows the body of a function, unless it is long and leads to no metric."""
        node = function.node
        aside = sum(one not in self.relevant for one in self.stack)
        short = node.end_lineno - node.lineno <= MOST_LINES and aside < MOST_ASIDE
        if not (short or node in self.relevant) or len(self.stack) >= MOST_CALLS or self.stack.count(node) > 1:
            return UNREAD
        names = self.bind(function, arguments)
        frame = Frame(function.frame.module, names, closure(function), function.owner, function.receiver)
        self.stack.append(node)
        self.reached.add(node)
        try:
            if isinstance(node, ast.Lambda):
                return self.see(node.body, frame)
            self.run(node.body, frame)
        finally:
            self.stack.pop()
        if frame.yielded:
            return Items([(value, True) for value in frame.yielded], True, self.doubt)
        return choose(frame.returned) if frame.returned else None

    def bind(self, function, arguments):
        """The names that a call begins with."""
        spec = function.node.args
        parameters = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        names = self.defaults(function, spec, parameters)
        given = list(arguments.positional)
        if function.receiver is not None and function.how != "staticmethod":
            given.insert(0, function.receiver)
        names.update(zip(parameters, given))
        if spec.vararg:
            names[spec.vararg.arg] = Items([(value, True) for value in given[len(parameters):]], arguments.open, self.doubt)
        known = {*parameters, *(one.arg for one in spec.kwonlyargs)}
        names.update({name: value for name, value in arguments.named.items() if name in known})
        if spec.kwarg:
            rest = {name: (value, True) for name, value in arguments.named.items() if name not in known}
            names[spec.kwarg.arg] = Table(rest, arguments.open, self.doubt)
        if arguments.open:
            for name in known - set(arguments.named) - set(parameters[:len(given)]):
                names[name] = UNREAD
        return names

    def defaults(self, function, spec, parameters):
        names = dict.fromkeys([*parameters, *(one.arg for one in spec.kwonlyargs)], UNREAD)
        pairs = [
            *zip(parameters[len(parameters) - len(spec.defaults):], spec.defaults),
            *((one.arg, default) for one, default in zip(spec.kwonlyargs, spec.kw_defaults) if default),
        ]
        for name, default in pairs:
            names[name] = self.see(default, function.frame)
        return names

    def build(self, kind, arguments):
        """Makes an object as its class does, or as a dataclass."""
        if kind.enum:
            return UNREAD
        made = Object(kind, self.doubt)
        start = kind.find("__init__")[1]
        if isinstance(start, Function):
            self.enter(bound(start, made), arguments)
            return made
        fields = []
        for one in reversed(kind.line()):
            for node in one.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id not in fields:
                    fields.append(node.target.id)
        made.names.update(zip(fields, arguments.positional))
        made.names.update({name: value for name, value in arguments.named.items() if name in fields})
        return made

    def built_in(self, name, arguments):
        """What functions of Python itself return, as far as they matter for names and labels."""
        if name.startswith("."):
            rest = Arguments(arguments.positional[1:], arguments.named, arguments.open)
            return self.library.method(name[1:], arguments.positional[0], rest)
        if name.startswith("?"):
            return self.somebody(name[1:], arguments)
        return self.library.call(name, arguments)

    def strangers(self, name):
        """The methods that a call of an unknown object may reach, as far as they lead to a metric or speak of metrics."""
        if name not in self.by_name and "metric" in name.lower():
            self.by_name[name] = []
            files = self.archive.mentioning(re.compile(rf"\bdef {name}\b"), name)
            for path in files if len(files) <= MOST_STRANGERS else ():
                for one in self.module(dotted(path)).names.values():
                    found = one.names.get(name) if isinstance(one, Class) else None
                    if isinstance(found, Function):
                        self.by_name[name].append(found)
                        self.relevant.add(found.node)
        return self.by_name.get(name)

    def somebody(self, name, arguments):
        """Calls every method of that name that leads to a metric, as it is not known whose it is."""
        self.doubt += 1
        try:
            return choose([self.call(bound(one, self.stranger(one)), arguments) for one in self.by_name[name]] or [UNREAD])
        finally:
            self.doubt -= 1

    def stranger(self, function):
        if function.owner is None:
            return None
        return function.owner if function.how == "classmethod" else Object(function.owner, self.doubt)


def client_class(name):
    """The class of prometheus_client with that name."""
    if name in TYPES:
        return Kind(name.lower())
    if name.endswith("MetricFamily") and name.removesuffix("MetricFamily") in TYPES:
        return Kind(name.removesuffix("MetricFamily").lower(), True)
    return None


def is_client(base):
    return isinstance(base, Kind) or isinstance(base, Class) and base.client is not None


def bound(function, receiver):
    if not isinstance(function, Function):
        return function
    how = "method" if function.how == "property" else function.how
    return Function(function.node, function.frame, function.owner, None if how == "staticmethod" else receiver, how)


def closure(function):
    """Where names are looked up that a function does not have itself: not in the class that it belongs to."""
    frame = function.frame
    while frame and frame.owner and frame.names is frame.owner.names:
        frame = frame.parent
    return frame


def loaded(target):
    return ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)


def last_name(node):
    """The last word of a dotted name, or of what is called."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def merge(frames):
    names = {}
    for frame in frames:
        for name, value in frame.items():
            names[name] = value if name not in names else value if names[name] is value else join(names[name], value)
    return names


def join(one, other):
    return one if isinstance(one, list) else choose([one, other])
