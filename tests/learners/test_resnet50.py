"""A small ResNet-50: crops of images, and from pixels and pretrained weights to predictions."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.data.checks.health_text import reports
from benchmark.data.problem import load_problem
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.learners._resnet50 import centre, random_crops
from benchmark.learners.resnet50 import ResNet50
from benchmark.train.device import CPU, CUDA
from benchmark.train.modules import Draws
from tests.plain import needs_gpu, predicted
from tests.pretrained import small_models


def test_the_centre_of_256_pixels_is_224_of_them():
    images = torch.arange(2.0 * 3 * 256 * 256).reshape(2, 3, 256, 256)
    assert torch.equal(centre(images), images[:, :, 16:240, 16:240])


@pytest.fixture(scope="module")
def crops() -> torch.Tensor:
    """Left edge, top, width and height of 4,000 random crops, as shares of the side; mirrored ones have a width < 0.

    They are inferred from crops of an image whose values are the positions of its pixels.
    """
    side, n = 64, 4000
    place = (torch.arange(float(side)) + 0.5) / side
    image = torch.stack([place.expand(side, side), place[:, None].expand(side, side), torch.zeros(side, side)])
    torch.manual_seed(0)
    seen = random_crops(image.expand(n, 3, side, side))
    assert seen.shape == (n, 3, 56, 56)
    edge, last = 8, 47  # away from the border
    across, down = seen[:, 0, 20], seen[:, 1, :, 20]
    width = (across[:, last] - across[:, edge]) / (last - edge) * 56
    height = (down[:, last] - down[:, edge]) / (last - edge) * 56
    left = across[:, edge] - (edge + 0.5) / 56 * width
    top = down[:, edge] - (edge + 0.5) / 56 * height
    expected = left[:, None] + (torch.arange(edge, last) + 0.5) / 56 * width[:, None]
    torch.testing.assert_close(across[:, edge:last], expected, atol=1e-4, rtol=0)
    return torch.stack([left, top, width, height])


def test_random_crops_are_rectangles_within_the_image_and_half_of_them_are_mirrored(crops):
    left, top, width, height = crops
    assert (width < 0).float().mean().item() == pytest.approx(0.5, abs=0.03)
    for start, length in ((torch.minimum(left, left + width), width.abs()), (top, height)):
        assert start.min() > -1e-4
        assert (start + length).max() < 1 + 1e-4


def test_random_crops_have_the_sizes_and_places_of_the_published_rule(crops):
    """The rule, one crop at a time: area in [0.08, 1], log of the aspect in log [3/4, 4/3], ten tries."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(4000):
        size = (1.0, 1.0)
        for _ in range(10):
            area, aspect = rng.uniform(0.08, 1), np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
            if max(area * aspect, area / aspect) <= 1:
                size = (np.sqrt(area * aspect), np.sqrt(area / aspect))
                break
        drawn.append((rng.uniform(0, 1 - size[0]), rng.uniform(0, 1 - size[1]), *size))
    left, top, width, height = crops.numpy()
    ours = np.array([np.minimum(left, left + width), top, np.abs(width), height])
    quantiles = np.linspace(0.05, 0.95, 10)
    np.testing.assert_allclose(
        np.quantile(ours, quantiles, axis=1), np.quantile(np.array(drawn).T, quantiles, axis=1), atol=0.025
    )


def test_networks_are_trained_on_crops_of_the_images_as_pixels():
    pixels = torch.randint(0, 256, (3, 32 * 32 * 3), dtype=torch.uint8)
    torch.manual_seed(3)
    seen = ResNet50().augmented(pixels)
    torch.manual_seed(3)
    images = pixels.reshape(3, 32, 32, 3).permute(0, 3, 1, 2).float()
    assert torch.equal(seen.reshape(3, 28, 28, 3).permute(0, 3, 1, 2), random_crops(images))


@pytest.fixture
def folder(models: Path) -> Path:
    """A residual network of two blocks."""
    small_models(models)
    return models / "microsoft" / "resnet-50"


def test_outputs_are_those_of_the_librarys_own_model_on_normalised_centres(folder):
    from transformers import ResNetForImageClassification

    with Draws("initialisation", (1, 0), CPU):
        ours = ResNet50().module(ResNet50.recipe, 0, 2, 0.0).eval()
    theirs = ResNetForImageClassification.from_pretrained(folder).eval()
    theirs.classifier[1].load_state_dict(ours.head[2].state_dict())
    pixels = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3)).astype(np.uint8)
    inside = pixels[:, 2:30, 2:30] / 255
    normal = (inside - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225])
    with torch.no_grad():
        expected = theirs(torch.tensor(normal.transpose(0, 3, 1, 2), dtype=torch.float32)).logits
        torch.testing.assert_close(ours(torch.tensor(pixels.reshape(3, -1))), expected, rtol=1e-4, atol=1e-5)


@pytest.fixture
def birds(waterbirds: Path, tmp_path: Path) -> str:
    """The registered Waterbirds dataset with a dozen small images."""
    text = Path(load_spec("waterbirds").path).read_text(encoding="utf-8").replace("pixels:256", "pixels:32")
    (tmp_path / "birds.toml").write_text(text, encoding="utf-8")
    return f"{tmp_path / 'birds.toml'}@batch_size=4@epochs=1"


@pytest.mark.filterwarnings("ignore")  # warnings of the hub's library
@pytest.mark.parametrize("method", ["erm", "twin:lam=10"])
def test_training_gives_the_same_twice_and_a_seed_alone_what_it_gives_in_company(folder, birds, method):
    problem = load_problem(birds)
    assert (problem.backbone, problem.recipe.lr) == ("resnet50", 1e-4)
    both = predicted(problem, method, [1, 2])
    np.testing.assert_array_equal(predicted(problem, method, [2]), both[1:])
    assert not np.array_equal(both[0], both[1])


@needs_gpu
@pytest.mark.filterwarnings("ignore")
def test_a_gpu_gives_the_same_predictions_again(folder, birds):
    problem = load_problem(birds)
    first = predicted(problem, "twin:lam=10", [1, 2], CUDA)
    np.testing.assert_array_equal(predicted(problem, "twin:lam=10", [1, 2], CUDA), first)


@pytest.mark.filterwarnings("ignore")
def test_the_groups_of_images_are_kept_with_a_result(folder, birds):
    kept = reports(load_spec(birds), 99)
    assert kept["groups.csv"].splitlines()[:4] == [
        "id,group",
        'train/0,"label 0, place 0"',
        'train/1,"label 1, place 0"',
        'train/2,"label 0, place 1"',
    ]
    assert "rows used              12" in kept["health.txt"]


def test_weights_of_another_size_are_refused(folder):
    text = (folder / "config.json").read_text(encoding="utf-8")
    (folder / "config.json").write_text(text.replace('"embedding_size": 8', '"embedding_size": 4'), encoding="utf-8")
    with pytest.raises(
        UserError, match=r"belong to another network: [\s\S]*size mismatch for embedder\S+: .*\[8, 3, 7, 7\]"
    ):
        ResNet50().module(ResNet50.recipe, 0, 2, 0.0)
