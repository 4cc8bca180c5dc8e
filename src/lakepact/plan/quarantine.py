"""The review queue: rejected rows as they came, with every reason, each row once however often it is seen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace

from lakepact.contract.model import Contract
from lakepact.names import TableRef, literal, quote, quoted
from lakepact.plan.bad_files import BadFile
from lakepact.plan.changes import diff
from lakepact.plan.columns import TableColumn
from lakepact.plan.layout import create_schema, create_table_as
from lakepact.plan.rules import RowRule
from lakepact.plan.state import RunIdentity, TableState

OWN_COLUMNS = (
    TableColumn("_reasons", "array<string>", description="labels of all rules the row breaks"),
    TableColumn("_rules", "array<string>", description="names of those rules"),
    TableColumn("_row", "string", description="the source's row as JSON"),
    TableColumn("_quarantine_id", "string", description="the same row with the same reasons has the same id"),
    TableColumn("_quarantine_run", "string", description="run that saw it first"),
    TableColumn("_contract", "string", description="fingerprint of that run's contract"),
    TableColumn("_quarantined_at", "timestamp"),
)

UNREADABLE_FILE = "unreadable_file"


@dataclass(frozen=True)
class QuarantinePlan:
    """How rejected rows are kept."""

    table: TableRef
    create: tuple[str, ...]
    prepare: tuple[str, ...]
    insert: str

    def statements(self, exists: bool) -> tuple[str, ...]:
        """The first rejected rows make the table, in one commit."""
        return (*self.prepare, self.insert) if exists else self.create


def quarantine_plan(
    contract: Contract,
    table: TableRef,
    state: TableState | None,
    columns: tuple[TableColumn, ...],
    rules: tuple[RowRule, ...],
    fingerprint: str,
    run: RunIdentity,
    files: tuple[BadFile, ...] = (),
) -> QuarantinePlan:
    """Columns are text, so that a value that could not be read is kept as it was; a bad file is one row."""
    texts = tuple(TableColumn(c.name, "string") for c in columns if c.stamp is None)
    wanted = (*texts, *OWN_COLUMNS)
    labels = {rule.name: rule.label for rule in rules if rule.action == "quarantine"}
    rows = [_rejected(texts, labels, fingerprint, run)] if labels else []
    rejected = _all([*rows, *(_bad_file(texts, one, fingerprint, run) for one in files)])
    made = create_table_as(table.sql, f"Rows rejected from {contract.name}", rejected)
    seen = f"SELECT 1 FROM {table.sql} AS q WHERE q.`_quarantine_id` = found.`_quarantine_id`"
    return QuarantinePlan(
        table,
        create=(*create_schema(table), made),
        prepare=diff(table.sql, _plain(wanted), state).statements if state else (),
        insert=f"INSERT INTO {table.sql} BY NAME\nSELECT * FROM (\n{rejected}\n) AS found\nWHERE NOT EXISTS ({seen})",
    )


def _plain(columns: Iterable[TableColumn]) -> tuple[TableColumn, ...]:
    """Without their comments, each of which would be a commit of a table that is made by its rows."""
    return tuple(replace(column, description="") for column in columns)


def _all(selects: list[str]) -> str:
    return selects[0] if len(selects) == 1 else "\nUNION ALL\n".join(f"SELECT * FROM (\n{one}\n)" for one in selects)


def _bad_file(columns: tuple[TableColumn, ...], bad: BadFile, fingerprint: str, run: RunIdentity) -> str:
    """Once, as long as the file stays what it is."""
    content = json.dumps({"_source_file": bad.file.name, "error": bad.reason, "size": bad.file.size})
    known = hashlib.sha256(repr((astuple(bad.file), UNREADABLE_FILE)).encode()).hexdigest()
    nothing = "".join(f"CAST(NULL AS STRING) AS {quote(column.name)}, " for column in columns)
    return (
        f"SELECT {nothing}array({literal(UNREADABLE_FILE)}) AS `_reasons`, array('file_readable') AS `_rules`,\n"
        f"  {literal(content)} AS `_row`, {literal(known)} AS `_quarantine_id`,\n"
        f"  {literal(run.run_id)} AS `_quarantine_run`, {literal(fingerprint)} AS `_contract`,\n"
        f"  {literal(run.now)} AS `_quarantined_at`"
    )


def _rejected(
    columns: tuple[TableColumn, ...],
    labels: dict[str, str],
    fingerprint: str,
    run: RunIdentity,
) -> str:
    pairs = ", ".join(f"{literal(name)}, {literal(label)}" for name, label in labels.items())
    own = "`_reasons`, `_rules`, `_row`, `_quarantine_id`, `_quarantine_run`, `_contract`, `_quarantined_at`"
    names = quoted([c.name for c in columns])
    return f"""WITH rejected AS (
  SELECT `_text`, `_row`,
    filter(`_failed`, rule -> map_contains_key(map({pairs}), rule)) AS `_rules`
  FROM `judged` WHERE `_rejected`
),
counted AS (
  SELECT *, concat_ws(chr(31),
    to_json(`_text`), array_join(`_rules`, ','), IF(to_json(`_text`) = '{{}}', `_row`, ''),
    CAST(row_number() OVER (PARTITION BY to_json(`_text`), `_rules` ORDER BY `_row`) AS STRING)
  ) AS `_identity`
  FROM rejected
),
arrived AS (
  SELECT {", ".join(f"`_text`.{quote(c.name)} AS {quote(c.name)}" for c in columns)},
    array_distinct(transform(`_rules`, rule -> element_at(map({pairs}), rule))) AS `_reasons`,
    `_rules`, `_row`, sha2(`_identity`, 256) AS `_quarantine_id`,
    {literal(run.run_id)} AS `_quarantine_run`, {literal(fingerprint)} AS `_contract`,
    {literal(run.now)} AS `_quarantined_at`
  FROM counted
)
SELECT {names}, {own} FROM arrived"""
