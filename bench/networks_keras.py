"""The networks of bench/networks.py in Keras, as one would write them there: channels last, layers of its own."""

import keras
from keras import Input, Model, ops
from keras.layers import (LSTM, Activation, Add, BatchNormalization, Conv2D, Dense, DepthwiseConv2D, Embedding, Flatten,
                          GlobalAveragePooling1D, GlobalAveragePooling2D, Layer, LayerNormalization, MaxPooling2D,
                          MultiHeadAttention, ReLU, ZeroPadding2D)


def linear():
    x = Input((1, ))
    return x, Dense(1, use_bias=False)(x)


def mlp():
    x = Input((784, ))
    return x, Dense(10)(Dense(256, "relu")(Dense(512, "relu")(x)))


def cnn():
    x = Input((28, 28, 1))
    y = MaxPooling2D()(Conv2D(64, 3, activation="relu")(Conv2D(32, 3, activation="relu")(x)))
    return x, Dense(10)(Dense(128, "relu")(Flatten()(y)))


def conv_norm(x, outputs, size, stride=1, activation=None):
    if stride > 1:  # PyTorch pads both sides
        x = ZeroPadding2D(size // 2)(x)
    y = Conv2D(outputs, size, stride, "valid" if stride > 1 else "same", use_bias=False)(x)
    y = BatchNormalization(momentum=0.9, epsilon=1e-5)(y)
    return Activation(activation)(y) if activation else y


def cnn_bn():
    x = Input((32, 32, 3))
    y = MaxPooling2D()(conv_norm(conv_norm(x, 32, 3, activation="relu"), 64, 3, activation="relu"))
    y = conv_norm(conv_norm(y, 64, 3, activation="relu"), 64, 3, activation="relu")
    return x, Dense(10)(GlobalAveragePooling2D()(y))


class Position(Layer):
    """Adds a trained vector to each place."""

    def build(self, shape):
        self.position = self.add_weight(shape=shape[1:], initializer="random_normal")

    def call(self, x):
        return x + self.position


def transform(x, size, heads, causal=False):
    normal = LayerNormalization(epsilon=1e-5)(x)
    x = Add()([x, MultiHeadAttention(heads, size // heads)(normal, normal, use_causal_mask=causal)])
    wide = Dense(4 * size, lambda y: keras.activations.gelu(y, approximate=False))(LayerNormalization(epsilon=1e-5)(x))
    return Add()([x, Dense(size)(wide)])


def block():
    x = Input((32, 256))
    return x, Dense(10)(GlobalAveragePooling1D()(transform(x, 256, 4)))


def scan():
    x = Input((32, 64))
    return x, Dense(10)(LSTM(64)(x))


def lstm():
    x = Input((64, ), dtype="int64")
    return x, Dense(96)(LSTM(256, return_sequences=True)(Embedding(96, 128)(x)))


def tokens(x, words, size, heads, causal):
    y = Position()(Embedding(words, size)(x))
    for _ in range(4):
        y = transform(y, size, heads, causal)
    return LayerNormalization(epsilon=1e-5)(y)


def transformer():
    x = Input((128, ), dtype="int64")
    return x, Dense(10)(GlobalAveragePooling1D()(tokens(x, 8192, 256, 4, False)))


def gpt():
    x = Input((128, ), dtype="int64")
    return x, Dense(4096, use_bias=False)(tokens(x, 4096, 192, 6, True))


def residual(x, width, stride, is_wide):
    outputs = 4 * width if is_wide else width
    if is_wide:
        y = conv_norm(conv_norm(conv_norm(x, width, 1, activation="relu"), width, 3, stride, "relu"), outputs, 1)
    else:
        y = conv_norm(conv_norm(x, width, 3, stride, "relu"), width, 3)
    if stride > 1 or x.shape[-1] != outputs:
        x = BatchNormalization(momentum=0.9, epsilon=1e-5)(Conv2D(outputs, 1, stride, use_bias=False)(x))
    return ReLU()(Add()([x, y]))


def resnet(size, depths, is_wide, classes):
    x = Input((size, size, 3))
    y = MaxPooling2D(3, 2)(ZeroPadding2D(1)(conv_norm(x, 64, 7, 2, "relu")))
    for stage, depth in enumerate(depths):
        for number in range(depth):
            y = residual(y, 64 << stage, 2 if stage and number == 0 else 1, is_wide)
    y = GlobalAveragePooling2D()(y)
    return x, Dense(classes)(y), y


def resnet18_32():
    return resnet(32, [2, 2, 2, 2], False, 10)[:2]


def resnet18():
    return resnet(224, [2, 2, 2, 2], False, 1000)[:2]


def resnet50():
    return resnet(224, [3, 4, 6, 3], True, 1000)[:2]


def frozen_resnet18():
    x, y, features = resnet(224, [2, 2, 2, 2], False, 10)
    body = Model(x, features)
    body.trainable = False
    image = Input((224, 224, 3))
    return image, Dense(10)(body(image, training=False))


def mobilenetv2():
    x = Input((224, 224, 3))
    y = conv_norm(x, 32, 3, 2, "relu6")
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, outputs, depth, stride in stages:
        for number in range(depth):
            before, by = y, stride if number == 0 else 1
            if expansion > 1:
                y = conv_norm(y, expansion * y.shape[-1], 1, activation="relu6")
            y = DepthwiseConv2D(3, by, "valid", use_bias=False)(ZeroPadding2D(1)(y))
            y = conv_norm(Activation("relu6")(BatchNormalization(momentum=0.9, epsilon=1e-5)(y)), outputs, 1)
            if by == 1 and before.shape[-1] == outputs:
                y = Add()([before, y])
    return x, Dense(1000)(GlobalAveragePooling2D()(conv_norm(y, 1280, 1, activation="relu6")))


NETWORKS = {make.__name__: make for make in (linear, mlp, cnn, cnn_bn, block, scan, lstm, transformer, gpt, resnet18_32,
                                             resnet18, resnet50, mobilenetv2, frozen_resnet18)}


def compiled(name, recipe, jit):
    """The network, ready to be trained."""
    model = Model(*NETWORKS[name]())
    kinds = {"adam": keras.optimizers.Adam, "adamw": keras.optimizers.AdamW, "adagrad": keras.optimizers.Adagrad,
             "momentum": lambda lr: keras.optimizers.SGD(lr, momentum=0.9)}
    loss = "mse" if recipe["loss"] == "mse" else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(kinds[recipe["optimizer"]](recipe["lr"]), loss, jit_compile=jit)
    return model


def channels_last(x):
    return ops.convert_to_numpy(ops.transpose(x, (0, 2, 3, 1))) if x.ndim == 4 else x
