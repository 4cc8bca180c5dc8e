"""`{{ secret:scope/key }}`: carried as written, resolved only when a source is read, never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from lakepact import plugins
from lakepact.errors import ProjectError

Provider = Callable[[str, str], "str | None"]

SECRET = re.compile(r"\{\{\s*secret:([\w.\-]+)/([\w.\-]+)\s*\}\}")
SHORTEST_TO_HIDE = 4


def from_environment(scope: str, key: str) -> str | None:
    """`crm/jdbc-url` is looked up as LAKEPACT_SECRET_CRM_JDBC_URL."""
    return os.environ.get(variable(scope, key))


def variable(scope: str, key: str) -> str:
    return re.sub(r"\W", "_", f"LAKEPACT_SECRET_{scope}_{key}").upper()


def from_files(folder: Path) -> Provider:
    """`crm/jdbc_url` is the text of the file `<folder>/crm/jdbc_url`."""

    def read(scope: str, key: str) -> str | None:
        file = (folder / scope / key).resolve()
        inside = folder.resolve() in file.parents
        return file.read_text(encoding="utf-8").strip() if inside and file.is_file() else None

    return read


def provider_for(name: str, folder: Path | None) -> Provider:
    """`auto` asks the environment, then the folder; any other name is an entry point."""
    if name == "env":
        return from_environment
    if name == "files":
        return from_files(_needed(folder))
    if name != "auto":
        return plugins.find("secrets", name, {})
    files = from_files(folder) if folder else None
    return lambda scope, key: from_environment(scope, key) or (files(scope, key) if files else None)


def resolve(text: str, provider: Provider, seen: list[str]) -> str:
    """Put the values in; each one used is noted in `seen`, so that it can be taken out of messages."""

    def value(found: re.Match[str]) -> str:
        scope, key = found.groups()
        secret = provider(scope, key)
        if secret is None:
            raise ProjectError(
                f"secret {scope}/{key} is not set; export {variable(scope, key)}, or add it to the secrets"
            )
        seen.append(secret)
        return secret

    return SECRET.sub(value, text)


def hide(text: str, seen: Iterable[str]) -> str:
    """
    >>> hide("password=hunter22 rejected", ["hunter22"])
    'password=*** rejected'
    """
    for secret in sorted(set(seen), key=len, reverse=True):
        if len(secret) >= SHORTEST_TO_HIDE:
            text = text.replace(secret, "***")
    return text


def _needed(folder: Path | None) -> Path:
    if folder is None:
        raise ProjectError("secrets.provider is 'files', but secrets.folder is not given")
    return folder
