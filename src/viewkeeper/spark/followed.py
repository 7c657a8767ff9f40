"""Rows of tables that others own, read by Spark from just the files that are asked for.

Files do not hold all of it: values of partition columns are in the table's log, and so are the rows that
deletion vectors take out. Both are joined by where a row comes from, which Spark tells:

    rows  =  (files ⟕_path partitions)  ▷ or ⋉_path,place  places in deletion vectors

A row whose file is not found among those that were asked for is an error, and never a row without values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from urllib.parse import quote

import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from viewkeeper.algebra.inner_names import inner_column
from viewkeeper.algebra.schema import COUNT, Column
from viewkeeper.errors import MissingFile
from viewkeeper.spark.engine import SparkEngine
from viewkeeper.spark.failures import FAILURES, translated
from viewkeeper.spark.frames import columns_of, quoted
from viewkeeper.storage.deletion_vectors import DeletionVector, rows_of
from viewkeeper.storage.following.delta_columns import names_in_file
from viewkeeper.storage.following.delta_difference import must_be_there
from viewkeeper.storage.following.places import address_of, content_of, folder_of
from viewkeeper.storage.following.state import FilePart, Followed, Options, SourceField
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.relation import DataFile, RelationState

CHANGE = "_change_type"
"""The column of a change feed that says what became of a row."""

_FILE, _PLACE, _NUMBER, _PATH = "__file", "__place", "__number", "__path"
_CAME = "('insert', 'update_postimage')"
_PLAIN = "-_.!~*'()/,;:$&+=@"
"""What Spark leaves as it is in the address of a file, besides letters and digits."""

_GLOB = re.compile(r"[*?\[\]{}\\]")
_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


@dataclass(frozen=True)
class _Group:
    """Files that are read in one way: their rows count alike, and are all, or all but some, or some."""

    sign: int
    is_part: bool
    names: tuple[str, ...]
    turn: int
    """One file may be meant several times: each time it is in another group."""


def followed_rows(
    engine: SparkEngine, followed: Followed, files: Sequence[DataFile], columns: tuple[Column, ...]
) -> DataFrame:
    """The rows of some parts of a followed table's files, with their counts where these are asked for."""
    folder = folder_of(followed.address, followed.options)
    if folder.is_local:
        must_be_there(folder, files)
    wanted = [field for field in followed.fields if field.name in {column.name for column in columns}]
    groups = _grouped(folder, wanted, files)
    frames = [_rows(engine, followed, wanted, columns, group, own) for group, own in groups.items()]
    return engine.in_one_task(reduce(DataFrame.unionByName, frames), sum(file.held for file in files))


def inferred_columns(
    engine: SparkEngine, form: str, options: Options, paths: Sequence[str]
) -> tuple[Column, ...]:
    """The columns that Spark finds in files; it reads texts for that."""
    plain = [_GLOB.sub(r"\\\g<0>", path) for path in paths]
    asked = {"inferSchema": "true", **dict(options)}
    if form != "parquet":
        engine.count_action()
    try:
        frame = engine.spark.read.format(form).options(**asked).load(plain)
        return tuple(Column(inner_column(c.name), c.type) for c in columns_of(frame))
    except FAILURES as error:
        raise translated(error) from error


def rows_in_files(
    engine: SparkEngine, state: RelationState, files: Iterable[DataFile], columns: tuple[Column, ...]
) -> DataFrame:
    """The rows of some files of a relation: its own, or those of a table that it follows."""
    files = tuple(files)
    theirs = tuple(file for file in files if file.part is not None)
    if state.followed is None or not theirs:
        return engine.files(state.folder, files, columns)
    rows = followed_rows(engine, state.followed, theirs, columns)
    own = [file for file in files if file.part is None]
    return rows.unionByName(engine.files(state.folder, own, columns)) if own else rows


def gone_from(followed: Followed, files: Iterable[DataFile]) -> str:
    """Why files of a followed table cannot be read any more; empty where they can."""
    theirs = [file for file in files if file.part is not None]
    try:
        must_be_there(folder_of(followed.address, followed.options), theirs)
    except MissingFile as error:
        return f"{error.what} {error.detail}"
    return ""


def _grouped(
    folder: Folder, fields: Sequence[SourceField], files: Iterable[DataFile]
) -> dict[_Group, list[tuple[DataFile, FilePart]]]:
    found: dict[_Group, list[tuple[DataFile, FilePart]]] = {}
    turns: Counter[tuple[str, int, bool]] = Counter()
    for file in files:
        part = file.part
        assert part is not None
        kind = file.path, part.sign, part.within is not None
        group = _Group(
            part.sign, kind[2], names_in_file(folder, tuple(fields), file.path, file.bytes), turns[kind]
        )
        turns[kind] += 1
        found.setdefault(group, []).append((file, part))
    return found


def _rows(
    engine: SparkEngine,
    followed: Followed,
    fields: Sequence[SourceField],
    columns: tuple[Column, ...],
    group: _Group,
    files: Sequence[tuple[DataFile, FilePart]],
) -> DataFrame:
    folder = folder_of(followed.address, followed.options)
    own = [field for field in fields if not field.partition]
    partitions = [field for field in fields if field.partition]
    has_vectors = any(not part.is_whole for _, part in files)
    types = [f"{quoted(name)} {field.type}" for name, field in zip(group.names, own, strict=True)]
    types += [f"{quoted(CHANGE)} STRING"] if group.sign == 0 else []
    frame = _open(engine, followed, types, [address_of(folder, file.path) for file, _ in files])
    values = dict(zip((field.name for field in own), map(quoted, group.names), strict=True))
    if partitions or has_vectors:
        frame = _with_origin(engine, folder, frame, partitions, files, has_vectors)
        values |= {field.name: f"__p{number}" for number, field in enumerate(partitions)}
    if has_vectors:
        frame = _chosen(engine, folder, frame, group, files)
    known = {field.name: field for field in fields}
    kinds = {column.name: column.type for column in columns}
    selected = [
        f"CAST({values[name]} AS {kinds[name]}) AS {quoted(name)}"
        if known[name].partition or known[name].is_cast
        else f"{values[name]} AS {quoted(name)}"
        for name in kinds
        if name != COUNT
    ]
    if COUNT in kinds:
        selected.append(f"CAST({_count(group)} AS BIGINT) AS {COUNT}")
    return frame.selectExpr(*selected)


def _count(group: _Group) -> str:
    if group.sign == 0:
        return f"CASE WHEN {quoted(CHANGE)} IN {_CAME} THEN 1 ELSE -1 END"
    return str(group.sign)


def _open(engine: SparkEngine, followed: Followed, types: Sequence[str], paths: Iterable[str]) -> DataFrame:
    """The files as they are: Spark would take some characters of a path for a pattern. Of a text all columns
    are read, whichever are wanted, for by them Spark says which rows it can parse."""
    plain = tuple(_GLOB.sub(r"\\\g<0>", path) for path in paths)
    if not followed.is_text:
        return engine.at_addresses("parquet", ", ".join(types), plain)
    own = [f"{quoted(field.physical)} {field.type}" for field in followed.fields if not field.partition]
    return engine.at_addresses(followed.format, ", ".join(own), plain, followed.read_options)


def _with_origin(
    engine: SparkEngine,
    folder: Folder,
    frame: DataFrame,
    partitions: Sequence[SourceField],
    files: Sequence[tuple[DataFile, FilePart]],
    has_vectors: bool,
) -> DataFrame:
    """Rows with the number of their file, the values of its partition, and their place in it."""
    names = [_PATH, _NUMBER, *(f"__p{number}" for number in range(len(partitions)))]
    columns = [Column(name, "int" if name == _NUMBER else "string") for name in names]
    rows: list[list[object]] = [
        [_spark_path(address_of(folder, file.path)) for file, _ in files],
        list(range(len(files))),
    ]
    for field in partitions:
        rows.append([_partition_value(field, dict(part.partition)) for _, part in files])
    kinds = [pa.int32() if name == _NUMBER else pa.string() for name in names]
    table = pa.table([pa.array(v, k) for v, k in zip(rows, kinds, strict=True)], names=names)
    origin = [f"_metadata.file_path AS {_FILE}"]
    origin += [f"_metadata.row_index AS {_PLACE}"] if has_vectors else []
    found = frame.selectExpr("*", *origin).join(
        F.broadcast(engine.local(table, columns)), F.col(_FILE) == F.col(_PATH), "left"
    )
    lost = f"raise_error(concat('Rows of a file that was not asked for: ', {_FILE}))"
    number = f"CASE WHEN {_NUMBER} IS NULL THEN CAST({lost} AS INT) ELSE {_NUMBER} END"
    checked = [
        f"CASE WHEN {_NUMBER} IS NULL THEN CAST({lost} AS STRING) ELSE __p{n} END AS __p{n}"
        for n in range(len(partitions))
    ]
    places = [_PLACE] if has_vectors else []
    return found.selectExpr(*map(quoted, frame.columns), f"{number} AS {_NUMBER}", *checked, *places)


def _chosen(
    engine: SparkEngine,
    folder: Folder,
    frame: DataFrame,
    group: _Group,
    files: Sequence[tuple[DataFile, FilePart]],
) -> DataFrame:
    """The rows that deletion vectors name, or those that they do not."""
    numbers, places = list[int](), list[int]()
    for number, (_, part) in enumerate(files):
        rows = _vector(folder, part.within if group.is_part else part.without)
        if group.is_part:
            rows = rows - _vector(folder, part.without)
        numbers += [number] * len(rows)
        places += rows
    table = pa.table([pa.array(numbers, pa.int32()), pa.array(places, pa.int64())], names=[_NUMBER, _PLACE])
    columns = (Column(_NUMBER, "int"), Column(_PLACE, "bigint"))
    named = engine.local(table, columns) if places else engine.empty(columns)
    return frame.join(F.broadcast(named), [_NUMBER, _PLACE], "left_semi" if group.is_part else "left_anti")


def _vector(folder: Folder, vector: DeletionVector | None) -> BitMap64:
    return BitMap64() if vector is None else rows_of(vector, lambda path: content_of(folder, path))


def _partition_value(field: SourceField, values: dict[str, str | None]) -> str | None:
    """The text of a partition's value as Spark casts it; times without a zone are in UTC."""
    value = values.get(field.physical)
    if value is not None and field.type == "timestamp" and not _ZONE.search(value):
        return f"{value}Z" if len(value) > len("2000-01-01") else f"{value} 00:00:00Z"
    return value


def _spark_path(address: str) -> str:
    """The address of a file as Spark tells it of a row."""
    scheme, _, rest = address.rpartition("://")
    encoded = "".join(
        character if character.isalnum() or character in _PLAIN or ord(character) > 127 else quote(character)
        for character in rest
    )
    return f"{scheme}://{encoded}" if scheme else f"file:{encoded}"
