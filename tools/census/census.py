"""Reads the metric families of a release of a Python server, and says what is new, gone or changed for the exporter.

It unpacks a wheel in memory and parses it: no code of the server runs. `make census` calls it.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys

import releases
from archive import Archive, dotted, python_files
from families import Census, Family
from report import Constant, Release, write
from values import Class

# Families of a package that servers use with its defaults (prometheus-fastapi-instrumentator 6 to 8, metrics.py).
INSTRUMENTATOR = re.compile(r"^\s*(from|import) prometheus_fastapi_instrumentator\b", re.MULTILINE)
INSTRUMENTED = (
    ("http_requests_total", "counter", ("handler", "method", "status"), "Requests by method, status and handler."),
    ("http_request_size_bytes", "summary", ("handler",), "Size of requests by handler."),
    ("http_response_size_bytes", "summary", ("handler",), "Size of answers by handler."),
    ("http_request_duration_highr_seconds", "histogram", (), "Latency of all requests."),
    ("http_request_duration_seconds", "histogram", ("handler", "method"), "Latency by handler."),
)
# Modules that list names whose families are made in another language, and the classes in them that list other things.
NAMES = re.compile(r"(^|/)prometheus_names\.py$")
NO_NAMES = {"labels", "name_prefix", "component_names"}


def read(files, title):
    """Reads the families in some archives."""
    archive = Archive()
    for file in files:
        for path, text in python_files(file):
            archive.add(path, text)
    census = Census(archive)
    found, gaps = census.take()
    for path in archive.mentioning(INSTRUMENTATOR)[:1]:
        line = archive.texts[path][:INSTRUMENTATOR.search(archive.texts[path]).end()].count("\n") + 1
        found += [Family(name, kind, path, line, labels, help=text) for name, kind, labels, text in INSTRUMENTED]
    return Release(title, found, gaps, constants(archive, census.reader))


def constants(archive, reader):
    """The names of families that are made in another language."""
    found = []
    for path in filter(NAMES.search, archive.texts):
        names = reader.module(dotted(path)).names
        prefixes = names.get("name_prefix")
        listed = [value for value in prefixes.names.values() if isinstance(value, str)] if isinstance(prefixes, Class) else []
        comments = comments_above(archive.texts[path])
        for group, value in names.items():
            if not isinstance(value, Class) or group in NO_NAMES:
                continue
            fitting = tuple(one for one in listed if one.endswith("frontend") == group.startswith("frontend"))
            found += [
                Constant(group, text, comments.get(name, ""), fitting) for name, text in value.names.items() if is_name(name, text)
            ]
    return found


def is_name(name, text):
    """Reports whether a constant may be the name of a family; labels, their values and environment variables are not."""
    return isinstance(text, str) and "_" in text and not name.startswith(("_", " ")) and not name.endswith(("_LABEL", "_ENV"))


def comments_above(text):
    """The comment above each assignment."""
    found, comment = {}, []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped.lstrip("# "))
            continue
        name = re.match(r"(\w+) = ", stripped)
        if name and comment:
            found.setdefault(name[1], " ".join(comment))
        comment = []
    return found


def release_of(server, version):
    """Fetches and reads a release; packages that lack it are left out if another has it."""
    files, problems = [], []
    for package in server.packages:
        try:
            files.append(releases.fetch(package, version))
        except releases.Missing as err:
            problems.append(str(err))
    if not files:
        raise releases.Missing("; ".join([*problems, *filter(None, [server.elsewhere])]))
    for problem in problems:
        print(f"census: left out: {problem}", file=sys.stderr)
    return read(files, f"{server.packages[0]} {version}")


def compared(options):
    """The release and the one that it is compared with, if there is one."""
    server = releases.server(options.server)
    if options.file:
        release = read(options.file.split(), " ".join(pathlib.Path(one).name for one in options.file.split()))
    else:
        release = release_of(server, options.version)
    against = options.against or (not options.file and releases.before(server.packages[0], options.version))
    try:
        old = release_of(server, against) if against and against != "none" else None
    except releases.Missing as err:
        print(f"census: nothing to compare with: {err}", file=sys.stderr)
        old = None
    return server, release, old


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help=", ".join(releases.SERVERS))
    parser.add_argument("--version", default="", help="the release")
    parser.add_argument("--against", default="", help="another release, by default the one before; none for none")
    parser.add_argument("--file", default="", help="wheels or source archives in place of a version, separated by spaces")
    parser.add_argument("--series", required=True, help="what the exporter reads, as go run ./tools/kinds series writes it")
    options = parser.parse_args()
    sys.setrecursionlimit(20_000)  # Other people's expressions are deep.
    if not options.version and not options.file:
        parser.error("set a version or a file")
    series = json.loads(pathlib.Path(options.series).read_text())
    try:
        server, release, old = compared(options)
    except (releases.Missing, OSError, ValueError) as err:
        print(f"census: {err}", file=sys.stderr)
        return 1
    text = write(server.kind, series, release, old, server.unseen)
    releases.CACHE.mkdir(parents=True, exist_ok=True)
    kept = releases.CACHE / f"{release.title.replace(' ', '-').replace('/', '-')}.md"
    kept.write_text(text)
    print(text)
    print(f"census: written to {kept}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
