"""What estimators are fitted to: scikit-learn's own tables, each split once, and two that are drawn here.

Features are float32, as ONNX's are, so that no example is on another side of a threshold for being rounded: estimators
get the same numbers. Trees for regression split halfway between two values, where another value may lie: those of the
diabetes table are made whole numbers, of which float32 has the middle too."""

import dataclasses
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler


@dataclasses.dataclass
class Split:
    train_x: Any
    test_x: Any
    train_y: Any
    test_y: Any

    def with_x(self, change):
        return dataclasses.replace(self, train_x=change(self.train_x), test_x=change(self.test_x))

    def with_y(self, change):
        return dataclasses.replace(self, train_y=change(self.train_y), test_y=change(self.test_y))

    def named(self):
        return self.with_y(lambda y: np.array(["setosa", "versicolor", "virginica"])[y])

    def with_two_targets(self):
        return self.with_y(lambda y: np.stack([y, -2 * y], 1))

    def feeds(self):
        """The examples that were not fitted to, by the names of inputs."""
        return {"x": self.test_x}


class Cities(Split):
    """Two columns of strings, two of numbers with gaps."""

    def feeds(self):
        numbers = self.test_x[:, 2:].astype(np.float32)
        return {"city": self.test_x[:, :1], "size": self.test_x[:, 1:2], "numbers": numbers}


class Texts(Split):
    def feeds(self):
        return {"text": self.test_x}


def table(load, **settings):
    x, y = load(return_X_y=True, **settings)
    return Split(*train_test_split(x.astype(np.float32), y, test_size=0.4, random_state=0))


def scaled(split):
    scaler = StandardScaler().fit(split.train_x)
    return split.with_x(lambda x: scaler.transform(x).astype(np.float32))


def with_gaps(split):
    random = np.random.default_rng(0)
    return split.with_x(lambda x: np.where(random.random(x.shape) < 0.1, np.nan, x).astype(np.float32))


def cities():
    random, count = np.random.default_rng(0), 400
    city, size = random.choice(["Bern", "Basel", "Zürich"], count), random.choice(["S", "M", "L"], count)
    age, income = random.normal(40, 10, count).astype(np.float32), random.lognormal(1, 1, count).astype(np.float32)
    y = (city == "Bern") + (age > 40) + 0.2 * income + random.normal(0, 0.3, count) > 1.5
    age[random.random(count) < 0.1] = np.nan
    x = np.stack([each.astype(object) for each in (city, size, age, income)], 1)
    x[-1, 0] = "Chur"  # which no estimator has seen
    return Cities(x[:200], x[200:], y[:200].astype(int), y[200:].astype(int))


def texts():
    lines = np.array([f"{who} {what} {when}" for who in ("the market", "our team", "Their court", "the film")
                      for what in ("won", "lost", "opened early", "fell again", "was reviewed")
                      for when in ("today", "in May", "after the break", "by critics", "Again")], dtype=object)
    y = np.array(["market" in line or "fell" in line for line in lines]).astype(int)
    return Texts(lines[::2], lines[1::2], y[::2], y[1::2])


FLOWERS, TUMOURS, WINE = table(load_iris), table(load_breast_cancer), table(load_wine)
DIGITS = table(load_digits)
DIABETES = table(load_diabetes, scaled=False).with_x(lambda x: np.round(100 * x))
GAPPY_FLOWERS, GAPPY_TUMOURS, GAPPY_DIABETES = with_gaps(FLOWERS), with_gaps(TUMOURS), with_gaps(DIABETES)
CITIES, TEXTS = cities(), texts()
