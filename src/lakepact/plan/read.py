"""SOURCES: from what the contract calls its source to a Read, which Spark can follow without deciding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from lakepact.contract.source import Source
from lakepact.names import TableRef, literal, plain_name, quote
from lakepact.plan.bad_files import Alike
from lakepact.plan.connectors import CONNECTORS
from lakepact.plan.envelope import FIELDS, unwrap
from lakepact.plan.feed import changes_sql
from lakepact.plan.state import Window
from lakepact.plan.tables import relocate, tables_in
from lakepact.plan.watermark import Mark

Locate = Callable[[str], TableRef]


@dataclass(frozen=True)
class Read:
    """Read these files (or this connector), or run this SELECT.

    awaited     where no file came yet: the columns that files would bring
    files       only these, where not all of the path are wanted
    alike       the same by their columns, where they turned out to have different ones
    asked       the columns that the contract asks for, where it tells
    may_lack    files may lack some of them, which have no value then
    types       what becomes of columns that have other types in other files
    schema      the columns of files as they were found, so that nobody looks for them again
    fields      what files are asked for, as text, whatever lies in them
    decode      a SELECT over `encoded` that makes rows of what came
    tells_file  each row says which file it came from, which costs a little for every row
    """

    format: str = ""
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    sql: str | None = None
    tables: tuple[TableRef, ...] = ()
    header_names: bool = False
    keeps_corrupt: bool = False
    awaited: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    alike: tuple[Alike, ...] = ()
    asked: tuple[str, ...] = ()
    may_lack: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    fields: tuple[str, ...] = ()
    tells_file: bool = False
    label_text: str = ""
    decode: str | None = None

    @property
    def of_files(self) -> bool:
        return self.path is not None

    @property
    def pinned(self) -> bool:
        """Whether every table is read as of one version."""
        return bool(self.tables) and all(t.version is not None or t.at is not None for t in self.tables)

    @property
    def typed(self) -> bool:
        """Whether values come with types of their own; text has none."""
        return self.format not in ("csv", "json", "text", "xml", "rest")

    @property
    def columnar(self) -> bool:
        """Files of which a second look at some columns is cheap."""
        return self.of_files and self.format in ("parquet", "orc")

    @property
    def one_speaks_for_all(self) -> bool:
        """Whether the columns were taken from one file, and others may have more."""
        return self.of_files and self.typed and not self.columnar and not self.alike

    @property
    def only_once(self) -> bool:
        """Someone else's server: a second read costs it again, and may find other rows."""
        return self.path is None and self.sql is None

    @property
    def label(self) -> str:
        """What is read, where it is not a table of the lakehouse."""
        return self.label_text or self.path or f"{self.format} {self.options.get('dbtable', '')}".rstrip()

    @property
    def text(self) -> str:
        """The same with all that is asked for, on one line."""
        what = self.path or self.options.get("dbtable") or self.options.get("query") or self.options.get("url", "")
        return " ".join(f"{self.format} {what} {f'WHERE {self.where}' if self.where else ''}".split())


# What each format is asked for unless the contract says otherwise. CSV is read as text, by header name.
_OPTIONS: dict[str, dict[str, str]] = {
    "csv": {"header": "true", "enforceSchema": "false", "mode": "PERMISSIVE", "escape": '"'},
    "json": {"mode": "PERMISSIVE", "primitivesAsString": "true"},
    "xml": {"mode": "PERMISSIVE", "inferSchema": "false"},
}
# Other words for a format.
_ALIASES = {
    "jsonl": "json", "ndjson": "json", "tsv": "csv", "binary": "binaryFile", "binaryfile": "binaryFile", "txt": "text",
}  # fmt: skip
_ENDINGS = {
    "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json",
    "parquet": "parquet", "orc": "orc", "avro": "avro", "xml": "xml", "txt": "text",
}  # fmt: skip
_COMPRESSED = {"gz", "bz2", "zst", "snappy", "lz4"}


def read_for(
    source: Source, locate: Locate, place: Callable[[str], str], window: Window | None, since: Mark | None = None
) -> Read:
    """What to read, with the window or the watermark already in it where the source can take it."""
    return SOURCES[source.kind](source, locate, place, _condition(source, window, since))


def strict(read: Read) -> Read:
    """For a query over the whole source: a line that cannot be read stops it, as no row is left to reject."""
    if not read.keeps_corrupt:
        return read
    return replace(read, options={**read.options, "mode": "FAILFAST"}, keeps_corrupt=False)


def format_of(source: Source) -> str:
    """The format named, or the one the path's ending tells.

    >>> format_of(Source(path="in/orders.csv.gz")), format_of(Source(path="in/*.jsonl"))
    ('csv', 'json')
    """
    if source.format:
        return _ALIASES.get(source.format.lower(), source.format)
    parts = PurePosixPath(source.pattern or source.path or "").name.lower().split(".")
    while parts and parts[-1] in _COMPRESSED:
        parts.pop()
    return _ENDINGS.get(parts[-1], "") if len(parts) > 1 else ""


def _files(source: Source, locate: Locate, place: Callable[[str], str], condition: str | None) -> Read:
    del locate, condition
    kind = format_of(source)
    tabs = {"sep": "\t"} if "tsv" in (source.format, (source.path or "").rpartition(".")[2]) else {}
    path = place(source.path or "")
    path = f"{path.rstrip('/')}/{source.pattern}" if source.pattern else path
    options = {**_OPTIONS.get(kind, {}), **tabs, **_texts(source.options)}
    by_name = kind == "csv" and options.get("header", "true").lower() == "true"
    corrupt = kind in _OPTIONS and options["mode"].upper() == "PERMISSIVE"
    return Read(kind, path, options, header_names=by_name, keeps_corrupt=corrupt)


def _table(source: Source, locate: Locate, place: Callable[[str], str], condition: str | None) -> Read:
    del place
    table = locate(plain_name(source.table or ""))
    return Read(sql=f"SELECT * FROM {table.sql}{_where(condition)}", tables=(table,))


def _feed(source: Source, locate: Locate, place: Callable[[str], str], condition: str | None) -> Read:
    del place, condition
    return read_feed(locate(plain_name(source.change_feed or "")), None, None)


def read_feed(table: TableRef, since: int | None, until: int | None) -> Read:
    """What changed in a table after one version and up to another."""
    return Read(sql=changes_sql(table, since, until), tables=(replace(table, version=until),))


def _sql(source: Source, locate: Locate, place: Callable[[str], str], condition: str | None) -> Read:
    del place
    text = (source.sql or "").strip().rstrip(";")
    tables = tuple(locate(name) for name in tables_in(text))
    query = relocate(text, lambda name: locate(name).sql)
    where = _where(condition)
    return Read(sql=f"SELECT * FROM (\n{query}\n){where}" if where else query, tables=tables)


def _connector(source: Source, locate: Locate, place: Callable[[str], str], condition: str | None) -> Read:
    del locate, place
    name = source.connector or ""
    known = CONNECTORS[name]
    return Read(
        name,
        options=known.options(source.options),
        where=condition,
        keeps_corrupt=known.keeps_corrupt(source.options),
        label_text=known.label(source.options),
    )


def decoded(read: Read, source: Source, columns: tuple[str, ...]) -> Read:
    """The same with what makes rows of it, for the columns a contract asks of its source."""
    known = CONNECTORS.get(source.connector or "")
    if source.envelope is None:
        return replace(read, decode=known.decode(source.options, columns)) if known else read
    if known is None:
        return replace(read, decode=unwrap("SELECT * FROM `encoded`", columns), fields=FIELDS)
    messages = f"{known.decode(source.options, FIELDS)}\nWHERE `value` IS NOT NULL"
    return replace(read, decode=unwrap(messages, columns))


SOURCES = {"path": _files, "table": _table, "change_feed": _feed, "sql": _sql, "connector": _connector}


def _texts(options: Mapping[str, object]) -> dict[str, str]:
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items()}


def _where(condition: str | None) -> str:
    return f" WHERE {condition}" if condition else ""


def _condition(source: Source, window: Window | None, since: Mark | None = None) -> str | None:
    """A window that is given counts; else what the table may not have yet is read."""
    by = source.window or source.watermark
    if by is None:
        return None
    asked = window or Window()
    start = since if window is None else asked.start
    column = quote(by.column)
    sides = [f"{column} >= {literal(start)}"] if start is not None else []
    sides += [f"{column} < {literal(asked.end)}"] if asked.end else []
    return " AND ".join(sides) or None


GIVEN = "dataframe"


def read_given(source: Source, view: str, window: Window | None) -> Read:
    """Rows that someone hands over, under the name of a view."""
    return Read(GIVEN, sql=f"SELECT * FROM `global_temp`.{quote(view)}{_where(_condition(source, window))}")


def read_streamed(read: Read, view: str) -> Read:
    """A micro-batch of a source: its rows stand in a view, and are what a batch of it would bring."""
    told = read.of_files
    return replace(
        read, sql=f"SELECT * FROM `global_temp`.{quote(view)}", path=None, label_text=read.label, tells_file=told
    )


def upstreams(source: Source | None) -> tuple[str, ...]:
    """The tables a source reads, by name."""
    if source is None:
        return ()
    if source.table or source.change_feed:
        return (plain_name(source.table or source.change_feed or ""),)
    return tables_in(source.sql) if source.sql else ()
