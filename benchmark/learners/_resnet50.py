"""ResNet-50 on images, fine-tuned from ImageNet (He et al. 2016, arXiv:1512.03385; paper, appendix on Waterbirds)."""

import math

import torch
from torch import Tensor, nn

from benchmark.learners._hub import Pretrained

MODEL = Pretrained("microsoft/resnet-50", "resnet")
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet's red, green and blue, as used to train the weights."""
CROP = 224 / 256
"""Side of a crop, as a share of the image's."""
AREA, ASPECT, TRIES = (0.08, 1.0), (3 / 4, 4 / 3), 10
"""A random crop's range of area shares and of width over height, and attempts before the whole image is used."""


class Network(nn.Module):
    """From pixels (B, side·side·3), channel last, to outputs (B, C): the network and a new linear head.

    It is trained on the resized and flipped random crops of ``augmented`` (Szegedy et al. 2015, arXiv:1409.4842) and
    predicts from the centre. Dropout is applied before the head.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, n_outputs: int, dropout: float) -> None:
        from transformers import ResNetConfig, ResNetModel

        super().__init__()
        config = ResNetConfig.from_pretrained(MODEL.folder())
        self.resnet = ResNetModel(config)
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(config.hidden_sizes[-1], n_outputs))
        MODEL.start(self)
        self.register_buffer("mean", 255 * torch.tensor(MEAN)[:, None, None], persistent=False)
        self.register_buffer("spread", 255 * torch.tensor(SPREAD)[:, None, None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        seen = pictures(x) if self.training else centre(pictures(x))
        return self.head(self.resnet((seen - self.mean) / self.spread).pooler_output)


def pictures(x: Tensor) -> Tensor:
    """Reshape pixels (B, side·side·3), channel last, to images (B, 3, side, side)."""
    side = math.isqrt(x.shape[1] // 3)
    return x.unflatten(1, (side, side, 3)).movedim(3, 1)


def centre(images: Tensor) -> Tensor:
    """Return the centre of images (B, 3, S, S), 224 of 256 pixels."""
    side = images.shape[-1]
    crop = round(CROP * side)
    start = round((side - crop) / 2)
    return images[:, :, start : start + crop, start : start + crop]


def random_crops(images: Tensor) -> Tensor:
    """Crop a random rectangle of each image (B, 3, S, S), resize it to 224 of 256 pixels and mirror half of them.

    Draws come from PyTorch's global CPU generator, so they are the same on every device.
    """
    n, side = len(images), images.shape[-1]
    area = torch.empty(n, TRIES).uniform_(*AREA)
    aspect = torch.empty(n, TRIES).uniform_(*map(math.log, ASPECT)).exp()
    sizes = torch.stack([(area * aspect).sqrt(), (area / aspect).sqrt()], dim=2)  # (B, TRIES, 2), relative
    fits = (sizes <= 1).all(dim=2)
    first = fits.int().argmax(dim=1)
    size = torch.where(fits.any(dim=1)[:, None], sizes[torch.arange(n), first], torch.ones(n, 2))
    middle = (1 - size) * (2 * torch.rand(n, 2) - 1)  # in the coordinates of ``affine_grid``: -1 to 1
    mirror = torch.where(torch.rand(n) < 0.5, -1.0, 1.0)
    where = torch.zeros(n, 2, 3)
    where[:, 0, 0], where[:, 1, 1], where[:, :, 2] = size[:, 0] * mirror, size[:, 1], middle
    crop = round(CROP * side)
    grid = nn.functional.affine_grid(where.to(images.device), [n, 3, crop, crop], align_corners=False)
    return nn.functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
