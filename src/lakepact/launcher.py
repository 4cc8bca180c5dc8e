"""The launcher under the name that document 002 gives it."""

from lakepact.faces.environment import EnvironmentConfig
from lakepact.faces.launcher import Launcher

__all__ = ["EnvironmentConfig", "Launcher"]
