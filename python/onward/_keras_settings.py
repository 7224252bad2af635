"""The settings of a Keras object, each of which is honoured or must say nothing."""

import onward

# What no longer matters once an object is built, or is looked at elsewhere.
_DONE = {"name", "trainable", "dtype", "seed", "batch_shape", "batch_input_shape"}


class Settings:
    """Gives settings by name; `finish` refuses those that were not asked for and say something."""

    def __init__(self, what, fields):
        self.what, self._fields = what, dict(fields)

    def __getitem__(self, name):
        if name not in self._fields:
            raise onward.Error(f"{self.what} has no setting {name}, which this version of Keras should have")
        return self._fields.pop(name)

    def get(self, name, fallback=None):
        return self._fields.pop(name, fallback)

    def told(self, *names):
        """Settings that the object's variables or attributes tell as well."""
        for name in names:
            self._fields.pop(name, None)

    def refuse(self, name, value):
        raise onward.Error(f"{self.what} with {name}={value!r} can't be exported: leave it out, or give it another value")

    def finish(self):
        for name, value in self._fields.items():
            if name in _DONE or name.endswith("_initializer") or value is None or value is False:
                continue
            if isinstance(value, (list, tuple, dict, set)) and not value:
                continue
            self.refuse(name, value)
