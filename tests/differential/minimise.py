"""Fewer nodes and outputs, as long as the finding stays."""

import dataclasses

import onnx
import values
from inference import Inference
from tally import Tally
from training import Training


def shows(subject, finding, sides):
    """Whether a subject gives a finding of the same kind."""
    tally = Tally()
    (Training if subject.smooth else Inference)(sides, tally).check(subject)
    return any(found.kind == finding.kind for found in tally.findings)


def without_dead(model, outputs):
    """The model with these outputs, and with nothing that they do not need."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    needed, nodes = {value.name for value in outputs}, []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            nodes.insert(0, node)
    kept = {"output": list(outputs), "node": nodes,
            "input": [value for value in graph.input if value.name in needed],
            "initializer": [tensor for tensor in graph.initializer if tensor.name in needed],
            "value_info": [value for value in graph.value_info if value.name in needed]}
    copies = {field: [type(each).FromString(each.SerializeToString()) for each in list_]
              for field, list_ in kept.items()}
    for field, list_ in copies.items():
        graph.ClearField(field)
        getattr(graph, field).extend(list_)
    return model


def smaller(subject):
    """Every subject that has one output less, or the results of a last node's inputs as outputs instead."""
    outputs = list(subject.model.graph.output)
    infos = {}
    for node in subject.model.graph.node:
        for name in node.output:
            if name:
                infos[name] = onnx.helper.make_tensor_value_info(name, values.ONNX[subject.types[name][0]], None)
    for i, output in enumerate(outputs):
        rest = outputs[:i] + outputs[i + 1:]
        if rest:
            yield rest
        maker = [node for node in subject.model.graph.node if output.name in node.output]
        before = [infos[name] for node in maker for name in node.input
                  if name in infos and name not in {value.name for value in rest}]
        if before:
            yield rest + list({value.name: value for value in before}.values())


def minimised(subject, finding, sides, most=60):
    """A subject with as few nodes as a greedy search finds."""
    tries = 0
    progress = True
    while progress and tries < most:
        progress = False
        for outputs in smaller(subject):
            tries += 1
            model = without_dead(subject.model, outputs)
            if len(model.graph.node) >= len(subject.model.graph.node) or not model.graph.node:
                continue
            used = {value.name for value in model.graph.input}
            part = dataclasses.replace(subject, model=model,
                                       inputs={name: each for name, each in subject.inputs.items() if name in used})
            if shows(part, finding, sides):
                subject, progress = part, True
                break
            if tries >= most:
                break
    return subject
