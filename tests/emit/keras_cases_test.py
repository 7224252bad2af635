"""Every operator case, said in Keras, gives what Onward computes."""

import json

import pytest
import tensorflow as tf
from keras import ops

from emitted import module_of, refusals, written_cases, wrong_values

# What Keras's source refuses, and why.
SYMBOLIC = "inputs of symbolic shapes"
# Graphs of Keras need numbers here, and these variants have tensors: the node's input that is not known.
NOT_KNOWN = {
    **dict.fromkeys(["Squeeze", "Unsqueeze", "Pad axes", "Slice axes", "Slice steps",
                     "Slice backwards from before the beginning", "ReduceMax", "ReduceMax without dims",
                     "ReduceMean", "ReduceMean without dims", "ReduceSum", "ReduceSum without dims"], "axes"),
    **dict.fromkeys(["Pad", "Pad value", "Pad negative", "Pad reflect", "Pad edge", "Pad wrap"], "pads"),
    **dict.fromkeys(["Split by lengths", "Split by lengths, of the axis by default", "Split channels of images"],
                    "lengths"),
    **dict.fromkeys(["OneHot", "OneHot axis 0", "OneHot of numbers that are no class"], "depth"),
    **dict.fromkeys(["Dropout in training", "Dropout not in training"], "ratio"),
    "Dropout of the default ratio": "training", "Slice": "ends",
}
REFUSED = {
    **{(case, variant): f"{case.split()[0]} 'y': its input '{name}' is only known when it runs; make it a constant"
       for case, name in NOT_KNOWN.items() for variant in ("inputs", SYMBOLIC, "first input held")},
    **{(case, SYMBOLIC): "the rank of 'y' is not known; declare its shape"
       for case in ("Conv", "Conv 1 dimension", "Conv 3 dimensions", "Conv bias", "Conv depthwise",
                    "Conv elements that no window reads", "Conv groups",
                    "Conv groups with all that there is", "Conv of eight outputs", "Conv of many outputs",
                    "Conv pads and strides", "Conv strides beyond the kernel", "Conv valid")},
    **{(case, SYMBOLIC): "Conv 'y': the rank of 'r' is not known; declare its shape"
       for case in ("BatchNormalization between convolutions", "BatchNormalization frozen between convolutions")},
    ("BatchNormalization under a mean", SYMBOLIC):
        "GlobalAveragePool 'y': the rank of its input 'r' is not known; declare the input's shape",
    **{(case, SYMBOLIC): "Conv 'y': the kernel's shape is not known: 'w'"
       for case in ("Conv same lower", "Conv same upper", "Conv same, strides beyond the window")},
    **{(case, SYMBOLIC): "ConvTranspose 'y': the kernel's shape is not known: 'w'"
       for case in ("ConvTranspose", "ConvTranspose 3 dimensions", "ConvTranspose same lower, a stride beyond the kernel",
                    "ConvTranspose same upper", "ConvTranspose with all that there is")},
    **{(case, variant): f"Pad '{pad}': its input 'y_Concat_2' is only known when it runs; make it a constant"
       for case, pad in (("ConvTranspose of a given shape", "y_Pad"),
                         ("ConvTranspose of a given shape beyond its windows", "y"))
       for variant in (SYMBOLIC, "other inputs held, symbolic shapes")},
    **{(case, SYMBOLIC): "Concat 'y': the rank of 'c' is not known; declare its shape"
       for case in ("Concat channels of images", "Concat rows of images")},
    ("ReduceSum of nothing", SYMBOLIC): "ReduceSum 'y': whether it has axes is only known when it runs",
    **{(case, SYMBOLIC): f"Split '{first}': the size of the dimension that it splits is not known; declare it"
       for case, first in (("Split", "y"), ("Split in part", "z"), ("Split unevenly", "y"),
                           ("Split without its first part", "y"), ("Split unevenly, of the axis by default", "y"))},
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return written_cases("keras", tmp_path_factory.mktemp("keras"))


def run(folder, feeds):
    model = module_of(folder).load()
    feeds = [ops.convert_to_tensor(feed) for feed in feeds]
    results = model(feeds[0] if len(feeds) == 1 else feeds) if feeds else model.call()
    return [ops.convert_to_numpy(result) for result in (results if isinstance(results, tuple) else [results])]


# What is cut or lengthened along the first dimension can't be done while its size is open.
ALONG_BATCH = ("Pad ", "Slice steps", "Slice backwards", "Split, ", "Split without", "Split by lengths, of",
               "Split unevenly, of", "Split in part")


def run_in_graph(folder, feeds):
    """As `fit` and `predict` do it: traced for batches of any size, and other sizes that the model leaves open; then run."""
    model = module_of(folder).load()
    feeds = [tf.convert_to_tensor(feed) for feed in feeds]
    case = json.loads((folder / "case.json").read_text())
    is_open = not f"{case['case']}, ".startswith(ALONG_BATCH)

    def sizes(feed):
        if "symbolic" in case["variant"]:
            return [None] * feed.ndim
        return [None, *feed.shape[1:]] if is_open and feed.dtype.is_floating and feed.ndim else feed.shape

    signature = [tf.TensorSpec(sizes(feed), feed.dtype) for feed in feeds]

    @tf.function(input_signature=signature, autograph=False)
    def traced(*arguments):
        return model(arguments[0] if len(arguments) == 1 else list(arguments)) if arguments else model.call()

    results = traced(*feeds)
    return [result.numpy() for result in (results if isinstance(results, tuple) else [results])]


def test_values(cases):
    assert len(cases) > 400
    assert wrong_values(cases, run, {}) == []


def test_values_in_a_graph(cases):
    assert wrong_values(cases, run_in_graph, {}) == []


def test_refusals(cases):
    assert refusals(cases) == REFUSED
