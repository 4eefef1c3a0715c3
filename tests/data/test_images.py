"""Images in the hub's layout become rows of pixels."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from benchmark.data import images
from benchmark.data.problem import load_problem
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore")  # from the hub's library


def test_a_folder_of_the_hubs_layout_is_a_problem_with_the_given_split(waterbirds, tmp_path):
    toml = tmp_path / "birds.toml"
    text = Path(load_spec("waterbirds").path).read_text(encoding="utf-8").replace("pixels:256", "pixels:8")
    toml.write_text(text.replace('"resnet50"', '"mlp"'), encoding="utf-8")
    problem = load_problem(str(toml))
    assert (len(problem.train), {name: len(test) for name, test in problem.evals.items()}) == (6, {"id": 4})
    assert problem.train.x.shape == (6, 3 * 8 * 8)
    assert problem.train.y.tolist() == [0, 1] * 3
    assert problem.train.ids.tolist() == [f"train/{i}" for i in range(6)]
    red = problem.train.x.reshape(6, 8, 8, 3)[:, :, :, 0]
    np.testing.assert_array_equal(red, np.broadcast_to(255.0 * problem.train.y[:, None, None], red.shape))
    load_rows.cache_clear()
    assert load_problem(str(toml)).fingerprint == problem.fingerprint


def test_another_image_is_another_version(waterbirds):
    from PIL import Image

    spec = load_spec("waterbirds").model_copy(update={"features": ("pixels:8",)})
    before = images.load(spec)[0]
    Image.new("RGB", (40, 24), (1, 2, 3)).save(waterbirds / "test" / "0.png")
    assert images.load(spec)[0] != before


def test_a_missing_column_is_named(waterbirds):
    spec = load_spec("waterbirds").model_copy(update={"target": "species", "features": ("pixels:8",)})
    with pytest.raises(UserError, match=r"'species'.*'label'"):
        images.load(spec)


@pytest.mark.slow
def test_offline_and_not_here_the_error_says_where_to_get_it_and_where_to_put_it(waterbirds, monkeypatch, tmp_path):
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path / "elsewhere"))
    address, place = "https://huggingface.co/datasets/grodino/waterbirds", tmp_path / "elsewhere/hf/grodino/waterbirds"
    with pytest.raises(UserError, match=f"(?s){address}.*{place}"):
        images.load(load_spec("waterbirds"))


@pytest.mark.parametrize("features", [("morgan:2048:2",), ("pixels",), ("pixels:0",), ("pixels:8", "pixels:8")])
def test_images_have_pixels_and_nothing_else(features):
    with pytest.raises(UserError, match="pixels:SIDE"):
        images.load(load_spec("waterbirds").model_copy(update={"features": features}))


@pytest.mark.parametrize("module", [None, ModuleType("datasets")])  # absent, and like the checkout's folder datasets/
def test_without_the_library_the_error_names_the_extra(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "datasets", module)
    with pytest.raises(UserError, match=r"pip install -c constraints\.txt -e '\.\[vision\]'"):
        images.load(load_spec("waterbirds"))
