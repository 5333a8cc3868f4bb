"""`citewire up`: the servers, the roles, the first key, the samples, and where to go from there."""

import os
import signal
import socket
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from embedded.admin_key import first_admin_key
from embedded.errors import EmbeddedError
from embedded.master_key import master_key
from embedded.parent import end_with_parent
from embedded.roles import running_roles
from embedded.servers import EmbeddedServers, ServerUrls
from embedded.settings import EmbeddedSettings
from gateway.settings import Settings as GatewaySettings

# Ports that are tried when the usual one is taken and none was asked for.
PORT_RANGE = 50
EXAMPLE = '{"question": "How far ahead should I tell my manager about an upcoming leave?", "kb_ids": ["handbook"]}'


def up(
    *,
    split: Annotated[bool, typer.Option("--services", help="One process per role.")] = False,
    samples: Annotated[bool, typer.Option(help="Load the sample knowledge bases at the first start.")] = True,
    with_parent: Annotated[bool, typer.Option("--exit-with-parent", help="End when the parent process does.")] = False,
) -> None:
    """Run everything on this machine until Ctrl-C."""
    if with_parent:
        end_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        # SIGINT, too: a shell starts background jobs with it ignored, and Python would leave it so.
        signal.signal(number, _interrupt)
    settings = EmbeddedSettings()
    data_dir = settings.data_dir.expanduser().absolute()
    try:
        with EmbeddedServers(data_dir, settings) as urls:
            _run(urls, data_dir, is_split=split, with_samples=samples)
    except KeyboardInterrupt:
        typer.echo("stopped")
    except EmbeddedError as error:
        typer.echo(f"citewire: {error}", err=True)
        raise typer.Exit(1) from None


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(urls: ServerUrls, data_dir: Path, *, is_split: bool, with_samples: bool) -> None:
    key, is_new = first_admin_key(data_dir)
    host, port = _address(GatewaySettings())
    _configure(urls, data_dir, port, key)
    url = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104 - compared, not bound
    (data_dir / "url").write_text(url, encoding="ascii")
    with running_roles(urls, is_split=is_split, logs=data_dir / "logs") as roles:
        # Only now, while the services start: the client's libraries take a good part of a second.
        from embedded.first_steps import take_first_steps  # noqa: PLC0415

        take_first_steps(url, key, roles, samples_marker=data_dir / "samples-loaded" if with_samples else None)
        typer.echo(_welcome(url, key if is_new else None, data_dir))
        sys.stdout.flush()
        while True:
            roles.check()
            time.sleep(1)


def _address(settings: GatewaySettings) -> tuple[str, int]:
    """Host and port of the page: the port asked for, or else the first free one from the usual one up."""
    if "port" in settings.model_fields_set:
        if not _is_free(settings.host, settings.port):
            raise EmbeddedError(f"Port {settings.port} is taken: set CITEWIRE_GATEWAY_PORT to another one.")
        return settings.host, settings.port
    for port in range(settings.port, settings.port + PORT_RANGE):
        if _is_free(settings.host, port):
            return settings.host, port
    raise EmbeddedError(f"No free port from {settings.port} up: set CITEWIRE_GATEWAY_PORT.")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _configure(urls: ServerUrls, data_dir: Path, port: int, key: str) -> None:
    os.environ.update(
        CITEWIRE_REDIS_URL=urls.redis,
        CITEWIRE_POSTGRES_URL=urls.postgres,
        CITEWIRE_RETRIEVER_DATA_DIR=str(data_dir / "retriever"),
        CITEWIRE_GATEWAY_PORT=str(port),
        CITEWIRE_GATEWAY_FIRST_ADMIN_KEY=key,
        CITEWIRE_MASTER_KEY=os.environ.get("CITEWIRE_MASTER_KEY") or master_key(data_dir),
    )


def _welcome(url: str, new_key: str | None, data_dir: Path) -> str:
    key_file = data_dir / "admin.key"
    if new_key:
        page, key, bearer = f"{url}/#key={new_key}", f"{new_key} (administrator; kept in {key_file})", new_key
    else:
        page, key, bearer = f"{url}/", f"the administrator key is in {key_file}", f"$(cat '{key_file}')"
    return (
        "\ncitewire is running; Ctrl-C stops it.\n"
        f"  page  {page}\n"
        f"  key   {key}\n"
        f'  ask   curl -N {url}/v1/questions -H "Authorization: Bearer {bearer}" '
        f"-H 'Content-Type: application/json' -d '{EXAMPLE}'\n"
    )
