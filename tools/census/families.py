"""Finds the metric families that a release constructs with prometheus_client."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from archive import dotted
from interpreter import CLIENT, Interpreter, bound, client_class, last_name
from values import UNREAD, Arguments, Class, Function, Items, Metric, Object, choose, options

# Files in which families may be constructed, calls that may do so, and arguments that only such calls have.
FILES = re.compile(r"prometheus|_(counter|gauge|histogram|summary)_cls\b|\bdocumentation\s*=")
CALLS = re.compile(r"counter|gauge|histogram|summary|info|enum|metric", re.IGNORECASE)
TELLING = {"documentation", "labelnames"}
PARAMETERS = {
    False: ("name", "documentation", "labelnames", "namespace", "subsystem", "unit"),
    True: ("name", "documentation", "value", "labels"),
}
SUFFIXES = {"counter": "_total", "info": "_info"}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# How far up callers are followed for what they pass, and how many files may mention a name that is followed.
MOST_LEVELS, MOST_MENTIONS = 5, 30


@dataclass
class Family:
    """A family as it may be on the page. What could not be read is None."""

    name: str
    type: str | None
    path: str
    line: int
    labels: tuple | None = None
    optional: tuple = ()  # Labels that only some configurations have.
    open: bool = False  # It may have others, which are known when it runs.
    help: str = ""
    buckets: tuple | None = None  # Empty if they are the client's own.
    values: dict = field(default_factory=dict)  # Values by label, UNREAD among them if there may be others.


@dataclass
class Gap:
    """A place that constructs a family and could not be read."""

    path: str
    line: int
    text: str
    why: str


@dataclass
class Reading:
    """What one call of a place was given."""

    kind: object
    path: str
    node: ast.Call
    name: object
    help: object
    labels: object
    buckets: object
    root: object = None  # The function that was followed first, with unknown arguments.
    values: dict = field(default_factory=dict)

    def names(self):
        """The names that could be read."""
        return [one for one in options(self.name) if isinstance(one, str)]

    def named(self):
        """Reports whether all names that it may have could be read."""
        return len(self.names()) == len(options(self.name))

    def complete(self):
        labels = self.label_sets()
        return self.named() and labels is not None and not labels[2]

    def label_sets(self):
        """The labels that it always has, all that it may have, and whether there may be others; None if nothing is known."""
        known = [one for one in options(self.labels) if isinstance(one, Items)]
        if not known:
            return None
        texts = [[(value, sure) for value, sure in one.entries if isinstance(value, str)] for one in known]
        every = [value for value, sure in texts[0] if sure and all((value, True) in other for other in texts)]
        more = len(known) < len(options(self.labels)) or any(
            one.open or len(text) < len(one.entries) for one, text in zip(known, texts))
        return every, merged(*([value for value, _ in text] for text in texts)), more

    def series(self, method, arguments, reader):
        """Notes the values of labels; `labels` returns the family, every other method something that does not matter."""
        if method != "labels":
            return UNREAD
        names = self.labels.values() if isinstance(self.labels, Items) else []
        known = isinstance(self.labels, Items) and self.labels.known()
        given = {**(dict(zip(names, arguments.positional)) if known else {}), **arguments.named}
        for name in [*names, *given]:
            if isinstance(name, str):
                value = given.get(name, UNREAD)
                self.values.setdefault(name, []).extend(reader.text(one) for one in options(value))
        return Metric(self)


class Census:
    """The families of an archive."""

    def __init__(self, archive):
        self.archive = archive
        self.readings = {}  # By place: path, line and column.
        self.places = {}  # What may construct a family: path and call.
        self.roots = {}  # Paths and the scopes around what may construct a family, the innermost first.
        self.chains = {}  # Path and scopes of each function that was followed.
        self.matter = {}  # Whether a method sets labels.
        self.called = set()  # Functions whose callers were found.
        self.sought = set()  # Functions and classes whose callers were looked for.
        self.reader = Interpreter(archive, self.note)

    def take(self):
        """Reads the archive; returns families and gaps."""
        for path in self.archive.mentioning(FILES):
            tree = self.archive.tree(path)
            if tree:
                self.look(path, tree, (), client_names(tree))
        roots = list(self.roots)
        for _ in range(MOST_LEVELS):
            self.follow(roots)
            roots = self.callers([
                self.chains[reading.root] for readings in self.readings.values() for reading in readings
                if not reading.complete() and reading.root in self.chains
            ])
        return self.families(), self.gaps()

    def look(self, path, node, around, names):
        """Collects the calls below a node that may construct a family, and the scopes that mention what may."""
        for child in ast.iter_child_nodes(node):
            calls = isinstance(child, ast.Call) and (CALLS.search(last_name(child.func)) or last_name(child.func) in names)
            if calls:
                self.places[place(path, child)] = (path, child)
                self.reader.watched[child] = []
            if calls or isinstance(child, ast.Name) and child.id in names:
                self.roots[(path, around)] = True
                self.reader.relevant.update(around)
            self.look(path, child, (child, *around) if isinstance(child, SCOPES) else around, names)

    # Following what may construct families.

    def follow(self, roots):
        """Follows modules, and in them functions with unknown arguments, from the outermost scope."""
        done = set()
        for path, around in roots:
            module = self.reader.module(dotted(path))
            if module and around and around[-1] not in done:
                done.add(around[-1])
                self.start(path, module.names.get(around[-1].name), (around[-1],))

    def start(self, path, value, around):
        """Calls a function, or makes an object and calls its methods."""
        for one in options(value):
            if isinstance(one, Class) and one.node is around[0]:
                self.start_class(path, one, around)
            elif isinstance(one, Function) and one.node is around[0]:
                self.attempt(path, one, around)

    def start_class(self, path, kind, around):
        made = Object(kind, 0)
        start = kind.find("__init__")[1]
        if isinstance(start, Function):
            self.attempt(path, bound(start, made), (start.node, *around))
        for name, value in list(kind.names.items()):
            if isinstance(value, Function) and name != "__init__" and self.matters(value.node):
                self.attempt(path, bound(value, kind if value.how == "classmethod" else made), (value.node, *around))
            elif isinstance(value, Class) and value.node in self.reader.relevant:
                self.start_class(path, value, (value.node, *around))

    def matters(self, node):
        """Reports whether a method leads to a family, or sets labels of one."""
        if node not in self.matter:
            self.matter[node] = any(isinstance(child, ast.Attribute) and child.attr == "labels" for child in ast.walk(node))
        return self.matter[node] or node in self.reader.relevant

    def attempt(self, path, function, around):
        """Calls a function whose arguments are not known, and what it defines and does not call itself."""
        self.chains[function.node] = (path, around)
        self.reader.defined = []
        self.reader.attempt(path, lambda: self.call(function))

    def call(self, function):
        reader = self.reader
        reader.enter(function, self.unknown(function))
        for inner in reader.defined:
            if inner.node in reader.relevant and inner.node not in reader.reached:
                reader.enter(inner, self.unknown(inner))

    def unknown(self, function):
        """Arguments that are not known; where texts are the default, they have it."""
        spec = function.node.args
        parameters = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        names = {name: UNREAD for name in self.reader.defaults(function, spec, parameters)}
        for name, value in self.reader.defaults(function, spec, parameters).items():
            names[name] = value if isinstance(value, str) else UNREAD
        if function.receiver is not None and function.how != "staticmethod" and parameters:
            names.pop(parameters[0])
        return Arguments([], names)

    def note(self, kind, arguments, node, frame):
        """Notes what the constructor of a family was given."""
        given = {**dict(zip(PARAMETERS[kind.family], arguments.positional)), **arguments.named}
        missing = UNREAD if arguments.open else ""
        name = choose([one for one in options(given.get("name", UNREAD)) if one is not None])
        for part in ("subsystem", "namespace"):
            name = self.joined(given.get(part, ""), name)
        labels = given.get("labels" if kind.family else "labelnames", UNREAD if arguments.open else None)
        labels = Items(open=kind.type == "info") if labels is None else self.reader.library.call_list(labels)
        root = self.reader.stack[0] if self.reader.stack else None
        reading = Reading(
            kind, frame.module.path, node, name, given.get("documentation", missing), labels, given.get("buckets", missing), root)
        known = self.readings.setdefault(place(reading.path, node), [])
        for other in known:
            if other.root is root and other.name == name and other.label_sets() == reading.label_sets():
                return Metric(other)
        known.append(reading)
        return Metric(reading)

    def joined(self, before, name):
        """The name behind a namespace, which may be empty."""
        return choose([
            one if first in ("", None) else f"{first}_{one}" if isinstance(first, str) and isinstance(one, str) else UNREAD
            for first in options(before) for one in options(name)
        ])

    # Callers, for what they pass.

    def callers(self, chains):
        """The functions that mention the functions, or the classes, around some places."""
        found = []
        for path, around in chains:
            scope = named_scope(around)
            if scope is None or scope in self.sought:
                continue
            self.sought.add(scope)
            self.let_strangers_call(path, around, scope)
            above = self.mentions(scope)
            if above:
                self.called.update(around)
            found += above
        return found

    def let_strangers_call(self, path, around, scope):
        """Lets a call of a method reach it although the object is not known."""
        module = self.reader.module(dotted(path))
        names = module.names if module else {}
        for node in reversed(around):
            value = names.get(node.name)
            if isinstance(value, Class):
                names = value.names
            elif isinstance(value, Function) and value.node is scope and value.owner:
                self.reader.by_name.setdefault(scope.name, []).append(value)

    def mentions(self, scope):
        files = self.archive.mentioning(re.compile(rf"\b{re.escape(scope.name)}\b"), scope.name)
        found = []
        for path in files if len(files) <= MOST_MENTIONS else ():
            tree = self.archive.tree(path)
            found += [(path, around) for around in uses(tree, scope)] if tree else []
        for _, around in found:
            self.reader.relevant.update(around)
        return found

    # What came out.

    def families(self):
        groups = {}
        for readings in self.readings.values():
            for reading in readings:
                for name in reading.names():
                    key = (exposed(name, reading.kind.type), reading.kind.type, reading.path, reading.node.lineno)
                    groups.setdefault(key, []).append(reading)
        return [family(key, groups[key]) for key in sorted(groups)]

    def gaps(self):
        found = []
        for key, (path, node) in self.places.items():
            why = self.gap(key, node)
            if why:
                found.append(Gap(path, node.lineno, ast.unparse(node)[:160], why))
        found += [Gap(path, 0, "", f"this Python cannot parse it: {why}") for path, why in self.archive.broken.items()]
        found += [Gap(path, 0, "", why) for path, why in self.reader.lost.items()]
        return sorted(found, key=lambda gap: (gap.path, gap.line))

    def gap(self, key, node):
        """Why a place could not be read; empty if it could, or constructs no family."""
        readings = self.readings.get(key, [])
        named = [reading for reading in readings if reading.named()]
        if any(not named or reading.root not in self.called for reading in readings if not reading.named()):
            return "its name could not be read"
        if readings:
            return ""
        seen = self.reader.watched[node]
        if not TELLING & {keyword.arg for keyword in node.keywords} or any(value is not UNREAD for value in seen):
            return ""
        return "its class could not be read" if seen else "it was not reached"


def family(key, readings):
    """Makes a family of what its place was given, by those that know most of its labels."""
    complete = [reading for reading in readings if reading.complete()]
    sets = [labels for labels in (reading.label_sets() for reading in complete or readings) if labels]
    if not complete and sets:
        sets = [max(sets, key=lambda labels: len(labels[1]))]
    made = Family(*key, help=next((reading.help for reading in readings if reading.help and isinstance(reading.help, str)), ""))
    if sets:
        every = [label for label in sets[0][0] if all(label in other[0] for other in sets)]
        made.labels, made.open = tuple(every), any(labels[2] for labels in sets)
        made.optional = tuple(label for label in merged(*(labels[1] for labels in sets)) if label not in every)
    made.buckets = next((bounds for reading in readings if (bounds := bounds_of(reading.buckets)) is not None), None)
    for reading in readings:
        for label, values in reading.values.items():
            made.values.setdefault(label, set()).update(values)
    return made


def bounds_of(buckets):
    """The bounds of buckets, empty for those of the client; None if they are not known."""
    if buckets == "":
        return ()
    known = isinstance(buckets, Items) and buckets.known() and all(isinstance(one, (int, float)) for one in buckets.values())
    return tuple(buckets.values()) if known else None


def client_names(tree):
    """What a file calls the classes of the client."""
    return {
        alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        and (node.module or "").split(".")[0] == CLIENT for alias in node.names if client_class(alias.name)
    }


def named_scope(around):
    """The function or class under whose name the callers of a place know it."""
    functions = [node for node in around if not isinstance(node, ast.ClassDef)]
    if not functions:
        return None
    outermost = functions[-1]
    if not outermost.name.startswith("__"):
        return outermost
    return next((node for node in around[around.index(outermost):] if isinstance(node, ast.ClassDef)), outermost)


def uses(tree, scope):
    """The scopes around each use of a function or class, also by another name for it: an import's or a class attribute's."""
    names = {scope.name}
    for node in ast.walk(tree):
        if isinstance(node, ast.alias) and node.name == scope.name and node.asname:
            names.add(node.asname)
        elif isinstance(node, ast.ClassDef) and node is not scope:
            for statement in node.body:
                value = getattr(statement, "value", None)
                if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.Name) and value.id in names:
                    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                    names.update(target.id for target in targets if isinstance(target, ast.Name))
    found = []
    collect(tree, names, scope, (), found)
    return list(dict.fromkeys(found))


def collect(node, names, scope, around, found):
    for child in ast.iter_child_nodes(node):
        if child is scope:
            if isinstance(scope, ast.ClassDef):  # Its class methods make it by another name.
                collect(child, {"cls"}, None, (child, *around), found)
            continue
        if around and not isinstance(around[0], ast.ClassDef) and (
            isinstance(child, ast.Name) and child.id in names or isinstance(child, ast.Attribute) and child.attr in names
        ):
            found.append(around)
        collect(child, names, scope, (child, *around) if isinstance(child, SCOPES) else around, found)


def place(path, node):
    return path, node.lineno, node.col_offset


def merged(*lists):
    return list(dict.fromkeys(value for one in lists for value in one))


def exposed(name, type_):
    """The name on the page, where counters and infos have a suffix."""
    suffix = SUFFIXES.get(type_, "")
    return name if name.endswith(suffix) else name + suffix
