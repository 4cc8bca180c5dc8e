"""Pages of what people meet outside of contracts: commands, errors and exit codes."""

from __future__ import annotations

from typing import Any

import typer

from _reference.markdown import code, name, page, sentence, table
from lakepact import errors as family
from lakepact.cli import main as command_line

EXITS = (
    ("0", "all is well; rows may have gone to quarantine or raised a warning"),
    ("1", "the data broke a rule, a guardrail or the row balance"),
    ("2", "a contract, the project or the command's usage is wrong; nothing ran"),
    ("3", "Spark, Delta, the storage or this machine failed"),
    ("4", "kept for runs that wait for approval; not used in this version"),
    ("130", "stopped from the keyboard"),
)


def cli() -> str:
    group: Any = typer.main.get_command(command_line.app)
    words = sentence((command_line.__doc__ or "").partition(": ")[2])
    words = f"{words} Exit codes are in [errors](errors.md)."
    general = "`lakepact --version` prints the version, `lakepact COMMAND --help` explains a command."
    return page("Commands", words, general, *(_command(key, one) for key, one in group.commands.items()))


def _command(called: str, command: Any) -> str:
    given = [_argument(one) for one in command.params if one.param_type_name == "argument"]
    usage = " ".join(["lakepact", called, *given, "[OPTIONS]"])
    rows = [(_spelling(one), _default(one), one.help or "") for one in command.params]
    told = table(("argument or option", "default", "meaning"), rows)
    return f"## {name(called)}\n\n{command.help}\n\n{code(usage, 'text')}\n\n{told}"


def _argument(parameter: Any) -> str:
    text = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
    return text if parameter.required else f"[{text}]"


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return name(parameter.name.upper())
    value = "" if parameter.is_flag else f" {parameter.name.upper()}"
    return ", ".join(name(spelling + value) for spelling in parameter.opts)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "**needed**"
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    return "" if parameter.default in (None, False) else name(str(parameter.default))


def errors() -> str:
    words = (
        "Everything Lakepact raises on purpose is a `LakepactError`, with the code that the command line\n"
        "ends with in `exit_code`. A `ContractError` holds every problem in `.problems`, each with `file`,\n"
        "`line`, `field` and `message`. An error of a run carries its record in `.record`."
    )
    tree = "\n".join(_tree(family.LakepactError))
    rows = [(name(kind.__name__), str(kind.exit_code), sentence(kind.__doc__)) for kind in _kinds()]
    classes = table(("error", "exit code", "meaning"), rows)
    exits = table(("exit code", "meaning"), EXITS)
    return page("Errors", words, code(tree, "text"), classes, f"## Exit codes\n\n{exits}")


def _kinds() -> list[type[family.LakepactError]]:
    """The family in the order in which it is written down."""
    found = [kind for kind in vars(family).values() if isinstance(kind, type)]
    return [kind for kind in found if issubclass(kind, family.LakepactError)]


def _tree(kind: type[family.LakepactError], indent: str = "") -> list[str]:
    inner = [other for other in _kinds() if kind in other.__bases__]
    return [indent + kind.__name__, *(line for other in inner for line in _tree(other, indent + "    "))]
