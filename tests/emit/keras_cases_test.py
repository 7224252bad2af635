"""Every operator case, said in Keras, gives what Onward computes."""

import json

import tensorflow as tf
from keras import ops

from emitted import NOT_HELD, module_of, refusals, taken_back, wrong_values

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
    **dict.fromkeys(["Resize nearest to sizes", "Resize linear as PyTorch did", "Resize linear to sizes",
                     "Resize linear, within the input", "Resize of a region", "Resize of a region beyond the input",
                     "Resize nearest of a region beyond the input"], "sizes"),
    **dict.fromkeys(["TopK", "TopK smallest", "TopK axis 0", "TopK in any order"], "k"),
    **dict.fromkeys(["CenterCropPad", "CenterCropPad axes", "MaxUnpool to a shape"], "shape"),
    **dict.fromkeys([f"{op}{of}" for op in ("ReduceLogSumExp", "ReduceMin", "ReduceProd") for of in ("", " without dims")]
                    + ["ReduceProd with a zero", "ReduceProd with two zeros and three"], "axes"),
    **dict.fromkeys([f"{op}{how}" for op in ("CumSum", "CumProd")
                     for how in ("", " exclusive", " reverse", " exclusive in reverse")] + ["CumProd with zeros"], "axis"),
    **dict.fromkeys(["Tile", "Tile once", "Tile of one axis"], "repeats"),
    **dict.fromkeys(["Trilu above", "Trilu lower"], "k"),
}
# The sums that these reductions are written with, and their names.
SUMS = {"ReduceL1": "y", "ReduceL2": "y_ReduceSum", "ReduceLogSum": "y_ReduceSum", "ReduceSumSquare": "y"}
VARIANTS = ("inputs", SYMBOLIC, "first input held", "other inputs held", "other inputs held, symbolic shapes")
OF_ONE_INPUT = ("inputs", SYMBOLIC, "its only input held")
REFUSED = {
    **{("TopK of its indices", variant): "TopK 'v': its input 'k' is only known when it runs; make it a constant"
       for variant in VARIANTS[:3]},
    **{(f"{op} {reduction}", variant): f"{op} 'y': Keras has no function that scatters with the reduction '{reduction}'"
       for op in ("ScatterElements", "ScatterND") for reduction in ("mul", "max", "min") for variant in VARIANTS},
    **{(case, SYMBOLIC): f"{case.split()[0]} 'y': how many numbers the tuples of its input 'i' have is not known; "
                         "declare its shape"
       for case in ("GatherND", "GatherND of elements", "GatherND of batches", "GatherND of two dimensions of batches",
                    "ScatterND", "ScatterND of elements", "ScatterND add")},
    **{(case, variant): "NonMaxSuppression 'i': Keras has no function for boxes that are suppressed one after the other"
       for case in ("NonMaxSuppression", "NonMaxSuppression of centers") for variant in VARIANTS},
    **{(case, variant): "BitCast 'y': Keras has no function that keeps the bits of elements"
       for case, variants in (("BitCast", VARIANTS[:2]), ("BitCast to the same type", OF_ONE_INPUT)) for variant in variants},
    **{(case, variant): "Unique 'u': Keras has no function for elements that differ"
       for case in ("Unique", "Unique as they come", "Unique slices") for variant in VARIANTS[:2]},
    **{(case, variant): "Unique 'y': Keras has no function for elements that differ"
       for case in ("Unique floats", "Unique slices of floats") for variant in OF_ONE_INPUT},
    **{(case, variant): f"Range '{node}': its input '{name}' is only known when it runs; make it a constant"
       for cases, node, name in (
           (("RoiAlign of as many points as elements", "RoiAlign of scaled regions", "RoiAlign beyond the images",
             "RoiAlign of regions turned over", "RoiAlign of small regions",
             "RoiAlign max of as many points as elements"), "y_Range_4", "y_Squeeze_4"),
           (("MaxRoiPool", "MaxRoiPool of scaled regions", "MaxRoiPool beyond the images"), "y_Range_5", "y_Squeeze_5"))
       for case in cases for variant in VARIANTS},
    **{("Resize of a given region", variant):
       "Resize 'y': its input 'region' is only known when it runs; make it a constant" for variant in VARIANTS[:3]},
    ("LpPool same", SYMBOLIC): "Pad 'y_Pad': its input 'y_Concat_2' is only known when it runs; make it a constant",
    **{(case, variant): f"Range '{node}': its input '{name}' is only known when it runs; make it a constant"
       for case, node, name, variants in (
           ("AffineGrid to a size that is an input", "y_Range", "y_Squeeze", VARIANTS[:3]),
           ("DFT along an axis that is an input", "y_Range_2", "y_Squeeze_2", VARIANTS[:3]),
           ("HannWindow of a size that is an input", "y_Range", "y_Squeeze", VARIANTS[:2]),
           ("STFT of a length", "y_Range", "y_Squeeze", [SYMBOLIC]),
           ("STFT of a step that is an input", "y_Range", "y_Squeeze", [*VARIANTS[:3], VARIANTS[4]]),
           *((case, "y_Range", "y_Squeeze", [SYMBOLIC, VARIANTS[4]])
             for case in ("STFT", "STFT complex", "STFT of a window and its length", "STFT of both sides",
                          "STFT of both sides of real numbers without parts", "STFT of real numbers without parts")))
       for variant in variants},
    **{(case, variant): "Slice 'y_ScatterAdd_Slice': its input 'y_ScatterAdd_ReduceProd' is only known when it runs; make it "
                        "a constant"
       for case, variants in (("Col2Im of shapes that are inputs", [*VARIANTS[:3], VARIANTS[4]]),
                              *((f"Col2Im{of}", [SYMBOLIC])
                                for of in ("", " 1 dimension", " 3 dimensions", " dilations", " pads and strides")))
       for variant in variants},
    **{("MaxUnpool", variant): "MaxPool 'p': its result 1 ('i') can't be had" for variant in OF_ONE_INPUT},
    **{(case, variant): f"{case.split()[0]} 'y': its input '{name}' is only known when it runs; make it a constant"
       for case, name in NOT_KNOWN.items() for variant in ("inputs", SYMBOLIC, "first input held")},
    **{(f"{op}{of}", variant): f"ReduceSum '{node}': its input 'axes' is only known when it runs; make it a constant"
       for op, node in SUMS.items() for of in ("", " without dims") for variant in ("inputs", SYMBOLIC, "first input held")},
    **{(case, SYMBOLIC): "the rank of 'y' is not known; declare its shape"
       for case in ("Conv", "Conv 1 dimension", "Conv 3 dimensions", "Conv 3 dimensions of one row of columns",
                    "Conv of a column in a padded row", "Conv of one column",
                    "Conv of one column, groups and strides that go nowhere", "Conv bias", "Conv depthwise",
                    "Conv elements that no window reads", "Conv groups",
                    "Conv groups with all that there is", "Conv of eight outputs", "Conv of many outputs",
                    "Conv pads and strides", "Conv strides beyond the kernel", "Conv valid")},
    **{(case, SYMBOLIC): "Conv 'y': the rank of 'r' is not known; declare its shape"
       for case in ("BatchNormalization between convolutions", "BatchNormalization frozen between convolutions",
                    "Resize images", "Resize images by nearest elements")},
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
    **{(case, variant): "QuantizeLinear 'q': elements of type i4 have no counterpart"
       for case in ("QuantizeLinear to 4 bits",)
       for variant in VARIANTS},
    **{(case, variant): "QuantizeLinear 'q': elements of type f8e4m3fn have no counterpart"
       for case in ("QuantizeLinear to 8-bit floats",)
       for variant in VARIANTS},
    **{(case, variant): "QuantizeLinear 'q': elements of type f8e5m2 have no counterpart"
       for case in ("QuantizeLinear to 8-bit floats that do not saturate",)
       for variant in VARIANTS},
    ("DequantizeLinear without a zero point", SYMBOLIC):
        "node 'y' (DequantizeLinear): axis 1 is out of range for rank 1",
    ("ConvInteger", SYMBOLIC):
        "Cast 'p_Cast_3': the rank of 'p_Conv' is not known; declare its shape",
    ("ConvInteger same upper", SYMBOLIC):
        "Conv 'p_Conv': the kernel's shape is not known: 'p_Cast_2'",
    ("QLinearConv", SYMBOLIC):
        "Cast 'q_Cast_5': the rank of 'q_Conv' is not known; declare its shape",
    ("QLinearConv same lower", SYMBOLIC):
        "Conv 'q_Conv': the kernel's shape is not known: 'q_Sub_3'",
    **{(case, SYMBOLIC): "Pad 'y_Pad': its input 'y_Concat_3' is only known when it runs; make it a constant"
       for case in ("Attention with a mask", "Attention with what is added", "Attention with a mask that ends early",
                    "Attention and its scores", "Attention and its probabilities",
                    "Attention with a mask of each sequence, causal", "Attention with what is added to each head, causal",
                    "Attention with what is added to the first keys")},
    **{(case, variant): f"Slice 'y_Slice': its input '{name}' is only known when it runs; make it a constant"
       for case, name in (("RotaryEmbedding", "y_Gather"), ("RotaryEmbedding of positions", "y_Gather_3"))
       for variant in (SYMBOLIC, "other inputs held, symbolic shapes")},
    **{("RotaryEmbedding of a part", variant):
       "Slice 'y_Slice_2': its input 'y_Gather' is only known when it runs; make it a constant"
       for variant in (SYMBOLIC, "other inputs held, symbolic shapes")},
    **{(case, variant): "Slice 'p': its input 'y_Gather_4' is only known when it runs; make it a constant"
       for case in ("CausalConvWithState",)
       for variant in ("other inputs held, symbolic shapes",)},
    **{(case, variant): f"{node}: its input '{name}' is only known when it runs; make it a constant"
       for case, node, name in (("SequenceConstruct and SequenceAt", "SequenceAt 'q'", "j"),
                                ("SequenceInsert", "SequenceInsert 'v'", "j"), ("SequenceErase", "SequenceErase 'u'", "i"),
                                ("SplitToSequence", "SequenceAt 'p'", "i"), ("SplitToSequence of one size", "SequenceAt 'y'", "i"),
                                ("SplitToSequence without the axis", "SequenceAt 'y'", "i"),
                                ("SplitToSequence of ones", "SequenceAt 'y'", "i"))
       for variant in VARIANTS[:3]},
    **{(f"SplitToSequence {of}", VARIANTS[4]): "SplitToSequence 's': how many parts it makes is not known; declare the size of "
                                               f"dimension {axis} of its input 'x'"
       for of, axis in (("of one size", -1), ("without the axis", 0), ("of ones", 0))},
    **{("If of sequences", variant): "If 't': which sequence it gives is only known when it runs; make its condition 'c' a constant"
       for variant in VARIANTS[:3]},
    **{(case, SYMBOLIC): f"{scan}Split '{split}': its input '{name}' is only known when it runs; make it a constant"
       for case, scan, split, name in (
           ("RNN in reverse, of bias, lengths and a state", "", "y_Split", "y_Expand"),
           ("RNN both ways, batch first, clipped", "", "y_Split_17", "y_Expand_9"),
           *((case, f"Scan '{scan}': in its graph, ", split, name) for case, scan, split, name in (
               ("GRU", "y_Scan", "y_Split_10", "y_Expand_4"),
               ("GRU linear before the reset, lengths and a state", "y_Scan", "y_Split_10", "y_Expand_3"),
               ("GRU linear before the reset, no bias, the last state alone", "h_Scan", "h_Split_4", "h_Expand_3"),
               ("GRU both ways, batch first", "y_Scan_3", "y_Split_40", "y_Expand_15"),
               ("GRU linear before the reset, both ways, batch first", "y_Scan_3", "y_Split_40", "y_Expand_15"),
               ("LSTM", "y_LstmSteps_2", "y_LstmSteps_Split", "y_LstmSteps_Expand"),
               ("LSTM of bias, lengths, states and peepholes", "y_Scan", "y_Split_12", "y_Expand_3"),
               ("LSTM both ways, batch first, coupled gates, clipped", "y_Scan_4", "y_Split_51", "y_Expand_18"),
               ("LSTM both ways of lengths and states", "y_Scan_4", "y_Split_41", "y_Expand_14"),
               ("LSTM both ways of states", "y_LstmSteps_5", "y_LstmSteps_4_Split", "y_LstmSteps_4_Expand"),
               ("LSTM of the last cell alone", "c_LstmSteps_2", "c_LstmSteps_Split", "c_LstmSteps_Expand"))))},
    **{(case, SYMBOLIC): "declare the shapes of the model's inputs, with names for sizes that are open"
       for case in ("CausalConvWithState", "CausalConvWithState of a past", "CausalConvWithState of one tap")},
    **{(case, variant): "Slice 'p': its input 'y_Gather_2' is only known when it runs; make it a constant"
       for case in ("CausalConvWithState of a past",)
       for variant in ("other inputs held, symbolic shapes",)},
}

def run(folder, feeds):
    return results_of(module_of(folder).load(), feeds)


def run_with_others(folder, feeds, others, back):
    module = module_of(folder)
    model = module.load()
    for key, variable in module.tensors(model).items():
        if key in others:
            variable.assign(others[key](ops.convert_to_numpy(variable)))
    module.save(model, back)
    return results_of(model, feeds)


def results_of(model, feeds):
    feeds = [ops.convert_to_tensor(feed) for feed in feeds]
    results = model(feeds[0] if len(feeds) == 1 else feeds) if feeds else model.call()
    return [ops.convert_to_numpy(result) for result in (results if isinstance(results, tuple) else [results])]


# What is cut or lengthened along the first dimension can't be done while its size is open.
ALONG_BATCH = ("Pad ", "Slice steps", "Slice backwards", "Split, ", "Split without", "Split by lengths, of",
               "Split unevenly, of", "Split in part")


# The weights of these are in a dimension of directions first, which is none of the batch.
RECURRENT = ("RNN", "GRU", "LSTM")


def run_in_graph(folder, feeds):
    """As `fit` and `predict` do it: traced for batches of any size, and other sizes that the model leaves open; then run."""
    model = module_of(folder).load()
    feeds = [tf.convert_to_tensor(feed) for feed in feeds]
    case = json.loads((folder / "case.json").read_text())
    is_closed = case["case"].startswith(RECURRENT) and case["variant"] != "other inputs held"
    is_open = not is_closed and not f"{case['case']}, ".startswith(ALONG_BATCH)

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


def test_values(keras_cases):
    assert len(keras_cases) > 400
    assert wrong_values(keras_cases, run, {}) == []


# Layers must know the number of channels, which is open here, determinants that matrices are square, and a scan over nothing
# the shape of what it stacks.
RAISED_IN_GRAPH = {("Scan of nothing", SYMBOLIC): "TensorListStack",
                   ("CausalConvWithState of one tap", "other inputs held, symbolic shapes"): "DepthwiseConv1D",
                   **{(case, "inputs"): "Expected a square matrix" for case in ("Det", "Det of a matrix without an inverse")}}


def test_values_in_a_graph(keras_cases):
    # A graph of constants alone says no more than they do.
    given = [each for each in keras_cases if each[0]["variant"] != "its only input held"]
    assert wrong_values(given, run_in_graph, RAISED_IN_GRAPH) == []


def test_refusals(keras_cases):
    assert refusals(keras_cases) == REFUSED


def test_weights_come_back(keras_cases):
    wrong, not_held = taken_back(keras_cases, run_with_others, {})
    assert wrong == []
    assert not_held == NOT_HELD
