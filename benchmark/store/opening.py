"""The tracking store's address, its creation, and the errors it raises; MLflow itself is imported only where needed."""

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from filelock import FileLock

from benchmark.errors import UserError
from benchmark.files import home
from benchmark.store.staging import staging, sweep

if TYPE_CHECKING:
    from mlflow.store.entities import PagedList
    from sqlalchemy import URL

SQLITE = "sqlite"
STORE = "the tracking store"
REMEDIES = {
    "error code 401": (
        "give your name and password as MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or a token as "
        "MLFLOW_TRACKING_TOKEN"
    ),
    "error code 403": "ask for the permission EDIT on this experiment, or set MLFLOW_TRACKING_URI to another store",
    "'active' state": "restore it with mlflow experiments restore --experiment-id and the number above",
    "filesystem tracking backend": (
        "copy its runs into a database with mlflow migrate-filestore, and set MLFLOW_TRACKING_URI to that, e.g. "
        "sqlite:///mlflow.db"
    ),
    "No module named": "install it with pip: this store, or where its files are, is reached through it",
    "an mlflow-artifacts URI": "its files are with its server: start that, and set MLFLOW_TRACKING_URI to its address",
    "unsupported URI": "write the address with its scheme, e.g. http://127.0.0.1:5000 or sqlite:///mlflow.db",
    "database schema": (
        "copy it, then upgrade it with mlflow db upgrade and its address or, if a newer MLflow made it, install that"
    ),
}
"""What to do, by what MLflow's message says; anything else has a remedy by the kind of store."""
PAGE = 1000
"""Experiments or runs of one page of an answer."""
BUSY_SECONDS = 20
"""Seconds to wait for a SQLite file that another process is writing to, as MLflow does."""


class TrackingError(UserError):
    """The tracking store cannot be reached or refuses a request; trained cells are on disk."""


class RefusedError(TrackingError):
    """The tracking store works, and refuses what one cell holds."""


def uri() -> str:
    """Return ``MLFLOW_TRACKING_URI``, or by default a SQLite file in ``CHURN_HOME`` or the working folder.

    Raises UserError for a folder whose path means another in an address.
    """
    if given := os.environ.get("MLFLOW_TRACKING_URI"):
        return given
    path = home() / "mlflow.db"
    if odd := re.search(r"%(?=[0-9A-Fa-f]{2})|[?\ud800-\udfff]", str(path)):
        raise UserError(f"{path}: {odd[0]!r} means something else in an address: set CHURN_HOME or MLFLOW_TRACKING_URI")
    return f"sqlite:///{path}"


def file_of(address: str) -> Path | None:
    """Return the path of a SQLite store; None for other stores, in memory, and addresses that only SQLite reads."""
    url = _database(address)
    path = url.database if url and url.get_backend_name() == SQLITE else ""
    return Path(path) if path and not path.startswith((":", "file:")) else None


def nothing_at(address: str = "") -> str:
    """Return the path of a SQLite store that does not exist, as opening would create it; empty for other stores."""
    path = file_of(address or uri())
    return str(path) if path and not (path.exists() and (not path.is_file() or path.stat().st_size)) else ""


def without_password(address: str) -> str:
    """Return the address of a store as it may be shown.

    >>> without_password("postgresql://me:secret@host:5432/db"), without_password("sqlite:////home/a@b/mlflow.db")
    ('postgresql://host:5432/db', 'sqlite:////home/a@b/mlflow.db')
    """
    address = re.sub(r"([?&]password=)[^&]*", r"\1***", address)
    if address.startswith("http"):
        return re.sub(r"^(https?://)[^/?#]*@", r"\1", address)
    return re.sub(r"^([\w+.-]+://)(?!/)(?:[^/?#]*|[^:/?#@]*:[^@]*)@", r"\1", address)


def _database(address: str) -> "URL | None":
    """Return the address of a store that is a database; None for a server or a folder."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(address)
    except ArgumentError:  # a folder, or a word such as databricks
        return None
    except ValueError:  # of the port; its message may quote a password
        where = f"{STORE} {without_password(address)} cannot be used: it has no port that is a number"
        raise TrackingError(f"{where}\n  write it as in http://127.0.0.1:5000 or sqlite:///mlflow.db") from None
    if url.get_backend_name() == SQLITE:
        return url
    from mlflow.store.db.db_types import DATABASE_ENGINES

    return url if url.get_backend_name() in DATABASE_ENGINES else None


def prepare(address: str) -> None:
    """Create a SQLite store that does not exist, and raise an error at once if a database cannot be used.

    Left to itself, MLflow tries such a database for two minutes.
    """
    from sqlalchemy import create_engine, inspect

    url = _database(address)
    if url is None:
        return
    in_memory = not url.database or url.database.startswith((":memory:", "file::memory:")) or "mode=memory" in address
    if url.get_backend_name() == SQLITE and in_memory:
        raise TrackingError(f"{STORE} {address} is in memory, and lost at the end: give a file: sqlite:///mlflow.db")
    if path := nothing_at(address):
        _create(Path(path), url)
    patience = {"timeout": BUSY_SECONDS} if url.get_backend_name() == SQLITE else {}
    engine = create_engine(url, connect_args=patience)
    try:
        tables = inspect(engine).get_table_names()
    finally:
        engine.dispose()
    if url.get_backend_name() == SQLITE and tables and "alembic_version" not in tables:
        found = ", ".join(tables[:5])
        raise TrackingError(f"{STORE} {address} is of another program, with the tables {found}: give another file")


def _create(path: Path, url: "URL") -> None:
    """Create a SQLite store whole or not at all, and once even if several drivers start at the same time.

    MLflow creates the tables one by one: a kill or a second driver meanwhile would leave a store that never works.
    """
    from mlflow.store.tracking import DEFAULT_LOCAL_FILE_AND_ARTIFACT_PATH
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        if nothing_at(str(url)):
            with staging(path) as folder:
                query = f"?{urlencode(url.query)}" if url.query else ""
                place = str(folder / path.name).replace("%", "%25").replace("?", "%3F")
                new = f"sqlite:///{place}{query}"  # MLflow would make a folder %C3%BC for one called ü
                SqlAlchemyStore(new, DEFAULT_LOCAL_FILE_AND_ARTIFACT_PATH).engine.dispose()
                (folder / path.name).replace(path)
    sweep(path.parent, path.name)


def analyse(address: str) -> None:
    """Gather the statistics without which SQLite sorts runs by a metric in quadratic time, as MLflow's pages do.

    Other databases gather them by themselves. A call that fails, as on a locked file, is made up for by the next.
    """
    if (path := file_of(address)) is not None:
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=1)) as database:
            database.execute("PRAGMA analysis_limit = 1000")  # rows read of each index: 0.02 s in all
            database.execute("ANALYZE")
            database.commit()


def refused(error: Exception) -> bool:
    """Return whether a store that works has refused a request for what it holds, or who makes it."""
    from mlflow.exceptions import MlflowException

    return isinstance(error, MlflowException) and error.get_http_status_code() in (400, 403)


def all_pages(search: "Callable[..., PagedList[Any]]") -> list[Any]:
    """Return what a search of MLflow finds, on all pages of its answer."""
    found = [*(page := search(max_results=PAGE))]
    while page.token:
        found += (page := search(max_results=PAGE, page_token=page.token))
    return found


@contextmanager
def translated_errors(where: str) -> Iterator[None]:
    """Raise what the store at ``where`` raises as TrackingError, with the remedy."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, OSError, ImportError) as error:  # OSError: also those of requests
        address, where = where, without_password(where)
        reason = (_of_database(error).strip() or type(error).__name__).splitlines()[0][:300].replace(address, where)
        remedy = next((text for pattern, text in REMEDIES.items() if re.search(pattern, reason)), "")
        if refused(error):
            raise RefusedError("\n  ".join(filter(None, [f"{STORE} {where} refuses it: {reason}", remedy]))) from error
        url = _database(address)
        check = "start its server"
        if url and url.get_backend_name() == SQLITE:
            check = "check that it is a database of MLflow that you may read and write"
        remedy = remedy or f"{check}, free space on its disk, or set MLFLOW_TRACKING_URI to another store or unset it"
        raise TrackingError(f"{STORE} {where} cannot be used: {reason}\n  {remedy}") from error


def _of_database(error: BaseException) -> str:
    """Return the message of a database, such as that its disk is full, without those of the layers above it."""
    from sqlalchemy.exc import DBAPIError

    below: BaseException | None = error
    while below is not None:
        if isinstance(below, DBAPIError):
            return str(below.orig)
        below = below.__cause__
    return str(error)
