"""Fitted scikit-learn estimators and pipelines through skl2onnx, and LightGBM's models through onnxmltools: Onward gives
what ONNX Runtime gives from the same file, and what the estimator itself gives.

Results are compared by their differences relative to the largest value of the result: scores are sums in float32, whose
errors follow the terms. Labels must be equal. Where the file says something else than the estimator, a row has the
number of examples that it says so of, and why."""

import dataclasses
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import onnx
import onnxruntime
import pytest
from estimator_data import CITIES, DIABETES, DIGITS, FLOWERS, GAPPY_DIABETES, GAPPY_FLOWERS, GAPPY_TUMOURS, TEXTS, TUMOURS, WINE, Split, scaled
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType as LightGbmFloats
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn import cluster, compose, decomposition, discriminant_analysis, ensemble, gaussian_process, impute
from sklearn import linear_model as linear
from sklearn import mixture, multiclass, naive_bayes, neighbors, neural_network, svm, tree
from sklearn import preprocessing as prepare
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import kernels
from sklearn.pipeline import FeatureUnion, make_pipeline

import onward

pytestmark = pytest.mark.filterwarnings("ignore")  # of what scikit-learn will drop, and of fits that ended early
NEAR_RUNTIME = 1e-5
NEAR_ESTIMATOR = 1e-4
OPSETS = {"": 22, "ai.onnx.ml": 3}

CLASSES = ("predict", "predict_proba")
SCORES = ("predict", "decision_function")
VALUES = ("predict",)
FEATURES = ("transform",)


def both_scores(estimator, x):
    """The file gives the score and its opposite."""
    score = estimator.decision_function(x)
    return np.stack([score, -score], 1)


def distances(estimator, x):
    return estimator.transform(x)


BOTH_SCORES = ("predict", both_scores)


@dataclasses.dataclass
class Row:
    estimator: Any
    data: Split
    wanted: tuple[str | Callable[[Any, Any], Any], ...]  # what each output is, in order
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    inputs: list[tuple[str, Any]] | None = None  # beside one of floats
    flips: int = 0  # examples of which the file says otherwise than the estimator
    because: str = ""


def forest(kind, count=20, **settings):
    return kind(n_estimators=count, random_state=0, **settings)


def machines():
    """Support vector machines with each kernel."""
    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        yield f"SVC {kernel}", Row(svm.SVC(kernel=kernel), scaled(FLOWERS), SCORES)
        yield f"SVC {kernel} of two", Row(svm.SVC(kernel=kernel), scaled(TUMOURS), BOTH_SCORES)
        yield f"SVC {kernel} with probabilities", Row(
            svm.SVC(kernel=kernel, probability=True, random_state=0), scaled(FLOWERS), CLASSES)
        yield f"SVR {kernel}", Row(svm.SVR(kernel=kernel), scaled(DIABETES), VALUES)


def voters():
    return [("a", linear.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0)),
            ("c", naive_bayes.GaussianNB())]


def regressors():
    return [("a", linear.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=3, random_state=0))]


ROWS = {
    # Linear models
    "LogisticRegression of two": Row(linear.LogisticRegression(), scaled(TUMOURS), CLASSES),
    "LogisticRegression of ten": Row(linear.LogisticRegression(), scaled(DIGITS), CLASSES),
    "LogisticRegression of strings": Row(linear.LogisticRegression(max_iter=500), FLOWERS.named(), CLASSES),
    "OneVsRestClassifier": Row(multiclass.OneVsRestClassifier(linear.LogisticRegression()), scaled(FLOWERS), CLASSES),
    "RidgeClassifier": Row(linear.RidgeClassifier(), scaled(FLOWERS), SCORES),
    "SGDClassifier": Row(linear.SGDClassifier(random_state=0), scaled(FLOWERS), SCORES),
    "Perceptron": Row(linear.Perceptron(random_state=0), scaled(WINE), SCORES),
    "LinearSVC": Row(svm.LinearSVC(), scaled(FLOWERS), SCORES),
    "LinearDiscriminantAnalysis": Row(discriminant_analysis.LinearDiscriminantAnalysis(), WINE, CLASSES),
    "QuadraticDiscriminantAnalysis": Row(discriminant_analysis.QuadraticDiscriminantAnalysis(), scaled(FLOWERS), CLASSES),
    "LinearRegression": Row(linear.LinearRegression(), scaled(DIABETES), VALUES),
    "Ridge of two targets": Row(linear.Ridge(), scaled(DIABETES).with_two_targets(), VALUES),
    "Lasso": Row(linear.Lasso(0.1), scaled(DIABETES), VALUES),
    "ElasticNet": Row(linear.ElasticNet(0.01), scaled(DIABETES), VALUES),
    "SGDRegressor": Row(linear.SGDRegressor(random_state=0), scaled(DIABETES), VALUES),
    "PoissonRegressor": Row(linear.PoissonRegressor(), scaled(DIABETES), VALUES),
    "GammaRegressor": Row(linear.GammaRegressor(), scaled(DIABETES), VALUES),
    # Support vector machines
    **dict(machines()),
    "SVC of two with probabilities": Row(svm.SVC(probability=True, random_state=0), scaled(TUMOURS), CLASSES),
    "SVC of strings with probabilities": Row(svm.SVC(probability=True, random_state=0), FLOWERS.named(), CLASSES),
    "NuSVC with probabilities": Row(svm.NuSVC(nu=0.2, probability=True, random_state=0), scaled(WINE), CLASSES),
    "NuSVR": Row(svm.NuSVR(), scaled(DIABETES), VALUES),
    "OneClassSVM": Row(svm.OneClassSVM(), scaled(FLOWERS), SCORES),
    "CalibratedClassifierCV": Row(CalibratedClassifierCV(svm.LinearSVC(), cv=3), scaled(FLOWERS), CLASSES),
    # Trees
    "DecisionTreeClassifier": Row(tree.DecisionTreeClassifier(random_state=0), FLOWERS, CLASSES),
    "DecisionTreeClassifier of strings": Row(tree.DecisionTreeClassifier(max_depth=2, random_state=0), FLOWERS.named(), CLASSES),
    "DecisionTreeRegressor": Row(tree.DecisionTreeRegressor(random_state=0), DIABETES, VALUES),
    "RandomForestClassifier": Row(forest(ensemble.RandomForestClassifier), DIGITS, CLASSES),
    "RandomForestClassifier of two": Row(forest(ensemble.RandomForestClassifier), TUMOURS, CLASSES, flips=3,
                                         because="ten of twenty trees: float32's ten twentieths are more than a half"),
    "RandomForestRegressor": Row(forest(ensemble.RandomForestRegressor), DIABETES, VALUES),
    "RandomForestRegressor of two targets": Row(forest(ensemble.RandomForestRegressor, 5), DIABETES.with_two_targets(), VALUES),
    "ExtraTreesClassifier": Row(forest(ensemble.ExtraTreesClassifier), DIGITS, CLASSES),
    "ExtraTreesRegressor": Row(forest(ensemble.ExtraTreesRegressor), DIABETES, VALUES),
    "GradientBoostingClassifier": Row(forest(ensemble.GradientBoostingClassifier, 10), FLOWERS, CLASSES),
    "GradientBoostingClassifier of two": Row(forest(ensemble.GradientBoostingClassifier, 10), TUMOURS, CLASSES),
    "GradientBoostingRegressor": Row(forest(ensemble.GradientBoostingRegressor, 10), DIABETES, VALUES),
    "HistGradientBoostingClassifier": Row(ensemble.HistGradientBoostingClassifier(max_iter=10), GAPPY_FLOWERS, CLASSES),
    "HistGradientBoostingClassifier of two": Row(ensemble.HistGradientBoostingClassifier(max_iter=10), GAPPY_TUMOURS, CLASSES),
    "HistGradientBoostingRegressor": Row(ensemble.HistGradientBoostingRegressor(max_iter=10), GAPPY_DIABETES, VALUES),
    "AdaBoostClassifier": Row(forest(ensemble.AdaBoostClassifier, 10), FLOWERS, CLASSES),
    "AdaBoostRegressor": Row(forest(ensemble.AdaBoostRegressor, 10), DIABETES, VALUES),
    "BaggingClassifier": Row(forest(ensemble.BaggingClassifier, 5), FLOWERS, CLASSES),
    "IsolationForest": Row(forest(ensemble.IsolationForest), TUMOURS, SCORES),
    # Neighbours, mixtures, networks
    "KNeighborsClassifier": Row(neighbors.KNeighborsClassifier(), scaled(WINE), CLASSES),
    "KNeighborsRegressor": Row(neighbors.KNeighborsRegressor(), scaled(DIABETES), VALUES),
    "LocalOutlierFactor": Row(neighbors.LocalOutlierFactor(novelty=True), scaled(FLOWERS), SCORES),
    "GaussianNB": Row(naive_bayes.GaussianNB(), FLOWERS, CLASSES),
    # Of whole counts the scores would be sums of a thousand and more, which float32 rounds to 1e-4: exp hands that on.
    "MultinomialNB": Row(naive_bayes.MultinomialNB(), DIGITS.with_x(lambda x: x / 16), CLASSES),
    "BernoulliNB": Row(naive_bayes.BernoulliNB(binarize=8.0), DIGITS, CLASSES),
    "MLPClassifier": Row(neural_network.MLPClassifier((20,), max_iter=60, random_state=0), scaled(DIGITS), CLASSES),
    "MLPRegressor": Row(neural_network.MLPRegressor(hidden_layer_sizes=(20,), activation="tanh", max_iter=60, random_state=0),
                        scaled(DIABETES), VALUES),
    "KMeans": Row(cluster.KMeans(3, random_state=0, n_init=3), scaled(FLOWERS), ("predict", distances)),
    "GaussianMixture": Row(mixture.GaussianMixture(3, random_state=0), scaled(FLOWERS), CLASSES),
    "GaussianProcessRegressor": Row(
        gaussian_process.GaussianProcessRegressor(kernels.RBF(2.0) + kernels.WhiteKernel(1.0), normalize_y=True),
        scaled(DIABETES), VALUES),
    # Of several estimators
    "VotingClassifier": Row(ensemble.VotingClassifier(voters(), voting="soft", flatten_transform=False), scaled(FLOWERS), CLASSES),
    "VotingRegressor": Row(ensemble.VotingRegressor(regressors()), scaled(DIABETES), VALUES),
    "StackingClassifier": Row(ensemble.StackingClassifier(voters(), cv=3), scaled(FLOWERS), CLASSES),
    "StackingRegressor": Row(ensemble.StackingRegressor(regressors(), cv=3), scaled(DIABETES), VALUES),
    # Features
    "PCA": Row(decomposition.PCA(10, whiten=True), scaled(DIGITS), FEATURES),
    "TruncatedSVD": Row(decomposition.TruncatedSVD(10, random_state=0), scaled(DIGITS), FEATURES),
    "StandardScaler and LogisticRegression": Row(
        make_pipeline(prepare.StandardScaler(), linear.LogisticRegression()), TUMOURS, CLASSES),
    "MinMaxScaler and SVC": Row(make_pipeline(prepare.MinMaxScaler(), svm.SVC(probability=True, random_state=0)), WINE, CLASSES),
    "Normalizer and Ridge": Row(make_pipeline(prepare.Normalizer(), linear.Ridge()), WINE, VALUES),
    "PolynomialFeatures and Ridge": Row(make_pipeline(prepare.PolynomialFeatures(2), linear.Ridge()), scaled(DIABETES), VALUES),
    "KBinsDiscretizer and LogisticRegression": Row(
        make_pipeline(prepare.KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
                      linear.LogisticRegression()), FLOWERS, CLASSES),
    "RobustScaler and PCA": Row(make_pipeline(prepare.RobustScaler(), decomposition.PCA(3)), WINE, FEATURES),
    "PowerTransformer": Row(prepare.PowerTransformer(), scaled(WINE), FEATURES),
    "SimpleImputer and trees": Row(make_pipeline(impute.SimpleImputer(), forest(ensemble.RandomForestClassifier, 5)),
                                   GAPPY_FLOWERS, CLASSES),
    "SelectKBest and GaussianNB": Row(make_pipeline(SelectKBest(k=5), naive_bayes.GaussianNB()), WINE, CLASSES),
    "FunctionTransformer and StandardScaler": Row(make_pipeline(prepare.FunctionTransformer(), prepare.StandardScaler()), WINE,
                                                  FEATURES),
    "FeatureUnion": Row(make_pipeline(FeatureUnion([("pca", decomposition.PCA(2)), ("scaled", prepare.StandardScaler())]),
                                      linear.LogisticRegression()), FLOWERS, CLASSES),
    # Maps
    "LogisticRegression of strings as maps": Row(linear.LogisticRegression(max_iter=500), FLOWERS.named(), CLASSES, {"zipmap": True}),
    "RandomForestClassifier as maps": Row(forest(ensemble.RandomForestClassifier), DIGITS, CLASSES, {"zipmap": True}),
    "Pipeline as maps": Row(make_pipeline(prepare.StandardScaler(), svm.SVC(probability=True, random_state=0)), WINE, CLASSES,
                            {"zipmap": True}),
    # Strings
    "ColumnTransformer": Row(
        make_pipeline(
            compose.ColumnTransformer([
                ("city", prepare.OneHotEncoder(handle_unknown="ignore"), [0]), ("size", prepare.OrdinalEncoder(), [1]),
                ("numbers", make_pipeline(impute.SimpleImputer(strategy="median"), prepare.StandardScaler()), [2, 3])]),
            linear.LogisticRegression()),
        CITIES, CLASSES, inputs=[("city", StringTensorType([None, 1])), ("size", StringTensorType([None, 1])),
                                 ("numbers", FloatTensorType([None, 2]))]),
    "TfidfVectorizer and LogisticRegression": Row(
        make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), linear.LogisticRegression()), TEXTS, CLASSES,
        inputs=[("text", StringTensorType([None]))]),
    # LightGBM
    "LGBMClassifier": Row(lightgbm.LGBMClassifier(n_estimators=10, verbose=-1), FLOWERS, CLASSES),
    "LGBMClassifier of two": Row(lightgbm.LGBMClassifier(n_estimators=10, verbose=-1), GAPPY_TUMOURS, CLASSES),
    "LGBMClassifier as maps": Row(lightgbm.LGBMClassifier(n_estimators=10, verbose=-1), FLOWERS, CLASSES, {"zipmap": True}),
    "LGBMRegressor": Row(lightgbm.LGBMRegressor(n_estimators=10, verbose=-1), GAPPY_DIABETES, VALUES),
}


def converted(row, estimator):
    """The file's message. Without maps, unless the row says so."""
    features = row.data.train_x.shape[1] if row.data.train_x.ndim > 1 else 0
    options = dict(row.options)
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if isinstance(estimator, lightgbm.LGBMModel):
        if hasattr(estimator, "classes_"):
            options.setdefault("zipmap", False)
        return convert_lightgbm(estimator, initial_types=[("x", LightGbmFloats([None, features]))], target_opset=15, **options)
    if "predict_proba" in row.wanted and not isinstance(last, mixture.GaussianMixture):
        options.setdefault("zipmap", False)
    if isinstance(last, svm.SVC | linear.RidgeClassifier | linear.SGDClassifier | linear.Perceptron):
        options.setdefault("zipmap", False)
    by_step = {id(last): options} if options else {}
    for _, step in getattr(estimator, "steps", []):
        if isinstance(step, TfidfVectorizer):
            by_step[id(step)] = {"locale": "C"}  # ONNX Runtime fails where the machine lacks the locale that it asks for
    return convert_sklearn(estimator, initial_types=row.inputs or [("x", FloatTensorType([None, features]))],
                           options=by_step, target_opset=OPSETS)


def with_standard_tokenizer(model):
    """Texts are split by com.microsoft's Tokenizer, which is no operator of the standard, but may be a function of the file:
    where words are apart by spaces, StringSplit does what it does."""
    if not any(node.op_type == "Tokenizer" for node in model.graph.node):
        return model
    changed = onnx.ModelProto.FromString(model.SerializeToString())
    body = [onnx.helper.make_node("StringSplit", ["text"], ["words", "counts"])]
    [node] = [node for node in model.graph.node if node.op_type == "Tokenizer"]
    changed.functions.append(onnx.helper.make_function(
        node.domain, node.op_type, ["text"], ["words"], body, [onnx.helper.make_opsetid("", 21)],
        [attribute.name for attribute in node.attribute]))
    return changed


def run_by_runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # it tells of shapes that converters write wrongly
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_by_onward(model, feeds):
    results = onward.Trainer(onward.loads(model.SerializeToString()), threads=1).infer(feeds)
    return [results[output.name] for output in model.graph.output]


def from_maps(result, classes):
    """Scores in the order of the classes."""
    if not isinstance(result, list):
        return result
    assert all(list(each) == classes.tolist() for each in result)
    return np.array([list(each.values()) for each in result], np.float32)


def expected(estimator, wanted, x):
    result = np.asarray(getattr(estimator, wanted)(x) if isinstance(wanted, str) else wanted(estimator, x))
    return result.astype(object) if result.dtype.kind == "U" else result


def distance(a, b):
    """Of labels, how many differ; of numbers, how far they are apart next to the largest."""
    a, b = a.reshape(b.shape), np.asarray(b)
    if b.dtype.kind in "Oiu":
        return np.count_nonzero(a != b)
    assert np.isfinite(a).all() and np.isfinite(b).all()
    return np.max(np.abs(a.astype(np.float64) - b)) / np.max(np.abs(b))


def is_label(result):
    return result.dtype.kind in "Oiu"


@pytest.mark.parametrize("name", ROWS)
def test_values(name):
    row = ROWS[name]
    estimator = row.estimator.fit(row.data.train_x, row.data.train_y)
    model = converted(row, estimator)
    feeds = row.data.feeds()
    classes = getattr(estimator, "classes_", None)
    by_runtime = [from_maps(each, classes) for each in run_by_runtime(model, feeds)]
    by_onward = [from_maps(each, classes) for each in run_by_onward(with_standard_tokenizer(model), feeds)]
    assert len(by_onward) == len(by_runtime) == len(row.wanted)
    flips = 0
    for ours, theirs, wanted in zip(by_onward, by_runtime, row.wanted):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        assert distance(ours, theirs) <= (0 if is_label(theirs) else NEAR_RUNTIME)
        own = expected(estimator, wanted, row.data.test_x)
        if is_label(ours):
            flips += distance(ours, own)
        else:
            assert distance(ours, own) <= NEAR_ESTIMATOR
    assert flips <= row.flips, row.because
