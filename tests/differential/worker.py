"""A process that answers requests, and that may die: it is started anew for the next one.

A message is a line of JSON, in which "model" and "tensors" (of a request) or "bytes" (of an answer) count
the bytes that follow."""

import dataclasses
import json
import os
import select
import signal
import subprocess
import tempfile
import time

import onnx
from onnx import numpy_helper


@dataclasses.dataclass
class Answer:
    """What became of a request: outputs by name (or the bytes of a model), a refusal, or a death."""

    outputs: dict | None = None
    model: bytes | None = None
    same_bits: bool = True
    refused: str | None = None
    died: str | None = None  # a signal, a bug, or a hang

    @property
    def done(self):
        return self.refused is None and self.died is None


def tensors_as_bytes(arrays):
    graph = onnx.GraphProto()
    for name, array in arrays.items():
        graph.initializer.append(numpy_helper.from_array(array, name))
    return graph.SerializeToString()


def arrays_from_bytes(data):
    return {each.name: numpy_helper.to_array(each) for each in onnx.GraphProto.FromString(data).initializer}


class Worker:
    def __init__(self, command, seconds):
        self.command = command
        self.seconds = seconds
        self.process = None

    def start(self):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, bufsize=0)
        self.left = b""

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout, self.errors):
                stream.close()
            self.process = None

    def ask(self, verb, model, arrays, **options):
        """Sends a request and waits for its answer."""
        if not self.process:
            self.start()
        model = model if isinstance(model, bytes) else model.SerializeToString()
        tensors = tensors_as_bytes(arrays)
        header = {"verb": verb, "model": len(model), "tensors": len(tensors), **options}
        deadline = time.monotonic() + self.seconds
        try:
            self.send(json.dumps(header).encode() + b"\n" + model + tensors)
            answer = json.loads(self.receive_line(deadline))
            data = self.receive(answer.get("bytes", 0), deadline)
        except TimeoutError:
            self.stop()
            return Answer(died=f"hang of more than {self.seconds} s in {verb}")
        except (EOFError, BrokenPipeError):
            return Answer(died=self.death(verb))
        if "bug" in answer:
            return Answer(died=f"bug in {verb}: {answer['bug']}")
        if "refused" in answer:
            return Answer(refused=answer["refused"])
        if verb == "lower":
            return Answer(model=data)
        return Answer(arrays_from_bytes(data), same_bits=answer.get("same_bits", True))

    def send(self, data):
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def more(self, deadline):
        ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        if not data:
            raise EOFError
        self.left += data

    def receive_line(self, deadline):
        while b"\n" not in self.left:
            self.more(deadline)
        line, self.left = self.left.split(b"\n", 1)
        return line

    def receive(self, count, deadline):
        while len(self.left) < count:
            self.more(deadline)
        data, self.left = self.left[:count], self.left[count:]
        return data

    def death(self, verb):
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read()[-400:].decode(errors="replace").strip()
        self.stop()
        how = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return f"{how} in {verb}: {said}".strip(": ")
