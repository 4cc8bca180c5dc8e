"""DKOps' two kinds of JSON, said in Lakepact's words: a table, and an ingestion that points at tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

from lakepact.contract.dialects.shape import Shape, given, shape_problems
from lakepact.contract.model import Layer
from lakepact.errors import ContractError, Problem
from lakepact.names import quote
from lakepact.plugins import hint

Document = dict[str, Any]
Read = Callable[[str], Any]
Keys = dict[str, tuple[str, ...]]

LOADS = {
    "full": "scd0_overwrite", "incremental": "scd0_append", "cdc": "scd0_append", "streaming": "scd0_append",
}  # fmt: skip
STRATEGIES = ("full_merge", "cdc_merge", "incremental_replace", "append_dedup")
OWN_ORDER = ("cdc_merge", "append_dedup")  # modes that find a key's latest or first row by themselves
STAMPS = ("ingested_at", "ingested_date", "source_file")
SILVER_STAMPS = ("created_at", "updated_at")
SILVER_COLUMNS = ("_silver_created_at", "_silver_modified_at")  # what DKOps calls the columns of those two
COLUMN = {"name": "name", "type": "type", "nullable": "nullable", "comment": "description", "mask": "mask"}

# Which keys stand where; () where every key may. `x[]` is an entry of the list x.
TABLE: Keys = {
    "": (
        "catalog", "schema", "name", "type", "format", "columns", "partitions", "clustering", "properties",
        "comment", "owner", "location", "change_data_feed",
    ),
    "columns[]": tuple(COLUMN),
    "clustering": ("columns",),
    "properties": (),
}  # fmt: skip
BRONZE: Keys = {
    "": (
        "description", "enabled", "ingest_type", "load_type", "source", "destination_contract", "metadata", "trigger",
    ),
    "source": ("format", "path", "options"),
    "metadata": (*(f"add_{stamp}" for stamp in STAMPS), "add_silver_timestamps"),
}  # fmt: skip
SILVER: Keys = {
    "": (*BRONZE[""], "source_contract", "strategy", "merge_keys", "watermark_col", "filter"),
    "source": ("format",),
    "metadata": BRONZE["metadata"],
}
FLAGS = {
    "change_data_feed",
    "properties.change_data_feed",
    *(f"metadata.{key}" for key in BRONZE["metadata"]),
}
VALUES = {
    "type": ("MANAGED", "EXTERNAL"),
    "format": ("DELTA",),
    "ingest_type": ("batch", "streaming"),
    "trigger": ("available_now", "continuous"),
    "load_type": tuple(LOADS),
    "strategy": STRATEGIES,
}
# Notes; contract and checkpoint go by the table's name; declared columns are added without being asked.
LEFT_OUT = {"_doc", "columns[]._doc", "name", "merge_schema", "checkpoint_suffix"}
# What a native contract cannot say yet.
LATER = {
    "permissions", "columns[].default", "source.kafka", "source.schema", "metadata.add_kafka_metadata",
}  # fmt: skip


def _shape(keys: Keys) -> Shape:
    return Shape(keys, flags=FLAGS, values=VALUES, left_out=LEFT_OUT, later=LATER)


def is_ingestion(document: Document) -> bool:
    return "destination_contract" in document


def is_table(document: Document) -> bool:
    return "table" not in document and all(key in document for key in ("catalog", "schema", "name", "columns"))


def from_table(document: Document, _read: Read) -> Document:
    if problems := _table_problems(document):
        raise ContractError(problems)
    return _table(document)


def from_ingestion(document: Document, read: Read) -> Document:
    promotes = "strategy" in document or "source_contract" in document
    shape = _shape(SILVER if promotes else BRONZE)
    problems = [*shape_problems(document, shape), *_missing(document, promotes)]
    target = _linked(document, "destination_contract", read, problems)
    problems += [found.at(str(document["destination_contract"]), None) for found in _table_problems(target)]
    source = _linked(document, "source_contract", read, problems) if promotes else {}
    if problems:
        raise ContractError(problems)
    target = _completed(target, source, document.get("watermark_col"))
    own = {"description": document.get("description"), "enabled": document.get("enabled")}
    work = _promotion(document, source) if promotes else _landing(document)
    return _stamped({**own, **work, **_table(target)}, document.get("metadata") or {}, promotes)


def _missing(document: Document, promotes: bool) -> Iterator[Problem]:
    source = document["source"] if isinstance(document.get("source"), dict) else {}
    written = source.get("format", "delta" if promotes else "json")
    if promotes and "strategy" not in document:
        yield Problem(f"is missing{hint('', STRATEGIES)}", "strategy")
    if promotes and written != "delta":
        yield Problem("must be delta; a promotion reads the table of its source_contract", "source.format")
    if written == "kafka":
        yield Problem("is not supported yet; land the messages as files", "source.format")
    elif not promotes and not source.get("path"):
        yield Problem("is missing; say where the files land", "source.path")


def _linked(document: Document, key: str, read: Read, problems: list[Problem]) -> Document:
    """The table file that a key points to."""
    path = document.get(key)
    if not isinstance(path, str):
        problems.append(Problem("is missing; give the path of a table's JSON", key))
        return {}
    try:
        found = read(path)
    except ContractError as error:
        problems += error.problems
        return {}
    if isinstance(found, dict) and is_table(found):
        return found
    problems.append(Problem(f"{path} is not a table's JSON; it needs catalog, schema, name and columns", key))
    return {}


def _completed(target: Document, source: Document, newest: Any) -> Document:
    """Columns that only partitions or watermark_col name are those of the table that is read."""
    declared = {str(column.get("name")).lower() for column in target.get("columns") or ()}
    named = {str(name).lower() for name in (*(target.get("partitions") or ()), newest)} - declared
    lent = [column for column in source.get("columns") or () if str(column.get("name")).lower() in named]
    return {**target, "columns": [*(target.get("columns") or ()), *lent]}


def _stamped(native: Document, flags: Document, promotes: bool) -> Document:
    """A stamp brings its own column, so a declared one of that name goes."""
    landed = [] if promotes else [stamp for stamp in STAMPS if flags.get(f"add_{stamp}", True)]
    silver = flags.get("add_silver_timestamps", False)
    stamps = [*landed, *(SILVER_STAMPS if silver else ())]
    brought = {*(f"_{stamp}" for stamp in landed), *(SILVER_COLUMNS if silver else ())}
    columns = [column for column in native.get("columns", []) if str(column.get("name")) not in brought]
    steps = [*([{"stamp": stamps}] if stamps else []), *native.get("transform", [])]
    return given({**native, "columns": columns, "transform": steps})


def _landing(document: Document) -> Document:
    load = "streaming" if document.get("ingest_type") == "streaming" else document.get("load_type", "incremental")
    how = {} if load == "full" else {"load_type": load}
    return {
        "layer": "bronze",
        "source": {"format": "json", **document["source"], **how},
        "write": {"mode": LOADS[load]},
    }


def _promotion(document: Document, source: Document) -> Document:
    keys, newest = document.get("merge_keys"), document.get("watermark_col")
    sequence = newest if document["strategy"] in OWN_ORDER else None
    order = {"keys": keys, "order_by": f"{quote(str(newest))} DESC NULLS LAST"}
    return {
        "layer": "silver",
        "source": given({"table": _name(source), "filter": document.get("filter")}),
        "transform": [{"deduplicate": order}] if keys and newest and document["strategy"] not in OWN_ORDER else [],
        "write": given({"mode": document["strategy"], "keys": keys, "sequence_by": sequence}),
    }


def _table(document: Document) -> Document:
    properties = {"change_data_feed": document.get("change_data_feed"), **(document.get("properties") or {})}
    clustering = document.get("clustering") or {}
    layout = {"partition_by": document.get("partitions"), "cluster_by": clustering.get("columns")}
    native = {
        "table": _name(document),
        "path": document.get("location"),
        "layer": properties.get("layer") if properties.get("layer") in get_args(Layer) else None,
        "description": document.get("comment"),
        "owners": [{"name": document["owner"]}] if document.get("owner") else None,
        "columns": [_column(column) for column in document.get("columns") or []],
        "layout": given({**layout, "properties": _properties(properties)}),
    }
    return given(native)


def _column(column: Document) -> Document:
    return {native: column[key] for key, native in COLUMN.items() if key in column}


def _name(document: Document) -> str:
    return ".".join(str(document[part]) for part in ("catalog", "schema", "name") if document.get(part))


def _properties(said: Document) -> Document:
    """A feed that is said to be off is said so: a table may have it on."""
    asked = said.get("change_data_feed")
    feed = {} if asked is None else {"delta.enableChangeDataFeed": str(asked).lower()}
    rest = {key: value for key, value in said.items() if key not in ("merge_schema", "change_data_feed")}
    return {**feed, **{k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in rest.items()}}


def _table_problems(document: Document) -> list[Problem]:
    lost = document.get("type") == "EXTERNAL" and not document.get("location")
    missing = [Problem("is missing; an EXTERNAL table has one", "location")] if lost else []
    return [*shape_problems(document, _shape(TABLE)), *missing]
