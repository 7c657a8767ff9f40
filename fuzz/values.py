"""Small pools of values for every type of Spark, as SQL expressions.

A value is its text: `double('NaN')`, `DATE'2024-01-31'`, `NULL`. Rows of such texts are written to files as
they are, and Spark alone says what they mean. Pools are small, so that rows meet in joins and groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

NULL = "NULL"


@dataclass(frozen=True)
class Kind:
    """A type: values that are at home in it, and those at its edges."""

    type: str
    family: str
    plain: tuple[str, ...]
    edges: tuple[str, ...] = ()
    can_be_key: bool = True


def _decimals(precision: int, scale: int) -> Kind:
    """Values with few digits, with digits in the last place, and with all digits that there are."""
    whole = precision - scale
    unit = f"0.{'0' * (scale - 1)}1" if scale else "1"
    most = "9" * whole + ("." + "9" * scale if scale else "") if whole else "0." + "9" * scale
    plain = ["0", unit, f"-{unit}"] + (["1", "-1", "2"] if whole else []) + (["0.5"] if scale else [])
    texts = [f"{text}BD" for text in dict.fromkeys(plain)]
    return Kind(f"decimal({precision},{scale})", "decimal", tuple(texts), (f"{most}BD", f"-{most}BD"))


def _integers(name: str, suffix: str, bits: int) -> Kind:
    plain = tuple(f"{n}{suffix}" for n in (0, 1, 2, 3, 4, -1))
    most = 2 ** (bits - 1) - 1
    return Kind(name, "integer", plain, (f"{most}{suffix}", f"(-{most}{suffix} - 1{suffix})"))


def _floats(name: str, suffix: str) -> Kind:
    plain = tuple(f"{n}{suffix}" for n in ("0.0", "0.5", "1.5", "-2.25", "3.0", "-0.5"))
    edges = [f"{name}('NaN')", f"{name}('Infinity')", f"{name}('-Infinity')", f"-0.0{suffix}"]
    wild = ("1e17", "-1e17", "1e-300", "1000000000.1", "0.1") if name == "double" else ("1e17", "0.1")
    return Kind(name, "float", plain, (*edges, *(f"{n}{suffix}" for n in wild)))


KINDS = (
    Kind("boolean", "boolean", ("true", "false")),
    _integers("tinyint", "Y", 8),
    _integers("smallint", "S", 16),
    _integers("int", "", 32),
    _integers("bigint", "L", 64),
    *(_decimals(p, s) for p, s in ((1, 0), (8, 2), (18, 8), (20, 15), (38, 0), (38, 10), (38, 18), (38, 38))),
    _floats("float", "F"),
    _floats("double", "D"),
    Kind("string", "string", ("'a'", "'b'", "'c'", "'d'"), ("''", "'A'", "'é'", "' a'", "'it''s'", "r'\\n'")),
    Kind("char(3)", "string", ("'a  '", "'b  '", "'abc'"), ("'   '",)),
    Kind("varchar(3)", "string", ("'a'", "'b'", "'abc'"), ("''", "'a '")),
    Kind("string collate UTF8_LCASE", "collated", ("'a'", "'b'", "'c'"), ("'A'", "'B'")),
    Kind("binary", "binary", ("X'00'", "X'61'", "X'FF'"), ("X''", "X'6100'")),
    Kind("date", "date", ("DATE'2024-01-31'", "DATE'2024-02-29'", "DATE'2023-12-31'"), ("DATE'0001-01-01'", "DATE'9999-12-31'")),
    Kind("timestamp", "timestamp", ("TIMESTAMP'2024-01-31 10:00:00'", "TIMESTAMP'2024-02-29 23:59:59.999999'", "TIMESTAMP'2024-03-31 02:30:00'"), ("TIMESTAMP'1900-01-01 00:00:00'", "TIMESTAMP'1969-12-31 23:59:59.999999'")),
    Kind("timestamp_ntz", "timestamp_ntz", ("TIMESTAMP_NTZ'2024-01-31 10:00:00'", "TIMESTAMP_NTZ'2024-03-31 02:30:00.000001'"), ("TIMESTAMP_NTZ'1900-01-01 00:00:00'",)),
    Kind("time(6)", "time", ("TIME'00:00:00'", "TIME'10:30:00'"), ("TIME'23:59:59.999999'",)),
    Kind("interval year to month", "months", ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '0-1' YEAR TO MONTH"), ("INTERVAL '-3-0' YEAR TO MONTH",)),
    Kind("interval day to second", "seconds", ("INTERVAL '1 00:00:00' DAY TO SECOND", "INTERVAL '0 00:00:01.5' DAY TO SECOND"), ("INTERVAL '-2 03:00:00' DAY TO SECOND",)),
    Kind("array<int>", "array", ("array(1, 2)", "array(2)", "array(1, NULL)"), ("array()",)),
    Kind("array<string>", "array", ("array('a', 'b')", "array('b')"), ("array()", "array(NULL)")),
    Kind("struct<p:int,q:string>", "struct", ("struct(1, 'a')", "struct(2, 'b')"), ("struct(NULL, 'a')",)),
    Kind("map<string,int>", "map", ("map('a', 1)", "map('a', 1, 'b', 2)"), ("map()", "map('a', NULL)"), can_be_key=False),
    Kind("variant", "variant", ("parse_json('1')", "parse_json('{\"a\": 1}')"), ("parse_json('null')",), can_be_key=False),
)  # fmt: skip

COMMON = ("int", "int", "bigint", "string", "string", "decimal(8,2)", "double", "date", "boolean")
"""What most columns of most warehouses are; the other types get every other column."""

BY_TYPE = {kind.type: kind for kind in KINDS}
_LISTABLE = {"integer", "decimal", "float", "string", "binary", "date", "timestamp_ntz", "boolean", "array"}


_used: tuple[Kind, ...] = KINDS


def use(kinds: Sequence[Kind]) -> None:
    """From now on no other types are drawn than these."""
    global _used
    _used = tuple(kinds)


@contextmanager
def only(kinds: Sequence[Kind]) -> Iterator[None]:
    """For a while no other types are drawn than these."""
    global _used
    _used, before = tuple(kinds), _used
    try:
        yield
    finally:
        _used = before


def random_kind(rng: Random, *, key: bool = False) -> Kind:
    """Some type; for a key one that has several values and can be compared."""
    if key:
        wished = rng.choice(("int", "int", "int", "bigint", "string", "date", "decimal(8,2)"))
    else:
        wished = rng.choice(COMMON) if rng.random() < 0.55 else rng.choice(KINDS).type
    return next((kind for kind in _used if kind.type == wished), _used[0])


def pool(rng: Random, kind: Kind) -> tuple[str, ...]:
    """A few values of a type; in some columns those at the edges too."""
    chosen = list(kind.plain)
    if kind.edges and rng.random() < 0.3:
        chosen = rng.sample(chosen, min(len(chosen), 3))
        chosen += rng.sample(kind.edges, min(len(kind.edges), 2))
    return tuple(chosen)


def as_compared(text: str) -> str:
    """A value as `=` sees it: −0.0 equals 0.0."""
    return re.sub(r"^-(0\.0[DF])$", r"\1", text)


def family_of(kind: str) -> str:
    """The family of a type as Spark writes it: `decimal(10,2)` is a decimal, `array<date>` an array."""
    text = re.sub(r"^(char|varchar)\(.*", "string", kind.lower())
    if text.startswith("string collate"):
        return "collated"
    if text.startswith("interval"):
        return "months" if "year" in text or "month" in text else "seconds"
    word = re.split(r"[<( ]", text)[0]
    names = {"tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer"}
    return {**names, "float": "float", "double": "float"}.get(word, word)


def is_listable(kind: str) -> bool:
    """Whether values of a type can be given to Spark as Python's."""
    return family_of(kind) in _LISTABLE
