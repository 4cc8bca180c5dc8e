"""Java: found, and new enough, or a line that says how to get it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from lakepact.errors import MachineError

OLDEST = 17
FIX = (
    "install a Java 17 or 21 runtime (Debian: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) or point JAVA_HOME at one"
)


def java_version() -> int:
    """The major version of the Java that Spark will use."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not Path(java).exists():
        raise MachineError(f"Java is missing: {FIX}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if not found:
        raise MachineError(f"{java} does not tell its version: {FIX}")
    return int(found[1])


def require_java() -> int:
    version = java_version()
    if version < OLDEST:
        raise MachineError(f"Java {version} is too old for Spark 4: {FIX}")
    return version
