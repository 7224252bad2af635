"""Nodes of operators on matrices, of sums of products, and of sums along an axis."""

import values
from operators_shape import axis_of


def accumulated(op):
    def add(g):
        x = g.operand(op, rank=range(1, 5))
        axis = g.number(axis_of(g, x.rank), g.one_of("int64", "int32"))
        g.add(op, [x, axis], [(x.type, x.shape)], exclusive=g.one_of(None, 0, 1), reverse=g.one_of(None, 0, 1))

    return add


def einsum(g):
    """Of one to three operands whose letters have sizes of their own."""
    type = g.type_for("Einsum")
    sizes = {letter: g.between(1, 4) for letter in "ijkLm"}
    terms = [[g.one_of(*sizes) for _ in range(g.between(1, 3))] for _ in range(g.between(1, 3))]
    ellipsis = g.shape(g.between(0, 2), 1) if g.maybe(0.3) else None
    inputs, written = [], []
    for term in terms:
        shape = tuple(sizes[letter] for letter in term)
        at = g.between(0, len(term)) if ellipsis is not None else None
        if at is not None:
            shape = (*shape[:at], *ellipsis, *shape[at:])
        inputs.append(g.operand("Einsum", 0, type, shape=shape))
        written.append("".join(term) if at is None else "".join(term[:at]) + "..." + "".join(term[at:]))
    letters = sorted({letter for term in terms for letter in term})
    equation = g.one_of(",", ", ").join(written)
    if g.maybe(0.8):
        output = g.choices.sample(letters, g.between(0, len(letters)))
        equation += "->" + ("..." if ellipsis is not None else "") + "".join(output)
    else:
        output = [letter for letter in letters if sum(term.count(letter) for term in terms) == 1]
    g.add("Einsum", inputs, [(type, (*(ellipsis or ()), *(sizes[letter] for letter in output)))], equation=equation)


def det(g):
    n = g.between(1, 4)
    x = g.operand("Det", shape=(*g.shape(g.between(0, 2)), n, n))
    g.add("Det", [x], [(x.type, x.shape[:-2])])


def trilu(g):
    x = g.operand("Trilu", rank=range(2, 5))
    k = g.number(g.between(-3, 3)) if g.maybe(0.6) else None
    g.add("Trilu", [x, k], [(x.type, x.shape)], upper=g.one_of(None, 0, 1))


def eye_like(g):
    x = g.operand("EyeLike", rank=2)
    to = g.smooth or g.one_of(None, "float", "double", "int64", "uint8", "bool")
    g.add("EyeLike", [x], [(to or x.type, x.shape)], k=g.one_of(None, -1, 0, 2), dtype=to and values.ONNX[to])


OPERATORS = {
    "CumProd": accumulated("CumProd"),
    "CumSum": accumulated("CumSum"),
    "Det": det,
    "Einsum": einsum,
    "EyeLike": eye_like,
    "Trilu": trilu,
}
