"""Inputs of a deployed model: from a table of SMILES or numbers to the features that a dataset's models are trained on.

Everything here is fixed when the model is built: a deployed model needs neither the dataset nor its file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase

from benchmark.data.compositions import is_formula, refuse
from benchmark.data.features import LARGEST, columns, featurise, fitted, transformed
from benchmark.data.readers import LINE, refuse_repeated
from benchmark.data.rows import LONGEST, MOST_ATOMS, Rows, feature_columns, parent, parsed, raw_table
from benchmark.data.spec import DatasetSpec
from benchmark.data.values import is_missing, is_number, legible, refuse_other_mark, spelled
from benchmark.errors import UserError
from benchmark.learners import find
from benchmark.types import Inputs, Reads

SMILES = "smiles"
"""Column of the SMILES in every table, whatever the dataset's own file calls it."""


@dataclass(frozen=True)
class Featuriser:
    """The features of a dataset for other rows, equal to the bit to those of its own rows on the same split."""

    fields: Mapping[str, Any]
    """The description of the dataset as JSON, without its path."""
    numbers: tuple[str, ...]
    """Columns of numbers that a table must have."""
    scaled: np.ndarray
    """Mask (D,) of the features to standardise."""
    keep: np.ndarray
    """Mask (D,) of the features that remain, see ``benchmark.data.features.fitted``."""
    scaler: Any
    """A StandardScaler fitted to the training pool; None if nothing is standardised."""
    reads: Reads = "numbers"
    """What the learner reads."""

    @classmethod
    def of(cls, spec: DatasetSpec, rows: Rows, train: np.ndarray, reads: Reads = "numbers") -> Self:
        """Return the featuriser of a dataset whose training pool are the used rows ``train``, for a learner.

        Raises UserError for images, and for a column of numbers or categories that is called ``smiles``.
        """
        refuse_images(spec)
        numbers = tuple(feature_columns(spec)) if "columns" in spec.features else ()
        if SMILES in (*numbers, *(name for name, *_ in spec.one_hot)):
            raise UserError(
                f"{spec.name}: a deployed model reads molecules from the column {SMILES!r}, which holds something "
                "else in this dataset: rename it in the file"
            )
        keep, scaler = np.ones(len(rows.scaled), dtype=bool), None
        if find(spec.backbone).reads == "numbers":
            keep, scaler = fitted(rows.x, rows.scaled, train)
        fields = spec.model_dump(mode="json", exclude={"path"}) | {"smiles": SMILES if spec.smiles else ""}
        return cls(fields, numbers, rows.scaled, keep, scaler, reads)

    @property
    def reads_molecules(self) -> bool:
        """Tell whether a table needs the column of SMILES."""
        return self.reads == "smiles" or any(name not in ("columns", "composition") for name in self.fields["features"])

    @property
    def texts(self) -> list[str]:
        """Columns of formulas and of categories that a table must have."""
        return _texts(DatasetSpec(**self.fields))

    def __call__(self, table: pd.DataFrame) -> tuple[Inputs, np.ndarray]:
        """Return the G rows that can be read, and for all rows (T,) why not, empty for the G.

        A number may be missing: it becomes the mean of the training pool. Raises UserError for a missing column, and
        for numbers with another decimal mark than the dataset's.
        """
        self.check(table)
        return self.scale(*self.read(table))

    def check(self, table: pd.DataFrame, file: str = "the table") -> None:
        """Raise UserError for a missing column, and for numbers with another decimal mark than the dataset's."""
        wanted = [*([SMILES] if self.reads_molecules else []), *self.numbers, *self.texts]
        if missing := [name for name in wanted if name not in table.columns]:
            raise UserError(f"{file} has no column {missing[0]!r}: expected {', '.join(wanted)}")
        refuse_repeated(table, [name for name in wanted if f"{name}.1" not in wanted], file)
        refuse_other_mark(table, self.numbers, DatasetSpec(**self.fields), file)

    def read(self, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the features (G, D) of the rows that can be read, before they are standardised, their SMILES (G,),
        and for all rows (T,) why not. The table has passed ``check``.
        """
        reasons = np.full(len(table), "", dtype=object)
        texts: dict[str, list[str]] = {}
        molecules: list[Chem.Mol | None] = [None] * len(table)
        if self.reads_molecules:
            texts[SMILES] = [text.strip() if isinstance(text, str) else "" for text in table[SMILES]]
            with rdBase.BlockLogs():
                for i, (text, given) in enumerate(zip(texts[SMILES], table[SMILES], strict=True)):
                    molecule, reasons[i] = _parsed(text, given, table.attrs.get("smiles", SMILES))
                    if molecule is not None and self.fields["desalt"]:
                        texts[SMILES][i] = Chem.MolToSmiles(parent(molecule))
                        molecule = Chem.MolFromSmiles(texts[SMILES][i])
                    molecules[i] = molecule
        words = tuple(word for word in self.fields["missing"] if not is_number(word))
        for name in self.numbers:
            given = table[name]
            if given.dtype.kind not in "biuf":  # texts, of which some mean a missing number, as in the dataset's table
                given = given.mask(is_missing(given.map(lambda value: value if isinstance(value, str) else "0"), words))
            if self.fields["decimal"] and name not in table.attrs.get("native", ()):
                given = given.map(lambda text: spelled(text, self.fields["decimal"]) if isinstance(text, str) else text)
            values = pd.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64)
            wrong = given.notna().to_numpy() & ~(np.abs(values) <= LARGEST) & (reasons == "")
            reasons[wrong] = [f"column {name!r}: expected a number, found {value!r}" for value in given[wrong]]
            texts[name] = [str(float(value)) for value in values]
        for name in self.texts:
            texts[name] = [text.strip() if isinstance(text, str) else "" for text in table[name]]
        spec = DatasetSpec(**self.fields)
        if "composition" in spec.features:
            refuse(spec.name)
            for i, text in enumerate(texts[spec.id]):
                if not (reasons[i] or is_formula(text)):
                    reasons[i] = f"column {spec.id!r}: expected a formula such as Fe2O3, found {text[:80]!r}"
        good = np.flatnonzero(reasons == "")
        if len(good) == 0:
            return np.empty((0, len(self.keep)), dtype=np.float32), np.empty(0, dtype=str), reasons
        raw = pd.DataFrame(texts | {LINE: range(1, len(table) + 1)}).iloc[good]
        x, _ = featurise([m for i in good if (m := molecules[i])], raw, spec)
        return x, raw[SMILES].to_numpy(dtype=str) if SMILES in raw else np.full(len(raw), ""), reasons

    def scale(self, x: np.ndarray, smiles: np.ndarray, reasons: np.ndarray) -> tuple[Inputs, np.ndarray]:
        """Return what ``read`` returned, standardised as the features of the training pool."""
        x, reasons = transformed(x, self.scaled, self.keep, self.scaler), reasons.copy()
        far = ~np.isfinite(x).all(axis=1)
        reasons[np.flatnonzero(reasons == "")[far]] = (
            "a feature is too far from those of the training pool for single precision"
        )
        return Inputs(x[~far], smiles[~far]), reasons


def refuse_images(spec: DatasetSpec) -> None:
    """Raise UserError for a dataset of images, which no table holds."""
    if spec.features[0].startswith("pixels"):
        raise UserError(f"{spec.name}: a deployed model reads a table of SMILES or numbers, not images")


def inputs_of(spec: DatasetSpec, rows: Rows) -> pd.DataFrame:
    """Return the table that gives a featuriser the used rows of its own dataset, in their order."""
    used = rows.table["used"].to_numpy()
    table = {SMILES: rows.used["smiles"].tolist()} if spec.smiles else {}
    if "columns" in spec.features or _texts(spec):
        raw = legible(raw_table(spec), spec)[used]
        if "columns" in spec.features:
            table |= dict(zip(feature_columns(spec), columns(raw, spec).T, strict=True))
        table |= {name: raw[name].tolist() for name in _texts(spec)}
    return pd.DataFrame(table)


def _texts(spec: DatasetSpec) -> list[str]:
    return [*([spec.id] if "composition" in spec.features else []), *(name for name, *_ in spec.one_hot)]


def _parsed(text: str, given: Any, column: str) -> tuple[Chem.Mol | None, str]:
    """Return the molecule of a ``given`` cell with ``text``, or None and why the dataset would not have it either."""
    if not text:
        nothing = isinstance(given, str) or (pd.api.types.is_scalar(given) and pd.isna(given))
        return None, f"column {column!r}: expected a SMILES, found {'nothing' if nothing else repr(given)[:80]}"
    shown = repr(text if len(text) <= 80 else f"{text[:80]}…")
    molecule, large = parsed(text)
    if large:
        most = f"at most {MOST_ATOMS} atoms and {LONGEST:,} characters"
        return None, f"column {column!r}: expected a molecule of {most}, found {shown}"
    if molecule is None and ">" in text:
        return None, f"column {column!r}: expected a molecule, found a reaction, {shown}"
    return molecule, "" if molecule is not None else f"column {column!r}: RDKit cannot parse {shown}"
