"""Base of both command lines."""

import sys
import warnings
from typing import Any

import typer

from benchmark.errors import UserError
from benchmark.files import leave_clone

# joblib replaces a worker process that has grown by 100 MB, and says so. Nothing is lost.
warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor", UserWarning)


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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leave_clone()
        try:
            return super().__call__(*args, **kwargs)
        except (UserError, OSError) as error:
            about = str(error)
            if isinstance(error, OSError):
                if error.filename is None:
                    raise
                about = f"{error.filename}: {error.strerror}: give another path, or change its permissions"
            # The message may quote untrusted files.
            message = "".join(c if c.isprintable() or c == "\n" else "�" for c in about)
            print(f"error: {message}", file=sys.stderr)
            sys.exit(2)
