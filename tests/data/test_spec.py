"""A dataset is one TOML; errors name the faulty field."""

from pathlib import Path

import pytest
import tomli_w

from benchmark.data.problem import load_problem
from benchmark.data.spec import dataset_names, expand, fields_of, load_spec
from benchmark.errors import UserError

BACE = tomli_w.dumps(fields_of("bace")[1])


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_toml_anywhere_is_a_dataset_and_has_variants(tmp_path):
    folder = tmp_path / "me@home, again"
    folder.mkdir()
    path = written(folder, BACE)
    spec = load_spec(path)
    assert (spec.name, spec.spelled) == ("mine", path)
    same = {"name": "bace", "family": "bace", "path": fields_of("bace")[0]}
    assert spec.model_copy(update=same) == load_spec("bace")
    variant = load_spec(f"{path}@train=0200@lr=1e-2")
    assert (variant.name, variant.spelled) == ("mine@lr=0.01@train=200", f"{path}@lr=0.01@train=200")
    assert load_spec(variant.spelled) == variant
    assert expand(f"{path}@train=0200") == [f"{path}@train=200"]


def test_the_recipe_is_the_papers_unless_the_toml_says_otherwise(tmp_path):
    paper = {"hidden": 256, "lr": 1e-3, "weight_decay": 1e-4, "batch_size": 64, "epochs": 30, "standardise": None}
    assert load_spec("bace").recipe.model_dump() == paper
    changed = load_spec(written(tmp_path, BACE + "\n[recipe]\nepochs = 20\n"))
    assert changed.recipe.model_dump() == paper | {"epochs": 20}


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('task = "classification"', 'task = "ranking"', "task"),
        ('group = "dev"', 'group = "best"', "group"),
        ('source = "moleculenet:bace.csv"', 'source = "bace.csv"', "source"),
        ('sha256 = "f3', 'sha256 = "F3', "sha256"),
        ('target = "Class"', 'target = "Class"\npositive = ">= high"', "positive"),
        ('target = "Class"', "", "target"),
        ('target = "Class"', 'target = ""', "target"),
        ('target = "Class"', 'target = "Class"\ntarjet = "Class"', "tarjet"),
        ('target = "Class"', 'target = "Class"\nname = "other"', "name"),
        ('target = "Class"', 'target = "Class"\none_hot = [["Class", "0", "1"]]', "one_hot"),
        ('target = "Class"', 'target = "Class"\nclasses = ["a", "b", "c", "c"]', "classes"),
        ('target = "Class"', 'target = "Class"\nnegative = "1"', "negative"),
        ('task = "classification"', 'task = "regression"\npositive = ">= 5"', "task"),
        ('target = "Class"', 'target = "Class"\nrelation = "mark"', "relation"),
        ('target = "Class"', 'target = "Class"\nlimits = [nan, 5]', "limits"),
        ('target = "Class"', 'target = "Class"\nwhere = [["mark"]]', "where.0"),
        ('target = "Class"', 'target = "Class"\nnew = 0', "new"),
        ("task = ", "taks = ", "taks"),
        ('smiles = "mol"', 'id = "CID"\ndesalt = true', "desalt"),
        ('notes = "', '[recipe]\nepochs = 0\n#"', "recipe.epochs"),
        ('notes = "', '[recipe]\nhidden = 250\n#"', "recipe.hidden"),
        ('notes = "', '[recipe]\nmissing = ["-1"]\n#"', "recipe.missing"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(tmp_path, old, new, field):
    assert old in BACE
    path = written(tmp_path, BACE.replace(old, new))
    with pytest.raises(UserError) as caught:
        load_spec(path)
    assert str(caught.value).startswith(f"{path}: field '{field}': ")
    assert ("move it above [recipe]" in str(caught.value)) == (field == "recipe.missing")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('relation = "mark"\nbounds = "exclude"', "unknown column of mine's file: 'mark'"),
        ('backbone = "sklearn"', "unknown learner 'sklearn'"),
        ('where = [["CIDs", "none"]]', "unknown column of mine's file: 'CIDs': did you mean 'CID'"),
        ('where = [["CID", "none"]]', r"no row can be used: not selected by 'where' or 'limits': 1513 \(line 2\)"),
        ("limits = [5, 9]", r"no row can be used: not selected by 'where' or 'limits': 1513 \(line 2\)"),
        ('smiles = "CID"', r"no row can be used: SMILES that RDKit cannot parse: 1513 \(line 2\): correct"),
        ('positive = "1"\nnegative = "1.0"', "two of the classes 1.0, 1 mean the same"),
        ('classes = ["0", "1", "01"]', "two of the classes 0, 1, 01 mean the same"),
        ('source = "file:a\\u0000b"', "field 'source'"),
        (f'source = "file:{"x" * 5000}"', "is missing"),  # which no file can be called
    ],
)
def test_a_field_that_does_not_go_with_the_table_is_an_error_of_the_user(tmp_path, field, message):
    name = field.partition(" =")[0]
    others = [line for line in BACE.splitlines() if not line.startswith(f"{name} ")]
    path = written(tmp_path, "\n".join([*field.splitlines(), *others]))
    with pytest.raises(UserError, match=message):
        load_problem(path)


@pytest.mark.parametrize("text", ["title: BACE", "x = " + "[" * 5000, "x = " + "9" * 5000, " " * (2**24 + 1)])
def test_what_is_no_toml_is_an_error_that_names_the_file(tmp_path, text):
    with pytest.raises(UserError, match=r"mine\.toml: not a TOML file"):
        load_spec(written(tmp_path, text))


def test_a_group_expands_to_its_datasets_and_nothing_is_named_twice(tmp_path):
    extra = [name for name in dataset_names() if load_spec(name).group == "extra"]
    mine = written(tmp_path, BACE)
    assert len(extra) > 1
    assert expand(f"bace, extra,{extra[0]},{mine},bace") == ["bace", *extra, mine]
    assert expand(f"{mine}@epochs=5,bace") == [f"{mine}@epochs=5", "bace"]


def test_hidden_files_stop_nothing_and_an_invalid_one_only_what_reads_all(registry):
    (registry / ".#assay.toml").symlink_to("me@host.123")  # Emacs, beside a file with unsaved changes
    (registry / "._assay.toml").write_bytes(b"\0\5\x16\7")  # macOS, on a network drive
    (registry / "old.toml").mkdir()
    assert "lite" not in dataset_names()
    assert not [name for name in dataset_names() if name.startswith(".") or name == "old"]
    assert len(expand("lite")) > 1
    (registry / "half.toml").write_text("title = ")
    assert expand("bace") == ["bace"]
    with pytest.raises(UserError, match=r"half\.toml: not a TOML file"):
        expand("lite")


def test_an_endpoint_has_the_fields_of_its_collection_and_its_own(tmp_path, monkeypatch):
    (tmp_path / "admet").mkdir()
    (tmp_path / "admet" / "tox.toml").write_text(
        'prefix = "tox_"\nunit = "pKi"\nsource = "tdc:"\nnotes = "All."\nrecipe = { epochs = 3 }\n'
        '[endpoint.first]\nsource = "Tox/A/1"\nnotes = "First."\n'
        '[endpoint.second]\nsource = "Tox/B/2"\nunit = ""\nrecipe = {}\n'
    )
    (tmp_path / "admet" / "single.toml").write_text('unit = "K"\n')
    monkeypatch.setattr("benchmark.data.spec.shipped_datasets", lambda: tmp_path)
    assert dataset_names() == ["single", "tox_first", "tox_second"]
    file = tmp_path / "admet" / "tox.toml"
    first = {"unit": "pKi", "source": "tdc:Tox/A/1", "notes": "All. First.", "recipe": {"epochs": 3}}
    assert fields_of("tox_first") == (file, first)
    assert fields_of("tox_second") == (file, {"unit": "", "source": "tdc:Tox/B/2", "notes": "All.", "recipe": {}})
    assert fields_of("single") == (tmp_path / "admet" / "single.toml", {"unit": "K"})


def test_a_dataset_of_ones_own_cannot_be_called_like_one_of_the_suite(registry):
    (registry / "bace.toml").write_text(BACE)
    with pytest.raises(UserError, match=r"bace\.toml: the suite has a dataset 'bace': rename your file"):
        load_spec("bace")


@pytest.mark.parametrize("name", ["headline", "lite", "bace,dili"])
def test_a_name_of_several_datasets_is_told_from_an_unknown_one(name: str) -> None:
    with pytest.raises(UserError, match=f"^{name}: expected one dataset"):
        load_spec(name)
