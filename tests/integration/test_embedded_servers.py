"""The local stack's servers: started for real, stopped, killed, and started again."""

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import nats
import psutil
import pytest
from redis.asyncio import Redis

from citewire.runtime.settings import ROLES
from embedded.binaries import nats_binary
from embedded.errors import EmbeddedError
from embedded.servers import EmbeddedServers, ServerUrls
from embedded.settings import EmbeddedSettings

pytestmark = pytest.mark.live

# Longer than the stop of a busy Postgres, shorter than a person's patience.
END_TIMEOUT = 15.0
# Whatever the environment of the tests says.
NO_URLS = {"nats_url": None, "redis_url": None, "postgres_url": None}
OUTSIDE = {
    "nats_url": "nats://nats.test:4222",
    "redis_url": "redis://redis.test:6379/0",
    "postgres_url": "postgresql://postgres.test/citewire",
}
# A stack in a process of its own, which says when it runs and then waits for its end.
STACK = """
import sys
from pathlib import Path
from embedded.servers import EmbeddedServers
from embedded.settings import EmbeddedSettings

settings = EmbeddedSettings(nats_url=None, redis_url=None, postgres_url=None)
with EmbeddedServers(Path(sys.argv[1]), settings):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all tests, for its first start is the slow one; its path has what paths may have."""
    return tmp_path_factory.mktemp("stack") / "Zoë's $data 資料"


@pytest.fixture
def urls(data_dir: Path) -> Iterator[ServerUrls]:
    with start(data_dir) as urls:
        yield urls


def start(data_dir: Path, **settings: Any) -> EmbeddedServers:
    return EmbeddedServers(data_dir, EmbeddedSettings(**(NO_URLS | settings)))


def children() -> set[psutil.Process]:
    """The processes that this one has started, other tests' servers included."""
    return set(psutil.Process().children())


def with_descendants(processes: set[psutil.Process]) -> set[psutil.Process]:
    return processes.union(*(process.children(recursive=True) for process in processes))


def has_ended(process: psutil.Process) -> bool:
    """Also true of a zombie, which waits for whoever adopted it and does nothing."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def still_running(processes: set[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended by themselves after the longest stop."""
    deadline = time.monotonic() + END_TIMEOUT
    left = list(processes)
    while left and time.monotonic() < deadline:
        left = [process for process in left if not has_ended(process)]
        time.sleep(0.01)
    return left


def without(data_dir: Path, *given: str, **settings: Any) -> EmbeddedServers:
    """A stack for which the given URLs name servers elsewhere."""
    return start(data_dir, **{name: OUTSIDE[name] for name in given}, **settings)


def executable(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o700)
    return path


def stack_process(data_dir: Path) -> subprocess.Popen[bytes]:
    """A stack in another process, ready when this returns."""
    process = subprocess.Popen(
        [sys.executable, "-c", STACK, str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return process


async def test_nats_stores_a_message_in_a_stream(urls: ServerUrls) -> None:
    client = await nats.connect(urls.nats)
    js = client.jetstream()
    await js.add_stream(name="stores", subjects=["stores"])

    ack = await js.publish("stores", b"x")

    assert ack.seq == 1
    await client.close()


async def test_redis_answers_and_keeps_nothing_on_disk(urls: ServerUrls) -> None:
    async with Redis.from_url(urls.redis, decode_responses=True) as redis:
        pong = await redis.ping()
        kept = await redis.config_get("save", "appendonly", "maxmemory-policy")

    assert pong
    assert kept == {"save": "", "appendonly": "no", "maxmemory-policy": "noeviction"}


async def test_postgres_has_pgvector_and_utf8(urls: ServerUrls) -> None:
    connection = await asyncpg.connect(urls.postgres)

    await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    distance = await connection.fetchval("SELECT '[1,2]'::vector <-> '[4,6]'::vector")
    encoding = await connection.fetchval("SHOW server_encoding")
    await connection.close()

    assert distance == 5
    assert encoding == "UTF8"


async def test_postgres_is_closed_to_whoever_lacks_the_password(urls: ServerUrls) -> None:
    port = urlsplit(urls.postgres).port

    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(host="127.0.0.1", port=port, user="citewire", password="guess", database="citewire")


async def test_nats_is_closed_to_whoever_lacks_a_password(urls: ServerUrls) -> None:
    server = urlsplit(urls.nats)
    reader, writer = await asyncio.open_connection(server.hostname, server.port)

    writer.write(b"CONNECT {}\r\nPING\r\n")
    replies = await reader.read()
    writer.close()

    assert b"Authorization Violation" in replies


def test_the_passwords_of_nats_are_kept_for_their_owner_alone(data_dir: Path) -> None:
    with start(data_dir) as first:
        mode = (data_dir / "nats" / "passwords").stat().st_mode
    with start(data_dir) as second:
        kept = {user: urlsplit(url).password for user, url in second.nats_by_user.items()}

    assert stat.filemode(mode) == "-rw-------"
    assert kept == {user: urlsplit(url).password for user, url in first.nats_by_user.items()}
    assert len(set(kept.values())) == len(kept) > len(ROLES)


def test_only_nats_itself_finds_all_its_passwords_in_its_environment(data_dir: Path) -> None:
    before = children()

    with start(data_dir) as urls:
        password = urlsplit(urls.nats).password
        knowing = {process.name() for process in children() - before if password in process.environ().values()}

    assert knowing == {"nats-server"}


async def test_a_service_that_is_added_to_the_file_of_services_may_connect_after_the_next_start(data_dir: Path) -> None:
    with start(data_dir):
        services = data_dir / "nats" / "services.conf"
        shop = services.read_text(encoding="utf-8")
    billing = shop.replace("shop", "billing").replace("SHOP", "BILLING")
    services.write_text(f"{shop}\n{billing}", encoding="utf-8")

    with start(data_dir) as urls:
        client = await nats.connect(urls.nats_by_user["billing"])
        answered = client.is_connected
        await client.close()

    assert answered


def test_the_servers_listen_on_the_loopback_interface_only(data_dir: Path) -> None:
    before = children()

    with start(data_dir):
        sockets = [socket for process in children() - before for socket in process.net_connections()]
        addresses = {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}

    assert addresses == {"127.0.0.1"}


def test_a_stop_leaves_no_process(data_dir: Path) -> None:
    before = children()

    with start(data_dir):
        names = {process.name() for process in children() - before}
        started = with_descendants(children() - before)
    running = [process for process in started if process.is_running()]

    assert {"nats-server", "valkey-server", "postgres"} <= names
    assert not running


def test_a_killed_process_leaves_no_server_and_the_next_start_works_at_once(data_dir: Path) -> None:
    with stack_process(data_dir) as process:
        servers = set(psutil.Process(process.pid).children(recursive=True))
        process.kill()

    with start(data_dir):
        left = still_running(servers)

    assert len(servers) > 3
    assert not left


def test_a_crash_of_everything_does_not_prevent_the_next_start(data_dir: Path) -> None:
    with stack_process(data_dir) as process:
        for victim in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()

    with start(data_dir) as urls:
        port = urlsplit(urls.postgres).port

    assert port


def test_a_process_number_of_postgres_that_is_another_programs_now_does_not_prevent_the_start(data_dir: Path) -> None:
    with start(data_dir):
        file = data_dir / "postgres" / "data" / "postmaster.pid"
        before_a_crash = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([str(os.getpid()), *before_a_crash[1:]]) + "\n", encoding="utf-8")

    with start(data_dir) as urls:
        port = urlsplit(urls.postgres).port

    assert port


async def test_a_second_start_finds_what_the_first_one_stored(data_dir: Path) -> None:
    with start(data_dir) as urls:
        connection = await asyncpg.connect(urls.postgres)
        await connection.execute("CREATE TABLE kept AS SELECT 'row' AS what")
        await connection.close()
        client = await nats.connect(urls.nats)
        await client.jetstream().add_stream(name="kept", subjects=["kept"])
        await client.jetstream().publish("kept", b"message")
        await client.close()

    with start(data_dir) as urls:
        connection = await asyncpg.connect(urls.postgres)
        row = await connection.fetchval("SELECT what FROM kept")
        await connection.close()
        client = await nats.connect(urls.nats)
        message = await client.jetstream().get_last_msg("kept", "kept")
        await client.close()

    assert (row, message.data) == ("row", b"message")


def test_three_given_urls_start_nothing_and_touch_no_folder(tmp_path: Path) -> None:
    before = children()

    with start(tmp_path / "data", **OUTSIDE) as urls:
        started = children() - before

    assert urls == ServerUrls(nats=OUTSIDE["nats_url"], redis=OUTSIDE["redis_url"], postgres=OUTSIDE["postgres_url"])
    assert not started
    assert not (tmp_path / "data").exists()


def test_a_given_url_takes_the_place_of_its_server_alone(tmp_path: Path) -> None:
    with without(tmp_path, "nats_url", "postgres_url") as urls:
        folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}

    assert urls.nats == OUTSIDE["nats_url"]
    assert urls.redis.startswith("redis://127.0.0.1:")
    assert folders == {"logs", "valkey"}


def test_a_data_folder_in_use_is_refused_with_its_owner(data_dir: Path) -> None:
    with start(data_dir), pytest.raises(EmbeddedError, match=f"process {os.getpid()}: set CITEWIRE_DATA_DIR"):
        start(data_dir).__enter__()


@pytest.mark.parametrize("name", ["embedded_nats_binary", "embedded_redis_binary", "embedded_postgres_bin_dir"])
def test_a_binary_that_is_not_there_is_named_with_its_setting(tmp_path: Path, name: str) -> None:
    stack = start(tmp_path / "data", **{name: tmp_path / "nowhere"})

    with pytest.raises(EmbeddedError, match=f"CITEWIRE_{name.upper()}.*nowhere"):
        stack.__enter__()


def test_a_server_that_ends_at_once_shows_the_end_of_its_log_and_leaves_nothing(tmp_path: Path) -> None:
    before = children()
    binary = executable(tmp_path / "server", "echo out of luck; exit 3")
    stack = without(tmp_path, "postgres_url", embedded_nats_binary=binary)

    with pytest.raises(EmbeddedError, match=r"nats server ended with code 3[\s\S]*out of luck"):
        stack.__enter__()

    assert not children() - before


def test_a_port_that_somebody_else_takes_first_is_replaced(tmp_path: Path) -> None:
    real = nats_binary(None)
    script = (
        f'test -e "{tmp_path}/tried" && exec {real} "$@"; touch "{tmp_path}/tried"; echo Address already in use; exit 1'
    )
    binary = executable(tmp_path / "server", script)

    with without(tmp_path, "redis_url", "postgres_url", embedded_nats_binary=binary) as urls:
        port = urlsplit(urls.nats).port

    assert f"connections on 127.0.0.1:{port}" in (tmp_path / "logs" / "nats.log").read_text(encoding="utf-8")
    assert (tmp_path / "logs" / "nats.log.1").read_text(encoding="utf-8") == "Address already in use\n"


def test_a_cluster_of_another_major_version_is_refused(tmp_path: Path) -> None:
    cluster = tmp_path / "postgres" / "data"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("14\n", encoding="utf-8")

    with pytest.raises(EmbeddedError, match=r"made by Postgres 14 .* CITEWIRE_EMBEDDED_POSTGRES_BIN_DIR"):
        without(tmp_path, "nats_url", "redis_url").__enter__()


def test_a_cluster_whose_making_was_interrupted_is_made_anew(tmp_path: Path) -> None:
    half_made = tmp_path / "postgres.unfinished" / "data"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n", encoding="utf-8")

    with without(tmp_path, "nats_url", "redis_url") as urls:
        port = urlsplit(urls.postgres).port

    assert port
    assert not half_made.parent.exists()
