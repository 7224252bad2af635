"""ONNX's backend interface: `onward.backend.prepare(model).run(inputs)`, `run_model`, `run_node`."""

from typing import Any

import numpy
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType

import onward


class OnwardRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: onward.Model) -> None:
        self.model = model
        self._trainer = onward.Trainer(model)
        self._inputs = [value.name for value in model.inputs]
        self._outputs = [value.name for value in model.outputs]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, in the model's order. `inputs` are arrays in the model's order, or by name."""
        if not isinstance(inputs, dict):
            if len(inputs) != len(self._inputs):
                raise onward.Error(f"the model has {len(self._inputs)} inputs, but {len(inputs)} arrays are given")
            inputs = dict(zip(self._inputs, inputs))
        results = self._trainer.infer(inputs)
        return tuple(results[name] for name in self._outputs)


class OnwardBackend(Backend):
    """Runs models on the CPU."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return Device(device).type == DeviceType.CPU

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> OnwardRep:
        """Takes an onnx.ModelProto, its bytes or an onward.Model."""
        if not cls.supports_device(device):
            raise onward.Error(f"device {device} is not supported: Onward runs on the CPU")
        return OnwardRep(model if isinstance(model, onward.Model) else onward.loads(model))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None,
                 **kwargs: Any) -> tuple[Any, ...]:
        """`inputs` are those that the node has, in order; `opset_version` defaults to the latest."""
        given = [name for name in node.input if name]
        arrays = inputs if isinstance(inputs, dict) else dict(zip(given, map(numpy.asarray, inputs)))
        version = kwargs.get("opset_version") or _newest_version(node.domain)
        typed = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                 for name, array in arrays.items()]
        types = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(node.op_type, version, node.domain), node,
            {info.name: info.type for info in typed},
            {name: onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()},
            opset_imports=[onnx.helper.make_opsetid(node.domain, version)])
        outputs = [onnx.ValueInfoProto(name=name, type=types[name]) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", typed, outputs)
        imports = [onnx.helper.make_opsetid(node.domain, version)]
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=imports), arrays, device)


def _newest_version(domain: str) -> int:
    return max(schema.since_version for schema in onnx.defs.get_all_schemas() if schema.domain == domain)


is_compatible = OnwardBackend.is_compatible
prepare = OnwardBackend.prepare
run_model = OnwardBackend.run_model
run_node = OnwardBackend.run_node
supports_device = OnwardBackend.supports_device
