"""`lakepact`: the commands. Data goes to standard output, everything else to standard error."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakepact.errors import ContractError, LakepactError

if TYPE_CHECKING:
    from lakepact.api import Options

app = typer.Typer(
    name="lakepact",
    help="One contract per table, one command per lakehouse.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ProjectDir = Annotated[Path, typer.Option("--project", "-p", help="The project folder.", show_default="here")]
Env = Annotated[str | None, typer.Option("--env", "-e", help="An environment of lakepact.yaml.")]
Json = Annotated[bool, typer.Option("--json", help="Data for machines on standard output.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Override a contract's value: a.b=c. Repeatable.")]
Pack = Annotated[str | None, typer.Option("--policy-pack", help="Apply a policy pack to every contract.")]
PackDir = Annotated[str | None, typer.Option("--policy-pack-dir", help="Where policy packs are.")]
Tables = Annotated[list[str] | None, typer.Argument(help="Tables to take; default: all.", show_default=False)]
HERE = Path()


@app.callback(invoke_without_command=True)
def about(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """One contract per table, one command per lakehouse."""
    if version:
        from lakepact import __version__

        typer.echo(f"lakepact {__version__}")
        raise typer.Exit


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")] = HERE,
    json: Json = False,
) -> None:
    """Start a project: a lakepact.yaml, one contract, and a few rows to try it on."""
    from lakepact.cli.start import init as make

    make(folder, json)


@app.command()
def validate(
    files: Annotated[list[Path] | None, typer.Argument(help="Contract files; default: the project's.")] = None,
    project: ProjectDir = HERE,
    env: Env = None,
    set: Sets = None,
    policy_pack: Pack = None,
    policy_pack_dir: PackDir = None,
    json: Json = False,
) -> None:
    """Find everything that is wrong with contracts. Starts no JVM."""
    from lakepact.cli.look import validate as check

    raise typer.Exit(check(files or [], project, env, _options(set, policy_pack, policy_pack_dir), json))


@app.command()
def plan(
    tables: Tables = None,
    project: ProjectDir = HERE,
    env: Env = None,
    offline: Annotated[bool, typer.Option("--offline", help="Look at no table.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Leave out the SQL.")] = False,
    set: Sets = None,
    policy_pack: Pack = None,
    policy_pack_dir: PackDir = None,
    json: Json = False,
) -> None:
    """Show what a run would do, with the SQL. Touches nothing, starts no JVM."""
    from lakepact.cli.look import plan as show

    show(tables or [], project, env, offline, summary, _options(set, policy_pack, policy_pack_dir), json)


@app.command()
def run(
    tables: Tables = None,
    project: ProjectDir = HERE,
    env: Env = None,
    set: Sets = None,
    policy_pack: Pack = None,
    policy_pack_dir: PackDir = None,
    json: Json = False,
    stream: Annotated[bool, typer.Option("--stream", help="As streams, until stopped with Ctrl-C.")] = False,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="As streams, until nothing is left to read.")
    ] = False,
    every: Annotated[str, typer.Option(help="With --stream: how often to look for more.")] = "10 seconds",
) -> None:
    """Run contracts in the order in which they read each other."""
    from lakepact.cli.work import Streaming
    from lakepact.cli.work import run as work

    streaming = Streaming(every) if stream else Streaming() if available_now else None
    options = _options(set, policy_pack, policy_pack_dir)
    raise typer.Exit(work(tables or [], project, env, options, json, streaming))


@app.command()
def optimize(
    tables: Tables = None,
    project: ProjectDir = HERE,
    env: Env = None,
    json: Json = False,
) -> None:
    """Compact the small files of tables and their quarantines, sorted as their contracts say."""
    from lakepact.cli.maintain import optimize as compact

    raise typer.Exit(compact(tables or [], project, env, json))


@app.command()
def vacuum(
    tables: Tables = None,
    project: ProjectDir = HERE,
    env: Env = None,
    retain: Annotated[
        str | None,
        typer.Option(
            "--retain",
            help="Keep files that a version younger than this needs: 168h, 7d, 2w.",
            show_default="7d, or what the table asks for",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the files that would go.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also below the retention that is safe.")] = False,
    json: Json = False,
) -> None:
    """Remove files that tables and their quarantines have not needed for a while."""
    from lakepact.cli.maintain import vacuum as remove

    raise typer.Exit(remove(tables or [], project, env, retain, dry_run, force, json))


@app.command()
def show(
    table: Annotated[str, typer.Argument(help="For example silver.orders, or silver.orders_quarantine.")],
    project: ProjectDir = HERE,
    env: Env = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=0, help="At most so many rows.")] = None,
    json: Json = False,
) -> None:
    """Print a table's rows, masked as its contract says. Starts no JVM."""
    from lakepact.cli.look import show as print_rows

    print_rows(table, project, env, limit, json)


@app.command()
def runs(
    table: Annotated[str | None, typer.Argument(help="Only this table's runs.")] = None,
    project: ProjectDir = HERE,
    env: Env = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many runs.")] = 20,
    json: Json = False,
) -> None:
    """List what has run, newest first."""
    from lakepact.cli.look import runs as print_runs

    print_runs(table, project, env, limit, json)


@app.command()
def schema(
    of: Annotated[str, typer.Argument(help="contract, project or policy-pack")] = "contract",
) -> None:
    """Print the JSON Schema that editors use to complete and check these files."""
    from lakepact.cli.look import schema as print_schema

    print_schema(of)


@app.command()
def doctor(project: ProjectDir = HERE, env: Env = None, json: Json = False) -> None:
    """Look at Java, Spark, the jars and the project, and say what is wrong."""
    from lakepact.cli.doctor import doctor as examine

    raise typer.Exit(examine(project, env, json))


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to put the example.")] = Path("demo"),
    json: Json = False,
) -> None:
    """Make the orders lakehouse, run it, and show each layer."""
    from lakepact.cli.start import demo as make

    raise typer.Exit(make(folder, json))


def _options(sets: list[str] | None, policy_pack: str | None, policy_pack_dir: str | None) -> Options:
    from lakepact.api import Options

    return Options(tuple(sets or ()), policy_pack, policy_pack_dir)


def main() -> None:
    """Errors of the family become one clear text and their exit code; nobody sees a traceback for them."""
    gc.disable()  # a command that looks at contracts is over before there is garbage worth collecting
    try:
        app(prog_name="lakepact")
    except ContractError as error:
        _fail(error, *(str(problem) for problem in error.problems))
    except LakepactError as error:
        _fail(error, str(error))
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if os.environ.get("LAKEPACT_DEBUG"):
            raise
        sys.stderr.write(f"error: unexpected {type(error).__name__}: {error}\n(LAKEPACT_DEBUG=1 shows where)\n")
        sys.exit(3)


def _fail(error: LakepactError, *lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"error: {line}\n")
    sys.exit(error.exit_code)
