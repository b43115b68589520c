"""Fetches releases of servers as wheels with pip, and keeps the Python files of each."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass

from archive import python_files

CACHE = pathlib.Path(os.environ.get("CACHE", pathlib.Path(__file__).parents[2] / ".cache")) / "census"
# Wheels of Linux, whatever machine this is, and of any Python that a release may have been built for.
PYTHONS = ("3.12", "3.11", "3.10", "3.13")
PLATFORMS = [f"manylinux{name}_x86_64" for name in ("1", "2010", "2014", *(f"_2_{minor}" for minor in range(17, 43)))]
# A wheel is unpacked and never built or installed, so that no code of the release runs.
DOWNLOAD = ["download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
NO_PACKAGE = {
    "triton": "Triton is no Python package: compare the page of its image",
    "triton-openai": "Triton's OpenAI frontend is no package: it is in Triton's image, and its page is that of Triton's core",
    "nim": "NIM is no package: compare the page of its image",
}


class Missing(Exception):
    """A release that cannot be had."""


@dataclass(frozen=True)
class Server:
    kind: str  # As the exporter calls it.
    packages: tuple
    unseen: str = ""  # What shows families and is not Python.
    elsewhere: str = ""  # Where its wheels are.


SERVERS = {
    "vllm": Server("vllm", ("vllm",), "the frontend in Rust"),
    "sglang": Server("sglang", ("sglang",), "the router in Rust"),
    "trtllm-serve": Server(
        "trtllm-serve", ("tensorrt_llm",), elsewhere="its wheels are in an index of NVIDIA: set PIP_EXTRA_INDEX_URL, or FILE to a wheel"),
    "dynamo": Server("dynamo", ("ai-dynamo", "ai-dynamo-runtime"), "the frontend and the runtime in Rust, except for names"),
}
SERVERS["tensorrt_llm"], SERVERS["ai-dynamo"] = SERVERS["trtllm-serve"], SERVERS["dynamo"]


def server(name):
    if name not in SERVERS:
        raise Missing(NO_PACKAGE.get(name, f"there is no server {name}: SERVER is one of {', '.join(SERVERS)}"))
    return SERVERS[name]


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def before(package, version):
    """The release before one; empty if the index does not tell."""
    for line in pip("index", "versions", package).stdout.splitlines():
        name, _, listed = line.partition(":")
        versions = [one.strip() for one in listed.split(",")]
        if name == "Available versions" and version in versions[:-1]:
            return versions[versions.index(version) + 1]
    return ""


def fetch(package, version):
    """The path of an archive with the Python files of a release."""
    kept = CACHE / f"{package}-{version}.zip"
    if kept.exists():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        wheel = download(package, version, folder)
        partly = pathlib.Path(folder) / "kept"
        with zipfile.ZipFile(partly, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, text in python_files(wheel):
                archive.writestr(path, text)
        shutil.move(partly, kept)
    return kept


def download(package, version, folder):
    """Downloads a wheel, whose hash pip compares with the index."""
    platforms = [argument for platform in PLATFORMS for argument in ("--platform", platform)]
    for python in PYTHONS:
        done = pip(*DOWNLOAD, "--dest", folder, "--python-version", python, *platforms, f"{package}=={version}")
        wheels = list(pathlib.Path(folder).glob("*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
    raise Missing(f"{package} {version}: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
