"""The wheel of the services starts a local stack by itself."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]


def test_it_brings_the_configuration_of_nats(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT], check=True)

    with ZipFile(next(tmp_path.glob("citewire_services-*.whl"))) as wheel:
        names = set(wheel.namelist())

    assert {"embedded/nats.conf", "embedded/services.conf"} <= names
