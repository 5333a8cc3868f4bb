"""Another team installs the bare `citewire` wheel and gets the contracts with pydantic and nothing else."""

import subprocess
import sys
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

SHARED = Path(__file__).parents[2] / "shared"

IMPORT_ALL = """
import importlib, pkgutil, sys

ALLOWED = sys.stdlib_module_names | {
    "citewire", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"
}

class Bare:
    def find_spec(self, name, path=None, target=None):
        other = name.startswith("citewire.") and not name.startswith("citewire.contracts")
        # The last one is the standard library's, too, under a name that differs between machines.
        if other or not (name.partition(".")[0] in ALLOWED or name.startswith("_sysconfigdata")):
            raise ModuleNotFoundError(f"not there in a bare installation: {name}", name=name)

sys.path.insert(0, sys.argv[1])
sys.meta_path.insert(0, Bare())
import citewire.contracts
assert citewire.contracts.__file__.startswith(sys.argv[1]), citewire.contracts.__file__
for module in pkgutil.iter_modules(citewire.contracts.__path__, "citewire.contracts."):
    importlib.import_module(module.name)
    print(module.name)
from citewire.contracts.asyncapi import asyncapi_document
asyncapi_document()
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, SHARED], check=True)
    return next(folder.glob("citewire-*.whl"))


def test_it_requires_pydantic_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())

    always = [line for line in metadata.get_all("Requires-Dist", ()) if "extra ==" not in line]

    assert len(always) == 1
    assert always[0].startswith("pydantic>=")


def test_it_brings_its_types(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        assert "citewire/py.typed" in archive.namelist()


def test_its_contracts_import_with_nothing_but_pydantic_there(wheel: Path) -> None:
    modules = {f"citewire.contracts.{path.stem}" for path in (SHARED / "citewire" / "contracts").glob("[a-z]*.py")}

    result = subprocess.run(
        [sys.executable, "-I", "-c", IMPORT_ALL, str(wheel)], capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) == modules
