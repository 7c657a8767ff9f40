"""The names that users give, and the names that they have inside the engine.

Users may name tables, views and columns as Spark lets them: `avg(x)`, `my table`, `a.b`, `__count`. Inside,
names are letters, digits and underscores, and the engine's cannot be a user's: hidden columns begin with
two underscores, and results of steps have two behind the name of a relation. Ordinary names stay as they are;
others are written between `_q` and `q`, each run of odd characters as their codes between underscores:

    region → region      avg(x) → _qavg_28_x_29_q      __count → _q_5fx5f_countq

No two names become one, and `shown` finds the user's name again.
"""

from __future__ import annotations

import re

_ODD = re.compile(r"[^\W_]+|[\W_]+")
_RUN = re.compile(r"_((?:[0-9a-f]+x)*[0-9a-f]+)_|([^\W_]+)")
_INNER = re.compile(r"_q(?:_(?:[0-9a-f]+x)*[0-9a-f]+_|[^\W_]+)*q", re.IGNORECASE)
_WORD = re.compile(r"\b_q\w*q\b")


def inner_column(name: str) -> str:
    """What a column of this name is called inside."""
    is_ordinary = re.fullmatch(r"\w+", name) and not name.startswith("__") and not _INNER.fullmatch(name)
    return name if is_ordinary else _escaped(name)


def inner_relation(name: str) -> str:
    """What a table or view of this name is called inside: two underscores together are the engine's."""
    is_split = "__" in name or name.startswith("_") or name.endswith("_")
    return _escaped(name) if is_split else inner_column(name)


def shown(name: str) -> str:
    """The user's name for what has this name inside."""
    if not _INNER.fullmatch(name):
        return name
    parts = _RUN.findall(name[2:-1])
    return "".join(
        plain or "".join(chr(int(code, 16)) for code in codes.split("x")) for codes, plain in parts
    )


def with_shown_names(text: str) -> str:
    """A sentence with the users' names in the place of inner ones."""
    return _WORD.sub(lambda found: shown(found[0]), text)


def _escaped(name: str) -> str:
    runs = (run if run[0].isalnum() else _codes(run) for run in _ODD.findall(name))
    return f"_q{''.join(runs)}q"


def _codes(run: str) -> str:
    return f"_{'x'.join(format(ord(character), 'x') for character in run)}_"
