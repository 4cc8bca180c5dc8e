"""What of a source is new: files that no run has loaded, changes that none has read, rows after a watermark."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from lakepact import secrets
from lakepact.contract.model import Contract
from lakepact.delta.files import list_files
from lakepact.errors import (
    AlreadyWrittenError,
)
from lakepact.names import plain_name
from lakepact.plan.feed import check_feed
from lakepact.plan.idempotency import app_id
from lakepact.plan.loaded import SourceFile, choose
from lakepact.plan.plan import make_plan
from lakepact.plan.state import RunIdentity, Transaction, Window, World
from lakepact.plan.watermark import read_on_from

if TYPE_CHECKING:
    pass


from lakepact.site import Site


def what_is_new(contract: Contract, site: Site, world: World, window: Window | None) -> World:
    """What of the source this run brings, where earlier runs brought the rest."""
    source = contract.source
    if source is not None and source.only_new:
        return _only_new(contract, site, world)
    if source is not None and source.change_feed:
        return _changes_since(contract, site, world)
    if source is not None and source.watermark and window is None and world.target is not None:
        from lakepact.spark.table import highest

        column, table = source.watermark.column, site.places.locate(contract.name)
        found = highest(site.engine.spark, table, column) if column in world.target.columns else None
        return replace(world, since=read_on_from(found, source.watermark.lookback))
    return world


def _changes_since(contract: Contract, site: Site, world: World) -> World:
    """The versions of a table that no run has read yet; the last of them names the batch."""
    assert contract.source is not None
    tables, feed = site.engine.tables, site.places.locate(plain_name(contract.source.change_feed or ""))
    state, batch = tables.state(feed), app_id(f"feed/{contract.name}")
    if state is None:
        return world
    done = tables.transaction(site.places.locate(contract.name), batch)
    check_feed(feed, state, done)
    if done == state.version:
        raise AlreadyWrittenError(f"nothing changed in {feed.name} since version {done}")
    named = Transaction(batch, state.version)
    return replace(world, since_version=done, source_version=state.version, transaction=named)


def _only_new(contract: Contract, site: Site, world: World) -> World:
    """The files that no run has loaded yet; they name their batch, so that of two runs at once one loads them."""
    assert contract.source is not None
    source, tables = contract.source, site.engine.tables
    table, kept = site.places.locate(contract.name), site.places.locate(contract.files_table)
    path = site.project.place(source.path or "")
    loaded = tables.loaded(table, kept)
    files = choose(_listed(path, source.pattern, site), loaded.all, source)
    if world.sorted_files is not None:  # a file that came while they were sorted has its turn in the next run
        files = tuple(file for file in files if file in world.sorted_files.files)
    batch = app_id(f"files/{contract.name}")
    number = (tables.transaction(table, batch) or 0) + 1
    size, since = sum(file.size for file in files), tuple(loaded.since)
    named = Transaction(batch, number)
    return replace(world, new_files=files, unkept_files=since, source_bytes=size, transaction=named)


def nothing_is_left_undone(contract: Contract, site: Site, world: World, now: datetime) -> None:
    """Files that a commit speaks of and no table keeps: their run died after its write, and is made good here."""
    from lakepact.spark.run import make_good

    source = contract.source
    if source is None or not source.only_new or world.target is None:
        return
    if world.unkept_files and world.sorted_files is None:
        there = {*_listed(site.project.place(source.path or ""), source.pattern, site)}
        files = tuple(one.file for one in world.unkept_files if one.file in there)
        died = RunIdentity(world.unkept_files[-1].run_id, now)
        left = replace(world, new_files=files, source_bytes=sum(file.size for file in files))
        plan = make_plan(contract, left, None, died, site.places)
        make_good(plan, site.engine)
    if not world.new_files:
        raise AlreadyWrittenError(f"no new files in {source.path}")


def _listed(path: str, pattern: str | None, site: Site) -> tuple[SourceFile, ...]:
    path = secrets.resolve(path, site.engine.provider, [])
    if "://" not in path:
        return list_files(path, pattern)
    from lakepact.spark.files import list_remote

    return list_remote(site.engine.spark, path, pattern)
