"""An object store on the loopback: moto, in a process of its own, as who asks it may hold Python's lock."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import boto3
import pytest

from tests.conftest import free_port


@dataclass(frozen=True)
class Bucket:
    """A bucket, and the options that open it."""

    url: str
    options: dict[str, str]


@pytest.fixture(scope="session")
def store() -> Iterator[dict[str, str]]:
    """The options of a store of S3's kind."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not takes(port):
        assert server.poll() is None, "moto's server has ended"
        assert time.monotonic() < until, "moto's server does not start"
        time.sleep(0.05)
    yield {
        "aws_endpoint_url": f"http://127.0.0.1:{port}",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "hush-hush",
        "aws_region": "us-east-1",
        "allow_http": "true",
    }
    server.kill()
    server.wait()


def takes(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def bucket(store: dict[str, str], request: pytest.FixtureRequest) -> Bucket:
    """A bucket of a test's own."""
    name = f"bucket-{abs(hash(request.node.nodeid)):x}"
    client = boto3.client(
        "s3",
        endpoint_url=store["aws_endpoint_url"],
        aws_access_key_id=store["aws_access_key_id"],
        aws_secret_access_key=store["aws_secret_access_key"],
        region_name=store["aws_region"],
    )
    client.create_bucket(Bucket=name)
    return Bucket(f"s3://{name}/wh", store)
