"""Beginning to follow a table that others own: its columns, its key, and the version that is recorded
first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from viewkeeper.algebra.inner_names import inner_relation, shown
from viewkeeper.algebra.schema import Column, TableSchema
from viewkeeper.catalog.catalog import ENFORCED, Catalog
from viewkeeper.catalog.names import checked, shown_columns
from viewkeeper.errors import DependencyError, InvalidOption, NotFound, UnknownColumn, WrongType
from viewkeeper.spark.followed import inferred_columns
from viewkeeper.spark.stage import check_loaded
from viewkeeper.spark.stored_relations import folder_for
from viewkeeper.sql.statements import CreateTable, parse_statement
from viewkeeper.storage.commits import Entry
from viewkeeper.storage.draft import Draft
from viewkeeper.storage.following.folder_format import (
    ON_CHANGE,
    SETTLE,
    FolderFormat,
    partition_columns,
    whole_files,
)
from viewkeeper.storage.following.formats import Observed
from viewkeeper.storage.following.iceberg_format import catalog_options
from viewkeeper.storage.following.known import FOLDERS, files_of, format_of
from viewkeeper.storage.following.places import address_of, folder_of
from viewkeeper.storage.following.state import LISTING, READ, Options
from viewkeeper.storage.objects import Folder
from viewkeeper.storage.publish import publish
from viewkeeper.storage.relation import RelationState
from viewkeeper.workspace import Workspace

FOLLOWS, COLUMNS = "viewkeeper.follows", "viewkeeper.columns"
"""Properties of a followed table: its format, and whether its columns were chosen."""

_SECRET = ("secret", "credential", "token", "password", "sas", "private", "account_key")

Checked = Callable[[TableSchema, Catalog], TableSchema]


def is_followed(schema: TableSchema) -> bool:
    return schema.property(FOLLOWS) is not None


def is_enforced(schema: TableSchema) -> bool:
    """Whether the keys of a followed table are checked, and not trusted."""
    return schema.property(ENFORCED) == "true"


def follow(
    work: Workspace,
    schema: TableSchema,
    address: str,
    form: str,
    options: Mapping[str, str],
    read: Mapping[str, str],
    enforced: bool,
    version: int | None,
    well_formed: Checked,
    must_be_free: Callable[[Catalog, str], None],
) -> int:
    """Records a table as it is now. `schema` has its name and keys, and columns where they are chosen."""
    wanted = checked(schema.name, "table")
    is_catalog = form.lower() == "iceberg"
    given = catalog_options(address, options.items(), _STORAGE) if is_catalog else dict(options)
    place, known = _place(address), _checked_options(given | read_options(work, form, read))

    def build(base: Entry) -> Draft:
        must_be_free(base.catalog, wanted)
        draft = Draft(base, f"follow {wanted}")
        reader = format_of(form)
        if isinstance(reader, FolderFormat):
            found = _begun(work, reader, place, known, schema.columns)
        else:
            at = reader.newest(place, known) if version is None else version
            found = reader.observed(place, known, at)
        own = _with_properties(schema, form, enforced)
        _must_have(own.columns, found, own)
        columns = own.columns or shown_columns(found.columns)
        own = well_formed(replace(own, columns=_as_found(columns, found)), draft.catalog)
        own, state = as_recorded(own, found)
        draft.catalog = draft.catalog.with_table(own)
        state = replace(state, complete_since=draft.version, folder=folder_for(inner_relation(wanted)))
        draft.put(own.name, state)
        if is_enforced(own) and (own.key or own.foreign_keys):
            check_loaded(work.engine, draft, own, state)
        return draft

    return publish(work.log, build).version


def columns_listed(text: str) -> tuple[Column, ...]:
    """Columns as CREATE TABLE lists them; none where nothing is listed."""
    if not text.strip():
        return ()
    statement = parse_statement(f"CREATE TABLE listed ({text})")
    if not isinstance(statement, CreateTable) or statement.schema.key:
        what = f"The schema {text!r} is no list of columns."
        raise InvalidOption(what, hint="Give names and types: id INT, day DATE.")
    return statement.schema.columns


_STORAGE = ("aws", "azure", "google", "gcs", "allow_http", "endpoint", "region", "account_", "virtual_hosted")


def by_use(form: str, options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The options of a statement: what opens the storage, and how files of a folder are read."""
    own = {n: v for n, v in options.items() if form.lower() in FOLDERS and not n.lower().startswith(_STORAGE)}
    return {name: value for name, value in options.items() if name not in own}, own


_READERS = {
    "enforceSchema": "false",  # where files have headers, these are compared with the columns
    "columnPruning": "false",  # whether a line can be parsed does not depend on what is asked for
}


def read_options(work: Workspace, form: str, asked: Mapping[str, str]) -> dict[str, str]:
    """What is kept of the options for reading a folder: what they say does not depend on a session."""
    if form.lower() not in FOLDERS:
        if asked:
            raise InvalidOption(
                f"A {form} table takes no options for reading: {', '.join(asked)}.",
                "It says itself how its files are read.",
                "Give what opens its storage as storage_options.",
            )
        return {}
    given = {name.lower(): (name, str(value)) for name, value in asked.items()}
    own = {name: given.pop(name)[1] for name in LISTING if name in given}
    _checked_listing(own)
    if given.get("mode", ("", ""))[1].upper() == "DROPMALFORMED":
        raise InvalidOption(
            "The mode DROPMALFORMED cannot be kept: which rows Spark drops depends on what a query asks for.",
            hint="Use PERMISSIVE, which shows what cannot be parsed as NULL, or FAILFAST.",
        )
    known = dict(given.values())
    defaults = {"timeZone": work.engine.zone} | (_READERS if form.lower() == "csv" else {})
    known |= {name: text for name, text in defaults.items() if name.lower() not in given}
    kept = {f"{READ}{name}": text for name, text in known.items()} if form.lower() != "parquet" else {}
    return {**own, **kept}


def _checked_listing(own: Mapping[str, str]) -> None:
    on_change, settle = own.get(ON_CHANGE, "error"), own.get(SETTLE, "0")
    if on_change not in ("error", "replace"):
        raise InvalidOption(f"{ON_CHANGE} cannot be {on_change!r}.", hint="It is error or replace.")
    if not settle.replace(".", "", 1).isdecimal():
        raise InvalidOption(f"{SETTLE} cannot be {settle!r}.", hint="It is a number of seconds.")


def _begun(
    work: Workspace, reader: FolderFormat, place: str, options: Options, columns: Sequence[Column]
) -> Observed:
    """A folder as it is first recorded; its columns are inferred once where none are declared."""
    if columns:
        return reader.begun(place, options, columns)
    files = whole_files(place, options)
    if not files:
        raise NotFound(
            f"There is no file at {place} to infer columns from.",
            hint="List the columns, or follow the folder when it has a file.",
        )
    folder, own = folder_of(place, options), tuple(o for o in options if o[0].startswith(READ))
    given = tuple((name.removeprefix(READ), text) for name, text in own)
    inferred = inferred_columns(work.engine, reader.kind, given, [address_of(folder, f.path) for f in files])
    partitions = partition_columns(place, options)
    taken = {column.name for column in partitions}
    return reader.begun(place, options, (*(c for c in inferred if c.name not in taken), *partitions))


def _place(address: str) -> str:
    """The address without what may be written in several ways."""
    return Folder(address, create=False).url if "://" in address else str(Folder.local(address))


def _checked_options(options: Mapping[str, str]) -> Options:
    """Options are kept in the warehouse's log, where secrets have no place."""
    secret = [name for name in options if any(word in name.lower() for word in _SECRET)]
    if secret:
        raise InvalidOption(
            f"The storage option {secret[0]} would be kept in the warehouse's log.",
            "Whoever reads the warehouse could read it.",
            "Set it in the environment, where the storage library finds it, and in Spark's configuration.",
        )
    return tuple(sorted((name, str(value)) for name, value in options.items()))


def _with_properties(schema: TableSchema, form: str, enforced: bool) -> TableSchema:
    own = {FOLLOWS: form.lower(), ENFORCED: str(enforced).lower()}
    own |= {COLUMNS: "chosen"} if schema.columns else {}
    return replace(schema, properties=(*schema.properties, *own.items()))


def _must_have(columns: Sequence[Column], found: Observed, schema: TableSchema) -> None:
    """Refuses columns that the table does not have, or not of these types."""
    known = {shown(column.name).lower(): column for column in found.columns}
    for column in columns:
        own = known.get(column.name.lower())
        if own is None:
            raise UnknownColumn(
                f"{schema.name} cannot have the column {column.name}: the table that it follows has none.",
                f"That has {', '.join(shown(c.name) for c in found.columns)}.",
                table=schema.name,
                columns=[column.name],
            )
        if own.type != column.type:
            raise WrongType(
                f"The column {column.name} of {schema.name} cannot be {column.type}.",
                f"In the table that it follows it is {own.type}.",
                "Give the type that it has, or leave the columns out.",
                table=schema.name,
                columns=[column.name],
            )


def _as_found(columns: Sequence[Column], found: Observed) -> tuple[Column, ...]:
    """Chosen columns as the table has them; what may not be NULL by either may not."""
    known = {shown(column.name).lower(): column for column in found.columns}
    own = ((column, known[column.name.lower()]) for column in columns)
    return tuple(replace(b, name=shown(b.name), nullable=a.nullable and b.nullable) for a, b in own)


def as_recorded(schema: TableSchema, found: Observed) -> tuple[TableSchema, RelationState]:
    """A followed table's schema and state at a version, without what happened before."""
    names = {column.name for column in found.columns}
    is_chosen = schema.property(COLUMNS) is not None
    needed = (*schema.key, *(name for key in schema.foreign_keys for name in key.columns))
    needed = (*needed, *(schema.names if is_chosen else ()))
    if lost := [name for name in needed if name not in names]:
        raise DependencyError(
            f"{schema.name} cannot be followed any further: its column {shown(lost[0])} is gone.",
            f"It has {', '.join(shown(column.name) for column in found.columns)}.",
            "Drop it and follow the table anew.",
            table=schema.name,
            columns=lost,
        )
    chosen = set(schema.names) if is_chosen else names
    required = set(schema.key) | {c.name for c in schema.columns if is_chosen and not c.nullable}
    columns = tuple(
        replace(column, nullable=column.nullable and column.name not in required)
        for column in found.columns
        if column.name in chosen
    )
    rows = sum(file.rows for file in files_of(found.followed))
    state = RelationState("", columns, found.followed.version, rows, key=schema.key, followed=found.followed)
    return replace(schema, columns=columns), state
