r"""CatBoost: boosted symmetric trees, which ask the same question at all nodes of a level.

A tree of depth d has d questions, whether the feature j is above the threshold t, and a value v for each pattern of
answers. It follows the gradient of the loss of those before it; ν is the learning rate ``rate``. Questions are chosen
on randomly drawn and weighted rows, by scores with noise.

$$
F_m(x) = F_{m-1}(x) + \nu \, h_m(x), \qquad
h_m(x) = v_m\left( [x_{j_1} > t_1], \ldots, [x_{j_d} > t_d] \right)
$$

Source: Prokhorenkova et al. 2018, arXiv:1706.09516.

Difference: the library's defaults, with plain instead of the paper's ordered boosting; all features are numbers.

Cost: grows as many trees as ``trees`` and trains no network.
"""

from typing import Annotated, Any

from benchmark.learners._boosting import EXTRA, SETTINGS
from benchmark.learners._estimator import Estimators, TrainingSet
from benchmark.pipeline import Field, PositiveInt, learner


@learner("catboost", title="CatBoost", revision=1)
class CatBoost(Estimators):
    trees: PositiveInt = 1000
    """Number of iterations."""
    depth: Annotated[int, Field(gt=0, le=16)] = 6
    """Number of questions in a tree, d in the formula."""
    rate: Annotated[float, Field(gt=0, le=1)] | None = None
    """Learning rate, the factor that shrinks each tree, ν in the formula. By default, the library derives it from the
    number of rows and of trees."""

    offers = frozenset({"targets", "randomness"})
    requires = ("catboost",)
    extra = EXTRA

    def trained(self, data: TrainingSet) -> Any:
        data = data.weighted()
        from catboost import CatBoostClassifier, CatBoostRegressor

        model = (CatBoostClassifier if data.task == "classification" else CatBoostRegressor)(
            iterations=self.trees,
            learning_rate=self.rate,
            depth=self.depth,
            random_seed=data.random_state,
            thread_count=1,
            **SETTINGS["catboost"],
        )
        return model.fit(data.x, data.y, sample_weight=data.weight)
