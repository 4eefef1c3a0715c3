"""Raw files are located, verified, never modified, and downloaded despite server failures; errors are clear."""

import gc
import gzip
import hashlib
import re
import resource
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pooch
import pytest

from benchmark.data import downloads, readers
from benchmark.data.downloads import locate, obtain
from benchmark.data.spec import dataset_names, load_spec
from benchmark.errors import UserError

# pooch leaves the response of a failing server to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

CONTENT = b"mol,Class\nCCO,1\n" + b"".join(b"%s,0\n" % (b"C" * n) for n in range(1, 200))
ALTERED = CONTENT.replace(b"CCO,1", b"CCO,0")
PACKED = gzip.compress(CONTENT)
PAGE = b"<!DOCTYPE html>\n<html><body>Please log in, or come back later.</body></html>\n"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


BACE = load_spec("bace").model_copy(update={"sha256": sha256(CONTENT)})
CLINTOX = load_spec("clintox").model_copy(update={"sha256": sha256(CONTENT)})
PGP = load_spec("pgp_broccatelli").model_copy(update={"sha256": sha256(CONTENT)})
TADF = load_spec("tadf")


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def files(folder):
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


@pytest.fixture(autouse=True)
def nothing_verified_yet():
    downloads.verified.cache_clear()


@pytest.fixture(autouse=True, scope="module")
def nothing_left_open():
    yield
    gc.collect()  # now, not during another module's test


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The user's data folder."""
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path / "mine"))
    return tmp_path / "mine"


@pytest.fixture
def raw(tmp_path, monkeypatch, mine):
    """The cache's folder of raw files, separate from the user's."""
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "raw"


# Files on this machine


@pytest.mark.parametrize("name", [name for name in dataset_names() if not load_spec(name).source.startswith("hf:")])
def test_every_dataset_that_is_here_has_the_bytes_rows_and_columns_of_its_toml(name):
    spec = load_spec(name)
    if locate(spec) is None:
        pytest.skip(f"{spec.source} is not here")
    path, content = obtain(spec)
    assert sha256(content) == spec.sha256
    if spec.rows_sha256:
        assert downloads.rows_digest(content, spec) == spec.rows_sha256
    table = readers.read(content, str(path))
    assert len(table) == spec.rows
    assert {spec.smiles, spec.id, spec.target} - {""} <= set(table.columns)


@pytest.mark.parametrize(("end", "pack"), [("", bytes), (".gz", gzip.compress)])
@pytest.mark.parametrize(
    ("spec", "place"),
    [(CLINTOX, "molnet/clintox.csv"), (PGP, "tdc/pgp_broccatelli.tab"), (TADF, "tadf/subsidary.csv")],
)
@pytest.mark.parametrize("folder", ["mine", "raw"])
def test_a_file_is_found_in_the_users_folder_and_in_the_cache_plain_or_compressed(
    folder, spec, place, end, pack, request, raw
):
    path = put(request.getfixturevalue(folder) / (place + end), pack(CONTENT))
    assert obtain(spec) == (path, CONTENT)


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("molnet:bace.csv", "did you mean 'moleculenet'"),
        ("zenodo:bace.csv", "known: adme, asap, b3db, .*, hf, .*, mof, .*, tadf, tdc, tdc_group, thermo"),
        ("mof:TSD.csv", "'mof:TSD.csv' cannot be read"),
        ("tdc:Pgp_Broccatelli", "'tdc:Pgp_Broccatelli' cannot be read"),
    ],
)
def test_an_unknown_source_is_answered_with_the_nearest_or_with_itself(source, answer):
    with pytest.raises(UserError, match=f"bace.*{answer}"):
        obtain(BACE.model_copy(update={"source": source}))


# Wrong files


def refused(spec, path):
    """Return the error about ``path``, which must be unchanged."""
    content, before = path.read_bytes(), path.stat()
    with pytest.raises(UserError, match=rf"^{spec.name}: (cannot read )?{re.escape(str(path))}") as caught:
        obtain(spec)
    assert path.read_bytes() == content
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "what"),
    [(ALTERED, "its checksum differs"), (PAGE, "it is a web page"), (b"", "it is empty")],
    ids=["altered", "web page", "empty"],
)
@pytest.mark.parametrize("end", ["", ".gz"])
def test_the_users_wrong_file_is_refused_with_both_checksums_and_left_as_it_is(mine, raw, end, content, what):
    put(raw / "molnet" / "bace.csv", CONTENT)  # must not be a silent substitute
    message = refused(BACE, put(mine / "molnet" / f"bace.csv{end}", gzip.compress(content) if end else content))
    for part in (what, BACE.sha256, sha256(content)):
        assert part in message
    own = put(mine.parent / f"table.csv{end}", gzip.compress(content) if end else content)
    assert "churn new-dataset" in refused(BACE.model_copy(update={"source": f"file:{own}"}), own)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "compressed"])
def test_the_users_file_is_refused_when_it_is_too_large_before_it_is_in_memory(mine, raw, monkeypatch, pack):
    monkeypatch.setattr(readers, "MOST_BYTES", len(CONTENT))
    path = put(mine / "molnet" / "bace.csv", pack(CONTENT))
    assert obtain(BACE) == (path, CONTENT)
    downloads.verified.cache_clear()
    put(path, pack(CONTENT + b"\n"))
    assert f"it has more than {len(CONTENT):,} bytes" in refused(BACE, path)


def test_gigabytes_in_a_small_archive_are_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "MOST_BYTES", 2**26)
    path = put(tmp_path / "zeros.csv.gz", gzip.compress(bytes(2**24), 9) * 100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(OSError, match="more than 67,108,864 bytes when decompressed"):
        downloads.contents(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**18


# Files with equal rows

ROWS = b'Y\tDrug\tDrug_ID\n"1"\tCCO\t1\n0.5\t"CC"\t"2"\n'
WITH_ROWS = PGP.model_copy(update={"rows_sha256": sha256(b"CCO\t1.0\nCC\t0.5\n")})


@pytest.mark.parametrize("content", [ROWS, ROWS.replace(b'"', b"").replace(b"\n", b"\r\n")])
def test_a_file_that_differs_only_in_quotes_and_other_columns_is_the_file(content, tmp_path):
    assert downloads.verified(put(tmp_path / "table.tab", content), WITH_ROWS) == content


@pytest.mark.parametrize("change", [(b"0.5", b"0.6"), (b"CCO", b"CCOC"), (b'0.5\t"CC"\t"2"\n', b"")])
def test_a_file_with_a_changed_row_is_not_the_file(change, tmp_path):
    path = put(tmp_path / "table.tab", ROWS.replace(*change))
    with pytest.raises(UserError, match="its checksum differs"):
        downloads.verified(path, WITH_ROWS)


# Downloads


@pytest.fixture
def waits(monkeypatch):
    """The waiting times before new attempts, without actual waiting."""
    waited = []
    monkeypatch.setattr(pooch.core, "time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture
def server(monkeypatch, raw, waits):
    """The server of all downloads: a real one on loopback, which gives its ``answer`` to every request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            running.seen.append(self.path)
            running.answer(self)

        def log_message(self, *words): ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        url = f"http://127.0.0.1:{http.server_port}/"
        running = http.running = SimpleNamespace(url=url, answer=None, seen=[], closing=threading.Event())
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("CHURN_OFFLINE", "0")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(downloads, "DEEPCHEM", running.url)
        monkeypatch.setattr(downloads, "DATAVERSE", f"{running.url}datafile/")
        yield running
        running.closing.set()
        http.shutdown()
        thread.join()


def sends(body, status=200, length=None, **headers):
    def answer(handler):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def redirects_to(then):
    def answer(handler):
        there = handler.path == "/there"
        (then if there else sends(b"", 302, Location="/there"))(handler)

    return answer


def stalls_half_way(handler):
    sends(CONTENT[:1000], length=len(CONTENT))(handler)
    handler.server.running.closing.wait(5)


def hangs_up(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


SENDS_IT = sends(CONTENT)


@pytest.mark.parametrize(
    "answer", [SENDS_IT, sends(PACKED), sends(PACKED, Content_Encoding="gzip"), redirects_to(SENDS_IT)]
)
@pytest.mark.parametrize(
    ("spec", "asked", "place"),
    [(CLINTOX, "/clintox.csv.gz", "molnet/clintox.csv"), (PGP, "/datafile/4259597", "tdc/pgp_broccatelli.tab")],
)
def test_a_file_that_is_not_here_is_downloaded_once_into_the_cache(
    server, raw, mine, waits, spec, asked, place, answer
):
    server.answer = answer
    assert obtain(spec) == (raw / place, CONTENT)
    assert obtain(spec) == (raw / place, CONTENT)
    assert server.seen == [asked, "/there"][: len(server.seen)]
    assert files(raw.parent) == [raw / place]
    assert (raw / place).read_bytes() == CONTENT
    assert files(mine) == waits == []


FAILING = {
    "not there": (sends(PAGE, 404), "404"),
    "a page for the file": (sends(PAGE), "it is a web page"),
    "nothing": (sends(b""), "it is empty"),
    "cut short": (sends(CONTENT[:1000], length=len(CONTENT)), ""),
    "truncated, compressed": (sends(PACKED[:-9]), "an archive that cannot be unpacked"),
    "another version": (sends(ALTERED), "its checksum differs"),
    "redirected for ever": (redirects_to(sends(b"", 302, Location="/there")), "redirects"),
    "hangs up": (hangs_up, "cannot be reached"),
    "stalls half way": (stalls_half_way, ""),
}


@pytest.mark.parametrize(("answer", "reason"), FAILING.values(), ids=FAILING)
def test_a_failing_server_is_tried_four_times_and_leaves_nothing_behind(
    server, waits, raw, mine, monkeypatch, answer, reason
):
    monkeypatch.setattr(downloads, "TIMEOUT", (10, 0.1 if answer is stalls_half_way else 10))
    server.answer = answer
    with pytest.raises(UserError, match="4 attempts") as caught:
        obtain(BACE)
    places = (folder / "molnet" / "bace.csv" for folder in (raw, mine))
    for part in (reason, "bace", BACE.sha256, f"{server.url}bace.csv", *places):
        assert str(part) in str(caught.value)
    assert "/bace.csv" in server.seen
    assert waits == [1, 2, 3]
    assert files(raw.parent) == []

    monkeypatch.setattr(downloads, "TIMEOUT", (10, 10))
    server.answer = SENDS_IT
    assert obtain(BACE) == (raw / "molnet" / "bace.csv", CONTENT)
    assert files(raw.parent) == [raw / "molnet" / "bace.csv"]


def sends_for_ever(handler):
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):  # the client hangs up
        while not handler.server.running.closing.is_set():
            handler.wfile.write(bytes(2**16))


def test_a_server_that_never_stops_sending_is_left(server, raw, monkeypatch):
    monkeypatch.setattr(readers, "MOST_BYTES", 2**20)
    server.answer = sends_for_ever
    with pytest.raises(UserError, match=r"4 attempts .* the server sent more than 1,048,576 bytes"):
        obtain(BACE)
    assert files(raw.parent) == []


@pytest.mark.parametrize(
    ("spec", "page", "asked"),
    [(BACE, "bace.csv", ["/bace.csv"] * 4), (TADF, "https://doi.org/10.6084/m9.figshare.24004182", [])],
)
def test_doing_it_by_hand_as_told_works(server, raw, spec, page, asked):
    server.answer = sends(PAGE, 403)
    with pytest.raises(UserError, match=page) as caught:
        obtain(spec)
    assert server.seen == asked
    places = [line.split(":", 1)[1].strip() for line in str(caught.value).splitlines() if " at: " in line]
    assert len(places) == 2
    for place in map(Path, places):
        put(place, CONTENT)
        assert obtain(spec) == (place, CONTENT)
        place.unlink()


def test_a_cache_that_cannot_be_written_is_an_error_with_the_way_to_do_it_by_hand(server, tmp_path, monkeypatch):
    monkeypatch.setenv("CHURN_CACHE_DIR", str(put(tmp_path / "file", b"no folder")))
    server.answer = SENDS_IT
    with pytest.raises(UserError, match=r"(?s)Not a directory.*sha256"):
        obtain(BACE)


# Wrong files in the cache


@pytest.mark.parametrize(("end", "content"), [("", PAGE), ("", CONTENT[:-1]), ("", b""), (".gz", PACKED[:-9])])
def test_a_wrong_file_in_the_cache_is_removed_and_downloaded_anew(server, raw, monkeypatch, end, content):
    path = raw / "tdc" / "pgp_broccatelli.tab"
    monkeypatch.setenv("CHURN_OFFLINE", "1")
    put(path.with_name(path.name + end), content)
    with pytest.raises(UserError, match="offline"):
        obtain(PGP)
    assert files(raw) == []
    monkeypatch.setenv("CHURN_OFFLINE", "0")
    put(path.with_name(path.name + end), content)
    server.answer = SENDS_IT
    assert obtain(PGP) == (path, CONTENT)
    assert files(raw) == [path]
    assert server.seen == ["/datafile/4259597"]
