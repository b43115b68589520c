"""The Python files of a release, read from its archive into memory and parsed when somebody asks for them."""

from __future__ import annotations

import ast
import re
import tarfile
import warnings
import zipfile

from values import Module

# No release comes near these; an archive that is made to hurt would.
MOST_FILES, MOST_OF_FILE, MOST_OF_ALL = 100_000, 16 << 20, 1 << 30
NO_PART = re.compile(r"(^|/)(tests?|testing|benchmarks?|examples?)/|(^|/)(test_[^/]*|conftest)\.py$")


class Archive:
    """Python files by path, from any number of archives."""

    def __init__(self):
        self.texts, self.trees, self.broken, self.paths, self.packages = {}, {}, {}, {}, set()

    def add(self, path, text):
        self.texts[path] = text
        name = dotted(path)
        self.paths[name] = path
        while name:
            self.packages.add(name)
            name = name.rpartition(".")[0]

    def has(self, name):
        return name in self.packages

    def module(self, name):
        path = self.paths.get(name)
        if path is None:
            return None
        is_package = path.endswith(("/__init__.py", "/__init__.pyi"))
        return Module(name, path, name if is_package else name.rpartition(".")[0])

    def tree(self, path):
        """The syntax tree of a file, None if this Python cannot read it."""
        if path not in self.trees:
            self.trees[path] = None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.trees[path] = ast.parse(self.texts[path])
            except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
                self.broken[path] = str(err)
        return self.trees[path]

    def mentioning(self, pattern, word=""):
        """The paths of files, without tests, in whose text the pattern occurs, and the word as a part of it."""
        return [
            path for path, text in self.texts.items()
            if word in text and pattern.search(text) and not NO_PART.search(path)
        ]


def dotted(path):
    """The name of the module in a file."""
    name = re.sub(r"(/__init__)?\.pyi?$", "", path)
    name = re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", name)
    return name.replace("/", ".")


def python_files(file):
    """Yields paths and contents of the Python files in a wheel, zip or tar archive, without writing any of them."""
    count = total = 0
    for path, size, read in entries(file):
        count += 1
        total += size
        if count > MOST_FILES or size > MOST_OF_FILE or total > MOST_OF_ALL:
            raise ValueError(f"{path}: the archive is larger than a release may be")
        yield path, read().decode("utf-8", "replace")


def entries(file):
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if info.filename.endswith((".py", ".pyi")):
                    yield info.filename, info.file_size, lambda: archive.read(info)
        return
    with tarfile.open(file) as archive:
        for info in archive:
            if info.isfile() and info.name.endswith((".py", ".pyi")):
                # The first folder of a source archive is named after the release.
                yield info.name.partition("/")[2], info.size, lambda: archive.extractfile(info).read()
