"""Base of both command lines."""

import io
import os
import sys
import warnings
from collections.abc import Callable
from errno import ENOENT, ENOSPC
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand

from benchmark.errors import UserError
from benchmark.files import leave_clone

# joblib replaces a worker process that has grown by 100 MB, and says so. Nothing is lost.
warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor", UserWarning)

F = TypeVar("F", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command that refuses an option given twice, of which only the last value would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        single = [p for p in given if p.nargs != -1 and not any(getattr(p, k, False) for k in ("multiple", "is_flag"))]
        if twice := next((param for i, param in enumerate(single) if param in single[:i]), None):
            found = single.count(twice)
            raise UserError(
                f"{twice.opts[0]}: expected once, found {found} times: give it once, with commas if it takes several "
                "values"
            )
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """A typer application that prints a UserError as one plain message and exits with 2."""

    def __init__(self, **options: Any):
        super().__init__(
            no_args_is_help=True,
            add_completion=False,
            pretty_exceptions_enable=False,
            rich_markup_mode=None,  # boxes and columns make the help of a command longer than a screen
            context_settings={"max_content_width": 120},
            **options,
        )

    def command(self, name: str | None = None, **options: Any) -> Callable[[F], F]:
        return super().command(name, **{"cls": Command} | options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leave_clone()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # an encoding without λ must not fail a run at its end
        try:
            return super().__call__(*args, **kwargs)
        except (UserError, OSError, RuntimeError) as error:
            about = str(error)
            if isinstance(error, RuntimeError):
                if not about.startswith("Symlink loop"):  # of Path.resolve
                    raise
                about += ": give another path"
            if isinstance(error, OSError):
                if error.filename is not None:
                    about = f"{error.filename}: {error.strerror}: give another path, or change its permissions"
                elif error.errno == ENOENT and error.strerror == os.strerror(ENOENT):  # of os.getcwd
                    about = "the working folder is gone: go to another"
                elif error.errno == ENOSPC:
                    about = "no space is left on the disk: free some, or write the output elsewhere"
                else:
                    raise
            # The message may quote untrusted files.
            message = "".join(c if c.isprintable() or c == "\n" else "�" for c in about)
            print(f"error: {message}", file=sys.stderr)
            sys.exit(2)
