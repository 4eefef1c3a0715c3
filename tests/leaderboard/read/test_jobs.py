"""Results of pure functions: taken from the cache where it can be trusted, made by other processes where it cannot."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leaderboard.read import jobs
from leaderboard.read.jobs import Job, made, start

Make = Callable[[int, Path], bytes]


@pytest.fixture
def squared() -> Make:
    """A function that another process receives as it is, because that process cannot import the tests."""

    def make(number: int, log: Path) -> bytes:
        (log / f"{number}-{os.getpid()}").touch()
        return str(number * number).encode()

    return make


def fails(number: int, log: Path) -> bytes:
    raise ValueError(number)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_order_and_each_is_made_once(log, monkeypatch, squared, workers):
    monkeypatch.setattr(jobs, "cpu_count", lambda: workers)
    wanted = [Job(f"square-{n}", squared, (n, log)) for n in (3, 1, 2, 1)]
    start(wanted)
    assert list(made(wanted)) == [b"9", b"1", b"4", b"1"]
    assert sorted(path.name.partition("-")[0] for path in log.iterdir()) == ["1", "2", "3"]
    monkeypatch.setattr(jobs, "get_reusable_executor", None)
    assert list(made(wanted)) == [b"9", b"1", b"4", b"1"], "the second time, nothing is made"


def test_a_build_that_lacks_one_result_starts_one_process(log: Path, monkeypatch, squared: Make) -> None:
    monkeypatch.setattr(jobs, "cpu_count", lambda: 2)

    def rests(number: int, log: Path) -> bytes:
        time.sleep(0.2)
        return squared(number, log)

    one, *others = (Job(f"square-{n}", rests, (n, log)) for n in (1, 2, 3, 4))
    start(others)
    list(made([one]))
    start([one, others[0]])
    list(made(others))
    assert len({path.name.partition("-")[2] for path in log.iterdir() if not path.name.startswith("1-")}) == 1


def test_work_begins_while_jobs_are_still_to_come(log: Path, squared: Make) -> None:
    def coming() -> Iterator[Job]:
        yield Job("square-1", squared, (1, log))
        end = time.monotonic() + 60
        while not any(log.iterdir()):
            assert time.monotonic() < end
            time.sleep(0.01)
        yield Job("square-2", squared, (2, log))

    assert list(made(coming())) == [b"1", b"4"]


def test_what_is_damaged_in_the_cache_or_belongs_to_another_name_is_made_again(log: Path, squared: Make) -> None:
    wanted = [Job(f"square-{n}", squared, (n, log)) for n in (1, 2, 3)]
    list(made(wanted))
    one, two, _ = sorted((log.parent / "cache" / "site").iterdir())
    one.write_bytes(one.read_bytes()[:-1])
    two.write_bytes((two.parent / "square-3").read_bytes())
    for path in log.iterdir():
        path.unlink()
    assert list(made(wanted)) == [b"1", b"4", b"9"]
    assert sorted(path.name.partition("-")[0] for path in log.iterdir()) == ["1", "2"]


def test_what_was_made_before_a_failure_is_kept(log: Path, squared: Make) -> None:
    with pytest.raises(ValueError, match="2"):
        list(made([Job("square-1", squared, (1, log)), Job("square-2", fails, (2, log))]))
    assert list(made([Job("square-1", squared, (1, log))])) == [b"1"]
    assert len(list(log.iterdir())) == 1


def test_what_no_build_has_used_for_a_month_leaves_the_cache(log: Path, squared: Make) -> None:
    list(made([Job(f"square-{n}", squared, (n, log)) for n in (1, 2, 3)]))
    month = time.time() - 31 * 24 * 3600
    for n in (1, 2):
        os.utime(log.parent / "cache" / "site" / f"square-{n}", (month, month))
    assert list(made([Job("square-2", squared, (2, log))])) == [b"4"]
    jobs.sweep()
    assert {path.name for path in (log.parent / "cache" / "site").iterdir()} == {"square-2", "square-3"}


@pytest.mark.slow
def test_a_job_may_come_from_an_iterator_that_waits_for_other_jobs(log: Path, squared: Make) -> None:
    def wanted() -> Iterator[Job]:
        for n in range(4):
            yield Job(f"square-{n}", squared, (n, log))
            time.sleep(0.5)  # the result of this job arrives
            (inner,) = made([Job(f"square-{n + 10}", squared, (n + 10, log))])
            yield Job(f"square-{inner.decode()}", squared, (int(inner), log))

    found: list[bytes] = []
    work = threading.Thread(target=lambda: found.extend(made(wanted())), daemon=True)
    work.start()
    work.join(timeout=60)
    assert found == [b"%d" % (m * m) for n in range(4) for m in (n, (n + 10) ** 2)]


def test_a_result_that_is_known_is_handed_on_while_others_are_made(log: Path, monkeypatch, squared: Make) -> None:
    monkeypatch.setattr(jobs, "cpu_count", lambda: 2)
    list(made([Job("square-1", squared, (1, log))]))

    def waits(number: int, log: Path) -> bytes:
        while not (log / "go").exists():
            time.sleep(0.01)
        return b"2"

    wanted = [Job("square-1", squared, (1, log)), Job("waits", waits, (2, log))]
    start(wanted)
    results = made(wanted)
    assert next(results) == b"1"
    (log / "go").touch()
    assert list(results) == [b"2"]
