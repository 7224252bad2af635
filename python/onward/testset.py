"""Writes test sets for ONNX backends: `python -m onward testset -o FOLDER`, or `onward.testset.write(folder)`.

ONNX's own node tests tell every size of every tensor, and there are none of ai.onnx.ml. Here are those tests again, with
symbolic dimensions and without shapes, and tests of all operators of ai.onnx.ml, in the layout of ONNX's backend tests.
"""

import argparse
import copy
import dataclasses
import itertools
import json
import os
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

try:
    import onnx
    import onnx.numpy_helper as numpy_helper
    from onnx.backend.test.loader import load_model_tests
except ImportError:
    MISSING = "the test set is made with ONNX's Python package, which is not installed: pip install onnx"
    if __name__ == "__main__":
        sys.exit(f"error: {MISSING}")
    raise ImportError(MISSING) from None

from onward import Error, _testset_ml

README = """\
# Test set for ONNX backends

Written by `onward testset` with onnx {version}: {count} tests in the layout of ONNX's backend tests, so that
`onnx.backend.test.loader.load_model_tests(data_dir=THIS_FOLDER, kind="node_symbolic")` loads them. `manifest.json` counts
them. A test's `data.json` has the tolerances where they are not the usual ones (rtol 1e-3, atol 1e-7).

| folder | tests |
|---|---|
| `node_symbolic` | ONNX's node tests, every dimension of every input and output a symbol of its own |
| `node_erased` | ONNX's node tests, inputs and outputs without a shape |
| `ml` | the operators of ai.onnx.ml, for which ONNX has no tests |
| `ml_symbolic`, `ml_erased` | the same in both ways |

Two dimensions never have the same symbol, even where their sizes are the same: a backend must not rely on it. Data, and
what is expected, are the same as in ONNX's tests. Graphs inside of nodes are varied too.

- A tensor that has no shape may be of any rank. ONNX's checker refuses inputs of that kind ("field 'shape' of 'type' is
  required"), so that `onnx.checker.check_model` refuses most of `*_erased`; backends such as ONNX Runtime take them.
- ONNX's tests of random numbers (Bernoulli, Dropout in training) expect the numbers of one generator; they are here as well.
- What is expected of ai.onnx.ml comes from ONNX's reference evaluator, and from formulas in NumPy where it does not have an
  operator or errs; never from Onward. Maps are messages of type MapProto, which ONNX's own runner does not read.
"""


@dataclasses.dataclass
class Case:
    """One test: a model, and inputs with what is expected of them."""

    name: str
    model: Any
    data_sets: list[tuple[list[Any], list[Any]]]
    rtol: float = 1e-3
    atol: float = 1e-7


def node_tests() -> list[Case]:
    """The node tests of the installed onnx package, as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making them divides by zero on purpose
        return [Case(case.name, case.model, case.data_sets, case.rtol, case.atol) for case in load_model_tests(kind="node")]


def ml_tests() -> list[Case]:
    """Tests of the operators of ai.onnx.ml."""
    return [Case(case.test_name, case.model(), [(case.inputs, case.results())], rtol=1e-5, atol=1e-6)
            for case in _testset_ml.CASES]


def _tensor_types(kind: Any) -> Iterator[Any]:
    """The types of tensors in a type: itself, or what it is made of."""
    if kind.HasField("tensor_type"):
        yield kind.tensor_type
    elif kind.HasField("sparse_tensor_type"):
        yield kind.sparse_tensor_type
    elif kind.HasField("sequence_type"):
        yield from _tensor_types(kind.sequence_type.elem_type)
    elif kind.HasField("optional_type"):
        yield from _tensor_types(kind.optional_type.elem_type)
    elif kind.HasField("map_type"):
        yield from _tensor_types(kind.map_type.value_type)


def _vary(graph: Any, change: Callable[[Any], None]) -> None:
    """Changes the types of all inputs and outputs, in graphs inside of nodes too; what lies between is left out."""
    del graph.value_info[:]
    for value in [*graph.input, *graph.output]:
        for kind in _tensor_types(value.type):
            change(kind)
    for node in graph.node:
        for attribute in node.attribute:
            for subgraph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                _vary(subgraph, change)


def symbolic(case: Case) -> Case:
    """The test with a symbol of its own for every dimension."""
    numbers = itertools.count()

    def name_dimensions(kind: Any) -> None:
        for dimension in kind.shape.dim:
            dimension.dim_param = f"d{next(numbers)}"

    return _varied(case, name_dimensions)


def erased(case: Case) -> Case:
    """The test without shapes."""
    return _varied(case, lambda kind: kind.ClearField("shape"))


def _varied(case: Case, change: Callable[[Any], None]) -> Case:
    model = copy.deepcopy(case.model)
    _vary(model.graph, change)
    return dataclasses.replace(case, model=model)


def _map(entries: dict[Any, Any], name: str = "") -> Any:
    """ONNX's own function takes a key such as "d" for the name of a type."""
    values = numpy_helper.from_list(list(entries.values()))
    if isinstance(next(iter(entries)), str):
        return onnx.MapProto(name=name, key_type=onnx.TensorProto.STRING, values=values,
                             string_keys=[key.encode() for key in entries])
    return onnx.MapProto(name=name, key_type=onnx.TensorProto.INT64, values=values, keys=list(entries))


def _message(value: Any, info: Any) -> Any:
    """A value as the message of its type."""
    if isinstance(value, onnx.TensorProto):  # of a type that NumPy lacks
        return value
    if info.type.HasField("map_type"):
        return _map(value, info.name)
    if info.type.HasField("sequence_type") and info.type.sequence_type.elem_type.HasField("map_type"):
        return onnx.SequenceProto(name=info.name, elem_type=onnx.SequenceProto.MAP, map_values=map(_map, value))
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name)
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, info.name)
    return numpy_helper.from_array(value, info.name)


def _write_case(case: Case, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString(deterministic=True))
    if (case.rtol, case.atol) != (1e-3, 1e-7):
        (folder / "data.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}) + "\n")
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for which, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for i, (value, info) in enumerate(zip(values, infos)):
                (data / f"{which}_{i}.pb").write_bytes(_message(value, info).SerializeToString(deterministic=True))


def write(folder: str | os.PathLike[str]) -> dict[str, int]:
    """Writes the test set into a folder, which must be new or empty, and returns how many tests each part has."""
    folder = pathlib.Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Error(f"'{folder}' is there already: give a new or an empty folder")
    node, ml = node_tests(), ml_tests()
    parts = {"node_symbolic": map(symbolic, node), "node_erased": map(erased, node),
             "ml": ml, "ml_symbolic": map(symbolic, ml), "ml_erased": map(erased, ml)}
    counts = {}
    for part, cases in parts.items():
        counts[part] = 0
        for case in cases:
            _write_case(case, folder / part / case.name)
            counts[part] += 1
    manifest = {"onnx": onnx.__version__, "tests": counts,
                "ml_operators": sorted({case.op for case in _testset_ml.CASES})}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    (folder / "README.md").write_text(README.format(version=onnx.__version__, count=sum(counts.values())))
    return counts


def _main() -> int:
    parser = argparse.ArgumentParser(prog="onward testset")
    parser.add_argument("-o", "--output", required=True)
    try:
        for part, count in write(parser.parse_args().output).items():
            print(f"{part}: {count} tests")
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
