"""Importing is free: no server, no setting, no connection. Only `create_app` and what it starts may need them."""

import os
import subprocess
import sys

PACKAGES = ("citewire", "gateway", "autoquery", "retriever", "generator", "persister", "embedded")

IMPORT_ALL = """
import importlib, os, pkgutil, socket, sys
import pydantic_settings

def refuse(what):
    def refused(*_, **__):
        raise AssertionError(f"{what} while being imported")
    return refused

read = type(os.environ).__getitem__

def guarded(environment, name):
    if name.startswith("CITEWIRE_"):
        raise AssertionError(f"reads {name} while being imported")
    return read(environment, name)

type(os.environ).__getitem__ = guarded
pydantic_settings.BaseSettings.__init__ = refuse("reads its settings")
socket.socket.connect = socket.socket.connect_ex = socket.socket.bind = refuse("opens a connection")

for package in sys.argv[1:]:
    found = importlib.import_module(package)
    for module in pkgutil.walk_packages(found.__path__, f"{package}."):
        importlib.import_module(module.name)
        print(module.name)
"""


def import_all(*packages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *packages],
        env={**os.environ, "CITEWIRE_KEY": "set"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_module_imports_with_nothing_running_and_no_setting_read() -> None:
    result = import_all(*PACKAGES)

    assert result.returncode == 0, result.stderr
    assert {f"{role}.app" for role in PACKAGES[1:-1]} <= set(result.stdout.split())
