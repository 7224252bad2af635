"""The fuzzer finds what is planted, and nothing where nothing is."""

import sys

import known
import numpy as np
import onnx
import pytest
import values
from generate import Subject
from inference import Inference
from minimise import minimised
from onnx import parser
from sides import Sides
from tally import Tally
from training import Training
from worker import Worker

GRAPH = """<ir_version: 8, opset_import: ["" : 17]>
g (float[3] x) => (float[3] a, float[3] c) { a = Relu(x)  b = Tanh(x)  c = Neg(b) }"""


@pytest.fixture(scope="module")
def sides():
    made = Sides()
    yield made
    made.close()


def subject():
    types = {name: ("float", (3,)) for name in "xabc"}
    return Subject(0, parser.parse_model(GRAPH), {"x": np.array([1, -2, 3], np.float32)}, types, set(), None)


def test_nothing_is_found_where_nothing_is(sides):
    tally = Tally()
    Inference(sides, tally).check(subject())
    assert tally.findings == []
    assert set(tally.comparisons) == {"repeated run", "2 threads", "reference interpreter", "ONNX Runtime"}


# Where differences say nothing, though all is well: a size that something else reads, a node that nothing needs the
# values of, scores of which exponentials vanish.
STEPS = {
    "size": ("float d, float[2] v", "float a, float[2,3] b",
             "i = Constant<value_ints = [0, 2]>()  b = OneHot(i, d, v)  a = Neg(d)", {"d": 3, "v": [1, -2]}),
    "unneeded": ("float[3] x, int64[1] i, float[1] u", "float[3] a, int64[1] s",
                 "a = Tanh(x)  b = ScatterElements<reduction = \"min\">(a, i, u)  s = Shape(b)",
                 {"x": [1, -2, 3], "i": [1], "u": [0]}),
    "vanishing": ("float[1,3] x", "float[1,3] a", "a = LogSoftmax(x)", {"x": [[0, -200, 3]]}),
}


@pytest.mark.parametrize("name", STEPS)
def test_nothing_is_found_in_steps_where_nothing_is(sides, name):
    inputs, outputs, nodes, numbers = STEPS[name]
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => ({outputs}) {{ {nodes} }}')
    inferred = onnx.shape_inference.infer_shapes(model).graph
    infos = {value.name: value.type.tensor_type for value in [*inferred.input, *inferred.value_info, *inferred.output]}
    types = {each: (values.BY_ONNX[tensor.elem_type], tuple(dim.dim_value for dim in tensor.shape.dim))
             for each, tensor in infos.items()}
    given = {each: np.array(array, values.NUMPY[types[each][0]]) for each, array in numbers.items()}
    tally = Tally()
    for seed in range(17):  # of which each is lowered to another opset
        Training(sides, tally).check(Subject(seed, model, given, types, set(), "float"))
    assert tally.findings == []
    assert tally.comparisons["step on the reference interpreter"] == 17
    assert tally.comparisons["lowered step by ONNX Runtime"] + tally.comparisons["lowered step by the reference evaluator"]


class Liar:
    """ONNX Runtime, if Tanh were twice as large."""

    def __init__(self, sides):
        self.sides = sides

    def __getattr__(self, name):
        return getattr(self.sides, name)

    def runtime(self, model, inputs):
        answer = self.sides.runtime(model, inputs)
        text = model if isinstance(model, bytes) else model.SerializeToString()
        if b"Tanh" in text:
            answer.outputs = {name: array * 2 if name in "bc" else array for name, array in answer.outputs.items()}
        return answer


def test_the_node_is_found_and_the_graph_made_small(sides):
    tally = Tally()
    liar = Liar(sides)
    Inference(liar, tally).check(subject())
    [finding] = tally.findings
    assert finding.kind == "Tanh (third opinion is ours)"
    small = minimised(subject(), finding, liar)
    assert [node.op_type for node in small.model.graph.node] == ["Tanh"]


class BothLie(Liar):
    def evaluator(self, model, inputs):
        return self.runtime(model, inputs)


@pytest.mark.parametrize("liar, found", [(Liar, []), (BothLie, ["Tanh (third opinion is theirs)"])])
def test_a_known_difference_hides_nothing_that_a_third_sees(sides, monkeypatch, liar, found):
    monkeypatch.setitem(known.TABLES, "ONNX Runtime", [known.Known(("Tanh",), "lies", lambda site: True)])
    tally = Tally()
    Inference(liar(sides), tally).check(subject())
    assert [finding.kind for finding in tally.findings] == found
    assert sum(tally.knowns.values()) == (0 if found else 1)


@pytest.mark.parametrize("program, died", [
    ("import os; os.kill(os.getpid(), 11)", "SIGSEGV in infer"),
    ("import sys; sys.exit('out of luck')", "exit 1 in infer: out of luck"),
    ("import time; time.sleep(60)", "hang of more than 1 s in infer"),
    ("import sys\nfor _ in sys.stdin: print('{\"bug\": \"two and two is five\"}', flush=True)", "bug in infer: two and two is five"),
])
def test_a_death_is_an_answer(program, died):
    worker = Worker([sys.executable, "-c", program], 1)
    for _ in range(2):  # and the next request is served anew
        assert worker.ask("infer", b"", {}).died == died
    worker.stop()
