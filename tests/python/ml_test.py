"""The operators of ai.onnx.ml give what ONNX's reference evaluator gives, or what the standard says where it errs; and
what contradicts itself is refused."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import onward
import onward.backend

X = np.array([[0.5, -2.0, 3.0], [-1.5, 0.0, 0.25], [2.0, 4.0, -0.5], [0.0, 0.0, 0.0]], np.float32)
WORDS = np.array([["a", "b"], ["c", "a"]], dtype=object)
DOMAIN = "ai.onnx.ml"


def kind_of(array):
    return TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)


def result_kinds(op, inputs, attributes):
    """The element types of the results."""
    if "Classifier" in op:
        return [TensorProto.STRING if "classlabels_strings" in attributes else TensorProto.INT64, TensorProto.FLOAT]
    if op == "LabelEncoder":
        [values] = [name for name in attributes if name.startswith("values_")]
        return [attributes[values].data_type if values == "values_tensor" else
                {"values_strings": TensorProto.STRING, "values_int64s": TensorProto.INT64,
                 "values_floats": TensorProto.FLOAT}[values]]
    if op == "CategoryMapper":
        return [TensorProto.INT64 if inputs[0].dtype == object else TensorProto.STRING]
    same = op in ("ArrayFeatureExtractor", "Binarizer", "Imputer", "TreeEnsemble")
    return [kind_of(inputs[0]) if same else TensorProto.FLOAT]


def model_of(op, inputs, outputs, version=5, **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, outputs, domain=DOMAIN, **attributes)
    given = [helper.make_tensor_value_info(name, kind_of(x), x.shape) for name, x in zip(names, inputs)]
    made = [helper.make_tensor_value_info(name, kind, None)
            for name, kind in zip(outputs, result_kinds(op, inputs, attributes))]
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(helper.make_graph([node], op, given, made), opset_imports=opsets, ir_version=10)


def run(op, *inputs, outputs=1, version=5, **attributes):
    model = model_of(op, inputs, [f"y{i}" for i in range(outputs)], version, **attributes)
    return onward.backend.prepare(model).run(list(inputs))


def expected(op, *inputs, outputs=1, version=5, **attributes):
    model = model_of(op, inputs, [f"y{i}" for i in range(outputs)], version, **attributes)
    return ReferenceEvaluator(model).run(None, {f"x{i}": x for i, x in enumerate(inputs)})


def tensor(array, name="t"):
    return onnx.numpy_helper.from_array(np.asarray(array), name)


# Two trees: one of three leaves, one of a leaf alone, whose branches are the same.
TREES = dict(nodes_featureids=[0, 2, 1], nodes_splits=tensor(np.array([0.25, 1.0, 0.0], np.float32)),
             nodes_modes=tensor(np.array([0, 3, 1], np.uint8)), nodes_truenodeids=[1, 0, 2],
             nodes_falsenodeids=[2, 1, 2], nodes_trueleafs=[0, 1, 1], nodes_falseleafs=[1, 1, 1],
             leaf_targetids=[0, 1, 0, 1], leaf_weights=tensor(np.array([1.5, -2.0, 4.0, 0.5], np.float32)),
             tree_roots=[0, 2], n_targets=2)
# The same first tree in the older form.
OLD_TREE = dict(nodes_treeids=[0, 0, 0, 0, 0], nodes_nodeids=[0, 1, 2, 3, 4], nodes_featureids=[0, 2, 0, 0, 0],
                nodes_modes=["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF"], nodes_values=[0.25, 1.0, 0.0, 0.0, 0.0],
                nodes_truenodeids=[1, 3, 0, 0, 0], nodes_falsenodeids=[2, 4, 0, 0, 0],
                nodes_missing_value_tracks_true=[0, 1, 0, 0, 0], nodes_hitrates=[1.0] * 5)
VOTES = dict(ids=[0, 1, 0, 1], nodeids=[2, 3, 4, 4], treeids=[0] * 4, weights=[1.5, -2.0, 4.0, 0.5])
REGRESSION = OLD_TREE | {f"target_{name}": votes for name, votes in VOTES.items()} | {"n_targets": 2}
CLASSIFICATION = OLD_TREE | {f"class_{name}": votes for name, votes in VOTES.items()}
WITH_NAN = np.where(X == 0.25, np.nan, X).astype(np.float32)
SUPPORT = dict(support_vectors=[0.5, 1.0, -1.0, 2.0, 0.0, 1.0], coefficients=[0.5, -1.5], rho=[0.25], n_supports=2)

SAME = {
    "Scaler": ("Scaler", [X], dict(offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 1.0])),
    "Scaler of one": ("Scaler", [X], dict(offset=[1.0], scale=[0.5])),
    "Normalizer L1": ("Normalizer", [X], dict(norm="L1")),
    "Normalizer L2": ("Normalizer", [X], dict(norm="L2")),
    "Normalizer MAX": ("Normalizer", [np.abs(X)], dict(norm="MAX")),
    "Binarizer": ("Binarizer", [X], dict(threshold=0.25)),
    "Binarizer of integers": ("Binarizer", [np.array([[1, 2], [3, -4]])], dict(threshold=1.5)),
    "Binarizer of doubles": ("Binarizer", [X.astype(np.float64)], {}),
    "Imputer": ("Imputer", [X], dict(imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=0.0)),
    "Imputer of NaN": ("Imputer", [WITH_NAN], dict(imputed_value_floats=[7.0], replaced_value_float=float("nan"))),
    "Imputer of integers": ("Imputer", [np.array([[1, 2], [3, 1]])], dict(imputed_value_int64s=[9], replaced_value_int64=1)),
    "ArrayFeatureExtractor": ("ArrayFeatureExtractor", [X, np.array([2, 0, 2])], {}),
    "ArrayFeatureExtractor of a vector": ("ArrayFeatureExtractor", [X[0], np.array([[2, 0]])], {}),
    "ArrayFeatureExtractor of strings": ("ArrayFeatureExtractor", [WORDS, np.array([1])], {}),
    "FeatureVectorizer": ("FeatureVectorizer", [X, X[:, :2]], dict(inputdimensions=[2, 3])),
    "OneHotEncoder": ("OneHotEncoder", [np.array([[1, 5], [9, 2]])], dict(cats_int64s=[5, 1, 2])),
    "OneHotEncoder of strings": ("OneHotEncoder", [WORDS], dict(cats_strings=["c", "a"])),
    "LabelEncoder to integers": ("LabelEncoder", [WORDS], dict(keys_strings=["a", "c"], values_int64s=[4, 5], default_int64=9)),
    "LabelEncoder to strings": ("LabelEncoder", [np.array([3, 7])], dict(keys_int64s=[7], values_strings=["x"], default_string="?")),
    "LabelEncoder of floats": ("LabelEncoder", [X], dict(keys_floats=[0.5, 0.0], values_floats=[1.0, 2.0], default_float=-3.0)),
    "LabelEncoder of version 2": ("LabelEncoder", [X], dict(keys_floats=[0.5], values_floats=[1.0], version=2)),
    "LinearRegressor": ("LinearRegressor", [X], dict(coefficients=[0.5, 1.0, -1.0], intercepts=[0.25])),
    "LinearRegressor of two targets": ("LinearRegressor", [X], dict(coefficients=[0.5, 1.0, -1.0, 2.0, 0.0, 1.0], targets=2,
                                                                   intercepts=[0.25, -1.0])),
    **{f"LinearClassifier {how}": ("LinearClassifier", [X], dict(
        coefficients=[0.5, 1.0, -1.0, 2.0, 0.0, 1.0, 1.0, 1.0, 1.0], intercepts=[0.25, -1.0, 0.0],
        classlabels_ints=[10, 20, 30], post_transform=how, multi_class=1, outputs=2))
       for how in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")},
    "LinearClassifier of two": ("LinearClassifier", [X], dict(coefficients=[0.5, 1.0, -1.0], intercepts=[0.25],
                                                              classlabels_strings=["no", "yes"], outputs=2)),
    **{f"SVMRegressor {kind}": ("SVMRegressor", [X], SUPPORT | dict(kernel_type=kind, kernel_params=[0.5, 0.25, 3.0]))
       for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")},
    "SVMRegressor of one class": ("SVMRegressor", [X], SUPPORT | dict(one_class=1, kernel_type="LINEAR")),
    "SVMRegressor without vectors": ("SVMRegressor", [X], dict(coefficients=[0.5, 1.0, -1.0], rho=[0.25])),
    "SVMClassifier of two": ("SVMClassifier", [X], dict(
        support_vectors=[0.5, 1.0, -1.0, 2.0, 0.0, 1.0], coefficients=[0.5, -1.5], rho=[0.25], vectors_per_class=[1, 1],
        classlabels_ints=[3, 4], kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0], outputs=2)),
    "SVMClassifier of three": ("SVMClassifier", [X], dict(
        support_vectors=[0.5, 1.0, -1.0, 2.0, 0.0, 1.0, -1.0, 0.5, 0.0, 1.0, 1.0, 1.0],
        coefficients=[0.5, -1.5, 1.0, 2.0, -0.5, 1.0, 0.25, -2.0], rho=[0.25, -0.5, 0.125], vectors_per_class=[1, 2, 1],
        classlabels_ints=[3, 4, 5], kernel_type="LINEAR", outputs=2)),
    **{f"TreeEnsemble {how}": ("TreeEnsemble", [WITH_NAN], TREES | dict(
        aggregate_function=how, nodes_missing_value_tracks_true=[0, 1, 0])) for how in (0, 1)},
    "TreeEnsemble of members": ("TreeEnsemble", [X], dict(
        nodes_featureids=[0], nodes_splits=tensor(np.zeros(1, np.float32)), nodes_modes=tensor(np.array([6], np.uint8)),
        nodes_truenodeids=[0], nodes_falsenodeids=[1], nodes_trueleafs=[1], nodes_falseleafs=[1], leaf_targetids=[0, 0],
        leaf_weights=tensor(np.array([1.5, -2.0], np.float32)), tree_roots=[0], n_targets=1,
        membership_values=tensor(np.array([0.5, 2.0, np.nan], np.float32)))),
    **{f"TreeEnsembleRegressor {how}": ("TreeEnsembleRegressor", [WITH_NAN], REGRESSION | dict(
        aggregate_function=how, base_values=[0.5, -0.25], version=3)) for how in ("SUM", "AVERAGE")},
    **{f"TreeEnsembleClassifier {how}": ("TreeEnsembleClassifier", [X], CLASSIFICATION | dict(
        classlabels_int64s=[7, 8], post_transform=how, outputs=2, version=3)) for how in ("NONE", "SOFTMAX", "LOGISTIC")},
    "TreeEnsembleClassifier of strings": ("TreeEnsembleClassifier", [X], CLASSIFICATION | dict(
        classlabels_strings=["a", "b"], outputs=2, version=1)),
}


@pytest.mark.parametrize("name", SAME)
def test_values(name):
    op, inputs, attributes = SAME[name]
    for result, wanted in zip(run(op, *inputs, **attributes), expected(op, *inputs, **attributes), strict=True):
        wanted = np.asarray(wanted)
        assert result.shape == wanted.shape
        if wanted.dtype.kind in "OU":
            assert result.tolist() == wanted.tolist()
        else:
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_what_the_evaluator_has_otherwise():
    # A row is divided by its largest element; nothing by 0.
    np.testing.assert_allclose(run("Normalizer", X)[0], X / np.array([[3], [0.25], [4], [1]], np.float32), rtol=1e-6)
    [y] = run("CategoryMapper", WORDS, cats_int64s=[1, 2], cats_strings=["a", "b"], default_int64=-7)
    assert y.tolist() == [[1, 2], [-7, 1]]
    [y] = run("CategoryMapper", np.array([2, 5]), cats_int64s=[1, 2], cats_strings=["a", "b"], default_string="?")
    assert y.tolist() == ["b", "?"]
    # NaN is a key as any other, and of two that are equal the last one counts.
    [y] = run("LabelEncoder", WITH_NAN[1], keys_floats=[float("nan"), 0.0, 0.0], values_int64s=[1, 2, 3])
    assert y.tolist() == [-1, 3, 1]
    [y] = run("LabelEncoder", np.array([1, 2], np.int32), keys_tensor=tensor(np.array([2], np.int32)),
              values_tensor=tensor(np.array([0.5])), default_tensor=tensor(np.array([9.0])))
    assert y.tolist() == [9.0, 0.5] and y.dtype == np.float64
    # Targets that no leaf votes for stay 0.
    [least], [most] = (run("TreeEnsemble", X, **TREES | dict(aggregate_function=how)) for how in (2, 3))
    assert least.shape == most.shape == (4, 2) and np.isfinite(least).all() and (least <= most).all()


REFUSED = {
    "a node that is not there": ("TreeEnsemble", TREES | dict(nodes_falsenodeids=[2, 7, 2]), "leaf 7 is out of range for 4"),
    "a negative node": ("TreeEnsemble", TREES | dict(nodes_truenodeids=[-1, 0, 2]), "is out of range for 3"),
    "a circle": ("TreeEnsemble", TREES | dict(nodes_truenodeids=[1, 0, 2], nodes_trueleafs=[0, 0, 1]),
                 "its nodes lead back to themselves"),
    "a feature that is not there": ("TreeEnsemble", TREES | dict(nodes_featureids=[0, 3, 1]), "feature 3 is out of range for 3"),
    "a target that is not there": ("TreeEnsemble", TREES | dict(n_targets=1), "target 1 is out of range for 1"),
    "too few splits": ("TreeEnsemble", TREES | dict(nodes_splits=tensor(np.zeros(2, np.float32))),
                       "must have 2 elements"),
    "a root that is not there": ("TreeEnsemble", TREES | dict(tree_roots=[3]), "root 3 is out of range for 3"),
    "members that are not there": ("TreeEnsemble", TREES | dict(nodes_modes=tensor(np.array([6, 3, 1], np.uint8))),
                                   "membership_values have no set"),
    "an old node that is not there": ("TreeEnsembleRegressor", REGRESSION | dict(nodes_truenodeids=[9, 3, 0, 0, 0], version=3),
                                      "tree 0 has no node 9"),
    "an old node twice": ("TreeEnsembleRegressor", REGRESSION | dict(nodes_nodeids=[0, 1, 2, 3, 3], version=3),
                          "node 3 of tree 0 is there twice"),
    "an old circle": ("TreeEnsembleRegressor", REGRESSION | dict(nodes_truenodeids=[1, 0, 0, 0, 0], version=3),
                      "its nodes lead back to themselves"),
    "too few coefficients": ("LinearRegressor", dict(coefficients=[1.0, 2.0]), "2 coefficients for 1 rows of 3 features"),
    "too many intercepts": ("LinearRegressor", dict(coefficients=[1.0, 2.0, 3.0], intercepts=[1.0, 2.0]), "2 intercepts for 1 rows"),
    "offsets that do not fit": ("Scaler", dict(offset=[1.0, 2.0], scale=[1.0]), "'offset' has 2 numbers for 3 features"),
    "no scale": ("Scaler", dict(offset=[1.0]), "attribute 'scale' is missing"),
    "support vectors that do not fit": ("SVMRegressor", SUPPORT | dict(support_vectors=[1.0, 2.0]), "2 numbers for 2 support vectors"),
    "labels that do not fit": ("LinearClassifier", dict(coefficients=[1.0] * 9, classlabels_ints=[1, 2], outputs=2),
                               "3 rows of coefficients for 2 labels"),
    "another norm": ("Normalizer", dict(norm="L3"), "its norm 'L3' is none of"),
    "keys without values": ("LabelEncoder", dict(keys_floats=[1.0, 2.0], values_int64s=[1]), "must be the same in the LabelEncoder"),
    "keys of another type": ("LabelEncoder", dict(keys_int64s=[1], values_int64s=[1]), "are different, which is not permitted"),
    "a probit": ("LinearRegressor", dict(coefficients=[1.0, 2.0, 3.0], post_transform="PROBIT"), "PROBIT needs the inverse of erf"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    op, attributes, words = REFUSED[name]
    with pytest.raises(onward.Error) as error:
        run(op, X, **attributes)
    assert words in str(error.value)
