"""Network architectures: one file per backbone, with one subclass of ``benchmark.train.backbone.Backbone``."""

from __future__ import annotations

from collections.abc import Mapping

SELECTED: Mapping[str, Mapping[str, float]] = {
    "gin": {"classification": 10.0},
    "chemberta": {"classification": 10.0},
    "resnet50": {"classification": 10.0},
}
"""The λ selected for twin-bootstrap by backbone and task, if it is not the method's default: on Waterbirds for
ResNet-50, otherwise on BACE (paper, scope appendices). Run ``study lambda-rule --backbone NAME`` to select one."""
