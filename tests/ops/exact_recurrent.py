"""RNN, GRU and LSTM for ONNX's reference evaluator, by the standard's equations: the evaluator's own have neither
lengths nor activations, and know one direction of some layouts."""

import numpy as np
from onnx.reference.op_run import OpRun


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Name, how many numbers it takes, the standard's own, and the function of x, alpha and beta.
ACTIVATIONS = {
    "Affine": (2, None, None, lambda x, a, b: a * x + b),
    "Elu": (1, 1.0, None, lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x)),
    "HardSigmoid": (2, 0.2, 0.5, lambda x, a, b: np.clip(a * x + b, 0, 1)),
    "LeakyRelu": (1, 0.01, None, lambda x, a, b: np.where(x < 0, a * x, x)),
    "Relu": (0, None, None, lambda x, a, b: np.maximum(x, 0)),
    "ScaledTanh": (2, None, None, lambda x, a, b: a * np.tanh(b * x)),
    "Sigmoid": (0, None, None, lambda x, a, b: sigmoid(x)),
    "Softplus": (0, None, None, lambda x, a, b: np.log1p(np.exp(x))),
    "Softsign": (0, None, None, lambda x, a, b: x / (1 + np.abs(x))),
    "Tanh": (0, None, None, lambda x, a, b: np.tanh(x)),
    "ThresholdedRelu": (1, 1.0, None, lambda x, a, b: np.where(x >= a, x, 0)),
}


def activation_functions(names, alphas, betas, clip):
    alphas, betas = iter(alphas or []), iter(betas or [])
    functions = []
    for name in names:
        numbers, alpha, beta, function = ACTIVATIONS[name]
        alpha = float(np.float32(next(alphas, alpha))) if numbers > 0 else None
        beta = float(np.float32(next(betas, beta))) if numbers > 1 else None

        def applied(x, function=function, alpha=alpha, beta=beta):
            return function(x if clip is None else np.clip(x, -clip, clip), alpha, beta)

        functions.append(applied)
    return functions


def rnn(x, h, c, w, r, wb, rb, p, functions, node):
    [f] = functions
    return f(x @ w.T + h @ r.T + wb + rb), None


def gru(x, h, c, w, r, wb, rb, p, functions, node):
    f, g = functions
    (wz, wr, wh), (rz, rr, rh) = np.split(w, 3), np.split(r, 3)
    (wbz, wbr, wbh), (rbz, rbr, rbh) = np.split(wb, 3), np.split(rb, 3)
    z = f(x @ wz.T + h @ rz.T + wbz + rbz)
    reset = f(x @ wr.T + h @ rr.T + wbr + rbr)
    if node.linear_before_reset:
        candidate = g(x @ wh.T + reset * (h @ rh.T + rbh) + wbh)
    else:
        candidate = g(x @ wh.T + (reset * h) @ rh.T + rbh + wbh)
    return (1 - z) * candidate + z * h, None


def lstm(x, h, c, w, r, wb, rb, p, functions, node):
    f, g, last = functions
    i, o, forget, cell = np.split(x @ w.T + h @ r.T + wb + rb, 4, -1)
    pi, po, pf = np.split(p, 3)
    i = f(i + pi * c)
    forget = 1 - i if node.input_forget else f(forget + pf * c)
    c = forget * c + i * g(cell)
    return f(o + po * c) * last(c), c


class Recurrent(OpRun):
    op_domain = ""

    def _run(self, x, w, r, b=None, lengths=None, h0=None, c0=None, p=None, **attributes):
        if self.layout:
            x = x.swapaxes(0, 1)
            h0, c0 = (None if s is None else s.swapaxes(0, 1) for s in (h0, c0))
        directions, hidden = r.shape[0], r.shape[-1]
        states = (directions, x.shape[1], hidden)
        h0, c0 = (np.zeros(states, x.dtype) if s is None else s for s in (h0, c0))
        b = np.zeros((directions, 2 * w.shape[1]), x.dtype) if b is None else b
        p = np.zeros((directions, 3 * hidden), x.dtype) if p is None else p
        lengths = np.full(x.shape[1], x.shape[0]) if lengths is None else lengths
        clip = None if self.clip is None else float(np.float32(self.clip))
        functions = activation_functions(self.activations or self.DEFAULTS * directions, self.activation_alpha,
                                         self.activation_beta, clip)
        count = len(self.DEFAULTS)
        y = np.zeros((x.shape[0], *states), x.dtype)
        last_h, last_c = h0.copy(), c0.copy()
        for d in range(directions):
            backwards = self.direction == "reverse" or d == 1
            for n, length in enumerate(lengths):  # each sequence on its own, over its own times
                h, c = h0[d, n], c0[d, n]
                for t in range(length)[::-1] if backwards else range(length):
                    h, c = type(self).STEP(x[t, n], h, c, w[d], r[d], *np.split(b[d], 2), p[d],
                                           functions[count * d:count * (d + 1)], self)
                    y[t, d, n] = h
                last_h[d, n] = h
                if c is not None:
                    last_c[d, n] = c
        results = [y, last_h, last_c]
        if self.layout:
            results = [y.transpose(2, 0, 1, 3), last_h.swapaxes(0, 1), last_c.swapaxes(0, 1)]
        return tuple(results[:len(self.onnx_node.output)])


class RNN(Recurrent):
    DEFAULTS, STEP = ["Tanh"], staticmethod(rnn)


class GRU(Recurrent):
    DEFAULTS, STEP = ["Sigmoid", "Tanh"], staticmethod(gru)


class LSTM(Recurrent):
    DEFAULTS, STEP = ["Sigmoid", "Tanh", "Tanh"], staticmethod(lstm)


RECURRENT = [RNN, GRU, LSTM]
