"""Files that are no contracts: each must get one clear line, and nothing worse."""

from __future__ import annotations

from pathlib import Path

_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)

# File name → its content and a few words of the one line that it gets.
FILES: dict[str, tuple[bytes, str]] = {
    "bomb.yaml": (_BOMB.encode(), "more than 100,000 values once its aliases are followed"),
    "endless.yaml": (b"a: &a [*a]\n", "nested more than 60 deep"),
    "long_line.yaml": (b"table: " + b"x" * 10_000_000, "larger than 1000 kB"),
    "latin1.yaml": ("table: größe".encode("latin-1"), "not UTF-8 text (byte 9); save it as UTF-8"),
    "utf16.yaml": ("table: a.b\n".encode("utf-16"), "not UTF-8 text (byte 0)"),
    "binary.yaml": (b"table: \x00\x01\x02", "not YAML"),
    "empty.yaml": (b"", "the file is empty"),
    "comment.yaml": (b"# nothing here\n", "the file is empty"),
    "spaces.json": (b"  \n", "not JSON"),
    "double.yaml": (b"table: a.b\nwrite: {mode: append}\ntable: a.c\n", "the key 'table' stands here twice"),
    "double.json": (b'{"table": "a.b",\n"table": "a.c"}', "the key 'table' stands here twice"),
    "deep_list.yaml": (b"[" * 50_000, "nested more than 60 deep"),
    "deep_map.yaml": (b"{a: " * 5_000, "nested more than 60 deep"),
    "deep_dashes.yaml": (b"- " * 20_000 + b"x", "nested more than 60 deep"),
    "deep.json": (b"[" * 100_000 + b"]" * 100_000, "nested"),
    "deep_but_readable.json": (b'{"table":' + b"[" * 800 + b"]" * 800 + b"}", ""),
    "tag.yaml": (b"table: !secret x\n", "the tag '!secret' is not allowed"),
    "python_tag.yaml": (b"table: !!python/object/apply:os.system ['true']\n", "is not allowed"),
    "wrong_tag.yaml": (b"table: !!int orders\n", ""),
    "tab.yaml": (b"table: a.b\nwrite:\n\tmode: append\n", "not YAML: found character"),
    "two.yaml": (b"table: a.b\n---\ntable: a.c\n", "not YAML"),
    "open.yaml": (b"table: [a\n", "not YAML"),
    "alias.yaml": (b"table: *nobody\n", "not YAML: found undefined alias"),
    "list_key.yaml": (b"? [a, b]\n: c\n", "a key must be plain text"),
    "scalar.yaml": (b"5\n", "a contract is keys and values"),
    "null.yaml": (b"---\n", "a contract is keys and values"),
    "comma.json": (
        b'{"table": "a.b",\n "write": {"mode": "append",}\n}',
        "not JSON: Expecting property name",
    ),
    "long_number.json": (b'{"table": ' + b"1" * 5000 + b"}", ""),
}


def write_all(folder: Path) -> list[Path]:
    """The files, and beside them a folder that looks like one."""
    for name, (content, _) in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder.yaml").mkdir()
    return [folder / name for name in FILES]
