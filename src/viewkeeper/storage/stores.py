"""Object stores: how they are addressed, and the options that open them for obstore, Delta Lake and Hadoop.

    s3://bucket/path     gs://bucket/path     az://container/path, abfs://container@account…/path

Options have the names that deltalake and obstore share: `aws_access_key_id`, `aws_endpoint_url`, …
What is not given is taken from the environment or from the machine's role. Nothing of them is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from viewkeeper.errors import StorageError

Options = tuple[tuple[str, str], ...]

_CLIENT = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "http1_only",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_url",
    "timeout",
    "user_agent",
)
"""Options of the connection; the others are those of the store."""

_PREFIXES = ("aws_", "google_", "azure_")
_OF_DELTA = ("aws_s3_allow_unsafe_rename", "aws_s3_locking_provider", "delta_dynamo_table_name")
_TRUE = ("1", "true", "on", "yes", "y")

_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_HADOOP_SCHEMES = {"s3": "s3a", "az": "abfs", "azure": "abfs"}

_HADOOP = {
    "aws_access_key_id": "fs.s3a.access.key",
    "aws_secret_access_key": "fs.s3a.secret.key",
    "aws_session_token": "fs.s3a.session.token",
    "aws_endpoint_url": "fs.s3a.endpoint",
    "aws_endpoint": "fs.s3a.endpoint",
    "aws_region": "fs.s3a.endpoint.region",
}


def is_remote(url: str) -> bool:
    return "://" in url and not url.startswith("file://")


def plain_url(url: str) -> str:
    """The address of a folder, written in one way."""
    scheme, _, rest = url.rstrip("/").partition("://")
    return f"{_SCHEMES.get(scheme.lower(), scheme.lower())}://{rest}"


def hadoop_url(url: str) -> str:
    """The address by the name that Hadoop's connector has for the store."""
    scheme, _, rest = url.partition("://")
    return f"{_HADOOP_SCHEMES.get(scheme, scheme)}://{rest}"


def options_of(given: Mapping[str, str] | None) -> Options:
    """Options with their names in small letters, in order."""
    named = {name.lower(): str(value) for name, value in (given or {}).items()}
    return tuple(sorted(named.items()))


def opened_store(url: str, options: Options) -> ObjectStore:
    """The store behind an address."""
    known = {name: value for name, value in options if name not in _OF_DELTA}
    client: Any = {of: _client(of, value) for name, value in known.items() if (of := _of_client(name))}
    config: Any = {name: value for name, value in known.items() if not _of_client(name)}
    try:
        return from_url(url, config=config, client_options=client or None)
    except (BaseError, ValueError) as error:
        what, names = f"The store {url} cannot be opened.", ", ".join(known) or "none"
        raise StorageError(what, f"{error}\nOptions given: {names}.", "Check address and options.") from error


def _of_client(name: str) -> str | None:
    """The connection's name for an option; None for an option of the store."""
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
    bare = name.removeprefix(prefix)
    return bare if bare in _CLIENT else None


def _client(name: str, value: str) -> object:
    is_flag = name.startswith("allow_") or name.endswith("_only")
    return value.lower() in _TRUE if is_flag else value


def hadoop_options(options: Options) -> dict[str, str]:
    """What Hadoop's connector for S3 is told for one read or write."""
    found = {_HADOOP[name]: value for name, value in options if name in _HADOOP}
    if "fs.s3a.endpoint" in found:
        found["fs.s3a.path.style.access"] = "true"
    return found
