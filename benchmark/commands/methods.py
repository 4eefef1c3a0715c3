"""Commands for authors of methods."""

import re
from importlib.resources import files as resources
from keyword import iskeyword
from typing import Annotated

import typer

from benchmark.commands.options import say
from benchmark.errors import UserError
from benchmark.files import own_methods


def check(
    method: Annotated[str, typer.Argument(help="A method's name, or the path of its Python file.")],
    trust: Annotated[bool, typer.Option("--trust", help="Run it without a sandbox, with your permissions.")] = False,
) -> None:
    """Check that a method keeps the contract on a small synthetic problem, and list what to fix.

    The method runs in a sandbox, which cannot reach datasets, the cache, your files or the network.
    """
    from rich.console import Console
    from rich.markup import escape

    from benchmark.registry import named
    from benchmark.run import sandbox
    from benchmark.run.check import checked
    from benchmark.run.isolation import SENTENCE, isolated

    if not trust and (trouble := sandbox.trouble()):
        raise UserError(f"{trouble}. If you trust all code of {method!r}, add --trust: it can then do what you can")
    with Console(stderr=True).status(escape(f"checking {method}: about 25 trainings on 160 rows")):
        if trust:
            result = checked(*named(method))
        else:
            with isolated(method) as apart:
                result = apart.check()
    if result.failures:
        say("\n".join([*result.failures, "" if trust else f"In the check, {SENTENCE}."]).rstrip())
        raise typer.Exit(1)
    say(f"{result.name} keeps the contract on {' and '.join(result.tasks)}.")


def new_method(name: Annotated[str, typer.Argument(help="A lower-case Python name, as in my_method.")]) -> None:
    """Write methods/NAME.py from the template."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        raise UserError(f"method name {name!r}: expected at most 64 lower-case letters, digits and _, as in my_method")
    title = name.replace("_", " ").capitalize()
    if iskeyword(name) or iskeyword(title):
        raise UserError(f"method name {name!r}: it is a word of Python's: choose another name")
    text = (resources("methods") / "_template.py").read_text(encoding="utf-8")
    if re.search(rf"^from .* import .*\b{title.title().replace(' ', '')}\b", text, flags=re.MULTILINE):
        raise UserError(f"method name {name!r}: its class would hide what the template imports: choose another name")
    path = own_methods() / f"{name}.py"
    from benchmark.registry import hides  # it imports more than other commands need

    if hides(path):
        raise UserError(f"the suite has a method {name!r}: choose another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = text.replace("NAME", name).replace("TITLE", title).replace("Template", title.title().replace(" ", ""))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} exists: choose another name, or edit the file") from None
    run = f"churn run --method erm,{name} --dataset lite --sampling halves"
    commands = (f"churn check {name}", run, "churn build --published --out site")
    say("\n  ".join((f"wrote {path}\nnext: edit it, then", *commands)))
