"""Secrets are found at the last moment and never shown; masks hide what a person must not see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakepact import secrets
from lakepact.errors import ContractError, ProjectError
from lakepact.masks import MASKS, mask_row, mask_value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vault" / "crm").mkdir(parents=True)
    (tmp_path / "vault" / "crm" / "password").write_text("from-file\n", encoding="utf-8")
    (tmp_path / "outside").write_text("never", encoding="utf-8")
    return tmp_path / "vault"


def test_a_secret_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEPACT_SECRET_CRM_JDBC_URL", "jdbc:x")
    seen: list[str] = []
    assert secrets.resolve("{{ secret:crm/jdbc-url }}?a=1", secrets.provider_for("env", None), seen) == "jdbc:x?a=1"
    assert seen == ["jdbc:x"]


def test_a_secret_comes_from_a_file(folder: Path) -> None:
    assert secrets.resolve("{{secret:crm/password}}", secrets.provider_for("files", folder), []) == "from-file"


def test_the_environment_comes_before_the_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = secrets.provider_for("auto", folder)
    assert provider("crm", "password") == "from-file"
    monkeypatch.setenv("LAKEPACT_SECRET_CRM_PASSWORD", "from-environment")
    assert provider("crm", "password") == "from-environment"
    assert provider("crm", "user") is None


@pytest.mark.parametrize(("scope", "key"), [("..", "outside"), ("crm", "../../outside"), ("crm", ".."), (".", ".")])
def test_a_file_outside_of_the_folder_is_never_read(scope: str, key: str, folder: Path) -> None:
    assert secrets.from_files(folder)(scope, key) is None


@pytest.mark.parametrize(
    "text", ["{{ secret:crm/../x }}", "{{ secret:a/b/c }}", "{{ secret:a }}", "{{ secret:a/b c }}"]
)
def test_what_is_not_a_secret_is_not_resolved(text: str) -> None:
    assert secrets.resolve(text, lambda *_: "hunter22", []) == text


def test_a_missing_secret_names_the_variable_to_set() -> None:
    with pytest.raises(ProjectError, match="secret crm/jdbc-url is not set; export LAKEPACT_SECRET_CRM_JDBC_URL"):
        secrets.resolve("{{ secret:crm/jdbc-url }}", secrets.provider_for("auto", None), [])


def test_files_without_a_folder_and_unknown_providers_are_refused() -> None:
    with pytest.raises(ProjectError, match=r"secrets\.folder is not given"):
        secrets.provider_for("files", None)
    with pytest.raises(ContractError, match="unknown secret 'vaultt'"):
        secrets.provider_for("vaultt", None)


@settings(deadline=None)
@given(st.lists(st.text(min_size=4, max_size=12), max_size=4), st.text(max_size=10))
def test_no_secret_is_left_in_a_message(values: list[str], between: str) -> None:
    hidden = secrets.hide(between.join(["", *values, ""]), values)
    assert not [value for value in values if value in hidden and "*" not in value]


def test_a_longer_secret_is_hidden_before_the_one_inside_it() -> None:
    assert secrets.hide("hunter22-and-more hunter22", ["hunter22", "hunter22-and-more"]) == "*** ***"


# ------------------------------------------------------------------ masks


@pytest.mark.parametrize(
    ("mask", "value", "shown"),
    [
        ("redact", "secret", "***"),
        ("nullify", "secret", None),
        ("mask_email", "ada@example.com", "a***@example.com"),
        ("mask_email", "not an address", "**********ress"),
        ("partial", "4111111111111111", "************1111"),
        ("partial", "short", "****"),
        ("partial", 12345678, "****"),
        ("security.masking.mask_email", "ada@example.com", "a***@example.com"),
        ("security.unknown_function", "secret", "***"),
        ("hash", None, None),
    ],
)
def test_a_mask_shows(mask: str, value: object, shown: str | None) -> None:
    assert mask_value(mask, value, "salt") == shown


def test_a_hash_joins_equal_values_within_a_project_only() -> None:
    one = mask_value("hash", "ada", "project one")
    assert one == mask_value("hash", "ada", "project one")
    assert one != mask_value("hash", "bob", "project one")
    assert one != mask_value("hash", "ada", "project two")


@settings(deadline=None)
@given(st.sampled_from(sorted(MASKS)), st.text(min_size=9))
def test_no_mask_shows_the_whole_value(mask: str, value: str) -> None:
    shown = mask_value(mask, value, "salt")
    assert shown is None or shown != value or set(value) == {"*"}


def test_a_row_is_masked_also_in_the_text_that_quarantine_keeps() -> None:
    row = {"id": 1, "email": "ada@example.com", "_row": json.dumps({"id": "1", "email": "ada@example.com"})}
    shown = mask_row(row, {"email": "redact"}, "salt", {"id"})
    assert shown["id"] == 1
    assert shown["email"] == "***"
    assert json.loads(str(shown["_row"])) == {"id": "1", "email": "***"}


@pytest.mark.parametrize("text", ["not json", "[1]", '"ada"'])
def test_a_kept_text_that_cannot_be_masked_is_hidden(text: str) -> None:
    assert mask_row({"_row": text}, {"email": "redact"}, "salt")["_row"] == "***"


def test_a_row_without_masks_stays_as_it_is() -> None:
    row = {"id": 1, "_row": "not json"}
    assert mask_row(row, {}, "salt") == row
