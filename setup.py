"""Put the datasets' TOMLs into the wheel: in a checkout they lie beside the packages, where people look for them."""

from pathlib import Path
from shutil import copy

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithDatasets(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "benchmark", "datasets")
            target.mkdir(parents=True, exist_ok=True)
            for file in Path("datasets").iterdir():
                copy(file, target)


setup(cmdclass={"build_py": BuildWithDatasets})
