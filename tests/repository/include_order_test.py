"""Dependencies between the folders of src/ point one way, which the #include lines show."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A folder may include from its own level's folder, never from a neighbour, and from all levels above.
LEVELS = [
    ["ir"],
    ["proto", "image"],
    ["infer", "text"],
    ["opset"],
    ["format"],
    ["check"],
    ["ops"],
    ["eval"],
    ["grad", "data"],
    ["recipe"],
    ["passes"],
    ["runtime", "lower", "emit"],
    ["train"],
    ["api", "cli", "python"],
]
LEVEL = {folder: level for level, folders in enumerate(LEVELS) for folder in folders}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
HIDDEN_FROM_USERS = re.compile(r"^(google/protobuf|onnx/|oneapi|dnnl|blis|cblas|omp|fmt|nlohmann|jpeglib|png|webp|tiffio|openjpeg)\b")


def problems(root):
    found = []
    sources = root / "src"
    for file in sorted([*sources.rglob("*.h"), *sources.rglob("*.cpp")]):
        folder = file.relative_to(sources).parts[0]
        if folder not in LEVEL:
            found.append(f"{file.relative_to(root)}: src/{folder} has no place in the order")
            continue
        for included in INCLUDE.findall(file.read_text()):
            other = included.split("/")[0]
            if other in LEVEL and other != folder and LEVEL[other] >= LEVEL[folder]:
                found.append(f"{file.relative_to(root)}: {folder} may not include {included}")
    for file in sorted((root / "include").rglob("*.h")):
        for included in INCLUDE.findall(file.read_text()):
            if included.split("/")[0] in LEVEL:
                found.append(f"{file.relative_to(root)}: a public header may not include {included}")
        for by, included in shown(root, file, set()):
            if HIDDEN_FROM_USERS.match(included):
                found.append(f"{file.relative_to(root)}: a public header may not show {included}, as {by} does")
    return found


def shown(root, file, seen):
    """All (header, what it includes) pairs that a header leads to."""
    for included in INCLUDE.findall(file.read_text()):
        yield file.name, included
        for folder in ("src", "include"):
            next_file = root / folder / included
            if next_file.exists() and next_file not in seen:
                seen.add(next_file)
                yield from shown(root, next_file, seen)


def tree(root, files):
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_dependencies_point_one_way():
    assert problems(ROOT) == []


def test_good_tree_passes(tmp_path):
    good = tree(tmp_path, {
        "src/ir/graph.h": "#include <string>\n#include <onnx/onnx_pb.h>\n",
        "src/ops/conv.cpp": '#include "ir/graph.h"\n#include "ops/rules.h"\n',
        "src/runtime/kernels/conv.cpp": '#include "ops/rules.h"\n#include "runtime/plan.h"\n',
        "src/ir/tensor.h": "#include <vector>\n",
        "include/onward/onward.h": '#include <string>\n#include "onward/tensor.h"\n',
        "include/onward/tensor.h": "#include <vector>\n",
    })
    assert problems(good) == []


def test_bad_tree_is_refused(tmp_path):
    bad = tree(tmp_path, {
        "src/ir/graph.h": '#include "ops/rules.h"\n',  # upwards
        "src/lower/step.cpp": '  #  include "emit/calls.h"\n',  # a neighbour
        "src/runtime/kernels/conv.cpp": "#include <train/trainer.h>\n",  # from a subfolder
        "src/extra/file.cpp": "",  # a folder that nobody placed
        "include/onward/model.h": "#include <onnx/onnx_pb.h>\n",
        "include/onward/trainer.h": "#include <oneapi/dnnl/dnnl.hpp>\n",
        "include/onward/tensor.h": "#include <onnx/onnx_pb.h>\n",
        "include/onward/onward.h": '#include "onward/tensor.h"\n',  # which leads to it
        "include/onward/state.h": '#include "ir/state.h"\n',  # a header of ours
    })
    assert problems(bad) == [
        "src/extra/file.cpp: src/extra has no place in the order",
        "src/ir/graph.h: ir may not include ops/rules.h",
        "src/lower/step.cpp: lower may not include emit/calls.h",
        "src/runtime/kernels/conv.cpp: runtime may not include train/trainer.h",
        "include/onward/model.h: a public header may not show onnx/onnx_pb.h, as model.h does",
        "include/onward/onward.h: a public header may not show onnx/onnx_pb.h, as tensor.h does",
        "include/onward/state.h: a public header may not include ir/state.h",
        "include/onward/tensor.h: a public header may not show onnx/onnx_pb.h, as tensor.h does",
        "include/onward/trainer.h: a public header may not show oneapi/dnnl/dnnl.hpp, as trainer.h does",
    ]
