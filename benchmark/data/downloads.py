"""Raw files: location, download and verification."""

import gzip
import hashlib
import os
import shlex
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, urlsplit

import pooch

from benchmark import __version__
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError, did_you_mean
from benchmark.files import cache_folder, folder_of, offline

DEEPCHEM = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/"
DATAVERSE = "https://dataverse.harvard.edu/api/access/datafile/"
GITHUB = "https://raw.githubusercontent.com/"
MOF = {
    "full_TSD_data.csv": "Jayden-Elliott/MRSEC-MOFs/730541686da5cd86cc072817ef401b24c60a26de/ml/full_TSD_data.csv",
    "SSD_id_prop_feat.csv": "zhangshd/MOFSNN/1cc394075b54d2ac3a62f2ca7bab510ab8f414e2/CGCNN_MT/data/SSD/"
    "id_prop_feat.csv",
}
COLLECTIONS = {
    "adme": "molecularinformatics/Computational-ADME/b00df003de117ce9e5b381afd886095c5f2af2d5/",
    "asap": "apalania/Polaris-ASAP-OpenADMET_Challenge-2025_Final/cb6beacd86843cd63d1155312ceb334cd7c40df3/Datasets/",
    "chembl28": "ycu-iil/prediction_model_collection/e5bb32cce86de1390b603b84eef036b5e78990bf/data/",
    "expansionrx": "inventcures/openadmet-expansionrx-challenge/0eb0081d0fd55b6cd3b81a0dd62d24f63e057b1a/data/raw/",
    "matbench": "anthony-wang/CrabNet/457b4d4835737ecbe4dd33e53174bd818bd82143/data/matbench/",
    "moleculeace": "molML/MoleculeACE/7e6de0bd2968c56589c580f2a397f01c531ede26/MoleculeACE/Data/benchmark_data/",
    "pxr": "agitter/openadmet-pxr-challenge/9a723fd555b545457c5b62f910a47fadcee9d5d2/data/",
    "simpd": "rinikerlab/molecular_time_series/794260fe2cb23f0b44b700fe874e9008f81634ec/datasets/chemblKi_SIMPD/",
}
"""Folders of collections on GitHub, each at a fixed commit."""
KEPT_AS = {"expansionrx/train.csv": "openadmet/expansion_data_train.csv", "pxr": "openadmet"}
"""Places below a data folder that differ from the collection's name and the file's."""
BY_HAND = {
    "chembl35": ("time", "https://doi.org/10.6019/CHEMBL.database.35"),
    "moonshot": ("time", "https://github.com/asapdiscovery/COVID_moonshot_data_clean"),
    "tadf": ("tadf", "https://doi.org/10.6084/m9.figshare.24004182"),
    "tdc_group": ("tdc_group", "https://tdcommons.ai/benchmark/admet_group/overview/"),
    "thermo": ("thermo", "https://github.com/KRICT-DATA/SIMD"),
}
"""Folder and web page of tables that are made from others, or whose server does not hand the file to a program."""
GZIP = b"\x1f\x8b"
TIMEOUT = (10, 30)
"""Seconds to wait for a connection, and for the next bytes."""
RETRIES = 3


@dataclass(frozen=True)
class Origin:
    """Location of a raw file: ``place`` below a data folder (or ``path``), then ``url``."""

    place: str = ""
    path: Path | None = None
    url: str = ""
    page: str = ""
    """Web page for a manual download; ``url`` if empty."""


def _tdc(name: str) -> Origin:
    _, dataset, datafile = name.split("/")
    return Origin(place=f"tdc/{dataset.lower()}.tab", url=DATAVERSE + datafile)


def _b3db(name: str) -> Origin:
    package = find_spec("B3DB")  # not imported, which would read 80 MB
    if package is None or not package.submodule_search_locations:
        raise UserError(f"{name} ships in a package that is not installed: pip install qc-B3DB")
    return Origin(path=Path(package.submodule_search_locations[0]) / name)


def _collection(scheme: str, name: str) -> Origin:
    place = KEPT_AS.get(f"{scheme}/{name}", f"{KEPT_AS.get(scheme, scheme)}/{name}")
    return Origin(place=place, url=GITHUB + COLLECTIONS[scheme] + quote(name))


def _by_hand_only(scheme: str, name: str) -> Origin:
    folder, page = BY_HAND[scheme]
    return Origin(place=f"{folder}/{name}", page=page)


SOURCES: dict[str, Callable[[str], Origin]] = {
    "b3db": _b3db,
    "file": lambda name: Origin(path=Path(name)),
    "moleculenet": lambda name: Origin(place=f"molnet/{name.removesuffix('.gz')}", url=DEEPCHEM + name),
    "mof": lambda name: Origin(place=f"mof/{name}", url=GITHUB + MOF[name]),
    "tdc": _tdc,
    **{scheme: partial(_collection, scheme) for scheme in COLLECTIONS},
    **{scheme: partial(_by_hand_only, scheme) for scheme in BY_HAND},
}


def origin(spec: DatasetSpec) -> Origin:
    """Return the origin of the file of ``spec``. Raises UserError for an unknown or malformed source."""
    scheme, _, name = spec.source.partition(":")
    if scheme not in SOURCES:
        raise did_you_mean(f"source of dataset {spec.name}:", scheme, sorted([*SOURCES, "hf"]))
    try:
        return SOURCES[scheme](name)
    except (KeyError, ValueError) as error:
        raise UserError(f"{spec.name}: source {spec.source!r} cannot be read (see datasets/README.md)") from error


def folders() -> list[Path]:
    """Return the data folders in the order in which they are searched: the user's, then the cache's."""
    return [*filter(None, [folder_of("CHURN_DATA_DIR")]), cache_folder() / "raw"]


def image_place(spec: DatasetSpec) -> str:
    """Return the folder of an ``hf:`` dataset's images, relative to a data folder."""
    return f"hf/{spec.source.partition(':')[2]}"


def image_folder(spec: DatasetSpec) -> Path | None:
    """Return the folder of an ``hf:`` dataset's images on this machine; None if there is none."""
    return next((path for folder in folders() if (path := folder / image_place(spec)).is_dir()), None)


def contents(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if it is gzip. Raises OSError if it is damaged or too large."""
    from benchmark.data import readers  # imports pandas and RDKit, which a list of the datasets does not need

    try:
        with path.open("rb") as file:
            packed = file.peek(2).startswith(GZIP)
            content = (gzip.GzipFile(fileobj=file) if packed else file).read(readers.MOST_BYTES + 1)
    except (EOFError, zlib.error) as error:
        raise OSError(str(error)) from error
    if len(content) > readers.MOST_BYTES:
        raise OSError(f"it has more than {readers.MOST_BYTES:,} bytes{' when decompressed' if packed else ''}")
    return content


def locate(spec: DatasetSpec) -> Path | None:
    """Return the raw file of ``spec`` on this machine, plain or compressed; None if there is none."""
    where = origin(spec)
    places = [where.path] if where.path else [folder / where.place for folder in folders()]
    tried = [path.with_name(path.name + end) for path in places for end in ("", ".gz")]
    return next((path for path in tried if os.path.isfile(path)), None)  # False also for names that no file can have


def obtain(spec: DatasetSpec) -> tuple[Path, bytes]:
    """Return the verified raw file of ``spec`` and its uncompressed bytes, downloading it to the cache if necessary.

    The user's own files are never modified; a file in the cache that fails verification is replaced. The UserError of
    a failure names the file, its checksum, and how to download it by hand.
    """
    path = locate(spec)
    ours = None if origin(spec).path else folders()[-1]
    if path is not None and ours is not None and path.parent.parent == ours != folders()[0]:
        try:
            return path, verified(path, spec)
        except UserError:
            path.unlink()
            verified.cache_clear()
            path = None
    path = path or _download(spec)
    return path, verified(path, spec)


@cache
def verified(path: Path, spec: DatasetSpec) -> bytes:
    """Return the uncompressed bytes of ``path``. Raises UserError if they do not match ``spec``."""
    try:
        content = contents(path)
    except OSError as error:
        raise UserError(f"{spec.name}: cannot read {path}: {error}") from error
    if wrong := objection(content, spec):
        raise UserError(
            f"{spec.name}: {path} is not the expected file: {wrong}\n"
            f"  The file was left unchanged. To replace it: {replacement(spec)}"
        )
    return content


def intact(spec: DatasetSpec) -> bool:
    """Return whether the raw file of a dataset is on this machine and unaltered; False for images, of ``hf:``."""
    try:
        if (path := locate(spec)) is None:
            return False
        verified(path, spec)
    except UserError:
        return False
    return True


def replacement(spec: DatasetSpec) -> str:
    """Return instructions for getting an intact copy of the file of ``spec``."""
    where = origin(spec)
    if spec.source.startswith("b3db:"):
        return "pip install --force-reinstall --no-deps qc-B3DB"
    if where.path:
        new = shlex.join(["churn", "new-dataset", str(where.path), "--target", spec.target])
        return f"put the original back, or describe the table again, with the options that it needs: {new}"
    return f"get a fresh copy from {where.page or where.url}"


def objection(content: bytes, spec: DatasetSpec) -> str:
    """Return why ``content`` is not the file of ``spec``; empty if all bytes, or all rows (``rows_sha256``), match."""
    if not spec.sha256:
        return "" if content.strip() else "it is empty"
    digest = hashlib.sha256(content).hexdigest()
    if digest == spec.sha256:
        return ""
    start = content[:500].lstrip().lower()
    if not content:
        reason = "it is empty"
    elif start.startswith((b"<!doctype", b"<html", b"<?xml")):
        reason = "it is a web page"
    elif spec.rows_sha256 and rows_digest(content, spec) == spec.rows_sha256:
        return ""
    else:
        reason = "its checksum differs"
    return (
        f"{reason}.\n  sha256 expected: {spec.sha256} (uncompressed)\n"
        f"  sha256 found:    {digest} ({len(content):,} bytes)"
    )


def rows_digest(content: bytes, spec: DatasetSpec) -> str:
    """Return the sha256 of all SMILES and targets, which ignores quotes and other columns; empty if unreadable."""
    from benchmark.data import readers

    try:
        table = readers.read(content, spec.name)
        pairs = zip(table[spec.smiles], table[spec.target].astype(float), strict=True)
        return hashlib.sha256("".join(f"{smiles}\t{value}\n" for smiles, value in pairs).encode()).hexdigest()
    except (UserError, KeyError, ValueError):
        return ""


def _download(spec: DatasetSpec) -> Path:
    where = origin(spec)
    if where.path:
        raise UserError(
            f"{spec.name}: the data file {where.path} is missing: put it back, or correct 'source' in {spec.path}"
        )
    if not where.url:
        raise UserError(_by_hand(spec, where, "it is not downloaded automatically"))
    if offline():
        raise UserError(_by_hand(spec, where, "it is not on this machine, and --offline forbids downloading it"))

    import requests

    from benchmark.data import readers

    def fetch(url: str, file: str, _: object) -> None:  # into a temporary file, which pooch then renames
        agent = {"User-Agent": f"churn-benchmark/{__version__}"}
        with requests.get(url, stream=True, timeout=TIMEOUT, headers=agent) as response, open(file, "wb") as out:
            response.raise_for_status()
            for chunk in response.iter_content(2**16):
                if out.tell() > readers.MOST_BYTES:
                    raise ValueError(f"the server sent more than {readers.MOST_BYTES:,} bytes")
                out.write(chunk)
        try:
            content = contents(Path(file))
        except OSError as error:
            raise ValueError(f"the server sent an archive that cannot be unpacked: {error}") from error
        if wrong := objection(content, spec):
            raise ValueError(f"the server sent something else: {wrong}")
        Path(file).write_bytes(content)

    folder, name = cache_folder() / "raw" / Path(where.place).parent, Path(where.place).name
    files = pooch.create(folder, "", registry={name: None}, urls={name: where.url}, retry_if_failed=RETRIES)
    try:
        return Path(files.fetch(name, downloader=fetch))
    except requests.exceptions.ConnectionError as error:
        server = urlsplit(where.url).netloc
        reason = f"{RETRIES + 1} attempts to download it failed: {server} cannot be reached or stopped responding"
        raise UserError(_by_hand(spec, where, reason)) from error
    except (requests.exceptions.RequestException, ValueError) as error:
        raise UserError(_by_hand(spec, where, f"{RETRIES + 1} attempts to download it failed: {error}")) from error
    except OSError as error:
        raise UserError(_by_hand(spec, where, f"the cache cannot be written to: {error}")) from error


def _by_hand(spec: DatasetSpec, where: Origin, reason: str) -> str:
    check = f"  sha256 (uncompressed): {spec.sha256}\n" if spec.sha256 else ""
    mine = folder_of("CHURN_DATA_DIR")
    other = f"{mine}/{where.place}" if mine else f"FOLDER/{where.place} with CHURN_DATA_DIR=FOLDER"
    return (
        f"{spec.name}: no data file {where.place}: {reason}\n"
        f"  get it from: {where.page or where.url}\n{check}"
        f"  put it at:   {cache_folder() / 'raw' / where.place}\n  or at:       {other}"
    )
