"""Launcher: a configuration file becomes an environment and a session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lakepact.contract.document import read_document
from lakepact.contract.project import open_project_file, project_file
from lakepact.errors import ProjectError
from lakepact.faces.environment import EnvironmentConfig
from lakepact.faces.home import around, remember, session_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VARIABLE = "PATH_CONFIG_LAUNCHER"


class Launcher:
    """`spark`, `env` and `config` of a configuration file.

    The one made last is current: contracts that are loaded without a word about their environment are its.
    """

    def __init__(
        self,
        config_file: str | Path | None = None,
        *,
        environment: str | None = None,
        spark: SparkSession | None = None,
    ) -> None:
        file = _file(config_file)
        self.project = open_project_file(file, environment)
        self.env = EnvironmentConfig(self.project)
        self.config: Mapping[str, Any] = MappingProxyType(read_document(file)[0])
        self._spark = spark
        remember(self.project)

    @property
    def spark(self) -> SparkSession:
        """Started when it is first asked for; it stays until the program ends."""
        self._spark = session_for(self.project, self._spark)
        return self._spark


def _file(given: str | Path | None) -> Path:
    """The file given, the one the variable names, or that of the project around here."""
    named = given or os.environ.get(VARIABLE)
    if named:
        return Path(named)
    found = project_file(around(Path.cwd()))
    if found is None:
        raise ProjectError(f"no configuration here; give Launcher the path of a config.json, or set {VARIABLE}")
    return found
