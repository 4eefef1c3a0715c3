"""The command line: ``python -m leaderboard --help``."""

import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.app import App
from benchmark.commands.options import Jobs
from benchmark.errors import UserError, number_of
from benchmark.settings import items
from benchmark.store.staging import claim
from benchmark.types import Sampling
from leaderboard.scoring import commands

if TYPE_CHECKING:
    from leaderboard.read.results import Results

app = App(help="Turn the runs in the tracking store into a leaderboard.")
METHOD = typer.Option(help="One of the methods that are recorded.", show_default="the recommended one")
STORE = typer.Option(help="MLflow store, or a folder of exported results.", show_default="MLFLOW_TRACKING_URI")


@app.command()
def build(
    out: Annotated[Path, typer.Option(help="Folder for the pages; an existing site is replaced.")] = Path("site"),
    ci: Annotated[str, commands.CI] = "runs",
    store: Annotated[str, STORE] = "",
    published: Annotated[bool, typer.Option("--published", help="Add published results on the same datasets.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Recompute everything, ignoring the cache of earlier builds.")
    ] = False,
    repository: Annotated[str, typer.Option(help="Address of the repository that the pages link to.")] = "",
    docs: Annotated[str, typer.Option(help="Address of the documentation that the pages link to.")] = "",
) -> None:
    """Write the leaderboard as pages, LaTeX, CSV and JSON.

    Results that an earlier build computed from the same cells are taken from the cache.
    """
    from leaderboard import site
    from leaderboard.read import jobs

    kind = commands.interval_kind(ci)
    folder = claim(out)
    if force:
        jobs.forget()
    results, health = _finished(store, among_published=published)
    page = site.write(results, folder, kind, health, repository, docs)
    datasets = [dataset for part in results.by_sampling for dataset in part.datasets]
    count, rows = len({dataset.name for dataset in datasets}), sum(len(dataset.entries) for dataset in datasets)
    typer.echo(f"{number_of(count, 'dataset')}, {number_of(rows, 'row')}: {page}")


def _finished(store: str, among_published: bool = False) -> tuple["Results", dict[str, str]]:
    """Read results as ``read`` does, and warn of what is unreadable. Raises UserError if there is nothing else."""
    from leaderboard.read.stored import read

    results, health = read(store, among_published)
    for line in results.unreadable:
        typer.echo(f"warning: {line}", err=True)
    if not results.by_sampling:
        raise UserError(f"{results.source} has no finished cell: add some with churn run")
    return results, health


@app.command()
def board() -> None:
    """Show the board of the published results, and open it in a browser; nothing is trained."""
    import webbrowser

    from leaderboard.site.prepared import ready

    page = ready(lambda line: typer.echo(line, err=True))
    typer.echo(str(page))
    if sys.stdout.isatty():
        webbrowser.open(page.as_uri())


@app.command()
def predict(
    file: Annotated[Path, typer.Argument(help="New molecules: CSV, TSV, Excel, Parquet or SDF.")],
    dataset: Annotated[str, typer.Option(help="Dataset that the method was trained on.")],
    out: Annotated[Path, typer.Option(help="CSV to write; it must not exist.")] = Path("predictions.csv"),
    method: Annotated[str, METHOD] = "",
    sheet: Annotated[str, typer.Option(help="Sheet of a workbook.")] = "",
    store: Annotated[str, STORE] = "",
    jobs: Jobs = None,
) -> None:
    """Predict new molecules, and say of each how far the answer depends on the sample and how close the data are.

    A model trained on all rows answers. The retrainings of the recorded run are trained again, and tell the stability.
    """
    from rich.progress import Progress

    from benchmark.data.spec import load_spec
    from benchmark.files import reserved, save
    from leaderboard import predict as new
    from leaderboard.read.stored import read

    if not out.parent.is_dir():
        raise UserError(f"--out {out}: there is no folder {out.parent}: create it, or choose another")
    with reserved(out):
        spec = load_spec(dataset)
        table = new.inputs(spec, file, sheet)
        for line in table.attrs["notes"]:
            typer.echo(line)
        plan = new.planned(new.recorded(read(store)[0], spec.name, method))
        count = len(plan.key.seeds)
        typer.echo(
            f"{number_of(len(table), 'row')}; {plan.title}: training on all rows, and "
            f"{number_of(count, 'retraining')} ({plan.key.sampling})"
        )
        with Progress(disable=not sys.stdout.isatty()) as progress:
            task = progress.add_task("models", total=count + 1)
            answers = new.answer(plan, table, jobs, lambda: progress.advance(task))
        save(out, new.to_csv(spec, table, answers).encode())
    left = int((answers.reasons != "").sum())
    typer.echo(f"{out}: rows predicted: {len(table) - left:,}" + (f"; not, see their reason: {left:,}" if left else ""))


@app.command()
def report(
    dataset: Annotated[str, typer.Argument(help="A dataset of your own that methods were run on.")],
    method: Annotated[str, METHOD] = "",
    store: Annotated[str, STORE] = "",
    jobs: Jobs = None,
) -> None:
    """Write one HTML file for colleagues: the decision, the methods, which of all rows flip, and what was left out."""
    from rich.progress import Progress

    from benchmark.data.spec import load_spec
    from leaderboard import my_data as answers
    from leaderboard import report as pages
    from leaderboard.read.stored import read

    results, name = read(store)[0], load_spec(dataset).name
    found = answers.of_names(results, [name])
    if not found:
        raise UserError(f"{results.source} has no results on {name}: run churn run --dataset {dataset} first")
    with Progress(disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task("models", total=None)
        page = pages.write(results, found[0], method, jobs, lambda total: progress.update(task, total=total, advance=1))
    typer.echo(str(page))


@app.command(hidden=True)
def updated(settings: list[str]) -> None:
    """Print and write what an update changes: the end of ``update --dataset``, in a process of its own."""
    from benchmark.settings import parse_settings
    from leaderboard import updated as updates
    from leaderboard.read.stored import read

    text, path = updates.write(read()[0], parse_settings(settings))
    typer.echo(f"{text}\nThis summary: {path}\nAll molecules that change: {path.parent}/*-update-changed.csv")


@app.command(hidden=True)
def my_data(datasets: list[str]) -> None:
    """Compare the methods on the user's own ``datasets``: the end of ``benchmark run``, in a process of its own."""
    from leaderboard.my_data import answer
    from leaderboard.read.stored import read

    answer(read()[0], datasets)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="Folder for the results; an earlier export is replaced.")],
    store: Annotated[str, STORE] = "",
    tidy: Annotated[
        Path | None, typer.Option(help="Folder for the predictions as CSV too: a row per method, retraining, example.")
    ] = None,
) -> None:
    """Export the results of a store as files, from which the leaderboard can be built without the store."""
    from leaderboard.write import published
    from leaderboard.write import tidy as tidy_tables

    if out.is_file() or (tidy and tidy.is_file()):
        raise UserError(f"{tidy if tidy and tidy.is_file() else out} is a file: name a folder")
    if tidy and tidy.resolve().is_relative_to(out.resolve()):
        raise UserError(f"--tidy {tidy}: is in {out}, which the next export replaces: name another folder")
    results, _ = _finished(store)
    if results.unreadable and store and out.resolve() == Path(store).resolve():
        raise UserError(
            f"{out}: exporting into the store itself would delete its unreadable results: export to another folder"
        )
    published.write(results, out)
    if tidy:
        tidy_tables.write(results, tidy)
    datasets = [dataset for part in results.by_sampling for dataset in part.datasets]
    typer.echo(f"{number_of(sum(len(d.cells) for d in datasets), 'cell')}: {out.resolve()}")


@app.command(hidden=True)
def study(name: Annotated[str, typer.Argument(help="Name of the study.")], store: Annotated[str, STORE] = "") -> None:
    """Print the findings and tables of a study: the end of ``benchmark study``, in a process of its own."""
    from benchmark.studies import make_study
    from leaderboard.read.stored import read
    from leaderboard.tables import studies
    from leaderboard.write import formats as writers

    results, _ = read(store)
    reports, troubles = studies.rendered(results, name)
    for line in (*results.unreadable, *troubles):
        typer.echo(f"warning: {line}", err=True)
    if not reports:
        make_study(name, {})  # raises UserError for an unknown study
        raise UserError(f"this store has no finished study {name!r}: run it with churn study {name}")
    for study in reports:
        tables = [studies.table(study, sheet) for sheet in study.report.sheets]
        typer.echo("\n\n".join([study.title, *study.report.answer, *map(writers.to_markdown, tables)]))


@app.command()
def compare(
    first: Annotated[
        str,
        typer.Argument(
            help="A method, by its name or title; or a CSV of published numbers.",
            show_default="the paper's numbers",
        ),
    ] = "",
    second: Annotated[str, typer.Argument(help="Another method.", show_default=False)] = "",
    measure: Annotated[
        str, typer.Option(help="Of methods: more measures of the scorecard, separated by commas, e.g. auroc.")
    ] = "",
    on: Annotated[
        str,
        typer.Option(
            help="Of methods: headline, wide, regression, wide-regression or names of datasets, separated by commas."
        ),
    ] = "headline",
    sampling: Annotated[
        Sampling | None,
        typer.Option(help="Of methods: what a retraining could see.", show_default="that which decisions are based on"),
    ] = None,
    ci: Annotated[str, commands.CI] = "runs",
    store: Annotated[
        str,
        typer.Option(
            help="MLflow store, or a folder of exported results.",
            show_default="MLFLOW_TRACKING_URI; for methods without a store, the results shipped with the suite",
        ),
    ] = "",
    markdown: Annotated[Path | None, typer.Option(help="Of published numbers: write a report to this file.")] = None,
) -> None:
    """Compare two methods, or our numbers with published ones.

    ``compare twin bagging`` says which method churns less, which is more accurate, by how much, and how certain that
    is. ``compare`` and ``compare FILE`` say whether published numbers agree with ours within our intervals.
    """
    from benchmark.files import save
    from leaderboard.paper import report
    from leaderboard.paper.compare import compare
    from leaderboard.paper.read import read
    from leaderboard.read import published
    from leaderboard.tables import pairwise
    from leaderboard.write.formats import to_markdown

    kind = commands.interval_kind(ci)
    if second and markdown:
        raise UserError("--markdown is for published numbers: two methods are printed; send the output to a file")
    store = store or commands.own_store()
    if second:
        store = store or str(published.PUBLISHED)
        typer.echo(f"reading the results in {store}", err=True)
        sentences, table = pairwise.report(_finished(store)[0], first, second, items(measure), on, sampling, kind)
        typer.echo("\n\n".join([*sentences, to_markdown(table), table.caption]))
        return
    paper = Path(first) if first else Path(str(files("leaderboard"))) / "paper" / "numbers.csv"
    if not paper.is_file():
        raise UserError(f"{first}: no such file of published numbers; to compare methods, name two, as in twin bagging")
    if measure or sampling or on != "headline" or kind != "runs":
        raise UserError("--measure, --on, --sampling and --ci are for two methods: name both, as in twin bagging")
    if markdown is not None and markdown.exists() and markdown.samefile(paper):
        raise UserError(f"--markdown {markdown}: it is read: expected a file of its own to write to")
    rows = read(paper)  # before the results, which take long
    results, _ = _finished(store)
    comparisons = compare(results, rows)
    if markdown is None:
        typer.echo(report.text(comparisons))
    else:
        save(markdown, report.page(results, comparisons).encode())


@app.command()
def cite(
    address: Annotated[
        str,
        typer.Argument(
            help="Address of a number or table, e.g. 0.1.0/halves/places#svm.churn.", show_default="list all tables"
        ),
    ] = "",
) -> None:
    """Print the published number at an address that never changes, and the BibTeX of its table."""
    from leaderboard.write import cited
    from leaderboard.write.formats import to_markdown

    if not address:
        for folder in cited.versions():
            for one in cited.tables(folder):
                typer.echo(f"{one.version}/{one.name}  {one.table.title}")
        return
    one, cell = cited.find(address)
    typer.echo(f"{one.table.title}: {one.table.caption}")
    typer.echo(f"\n{cell}: {one.text(cell)}\n" if cell else f"\n{to_markdown(one.table)}")
    typer.echo(one.bibtex, nl=False)


@app.command()
def submit(
    folder: Annotated[
        Path, typer.Argument(help="Folder METHOD/VERSION; if it is new, recorded results of METHOD are packed there.")
    ],
    check: Annotated[bool, typer.Option("--check", help="Only check it against the rules; record nothing.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Retrain its code on one dataset, and mark what agrees as verified.")
    ] = False,
    submissions: Annotated[
        Path | None,
        typer.Option(help="Folder of all submissions, which is searched for copies.", show_default="submissions"),
    ] = None,
    comment: Annotated[
        Path | None, typer.Option(help="With --check: write its places in the rankings to this Markdown file.")
    ] = None,
    dataset: Annotated[str, typer.Option(help="With --verify: the dataset.", show_default="one at random")] = "",
    sampling: Annotated[
        Sampling | None,
        typer.Option(help="With --verify: the sampling; only its results are marked.", show_default="halves"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the pages; an existing site is replaced.", show_default="site")
    ] = None,
) -> None:
    """Check a submission, record it in MLflow as self-reported, rebuild the pages and print its place.

    Where the folder is new, the recorded results of METHOD are packed there for you to complete, and no more is done.
    What was verified stays so if neither its predictions nor the method's file have changed. If its code is in
    methods/, its contract is checked first. The pages and the place use the store's results and the published ones on
    the same datasets. submissions/README.md says what --verify does and proves.
    """
    if check and verify:
        raise UserError("--check records nothing, and --verify checks, too: leave out one of the two")
    if out and (check or verify):
        raise UserError("--out is for the pages, which --check and --verify do not build: leave it out")
    if comment and not check:
        raise UserError("--comment is for --check: submit prints the places itself")
    if (dataset or sampling) and not verify:
        raise UserError("--dataset and --sampling are for --verify: a submission names its own")
    if comment is not None and comment.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"--comment {comment}: is a file of the submission: write to one outside {folder}")
    if not (folder.exists() or folder.is_symlink() or check or verify or out):
        if submissions:
            raise UserError(f"{folder}: no such folder; to pack one, name it whole, without --submissions")
        _pack(folder)
        return
    submissions = submissions or Path("submissions")
    if verify:
        _verify(folder, submissions, dataset, sampling or "halves")
        return
    from leaderboard.submission.read import folders, open_folder

    open_folder(folder)  # before the published results are read, which takes seconds
    if not folders(submissions):
        typer.echo(f"{submissions}: no submission (METHOD/VERSION) to search for copies", err=True)
    if check:
        _check(folder, submissions, comment)
    else:
        _record(folder, submissions, claim(out or Path("site")))


def _record(folder: Path, submissions: Path, pages: Path) -> None:
    """Check a submission, record it, and show its place on the ``pages``."""
    from benchmark.store.tracking import Store
    from leaderboard import site
    from leaderboard.read import published
    from leaderboard.read.stored import read
    from leaderboard.site.frame import url_prefixes
    from leaderboard.submission.check import validate
    from leaderboard.submission.place import places
    from leaderboard.submission.verify import check_code, mark
    from leaderboard.write.formats import to_markdown

    submission = validate(folder, submissions, published.shipped())
    unchecked = check_code(submission)
    store = Store()
    cells = mark(submission, store.cells({cell.key.digest for cell in submission.cells}))
    for cell in cells:
        store.log(cell)
    typer.echo(f"recorded in {store.uri}; now the pages follow", err=True)
    results, health = read(among_published=True)
    page = site.write(results, pages, "runs", health)
    for table in places(results, cells):
        typer.echo(f"{table.title}\n{to_markdown(table)}")
    for line in filter(None, [*submission.remarks, unchecked]):
        typer.echo(line)
    page = page.parent / url_prefixes(results)[cells[0].key.sampling] / page.name
    typer.echo(f"{number_of(len(cells), 'cell')} recorded in {store.uri}: {page}")


def _check(folder: Path, submissions: Path, comment: Path | None) -> None:
    """Check a submission, and write its places in the rankings to the file ``comment``."""
    from benchmark.files import save
    from leaderboard.read import published
    from leaderboard.read.results import collect
    from leaderboard.submission.check import validate
    from leaderboard.submission.place import places, to_comment

    shipped = published.shipped()
    submission = validate(folder, submissions, shipped)
    typer.echo("\n".join([f"{folder}: all rules are met; cells: {len(submission.cells)}", *submission.remarks]))
    if comment is not None:
        datasets = {cell.key.dataset for cell in submission.cells}
        rivals = (cell for cell in shipped if cell.key.dataset in datasets)
        tables = places(collect([*submission.cells, *rivals]), submission.cells)
        save(comment, ("\n\n".join(map(to_comment, tables)) + "\n").encode())


def _pack(folder: Path) -> None:
    """Pack the recorded results of a method as a new submission, for its author to complete."""
    from leaderboard.read import published
    from leaderboard.read.stored import read
    from leaderboard.submission.pack import pack

    method, version = folder.parent.name, folder.name
    if not method:
        raise UserError(f"{folder}: no such folder; to pack results, name METHOD/VERSION, as in submissions/mine/1.0")
    others = sorted(path.name for path in folder.parent.iterdir()) if folder.parent.is_dir() else []
    beside = f", beside {', '.join(others)}" if others else ""
    typer.echo(f"{folder} is new: packing the recorded results of {method!r} as version {version}{beside}", err=True)
    known = {name for name, _ in published.listed_methods()}
    packed, left_out = pack(read()[0], method, version, folder.parent.parent, known)
    names = [path.relative_to(packed).as_posix() for path in sorted(packed.glob("predictions/*/*"))]
    typer.echo("\n  ".join([f"wrote {packed}", *names]))
    if left_out:
        typer.echo("\n  ".join(["left out:", *left_out]))
    if not any(name.startswith("predictions/halves/") for name in names):
        typer.echo(
            "It has no results under halves and will be marked 'not under halves'; to add them, remove the folder,\n"
            "  run with --sampling halves, and run this command again"
        )
    typer.echo(f"next: add authors and a description to {packed / 'submission.yml'}, then run\n  churn submit {packed}")


def _verify(folder: Path, submissions: Path, dataset: str, sampling: Sampling) -> None:
    """Retrain a submitted method on one dataset, and mark what was retrained as verified if the results agree."""
    typer.echo(f"verifying {folder}: its results against the rules, then its code on one dataset", err=True)
    from leaderboard.read import published
    from leaderboard.submission import verify
    from leaderboard.submission.check import validate
    from leaderboard.submission.read import open_folder

    open_folder(folder)  # before the published results are read, which takes seconds
    submission = validate(folder, submissions, published.shipped())
    from benchmark.store.tracking import Store  # MLflow takes seconds to import

    def began(name: str) -> None:
        typer.echo(f"retraining on {name}, which may take hours", err=True)

    store = Store()  # before the retraining, which takes hours and would be lost with a store that cannot be used
    rerun = verify.rerun(submission, sampling, dataset, began=began)
    typer.echo("\n".join([*map(str, rerun.checks), verify.CONFINED]))
    if not rerun.agrees:
        typer.echo(f"{submission.method} stays self-reported", err=True)
        raise typer.Exit(1)
    own = {cell.key.digest for cell in submission.cells}
    for cell in verify.mark(submission, store.cells(own), rerun):
        store.log(cell)
    typer.echo(f"{submission.method} is verified on {rerun.dataset} under {sampling}")


for command in (commands.score, commands.power, commands.gate, commands.update):
    app.command()(command)


def churn_app(trains: bool = False) -> App:
    """Return the program ``churn``, which has the commands of both packages.

    Its ``study`` is the benchmark's, which starts the one here, and so is its ``update`` if it ``trains``.
    """
    from benchmark.__main__ import app as benchmark_app
    from benchmark.__main__ import main
    from benchmark.commands import train

    both = App(help=benchmark_app.info.help)
    both.callback(invoke_without_command=True)(main)
    left_out = (study, commands.update if trains else train.update)
    every = [*benchmark_app.registered_commands, *app.registered_commands]
    both.registered_commands = [command for command in every if command.callback not in left_out]
    return both


def churn() -> None:
    churn_app(any(word.partition("=")[0] == "--dataset" for word in sys.argv[2:]))()


if __name__ == "__main__":
    app()
