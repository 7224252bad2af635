"""The operators of ai.onnx.ml give what ONNX's reference evaluator gives, or what the standard says where it errs; and
what contradicts itself is refused."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import onward
import onward.backend
from onward._testset_ml import (
    CASES, CLASSIFICATION, DOMAIN, OLD_TREE, REGRESSION, SUPPORT, TREES, X, kind_of, result_kinds, tensor,
)


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


# Python's arrays are tensors: what has maps is run by testset_slow_test.py, on messages.
TENSORS = {case.name: case for case in CASES if case.op not in ("CastMap", "DictVectorizer", "ZipMap")}


@pytest.mark.parametrize("name", TENSORS)
def test_values(name):
    case = TENSORS[name]
    for result, wanted in zip(onward.backend.prepare(case.model()).run(case.inputs), case.results(), strict=True):
        assert result.shape == wanted.shape and result.dtype == wanted.dtype
        if wanted.dtype == object:
            assert result.tolist() == wanted.tolist()
        else:
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_targets_without_votes_stay_0():
    [least], [most] = (run("TreeEnsemble", X, **TREES | dict(aggregate_function=how)) for how in (2, 3))
    assert least.shape == most.shape == (4, 2) and np.isfinite(least).all() and (least <= most).all()


ROWS = np.array([[0.5, -2.0, 3.0], [-1.5, 0.0, 0.25], [2.0, 4.0, -0.5], [0.0, 0.0, 0.0], [1.0, 0.5, -1.0]], np.float32)
THREE_CLASSES = dict(
    support_vectors=[0.5, 1.0, -1.0, 2.0, 0.0, 1.0, -1.0, 0.5, 0.0, 1.0, 1.0, 1.0],
    coefficients=[0.5, -1.5, 1.0, 2.0, -0.5, 1.0, 0.25, -2.0], rho=[0.25, -0.5, 0.125], vectors_per_class=[1, 2, 1],
    classlabels_ints=[3, 4, 5], kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0], outputs=2)
TWO_CLASSES = dict(support_vectors=[0.5, 1.0, -1.0, 2.0, 0.0, 1.0], coefficients=[0.5, -1.5], rho=[0.25], vectors_per_class=[1, 1],
                   classlabels_strings=["no", "yes"], kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0], outputs=2)


def joined(pairs, classes):
    """One row of pairwise probabilities as one for each class, as the paper of Wu, Lin and Weng (2004) has it: the smallest
    p Q p, each class in turn, until all is near."""
    r = np.zeros((classes, classes))
    r[np.triu_indices(classes, 1)] = pairs
    r.T[np.triu_indices(classes, 1)] = 1 - pairs
    q = np.diag((r**2).sum(0)) - r * r.T
    p = np.full(classes, 1 / classes)
    for _ in range(100):
        if np.max(np.abs(q @ p - p @ q @ p)) < 0.005 / classes:
            break
        for t in range(classes):
            p[t] += (p @ q @ p - q[t] @ p) / q[t, t]
            p /= p.sum()
    return p


# ONNX's reference evaluator adds all of a row of Q up for more than two classes.
@pytest.mark.parametrize("machine, prob_a, prob_b", [
    (THREE_CLASSES, [-1.5, -0.5, -1.0], [0.25, 0.0, -0.5]), (THREE_CLASSES, [-90.0, 70.0, -80.0], [0.0, 1.0, -0.5]),
    (TWO_CLASSES, [-1.5], [0.25]), (TWO_CLASSES, [-500.0], [1.0])])
def test_probabilities_of_support_vectors(machine, prob_a, prob_b):
    labels, scores = run("SVMClassifier", ROWS, **machine)
    classes = len(machine["vectors_per_class"])
    pairs = scores[:, 1:] if classes == 2 else scores  # the score, and its opposite before it
    likely = 1 / (1 + np.exp(pairs.astype(np.float64) * prob_a + prob_b))
    likely = np.clip(likely, 1e-7, 1 - 1e-7)
    for x in (ROWS, ROWS.astype(np.float64), ROWS[:1], ROWS[:0]):
        own_labels, probabilities = run("SVMClassifier", x, **machine, prob_a=prob_a, prob_b=prob_b)
        assert own_labels.tolist() == labels[:len(x)].tolist() and probabilities.dtype == np.float32
        wanted = np.array([joined(row, classes) for row in likely[:len(x)]]).reshape(-1, classes)
        np.testing.assert_allclose(probabilities, wanted, rtol=1e-5, atol=1e-6)


def test_labels_are_those_of_the_scores_before_they_are_rounded():
    x = np.array([[30, 40, 35], [-200, -300, -250], [0, 1e-9, 0], [1, 1, 0]], np.float32)
    for how in ("NONE", "LOGISTIC", "SOFTMAX"):
        labels, _ = run("LinearClassifier", x, outputs=2, coefficients=np.eye(3).ravel().tolist(), intercepts=[0.0] * 3,
                        classlabels_ints=[7, 8, 9], post_transform=how)
        assert labels.tolist() == [8, 7, 8, 7], how
    leaves = dict(nodes_treeids=[0, 1, 2], nodes_nodeids=[0, 0, 0], nodes_featureids=[0] * 3, nodes_modes=["LEAF"] * 3,
                  nodes_values=[0.0] * 3, nodes_truenodeids=[0] * 3, nodes_falsenodeids=[0] * 3, class_treeids=[0, 1, 2],
                  class_nodeids=[0] * 3, class_ids=[0, 1, 2], class_weights=[50.0, 60.0, 55.0])
    labels, scores = run("TreeEnsembleClassifier", x, version=3, outputs=2, classlabels_int64s=[7, 8, 9],
                         post_transform="LOGISTIC", **leaves)
    assert labels.tolist() == [8] * 4 and (scores == 1).all()


@pytest.mark.parametrize("how, wanted", [("NONE", lambda z: [1 - z, z]), ("LOGISTIC", lambda z: 1 / (1 + np.exp([z, -z]))),
                                         ("SOFTMAX", lambda z: 1 / (1 + np.exp([2 * z, -2 * z])))])
def test_one_base_value_is_that_of_the_one_score_of_two_classes(how, wanted):
    votes = dict(class_ids=[0, 0, 0], class_nodeids=[2, 3, 4], class_treeids=[0] * 3, class_weights=[1.5, -2.0, 4.0])
    tree = OLD_TREE | votes | dict(classlabels_int64s=[7, 8], post_transform=how, outputs=2, version=3)
    _, plain = run("TreeEnsembleClassifier", X, **tree | dict(post_transform="NONE"))
    labels, scores = run("TreeEnsembleClassifier", X, base_values=[0.25], **tree)
    np.testing.assert_allclose(scores, [wanted(z + 0.25) for z in plain[:, 1].astype(np.float64)], rtol=1e-5)
    assert labels.tolist() == np.where(scores[:, 1] > scores[:, 0], 8, 7).tolist()


def of_few_rows(op, outputs, **attributes):
    """A node whose input is known when it runs alone: what a mask leaves of x."""
    nodes = [helper.make_node("Compress", ["x", "mask"], ["some"], axis=0),
             helper.make_node("Reshape", ["some", "shape"], ["features"]),
             helper.make_node(op, ["features", *attributes.pop("more", [])], outputs, domain=DOMAIN, **attributes)]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, None), helper.make_tensor_value_info("mask", TensorProto.BOOL, [None]),
             helper.make_tensor_value_info("shape", TensorProto.INT64, [None]),
             helper.make_tensor_value_info("i", TensorProto.INT64, [None])]
    made = [helper.make_tensor_value_info(outputs[-1], TensorProto.FLOAT, None)]
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid(DOMAIN, 5)]
    model = helper.make_model(helper.make_graph(nodes, op, given, made), opset_imports=opsets, ir_version=10)
    mask = np.array([True, False, True, True])

    def run(shape, indices=()):
        return onward.backend.prepare(model).run([X, mask, np.array(shape), np.array(indices, np.int64)])[0]

    return run, X[mask]


def test_features_that_are_counted_as_they_come():
    for classes, rows in ((3, [0.5, 1.0, -1.0, 2.0, 0.0, 1.0, 1.0, 1.0, 1.0]), (2, [0.5, 1.0, -1.0, 2.0, 0.0, 1.0]), (2, [0.5, 1.0, -1.0])):
        run, x = of_few_rows("LinearClassifier", ["label", "y"], coefficients=rows, intercepts=[0.25] * (len(rows) // 3),
                             classlabels_ints=list(range(classes)))
        scores = x @ np.reshape(rows, (-1, 3)).T + 0.25
        np.testing.assert_allclose(run([-1, 3]), scores if scores.shape[1] > 1 else np.concatenate([-scores, scores], 1), rtol=1e-6)
    run, x = of_few_rows("ArrayFeatureExtractor", ["y"], more=["i"])
    assert np.array_equal(run([-1, 3], [2, 0]), x[:, [2, 0]])
    assert np.array_equal(run([-1], [2, 0]), x.reshape(-1)[[[2, 0]]])
    assert np.array_equal(run([1, -1, 3], [1]), x[None][..., [1]])


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
    "probabilities that do not fit": ("SVMClassifier", THREE_CLASSES | dict(prob_a=[1.0], prob_b=[1.0]), "1 numbers in 'prob_a' for 3 classes"),
    "half of what probabilities take": ("SVMClassifier", TWO_CLASSES | dict(prob_a=[1.0]), "1 numbers in 'prob_a', but 0 in 'prob_b'"),
    "too few base values": ("TreeEnsembleClassifier", CLASSIFICATION | dict(classlabels_int64s=[7, 8], base_values=[1.0], outputs=2, version=3),
                            "its attribute 'base_values' has 1 entries, but 2 are needed"),
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
