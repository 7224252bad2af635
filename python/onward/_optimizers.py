"""The optimizers of onward.prepare as frameworks' objects tell them: the table is src/recipe/optimizer_*.cpp."""

from onward import _core


class Optimizers:
    """The rows of one formula, with the classes of `module`, its framework's."""

    def __init__(self, formula, module):
        self._rows = [row for row in _core._optimizer_table() if row["formula"] == formula]
        names = {name for row in self._rows for name, _ in row["classes"]}
        self.classes = {getattr(module, name): name for name in sorted(names)}

    def find(self, kind, options, idle=()):
        """The row that an object of class `kind` is with these options, its settings, and what else is switched on,
        which the row does not have. Where no row has all, the one that lacks least.
        """
        found = []
        for row in self._rows:
            for name, needs in row["classes"]:
                if name != self.classes[kind] or (needs and not options.get(needs)):
                    continue
                told = {option.split("[")[0] for option in row["options"].values()} | {needs, *row["idle"], *idle}
                rest = {key: value for key, value in options.items() if key not in told and value}
                found.append((len(rest), row, rest))
        _, row, rest = min(found, key=lambda each: each[0])
        return row, {name: _value(options, option) for name, option in row["options"].items()}, rest


def _value(options, option):
    """An argument's value, or that of an element of it ("betas[0]"); None means that it is off."""
    name, _, index = option.partition("[")
    value = options[name]
    return float((value[int(index[:-1])] if index else value) or 0)
