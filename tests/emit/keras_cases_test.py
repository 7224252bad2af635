"""Every operator case, said in Keras, gives what Onward computes."""

import pytest
from keras import ops

from emitted import module_of, refusals, written_cases, wrong_values

# What Keras's source refuses, and why.
SYMBOLIC = "inputs of symbolic shapes"
REFUSED = {
    **{(case, SYMBOLIC): "the rank of 'y' is not known; declare its shape"
       for case in ("Conv", "Conv 1 dimension", "Conv 3 dimensions", "Conv bias", "Conv depthwise",
                    "Conv elements that no window reads", "Conv groups",
                    "Conv groups with all that there is", "Conv of eight outputs", "Conv of many outputs",
                    "Conv pads and strides", "Conv strides beyond the kernel", "Conv valid")},
    **{(case, SYMBOLIC): "Conv 'y': the rank of 'r' is not known; declare its shape"
       for case in ("BatchNormalization between convolutions", "BatchNormalization frozen between convolutions")},
    ("BatchNormalization under a mean", SYMBOLIC):
        "GlobalAveragePool 'y': the rank of its input 'r' is not known; declare the input's shape",
    **{(case, SYMBOLIC): "Conv 'y': the kernel's shape is not known: 'w'" for case in ("Conv same lower", "Conv same upper")},
    ("ReduceSum of nothing", SYMBOLIC): "ReduceSum 'y': whether it has axes is only known when it runs",
    **{(case, SYMBOLIC): f"Split '{first}': the size of the dimension that it splits is not known; declare it"
       for case, first in (("Split", "y"), ("Split in part", "z"), ("Split unevenly", "y"))},
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return written_cases("keras", tmp_path_factory.mktemp("keras"))


def run(folder, feeds):
    model = module_of(folder).load()
    feeds = [ops.convert_to_tensor(feed) for feed in feeds]
    results = model(feeds[0] if len(feeds) == 1 else feeds) if feeds else model.call()
    return [ops.convert_to_numpy(result) for result in (results if isinstance(results, tuple) else [results])]


def test_values(cases):
    assert len(cases) > 400
    assert wrong_values(cases, run, {}) == []


def test_refusals(cases):
    assert refusals(cases) == REFUSED
