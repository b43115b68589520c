"""What is found in small packages that construct families in the ways in which servers do."""

import io
import tarfile
import zipfile
from types import SimpleNamespace

import census
import pytest
import releases
from archive import Archive, python_files
from families import Census, Family, Gap
from report import Constant, Release, values_of, write


def found(files):
    archive = Archive()
    for path, text in files.items():
        archive.add(path, text)
    return Census(archive).take()


def shown(family):
    """A family in one line: optional labels in brackets, three dots if there may be others."""
    labels = "not read"
    if family.labels is not None:
        labels = ",".join([*family.labels, *(f"[{one}]" for one in family.optional), *(["..."] if family.open else [])])
    return f"{family.type} {family.name}{{{labels}}}"


CLIENT = "from prometheus_client import Counter, Gauge, Histogram, Info, Summary\n"

WAYS = {
    "positional arguments, and the suffixes that counters and infos get": ({"a.py": CLIENT + """
Counter("a:requests", "Requests.", ["model"])
Counter("a:tokens_total", "Tokens.")
Info("a:build", "The build.")
Summary("a:size", "Sizes.", labelnames=("kind",))
"""}, ["counter a:requests_total{model}", "counter a:tokens_total{}", "info a:build_info{...}", "summary a:size{kind}"]),
    "imports inside functions, by another name, or of the module": ({"a.py": """
import prometheus_client as pc

def one():
    from prometheus_client import Gauge as Real
    return Real("a:one", "One.")

def two():
    return pc.Gauge("a:two", "Two.")
"""}, ["gauge a:one{}", "gauge a:two{}"]),
    "class attributes, with labels from the object that makes it in another file": ({
        "a/parts.py": CLIENT + """
class Parts:
    _gauge_cls = Gauge

    def __init__(self, labelnames):
        self.used = self._gauge_cls(name="a:used", documentation="Used.", labelnames=labelnames + ["part"])
""", "a/whole.py": """
from a.parts import Parts

class Whole:
    _parts_cls = Parts

    def __init__(self, config):
        names = ["model_name", "engine"]
        self.parts = self._parts_cls(names)
"""}, ["gauge a:used{model_name,engine,part}"]),
    "a table of implementations, filled by a caller who does not know which class it calls": ({
        "a/base.py": CLIENT + """
class Base:
    def __init__(self, types, labelnames):
        self._counter_cls = types[Counter]

class Prom:
    def __init__(self, factory):
        self.made = factory.find().build_prom_metrics({Counter: Counter}, ["engine"])
""", "a/connector.py": """
from .base import Base

class Stats(Base):
    def __init__(self, types, labelnames):
        super().__init__(types, labelnames)
        self.failed = self._counter_cls(name="a:failed", documentation="Failed.", labelnames=labelnames)

class Connector:
    @classmethod
    def build_prom_metrics(cls, types, labelnames):
        return Stats(types, labelnames)
"""}, ["counter a:failed_total{engine}"]),
    "an implementation that others may replace": ({"a.py": """
class Replaced:
    _gauge_cls = None

class Collector(Replaced):
    def __init__(self):
        from prometheus_client import Gauge as Real
        Gauge = self._gauge_cls or Real
        self.load = Gauge(name="a:load", documentation="Load.")
"""}, ["gauge a:load{}"]),
    "names of constants, prefixes, enums and namespaces": ({
        "a/names.py": 'PREFIX = "a"\nclass Names:\n    USED = "used"\n',
        "a/b.py": CLIENT + """
from enum import Enum
from a import names
from a.names import PREFIX, Names as N

class Name(str, Enum):
    FREE = "free"

class Collector:
    def __init__(self):
        self.prefix = "a_"
        Gauge(f"{PREFIX}:{N.USED}", "Used.")
        Gauge(self.prefix + Name.FREE, "Free.")
        Gauge("%s:limit" % names.PREFIX, "Limit.")
        Gauge("open", "Open.", namespace="a", subsystem="io")
"""}, ["gauge a:limit{}", "gauge a:used{}", "gauge a_free{}", "gauge a_io_open{}"]),
    "functions and classes around the client's": ({"a/wrap.py": CLIENT + """
class Spread:
    def __init__(self, name, documentation, labelnames):
        self.gauge = Gauge(name=name, documentation=documentation, labelnames=list(labelnames) + ["gt"])
""", "a/b.py": CLIENT + """
from a.wrap import Spread

class Collector:
    def __init__(self):
        def made(name, doc):
            return Counter(name, doc, ["rank"])

        self.hits, self.misses = made("a:hits", "Hits."), made("a:misses", "Misses.")
        self.keys = Spread("a:keys", "Keys.", labelnames=["model"])
"""}, ["counter a:hits_total{rank}", "counter a:misses_total{rank}", "gauge a:keys{model,gt}"]),
    "labels that depend on the configuration": ({"a.py": CLIENT + """
class Collector:
    def __init__(self, labels, enable_lora: bool = False):
        self.queue = Gauge("a:queue", "Queue.", labels.keys())
        self.modes = Counter("a:modes", "Modes.", list(labels.keys()) + ["mode"])

    @classmethod
    def make(cls, config):
        labels = {"model_name": config.model}
        if config.rank is not None:
            labels["rank"] = config.rank
        return pick("scheduler", cls)(labels=labels)

def pick(role, default):
    if not configured():
        return default
    return registry().get(role, default)

class Other:
    def __init__(self, config):
        labels = dict(model_name=config.model)
        labels.update(config.extra)
        self.other = Gauge("a:other", "Other.", labels)
"""}, ["counter a:modes_total{model_name,mode,[rank]}", "gauge a:other{model_name,...}", "gauge a:queue{model_name,[rank]}"]),
    "a list of definitions, some of which an unknown class gives": ({"a.py": CLIENT + """
from dataclasses import dataclass

@dataclass
class Definition:
    documentation: str
    labelnames: tuple = ()

class CounterDefinition(Definition):
    pass

class GaugeDefinition(Definition):
    pass

class Tier:
    @classmethod
    def metric_definitions(cls):
        return {"a:tier": GaugeDefinition("Tier.", labelnames=("tier",))}

class Metrics:
    def __init__(self, config):
        self.labelnames = ["model"]
        for name, definition in {**config.tier.metric_definitions(), "a:bytes": CounterDefinition("Bytes.")}.items():
            self.create(name, definition)

    def create(self, name, definition):
        given = {"name": name, "documentation": definition.documentation}
        given["labelnames"] = self.labelnames + list(definition.labelnames)
        if isinstance(definition, CounterDefinition):
            cls = Counter
        else:
            cls = Gauge
        return cls(**given)
"""}, ["counter a:bytes_total{model}", "gauge a:tier{model,tier}"]),
    "a custom collector, and a class that extends the client's": ({"a.py": """
from prometheus_client import Gauge
from prometheus_client.core import CounterMetricFamily

class Mine(Gauge):
    pass

class Collector:
    def collect(self):
        yield CounterMetricFamily("a:seen", "Seen.", labels=["who"])

mine = Mine("a:mine", "Mine.", ["x"])
"""}, ["counter a:seen_total{who}", "gauge a:mine{x}"]),
    "arguments that are given before": ({"a.py": CLIENT + """
import functools

class Collector:
    def __init__(self):
        make = functools.partial(Gauge, labelnames=["model"])
        make("a:one", "One.")
        given = {"documentation": "Two."}
        make("a:two", **given)
"""}, ["gauge a:one{model}", "gauge a:two{model}"]),
    "what only looks like a family": ({"a.py": CLIENT + """
from collections import Counter as Count
from ray.util.metrics import Gauge as RayGauge

Count(["a", "b"])
RayGauge(name="a:ray", description="Ray.")
Gauge("a:real", "Real.")
""", "tests/test_a.py": CLIENT + 'Gauge("a:test", "Test.")\n'}, ["gauge a:real{}"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_families_are_found(way):
    files, wanted = WAYS[way]
    families, gaps = found(files)
    assert sorted(shown(one) for one in families) == wanted
    assert gaps == []


GAPS = {
    "a name that only a running server knows": (
        'def made(config):\n    return Gauge(config.prefix + ":load", "Load.")\n', 3, "its name could not be read"),
    "a caller that passes such a name, beside one that does not": (
        'def made(name):\n    return Gauge(name, "Load.")\n\ndef all(config):\n    made("a:one")\n    made(config.name)\n', 3,
        "its name could not be read"),
    "a class that only a running server knows": (
        'def made(config):\n    return config.gauge_cls(name="a:load", documentation="Load.")\n', 3, "its class could not be read"),
    "a file in a later Python": ("def made(:\n", 0, "this Python cannot parse it: invalid syntax (<unknown>, line 2)"),
}


@pytest.mark.parametrize("case", GAPS)
def test_what_cannot_be_read_is_said(case):
    text, line, why = GAPS[case]
    _, gaps = found({"a.py": CLIENT + text})
    assert [(one.path, one.line, one.why) for one in gaps] == [("a.py", line, why)]


def test_values_of_labels_are_listed_only_if_all_are_known():
    families, _ = found({"a.py": CLIENT + """
from enum import Enum

class Reason(Enum):
    STOP = 0
    LENGTH = 1

    def __str__(self):
        return ("stop", "length")[self.value]

class Collector:
    def __init__(self, model):
        self.ended = Counter("a:ended", "Ended.", ["model", "reason"])
        for reason in Reason:
            self.ended.labels(model, str(reason))
        self.modes = Counter("a:modes", "Modes.", ["mode"])

    def record(self, decode, prefill):
        for mode, count in [("decode", decode), ("prefill", prefill)]:
            self.modes.labels(mode=mode).inc(count)
"""})
    texts = {one.name: {label: all_values(one, label) for label in one.labels} for one in families}
    assert texts == {
        "a:ended_total": {"model": [], "reason": ["length", "stop"]},
        "a:modes_total": {"mode": ["decode", "prefill"]},
    }


def test_buckets_are_read():
    families, _ = found({"a.py": CLIENT + """
BOUNDS = (0.1, 1)

def doubling(start, times):
    return [start * 2 ** i for i in range(times)]

def until(most):
    bounds = []
    while True:
        bounds.append(len(bounds))

Histogram("a:constant", "C.", buckets=BOUNDS)
Histogram("a:made", "M.", buckets=doubling(1, 3))
Histogram("a:usual", "U.")
Histogram("a:unknown", "N.", buckets=until(9))
"""})
    assert {one.name: one.buckets for one in families} == {
        "a:constant": (0.1, 1), "a:made": (1, 2, 4), "a:usual": (), "a:unknown": None}


def test_what_cannot_be_followed_is_said_and_ends_nothing(monkeypatch):
    def fail(*_):
        raise TypeError("odd")

    monkeypatch.setattr("interpreter.Interpreter.see_Lambda", fail)
    texts = {"a.py": 'Gauge("a:one", "One.")\nx = lambda: 1\n', "b.py": 'Gauge("a:two", "Two.")\n'}
    families, gaps = found({path: CLIENT + text for path, text in texts.items()})
    assert [one.name for one in families] == ["a:one", "a:two"]
    assert [(one.path, one.why) for one in gaps] == [("a.py", "it could not be followed to its end: TypeError: odd")]


def all_values(family, label):
    return values_of([family], label)


class TestArchives:
    FILES = {"a/__init__.py": "x = 1\n", "a/_core.pyi": "y: int\n", "a/native.so": "\x7fELF"}

    def test_a_wheel_has_python_files(self, tmp_path):
        path = tmp_path / "a-1-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in self.FILES.items():
                archive.writestr(name, text)
        assert dict(python_files(path)) == {"a/__init__.py": "x = 1\n", "a/_core.pyi": "y: int\n"}

    def test_a_source_archive_has_a_folder_around_them(self, tmp_path):
        path = tmp_path / "a-1.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name, text in self.FILES.items():
                info = tarfile.TarInfo("a-1/" + name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
        assert dict(python_files(path)) == {"a/__init__.py": "x = 1\n", "a/_core.pyi": "y: int\n"}

    def test_a_huge_file_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr("archive.MOST_OF_FILE", 5)
        path = tmp_path / "a.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.py", "x = 1\n")
        with pytest.raises(ValueError, match="larger than a release"):
            list(python_files(path))


class TestReleases:
    @pytest.fixture
    def pip(self, monkeypatch, tmp_path):
        """A pip that has one wheel, for Python 3.10."""
        calls = []

        def run(*arguments):
            calls.append(arguments)
            if arguments[0] == "index":
                return SimpleNamespace(returncode=0, stdout="a (2.0)\nAvailable versions: 2.0, 1.1, 1.0\n", stderr="")
            if "a==2.0" not in arguments or "3.10" not in arguments:
                return SimpleNamespace(returncode=1, stdout="", stderr="Looking in links\nERROR: No matching distribution\n")
            folder = arguments[arguments.index("--dest") + 1]
            with zipfile.ZipFile(f"{folder}/a-2.0.whl", "w") as archive:
                archive.writestr("a.py", "x = 1\n")
                archive.writestr("setup.sh", "exit 1\n")
            return SimpleNamespace(returncode=0, stdout="", stderr="")

        monkeypatch.setattr(releases, "pip", run)
        monkeypatch.setattr(releases, "CACHE", tmp_path / "census")
        return calls

    def test_a_release_is_fetched_once_as_a_wheel(self, pip):
        path = releases.fetch("a", "2.0")
        assert dict(python_files(path)) == {"a.py": "x = 1\n"}
        asked = len(pip)
        assert releases.fetch("a", "2.0") == path
        assert len(pip) == asked, "it was kept"
        assert all({"--no-deps", "--only-binary", ":all:"} <= set(one) for one in pip), "nothing is built"

    def test_a_missing_release_is_named(self, pip):
        with pytest.raises(releases.Missing, match=r"a 3\.0: ERROR: No matching distribution"):
            releases.fetch("a", "3.0")

    @pytest.mark.parametrize(("version", "wanted"), [("2.0", "1.1"), ("1.0", ""), ("9", "")])
    def test_the_release_before(self, pip, version, wanted):
        assert releases.before("a", version) == wanted

    @pytest.mark.parametrize(("name", "words"), [("triton-openai", "is no package"), ("vlm", "SERVER is one of vllm")])
    def test_other_servers_are_explained(self, name, words):
        with pytest.raises(releases.Missing, match=words):
            releases.server(name)


SERIES = [
    {"kind": "a", "name": "a:queue", "type": "gauge", "signals": ["requests_waiting"], "rank": "rank"},
    {"kind": "a", "name": "a:tokens_total", "type": "counter", "signals": ["tokens"], "labels": ["mode"], "values": {"mode": ["decode"]}},
    {"kind": "a", "name": "a:size_sum", "type": "counter", "signals": ["bytes"]},
    {"kind": "a", "name": "a:old", "type": "gauge", "signals": ["old"]},
    {"kind": "b", "name": "b:other", "type": "gauge", "signals": ["other"]},
]


def usual(**changed):
    """The families of a release, with changes; None leaves one out."""
    families = {
        "a:queue": Family("a:queue", "gauge", "a.py", 1, ("model", "rank"), help="Queue."),
        "a:tokens_total": Family("a:tokens_total", "counter", "a.py", 2, ("mode",), values={"mode": {"decode", "prefill"}}),
        "a:size": Family("a:size", "histogram", "a.py", 3, (), buckets=()),
        **{f"a:{name}": family for name, family in changed.items()},
    }
    return [one for one in families.values() if one]


def report(new, old=None, gaps=()):
    text = write("a", SERIES, Release("a 2", new, list(gaps)), Release("a 1", old, []) if old is not None else None)
    parts = text.split("\n## ")
    return {part.split(":")[0].split("\n")[0]: part for part in parts[1:]}


CHANGES = {
    "a series that is gone": (usual(queue=None), "Gone", "* `a:queue` (requests_waiting)"),
    "a label that splits ranks": (
        usual(queue=Family("a:queue", "gauge", "a.py", 1, ("model",), help="Queue.")), "Changed", "**it has no label rank, the rank**"),
    "a type": (
        usual(queue=Family("a:queue", "counter", "a.py", 1, ("model", "rank"), help="Queue.")), "Changed",
        "**we read a gauge, it is a counter**"),
    "a value that is selected": (
        usual(tokens_total=Family("a:tokens_total", "counter", "a.py", 2, ("mode",), values={"mode": {"generate", "prefill"}})),
        "Changed", "**mode is never decode, only generate, prefill**"),
    "another value": (
        usual(tokens_total=Family("a:tokens_total", "counter", "a.py", 2, ("mode",), values={"mode": {"decode", "draft", "prefill"}})),
        "Changed", "values of mode: decode, prefill → decode, draft, prefill"),
    "a label that all get": (
        usual(queue=Family("a:queue", "gauge", "a.py", 1, ("model", "pool", "rank"), help="Queue.")), "Changed", "label pool is new"),
    "buckets": (
        usual(size=Family("a:size", "histogram", "a.py", 3, (), buckets=(1, 2, 5))), "Changed",
        "buckets: the client's own → 3 from 1 to 5"),
    "what it says of itself": (
        usual(queue=Family("a:queue", "gauge", "a.py", 1, ("model", "rank"), help="Queue with prefills.")), "Changed",
        "HELP: Queue. → Queue with prefills."),
    "a family that nobody reads": (
        usual(new=Family("a:new", "gauge", "a.py", 9, ("x",), ("y",), help="New.")), "New", "* `a:new` (gauge; labels: x, [y]): New. a.py:9"),
}


class TestReport:
    @pytest.mark.parametrize("case", CHANGES)
    def test_changes_are_in_their_section(self, case):
        families, section, wanted = CHANGES[case]
        parts = report(families, usual())
        assert wanted in parts[section]
        others = {"Gone", "Changed", "New"} - {section}
        assert all("Nothing." in parts[other] for other in others), parts

    def test_what_is_not_new_and_not_changed_is_counted(self):
        parts = report(usual(), usual())
        assert "Neither of the two has: `a:old`." in parts["Gone"]
        assert "3 of the 4 series that we read are unchanged; the release has 3 families." in parts["Not read"]

    def test_without_another_release_nothing_is_said_to_have_changed(self):
        parts = report(usual())
        assert "* `a:old` (old)" in parts["Absent"]
        assert not {"Gone", "Changed", "New"} & set(parts), "what is seen in one release did not happen since another"

    def test_places_that_could_not_be_read_are_listed(self):
        part = report(usual(odd=Family("a:odd", "gauge", "a.py", 7)), gaps=[Gap("a.py", 5, "Gauge(name)", "its name could not be read")])
        assert "* a.py:5: its name could not be read: `Gauge(name)`" in part["Not read"]
        assert "* a.py:7: `a:odd`: its labels could not be read" in part["Not read"]


def test_names_of_families_in_another_language_are_listed():
    archive = Archive()
    archive.add("d/prometheus_names.py", '''
class name_prefix:
    COMPONENT = "d_component"
    FRONTEND = "d_frontend"

class labels:
    MODEL = "model_name"

class frontend_service:
    # Requests that ended.
    REQUESTS_TOTAL = "requests_total"
    TYPE_LABEL = "error_type"
''')
    found = census.constants(archive, Census(archive).reader)
    assert found == [Constant("frontend_service", "requests_total", "Requests that ended.", ("d_frontend",))]
    assert found[0].fits("d_frontend_requests_total")
    assert not found[0].fits("d_component_requests_total")
