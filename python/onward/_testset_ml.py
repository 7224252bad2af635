"""Cases of the operators of ai.onnx.ml, as data: inputs, attributes and what is expected of them."""

import dataclasses
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

X = np.array([[0.5, -2.0, 3.0], [-1.5, 0.0, 0.25], [2.0, 4.0, -0.5], [0.0, 0.0, 0.0]], np.float32)
WORDS = np.array([["a", "b"], ["c", "a"]], dtype=object)
DOMAIN = "ai.onnx.ml"


def kind_of(array):
    return TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)


def result_kinds(op, inputs, attributes):
    """The element types of the results that are tensors."""
    if op == "CastMap":
        return [{"TO_FLOAT": TensorProto.FLOAT, "TO_INT64": TensorProto.INT64,
                 "TO_STRING": TensorProto.STRING}[attributes.get("cast_to", "TO_FLOAT")]]
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

# Operator, inputs and attributes, beside which are the version and the number of outputs where they are not the usual ones.
EVALUATED: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
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
    "LabelEncoder to strings": ("LabelEncoder", [np.array([3, 7])],
                                dict(keys_int64s=[7], values_strings=["x"], default_string="?")),
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


def scalars(entries):
    """The entries of a map, whose values are tensors of one element."""
    return {key: np.array(value, np.float32) for key, value in entries.items()}


# What the evaluator does not have, or has otherwise than the standard, with what the standard says of it: operator, inputs,
# attributes, results.
STATED: dict[str, tuple[str, list[Any], dict[str, Any], list[Any]]] = {
    # A row is divided by its largest element; nothing by 0.
    "Normalizer of rows with signs": ("Normalizer", [X], {}, [X / np.array([[3], [0.25], [4], [1]], np.float32)]),
    "CategoryMapper to integers": ("CategoryMapper", [WORDS], dict(cats_int64s=[1, 2], cats_strings=["a", "b"], default_int64=-7),
                                   [np.array([[1, 2], [-7, 1]])]),
    "CategoryMapper to strings": ("CategoryMapper", [np.array([2, 5])], dict(cats_int64s=[1, 2], cats_strings=["a", "b"],
                                                                             default_string="?"),
                                  [np.array(["b", "?"], dtype=object)]),
    # NaN is a key as any other, and of two that are equal the last one counts.
    "LabelEncoder of NaN": ("LabelEncoder", [WITH_NAN[1]], dict(keys_floats=[float("nan"), 0.0, 0.0], values_int64s=[1, 2, 3]),
                            [np.array([-1, 3, 1])]),
    "LabelEncoder of tensors": ("LabelEncoder", [np.array([1, 2], np.int32)], dict(
        keys_tensor=tensor(np.array([2], np.int32)), values_tensor=tensor(np.array([0.5])),
        default_tensor=tensor(np.array([9.0]))), [np.array([9.0, 0.5])]),
    "CastMap": ("CastMap", [scalars({3: 1.5, 1: -2.0})], {}, [np.array([[-2.0, 1.5]], np.float32)]),
    "CastMap to integers": ("CastMap", [scalars({3: 1.0, 1: -2.0})], dict(cast_to="TO_INT64"), [np.array([[-2, 1]])]),
    "CastMap of few": ("CastMap", [scalars({3: 1.5, 1: -2.0})], dict(map_form="SPARSE", max_map=5),
                       [np.array([[0.0, -2.0, 0.0, 1.5, 0.0]], np.float32)]),
    "DictVectorizer": ("DictVectorizer", [scalars({"b": 1.5, "d": 2.5})], dict(string_vocabulary=["a", "b", "c", "d"]),
                       [np.array([0.0, 1.5, 0.0, 2.5], np.float32)]),
    "DictVectorizer of integers": ("DictVectorizer", [scalars({9: 1.5, 4: 2.5})], dict(int64_vocabulary=[4, 7, 9]),
                                   [np.array([2.5, 0.0, 1.5], np.float32)]),
    "ZipMap of strings": ("ZipMap", [X[:2]], dict(classlabels_strings=["u", "v", "w"]),
                          [[scalars(dict(zip("uvw", row))) for row in X[:2]]]),
    "ZipMap of integers": ("ZipMap", [X[:2]], dict(classlabels_int64s=[3, 1, 2]),
                           [[scalars(dict(zip([3, 1, 2], row))) for row in X[:2]]]),
}


@dataclasses.dataclass
class MlCase:
    """One node on its inputs; without results, the evaluator's are expected."""

    name: str
    op: str
    inputs: list[Any]
    attributes: dict[str, Any]
    stated: list[Any] | None = None
    version: int = 5
    outputs: int = 1

    @property
    def test_name(self) -> str:
        return "test_ml_" + self.name.lower().replace(" ", "_")

    def model(self) -> Any:
        return self._model([_type_of(result) for result in self.results()])

    def results(self) -> list[Any]:
        if self.stated is not None:
            return self.stated
        kinds = result_kinds(self.op, self.inputs, self.attributes)
        evaluator = ReferenceEvaluator(self._model([helper.make_tensor_type_proto(kind, None) for kind in kinds]))
        found = evaluator.run(None, {f"x{i}": value for i, value in enumerate(self.inputs)})
        types = [object if kind == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(kind) for kind in kinds]
        return [np.asarray(result).astype(kind) for result, kind in zip(found, types)]

    def _model(self, types: list[Any]) -> Any:
        given = [onnx.ValueInfoProto(name=f"x{i}", type=_type_of(value)) for i, value in enumerate(self.inputs)]
        made = [onnx.ValueInfoProto(name=f"y{i}", type=types[i]) for i in range(self.outputs)]
        node = helper.make_node(self.op, [info.name for info in given], [info.name for info in made], domain=DOMAIN,
                                **self.attributes)
        opsets = [helper.make_opsetid("", 22), helper.make_opsetid(DOMAIN, self.version)]
        return helper.make_model(helper.make_graph([node], self.op, given, made), opset_imports=opsets, ir_version=10)


def _type_of(value: Any) -> Any:
    if isinstance(value, list):
        return helper.make_sequence_type_proto(_type_of(value[0]))
    if isinstance(value, dict):
        key = TensorProto.STRING if isinstance(next(iter(value)), str) else TensorProto.INT64
        return helper.make_map_type_proto(key, helper.make_tensor_type_proto(kind_of(next(iter(value.values()))), []))
    return helper.make_tensor_type_proto(kind_of(value), value.shape)


def _evaluated(name: str, op: str, inputs: list[Any], settings: dict[str, Any]) -> MlCase:
    attributes = {key: value for key, value in settings.items() if key not in ("version", "outputs")}
    return MlCase(name, op, inputs, attributes, None, settings.get("version", 5), settings.get("outputs", 1))


CASES = [*(_evaluated(name, *case) for name, case in EVALUATED.items()),
         *(MlCase(name, *case) for name, case in STATED.items())]
