"""What networks are made of: one file per backbone, with one class that derives from ``benchmark.train.Backbone``."""

from __future__ import annotations

from collections.abc import Mapping

SELECTED: Mapping[str, Mapping[str, float]] = {
    "gin": {"classification": 10.0},
    "chemberta": {"classification": 10.0},
    "resnet50": {"classification": 10.0},
}
"""The λ of twin-bootstrap that the rule selects, by backbone and task, where it is not the method's own default: on
Waterbirds for ResNet-50, else on BACE (paper, scope appendices). ``study lambda-rule --backbone NAME`` selects one.
"""
