"""Nodes of operators on signals and their spectra."""

import values
from graph import Unsuitable


def window(op):
    def add(g):
        if g.opset < 17:
            raise Unsuitable(op)
        size = g.between(1, 12)
        periodic = g.one_of(None, 0, 1) if size > 1 else None
        to = g.smooth or g.one_of(None, "float", "double")
        g.add(op, [g.number(size, g.one_of("int64", "int32"))], [(to or "float", (size,))], periodic=periodic,
              output_datatype=to and values.ONNX[to])

    return add


def mel_weight_matrix(g):
    if g.opset < 17:
        raise Unsuitable("MelWeightMatrix")
    bands, length, rate = g.between(1, 8), g.between(4, 64), g.one_of(8000, 16000, 44100)
    to = g.smooth or g.one_of(None, "float", "double")
    edge = g.type_for("MelWeightMatrix", 3, frozenset(["float", "double"]))
    sizes = [g.number(size) for size in (bands, length, rate)]
    edges = [g.number(hertz, edge) for hertz in (g.one_of(0.0, 61.3), g.one_of(1733.1, 3911.7))]
    g.add("MelWeightMatrix", [*sizes, *edges], [(to or "float", (length // 2 + 1, bands))],
          output_datatype=to and values.ONNX[to])


def dft(g):
    if g.opset < 17:
        raise Unsuitable("DFT")
    inverse, onesided = g.one_of(0, 1), g.one_of(0, 0, 1)
    parts = (2 if inverse else 1) if onesided else g.one_of(1, 2)
    x = g.operand("DFT", shape=(*g.shape(g.between(1, 3), 2), parts))
    axis = g.between(0, x.rank - 2) - g.one_of(0, x.rank)
    size = x.shape[axis]
    length = g.one_of(None, size, size + 2, max(size - 1, 2))
    count = length or (2 * (size - 1) if inverse and onesided else size)
    shape = list(x.shape)
    shape[axis], shape[-1] = (count // 2 + 1 if onesided and not inverse else count), 1 if inverse and onesided else 2
    lengths = None if length is None else g.number(length, g.one_of("int64", "int32"))
    inputs, attributes = ([x, lengths, g.number(axis)], {}) if g.opset >= 20 else ([x, lengths], {"axis": axis})
    g.add("DFT", inputs, [(x.type, tuple(shape))], inverse=inverse or None, onesided=onesided or None, **attributes)


def stft(g):
    if g.opset < 17:
        raise Unsuitable("STFT")
    onesided = g.one_of(0, 1)
    x = g.operand("STFT", shape=(g.between(1, 3), g.between(6, 16), 1 if onesided else g.one_of(1, 2)))
    length, step = g.between(2, 6), g.between(1, 4)
    window = g.operand("STFT", 2, x.type, shape=(length,)) if g.maybe(0.6) else None
    given = g.number(length) if window is None or g.maybe(0.4) else None
    frames = (x.shape[1] - length) // step + 1
    g.add("STFT", [x, g.number(step), window, given], [(x.type, (x.shape[0], frames, length // 2 + 1 if onesided else length, 2))],
          onesided=onesided)


OPERATORS = {
    "BlackmanWindow": window("BlackmanWindow"),
    "DFT": dft,
    "HammingWindow": window("HammingWindow"),
    "HannWindow": window("HannWindow"),
    "MelWeightMatrix": mel_weight_matrix,
    "STFT": stft,
}
