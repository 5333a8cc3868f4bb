"""A script that puts itself under watch, gives up root where asked, and becomes the server.

Run by path with the standard library alone, so that it costs 20 ms. A hook between fork and exec would cost less, and
is not safe in a process with threads.
"""

import ctypes
import os
import pwd
import sys
from pathlib import Path
from typing import NoReturn

CLONE_NEWUSER = 0x10000000
# Whom the server believes to be inside its user namespace; the name `nobody` of this id is nearly everywhere.
NAMESPACE_ID = 65534


def main(watch: str, stop_signal: str, private_folder: str, command: list[str]) -> None:
    """Become `command`; as root and with a `private_folder`, become it as somebody else who owns that folder."""
    watcher = int(watch)
    os.write(watcher, f"{os.getpid()} {stop_signal}\n".encode())
    os.close(watcher)
    if private_folder and os.geteuid() == 0:
        _give_up_root(Path(private_folder), Path(command[0]))
    os.execv(command[0], command)  # noqa: S606 - becoming the server is the purpose


def _give_up_root(folder: Path, binary: Path) -> None:
    """Look like an ordinary user to the server, or be one where the system forbids user namespaces."""
    try:
        # What an earlier start gave to `nobody` can't be read from inside a namespace.
        _give(folder, 0, 0)
        if not _enter_user_namespace():
            _become_nobody(folder)
    except OSError as error:
        _refuse(str(error))
    for path, mode in ((binary, os.X_OK), (folder, os.W_OK)):
        if not os.access(path, mode):
            _refuse(f"the user nobody can't reach {path}")


def _enter_user_namespace() -> bool:
    """Linux only: the kernel still sees root, so files need no new owner, and the server sees an ordinary user."""
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None or unshare(CLONE_NEWUSER) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    for file in ("uid_map", "gid_map"):
        Path("/proc/self", file).write_text(f"{NAMESPACE_ID} 0 1", encoding="ascii")
    return True


def _become_nobody(folder: Path) -> None:
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        _refuse("there is no user nobody")
    _give(folder, nobody.pw_uid, nobody.pw_gid)
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


def _give(folder: Path, user: int, group: int) -> None:
    """Change the owner of a tree, its root last: a root with the right owner means that all of it has."""
    if folder.stat().st_uid == user:
        return
    for parent, _, files in os.walk(folder, topdown=False):
        for path in (*(Path(parent, name) for name in files), Path(parent)):
            os.chown(path, user, group, follow_symlinks=False)


def _refuse(reason: str) -> NoReturn:
    sys.exit(
        f"Postgres refuses to run as root, and running it as another user failed: {reason}. Start citewire as an "
        "ordinary user, name a folder that everybody may enter in CITEWIRE_DATA_DIR, or name a running server in "
        "CITEWIRE_POSTGRES_URL."
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
