"""Put the datasets' TOMLs into the wheel: in a checkout they lie beside the packages, where people look for them."""

from pathlib import Path
from shutil import copytree

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithDatasets(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            copytree("datasets", Path(self.build_lib, "benchmark", "datasets"), dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithDatasets})
