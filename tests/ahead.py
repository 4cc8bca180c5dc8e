"""Spark tests of a file are played several at a time, for a small run waits a lot; pytest then asks each for its end.

Played so are tests that need nothing but a folder of their own and the session: those whose arguments are all known
here or in their module's `AHEAD`. A test that puts something else in place of our code is marked `alone`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from conftest import orders_in, projects_in

Maker = Callable[[Path, Any], Any]
MAKERS: dict[str, Maker] = {
    "spark": lambda folder, spark: spark,
    "tmp_path": lambda folder, spark: folder,
    "make_project": lambda folder, spark: projects_in(folder),
    "orders": lambda folder, spark: orders_in(folder),
}
AT_ONCE = 3
_PLAYED = pytest.StashKey[dict[Path, dict[str, Future[None]]]]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """The first of a file plays all of them."""
    session, file = pyfuncitem.session, pyfuncitem.path
    mates = [item for item in session.items if item.path == file and _can_go_ahead(item)]
    if pyfuncitem not in mates or len(mates) == 1:
        return None
    played = session.stash.setdefault(_PLAYED, {})
    if file not in played:
        played[file] = _play(mates, pyfuncitem)
    played[file][pyfuncitem.nodeid].result()
    return True


def _makers(item: pytest.Item) -> dict[str, Maker]:
    own: dict[str, Maker] = getattr(getattr(item, "module", None), "AHEAD", {})
    return MAKERS | own


def _arguments(item: pytest.Function) -> set[str]:
    return {*inspect.signature(item.function).parameters} - {*_parameters(item)}


def _parameters(item: pytest.Function) -> dict[str, Any]:
    """What the test itself is given by `parametrize`; fixtures may have parameters too."""
    said = [marker.args[0] for marker in item.iter_markers("parametrize")]
    names = {name.strip() for one in said for name in (one.split(",") if isinstance(one, str) else one)}
    return {name: value for name, value in item.callspec.params.items() if name in names} if names else {}


def _can_go_ahead(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or item.get_closest_marker("alone"):
        return False
    return item.get_closest_marker("spark") is not None and _arguments(item) <= {*_makers(item)}


def _play(items: list[pytest.Item], asker: pytest.Function) -> dict[str, Future[None]]:
    spark = asker.funcargs.get("spark") or asker._request.getfixturevalue("spark")
    folders: pytest.TempPathFactory = asker._request.getfixturevalue("tmp_path_factory")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        played = {item.nodeid: pool.submit(_one, item, folders.mktemp("ahead"), spark) for item in items}
        wait(played.values())
    return played


def _one(item: Any, folder: Path, spark: Any) -> None:
    made = {name: _makers(item)[name](folder, spark) for name in _arguments(item)}
    item.function(**_parameters(item), **made)
