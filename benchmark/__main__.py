"""The command line: ``python -m benchmark --help``."""

from typing import Annotated

import typer

from benchmark import __version__
from benchmark.commands import data, methods, train
from benchmark.commands.app import App
from benchmark.commands.options import console

app = App(help="Measure cross-sample prediction churn: how many predictions flip when a model is retrained.")

for command in (
    train.run,
    data.list_,
    data.health,
    data.new_dataset,
    data.doctor,
    train.study,
    train.update,
    train.plan,
    methods.check,
    methods.new_method,
    data.export_protocol,
):
    app.command(command.__name__.rstrip("_").replace("_", "-"))(command)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Print the suite's version.")] = False) -> None:
    if version:
        console.print(__version__)
        raise typer.Exit()


if __name__ == "__main__":
    app()
