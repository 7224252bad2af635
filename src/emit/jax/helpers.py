"""Functions that emitted JAX source needs where JAX has no call of its own.

Each is copied into the source that uses it, with those that it uses itself. Here they are a module, so that they can be
read, checked and tested as Python; they stand in the order of their use.
"""

import jax
import jax.numpy as jnp


def truncated_division(a, b):
    """Divides integers towards zero."""
    return jax.lax.div(*jnp.broadcast_arrays(a, b))


def largest(*tensors):
    """The largest elements. Those that tie share the gradient."""
    return jnp.stack(jnp.broadcast_arrays(*tensors)).max(axis=0)


def smallest(*tensors):
    """The smallest elements. Those that tie share the gradient."""
    return jnp.stack(jnp.broadcast_arrays(*tensors)).min(axis=0)


def bit_shift(x, amounts, bits, left):
    """Moves bits; those beyond the ends are gone, and behind them comes the sign."""
    inside = (amounts >= 0) & (amounts < bits)
    by = jnp.where(inside, amounts, 0)
    moved = jnp.left_shift(x, by) if left else jnp.right_shift(x, by)
    return jnp.where(inside, moved, 0 if left else jnp.where(x < 0, jnp.zeros_like(x) - 1, 0)).astype(x.dtype)


def squeeze(x, axes):
    """Without the dimensions `axes`."""
    return jnp.squeeze(x, axis=axes)


def split(x, lengths, axis):
    """Parts of these lengths."""
    begins = [sum(lengths[:i]) for i in range(1, len(lengths))]
    return jnp.split(x, begins, axis=axis)
