"""Which operators Onward has, and what their schemas say of them."""

import functools
import json
import os
import subprocess

import onnx
from onnx import helper


# Operators that the generator does not draw, and why.
NOT_DRAWN = {
    **dict.fromkeys(["If", "Loop", "Scan", "SequenceMap"], "the generator's graphs have no graphs inside"),
    **dict.fromkeys(["ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
                     "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
                     "SplitToSequence"], "the generator's values are tensors"),
    **dict.fromkeys(["RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"],
                    "the generator's tensors hold numbers; tests/python/text_test.py has texts"),
    "ImageDecoder": "other bytes than files' are refused; tests/python/image_decoder_test.py has files",
    **dict.fromkeys(["Bernoulli", "Multinomial"],
                    "each runtime chooses otherwise; tests/python/text_test.py counts what is chosen"),
    **dict.fromkeys(["GRU", "LSTM", "RNN"], "they expand to Scan; the cases of the tests have all attributes"),
}


@functools.cache
def covered_operators():
    """What Onward says that it runs and differentiates: the operators that a run must have hit."""
    program = os.environ["ONWARD"]
    listed = json.loads(subprocess.run([program, "ops", "--json"], check=True, capture_output=True, text=True).stdout)
    return sorted(row["operator"] for row in listed["operators"] if row["domain"] == "" and
                  row["operator"] not in NOT_DRAWN and row["kernel"]["support"] == "yes" and row["gradient"]["support"] in ("yes", "unneeded"))


def is_unary_function(op):
    """Whether an operator has one operand, no attributes, and a result of the operand's type and shape."""
    schema = onnx.defs.get_schema(op)
    if schema.attributes or len(schema.inputs) != 1 or len(schema.outputs) != 1:
        return False
    x, y = schema.inputs[0], schema.outputs[0]
    if x.option == onnx.defs.OpSchema.FormalParameterOption.Variadic or x.type_str != y.type_str:
        return False
    shape, type = [2, 3, 4, 5], onnx.TensorProto.BOOL if x.types == {"tensor(bool)"} else onnx.TensorProto.FLOAT
    x, y = (helper.make_tensor_value_info(name, type, dims) for name, dims in (("x", shape), ("y", None)))
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], op, [x], [y])
    inferred = onnx.shape_inference.infer_shapes(helper.make_model(graph))
    return [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim] == shape
