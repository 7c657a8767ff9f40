"""What a Delta table demands of its readers. A feature that is not known here may change what rows there
are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewkeeper.errors import StorageError, Unsupported

READER_VERSION = 3
"""The first two versions have columns and column mapping; this one lists features by name."""

FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)


def check_protocol(protocol: Mapping[str, Any] | None, address: str) -> None:
    """Refuses a table that asks for more than is read here, by the name of what it asks for."""
    if protocol is None:
        raise StorageError(f"The log of the Delta table {address} does not say how it is to be read.")
    version = protocol["minReaderVersion"]
    if version > READER_VERSION:
        raise Unsupported(
            f"The Delta table {address} cannot be followed.",
            f"It asks its readers for version {version} of the protocol; {READER_VERSION} is known.",
            "Upgrade Viewkeeper.",
        )
    unknown = sorted(set(protocol.get("readerFeatures") or ()) - FEATURES)
    if unknown:
        raise Unsupported(
            f"The Delta table {address} cannot be followed.",
            f"It uses features that are not read: {', '.join(unknown)}.",
            f"Those that are: {', '.join(sorted(FEATURES))}. Drop the feature from the table, or copy it.",
        )
