"""Writes docs/reference/*.md from the code; with --check it only says which of them are stale."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from _reference import commands, compiled, evidence, models

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/reference.py from the code. Change the code, then run `make docs`. -->\n\n"

PAGES: dict[str, Callable[[], str]] = {
    "contract.md": models.contract,
    "project.md": models.project,
    "policy-pack.md": models.policy_pack,
    "rules.md": compiled.rules,
    "modes.md": compiled.modes,
    "steps.md": compiled.steps,
    "functions.md": compiled.functions,
    "cli.md": commands.cli,
    "errors.md": commands.errors,
    "evidence.md": evidence.evidence,
}


def main(arguments: list[str]) -> int:
    """0 where the files are current or were written, 1 where --check found stale ones."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python docs/reference.py [--check]\n")
        return 2
    found = stale(FOLDER)
    if arguments:
        sys.stderr.writelines(f"stale: docs/reference/{name}; run `make docs`\n" for name in found)
        return int(bool(found))
    write(FOLDER)
    sys.stderr.write(f"{len(PAGES)} pages, {len(found)} changed\n")
    return 0


def pages() -> dict[str, str]:
    """Each page's name and text."""
    return {name: NOTE + make() for name, make in PAGES.items()}


def stale(folder: Path) -> list[str]:
    """Pages that are not what the code says, and files that no page is made for."""
    made = pages()
    there = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.md")}
    return sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))


def write(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    made = pages()
    for file in folder.glob("*.md"):
        if file.name not in made:
            file.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
