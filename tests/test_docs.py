"""The documentation is true: its reference is current, its contracts hold, its commands do what it shows."""

from __future__ import annotations

import doctest
import gc
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakepact.cli.main import main
from lakepact.contract.document import parse_document
from lakepact.contract.load import Setting, inspect_contract
from lakepact.contract.model import Contract
from lakepact.contract.policy import PolicyPack
from lakepact.contract.problems import parse_part
from lakepact.contract.project import ProjectFile
from lakepact.plan.check import find_problems

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
GUIDES = sorted((DOCS / "guide").glob("*.md"))

# ------------------------------------------------------------------ the blocks of a page


@dataclass(frozen=True)
class Block:
    """Fenced text. Its info string may say more than the language:

    title="file"  the block is that file
    contract      it is a contract, although it does not begin with `table:`
    wrong         it is there to be wrong
    part          it belongs to another block and is checked there
    """

    page: Path
    line: int
    language: str
    info: str
    text: str

    @property
    def title(self) -> str:
        found = re.search(r'title="([^"]+)"', self.info)
        return found[1] if found else ""

    def says(self, word: str) -> bool:
        return word in self.info.split()

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


FENCE = re.compile(r"^```(\w*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@lru_cache
def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(page, text.count("\n", 0, found.start()) + 1, *found.groups()) for found in FENCE.finditer(text)]


@lru_cache
def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


# ------------------------------------------------------------------ the reference


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Any:
    """docs/reference.py as a module."""
    monkeypatch.syspath_prepend(str(DOCS))
    import reference as generator

    return generator


def test_the_reference_is_what_the_code_says(reference: Any) -> None:
    assert reference.stale(DOCS / "reference") == [], "run `make docs`"


def test_a_stale_a_missing_and_a_stray_page_are_found_and_mended(reference: Any, tmp_path: Path) -> None:
    reference.write(tmp_path)
    assert reference.stale(tmp_path) == []
    (tmp_path / "cli.md").write_text("old", encoding="utf-8")
    (tmp_path / "modes.md").unlink()
    (tmp_path / "stray.md").write_text("new", encoding="utf-8")
    assert reference.stale(tmp_path) == ["cli.md", "modes.md", "stray.md"]
    reference.write(tmp_path)
    assert reference.stale(tmp_path) == []


def test_every_rule_and_step_has_an_example(reference: Any) -> None:
    from lakepact.contract.model import Step
    from lakepact.plan.rules import RULES

    examples = sys.modules["_reference.examples"]
    assert examples.RULE_EXAMPLES.keys() == RULES.keys()
    assert examples.STEP_EXAMPLES.keys() == Step.model_fields.keys()


# ------------------------------------------------------------------ contracts

VALUES = {
    "env": "local",
    "env_short": "l",
    "path.landing": "landing",
    **{f"catalog.{layer}": layer for layer in ("bronze", "silver", "gold")},
}
# What a fragment stands in.
AROUND = {"table": "s.t", "source": {"path": "in/t.csv"}, "write": {"mode": "scd0_append"}}
YAML = [block for page in PAGES for block in blocks(page) if block.language in ("yaml", "json")]
CONTRACTS = [block for block in YAML if block.text.startswith("table:") or block.says("contract")]
OTHERS = [
    block
    for block in YAML
    if block not in CONTRACTS and block.page.parent.name in ("guide", "reference") and not block.says("part")
]


def problems_of(text: str, block: Block, folder: Path) -> list[str]:
    """What `validate` would say about this text, with the files of its page around it."""
    for other in blocks(block.page):
        if other.title:
            (folder / other.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / other.title).write_text(other.text, encoding="utf-8")
    file = folder / (block.title or f"contract.{block.language}")
    file.write_text(text, encoding="utf-8")
    loaded, found = inspect_contract(file, Setting(VALUES, policy_pack_dir=folder / "policy_packs"))
    found += find_problems(loaded.contract) if loaded else []
    return [str(problem) for problem in found]


@pytest.mark.parametrize("block", CONTRACTS, ids=str)
def test_a_contract_in_the_docs_holds_unless_it_is_there_to_be_wrong(block: Block, tmp_path: Path) -> None:
    problems = problems_of(block.text, block, tmp_path)
    assert bool(problems) == block.says("wrong"), problems


@pytest.mark.parametrize("block", OTHERS, ids=str)
def test_any_other_yaml_in_the_docs_is_part_of_something_known(block: Block, tmp_path: Path) -> None:
    document, lines = parse_document(block.text, f"{block}.{block.language}")
    if document.keys() <= Contract.model_fields.keys():
        text = yaml.safe_dump({**AROUND, **document})
        assert bool(problems_of(text, block, tmp_path)) == block.says("wrong")
        return
    kind = PolicyPack if document.keys() <= PolicyPack.model_fields.keys() else ProjectFile
    parse_part(kind, document, str(block), lines)


def test_there_are_contracts_and_wrong_ones_to_check() -> None:
    assert len(CONTRACTS) >= 10
    assert any(block.says("wrong") for block in CONTRACTS)


# ------------------------------------------------------------------ commands


@dataclass(frozen=True)
class Typed:
    """A command of a page, and the output shown below it."""

    command: str
    shown: str
    at: str


def typed(block: Block) -> Iterator[Typed]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield Typed(command, shown, f"{block} $ {command}")


class Player:
    """Types a page's commands in a folder. `lakepact` runs in this process, so that no second JVM starts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch, self.code = folder, monkeypatch, 0
        monkeypatch.chdir(folder)

    def play(self, page: Path) -> None:
        for block in blocks(page):
            if block.title:
                Path(block.title).parent.mkdir(parents=True, exist_ok=True)
                Path(block.title).write_text(block.text, encoding="utf-8")
            for step in typed(block) if block.language == "console" else ():
                self.expect(step, self.run(step.command))

    def run(self, command: str) -> str:
        word, _, rest = command.partition(" ")
        if word == "cd":
            self.monkeypatch.chdir(rest)
            return ""
        if word == "export":
            self.monkeypatch.setenv(*rest.split("=", 1))
            return ""
        if command == "echo $?":
            return f"{self.code}\n"
        if word == "python":
            return self.shell(f"{shlex.quote(sys.executable)} {rest}")
        return self.lakepact(shlex.split(rest)) if word == "lakepact" else self.shell(command)

    def lakepact(self, words: list[str]) -> str:
        """Both streams in one, as a terminal shows them."""
        self.monkeypatch.setattr(sys, "argv", ["lakepact", *words])
        screen = io.StringIO()
        with redirect_stdout(screen), redirect_stderr(screen), pytest.raises(SystemExit) as stop:
            main()
        gc.enable()
        self.code = stop.value.code if isinstance(stop.value.code, int) else 0
        return screen.getvalue()

    def shell(self, command: str) -> str:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        self.code = done.returncode
        return done.stdout + done.stderr

    def expect(self, step: Typed, printed: str) -> None:
        wanted, found = plain(step.shown), plain(printed.replace(str(self.folder), "…"))
        same = doctest.OutputChecker().check_output(wanted, found, doctest.ELLIPSIS)
        assert not wanted or same, f"{step.at}\n--- shown\n{wanted}\n--- printed\n{found}"


CHANGING = {
    r"[ \t]+": " ",
    r"\d{8}T\d{12}-[0-9a-f]{8}": "RUN",
    r"\b[0-9a-f]{64}\b": "HASH",
    r"\b\d+\.\d (s\b|RUN)": r"SECONDS \1",
    r"(?m) $": "",
}


def plain(output: str) -> str:
    """What is the same in each run."""
    for pattern, word in CHANGING.items():
        output = re.sub(pattern, word, output)
    return output.strip() + "\n" if output.strip() else ""


def test_times_and_run_ids_do_not_make_a_difference() -> None:
    line = "s.t  success  {}  {}\ns.t: success, {} s\n"
    one = line.format("1.8  ", "20260501T121354861670-609dfbb5", "1.8")
    assert plain(one) == plain(line.format("10.5", "20270102T030405000000-0a1b2c3d", "10.5"))
    assert plain(one) != plain(one.replace("success", "failed"))


def starts_spark(page: Path) -> bool:
    steps = [step for block in blocks(page) if block.language == "console" for step in typed(block)]
    return any(re.match(r"lakepact (run|demo)\b", step.command) for step in steps)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.spark] if starts_spark(page) else []) for page in GUIDES],
    ids=lambda page: page.stem,
)
def test_the_commands_of_a_guide_do_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if starts_spark(page):
        request.getfixturevalue("spark")
    Player(tmp_path, monkeypatch).play(page)


def test_what_is_shown_and_wrong_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ lakepact --version\nlakepact 0.0\n```\n", encoding="utf-8")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    with pytest.raises(AssertionError, match=r"lakepact 0\.0"):
        Player(tmp_path, monkeypatch).play(page)


PYTHON = [block for page in PAGES for block in blocks(page) if block.language == "python"]


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_in_the_docs_is_python_and_imports_what_is_there(block: Block) -> None:
    compile(block.text, str(block), "exec")
    imports = [line for line in block.text.splitlines() if line.startswith(("import ", "from "))]
    exec("\n".join(imports), {})  # noqa: S102 - our own documentation


# ------------------------------------------------------------------ links

LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    for link in LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(DOCS) for page in PAGES if page.parent in (DOCS / "guide", DOCS / "reference")]
    assert [str(page) for page in pages if f"({page})" not in index] == []
