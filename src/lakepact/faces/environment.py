"""EnvironmentConfig: what an environment calls its catalogs and paths, asked by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakepact.contract.project import Project
from lakepact.errors import Problem, ProjectError
from lakepact.plugins import hint


@dataclass(frozen=True)
class EnvironmentConfig:
    """A project in one of its environments; what it does not know is an error that names what it knows."""

    project: Project

    @property
    def name(self) -> str:
        """The environment's key in the configuration."""
        return self.project.environment_name

    @property
    def env(self) -> str:
        return self.project.values()["env"]

    @property
    def env_short(self) -> str:
        return self.project.values()["env_short"]

    @property
    def tags(self) -> Mapping[str, str]:
        return self.project.environment.tags

    @property
    def is_databricks(self) -> bool:
        return self.project.environment.spark.ambient

    def has_catalog(self, name: str) -> bool:
        return name in self.project.environment.catalogs

    def get_catalog(self, name: str) -> str:
        return self._known(self.project.environment.catalogs, name, "catalog")

    def has_path(self, name: str) -> bool:
        return name in self.project.environment.paths

    def get_path(self, name: str) -> str:
        """A relative path starts at the project's folder."""
        return self.project.place(self._known(self.project.environment.paths, name, "path"))

    def _known(self, names: Mapping[str, str], name: str, kind: str) -> str:
        if name not in names:
            place = f"environments.{self.name}.{kind}s"
            raise ProjectError([Problem(f"no {kind} {name!r}{hint(name, names)}", place, str(self.project.root))])
        return names[name]

    def __str__(self) -> str:
        return "\n".join(f"{{{key}}} = {value}" for key, value in self.project.values().items())


def project_of(env: EnvironmentConfig | Project) -> Project:
    return env if isinstance(env, Project) else env.project
