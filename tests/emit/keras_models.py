"""A ViT, a GPT and a ResNet-18 as people write them in Keras, at sizes that tests can train."""

import keras
from keras import layers, ops


# vit
class Attention(layers.Layer):
    def __init__(self, dim, heads, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.qkv = layers.Dense(3 * dim)
        self.proj = layers.Dense(dim)

    def call(self, x):
        b, n, c = ops.shape(x)
        qkv = ops.reshape(self.qkv(x), (b, n, 3, self.heads, c // self.heads))
        qkv = ops.transpose(qkv, (2, 0, 3, 1, 4))
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = ops.matmul(q, ops.swapaxes(k, -2, -1)) * (c // self.heads) ** -0.5
        x = ops.matmul(ops.softmax(scores), v)
        return self.proj(ops.reshape(ops.swapaxes(x, 1, 2), (b, n, c)))


class EncoderBlock(layers.Layer):
    def __init__(self, dim, heads, **kwargs):
        super().__init__(**kwargs)
        self.norm1 = layers.LayerNormalization()
        self.attn = Attention(dim, heads)
        self.norm2 = layers.LayerNormalization()
        self.mlp = keras.Sequential([layers.Dense(4 * dim, activation="gelu"), layers.Dense(dim)])

    def call(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class VisionTransformer(keras.Model):
    def __init__(self, size=16, patch=4, dim=24, depth=3, heads=4, classes=10, **kwargs):
        super().__init__(**kwargs)
        self.patch_embed = layers.Conv2D(dim, patch, strides=patch)
        self.cls_token = self.add_weight(shape=(1, 1, dim), name="cls_token")
        self.pos_embed = self.add_weight(shape=(1, 1 + (size // patch) ** 2, dim), name="pos_embed")
        self.blocks = [EncoderBlock(dim, heads) for _ in range(depth)]
        self.norm = layers.LayerNormalization()
        self.head = layers.Dense(classes, activation="softmax")

    def call(self, x):
        x = self.patch_embed(x)
        b, h, w, c = ops.shape(x)
        x = ops.reshape(x, (b, h * w, c))
        x = ops.concatenate([ops.broadcast_to(self.cls_token, (b, 1, c)), x], axis=1)
        x = x + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


# gpt
class CausalSelfAttention(layers.Layer):
    def __init__(self, dim, heads, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.q_proj = layers.Dense(dim)
        self.k_proj = layers.Dense(dim)
        self.v_proj = layers.Dense(dim)
        self.out_proj = layers.Dense(dim)

    def call(self, x):
        b, t, c = ops.shape(x)
        q = ops.transpose(ops.reshape(self.q_proj(x), (b, t, self.heads, c // self.heads)), (0, 2, 1, 3))
        k = ops.transpose(ops.reshape(self.k_proj(x), (b, t, self.heads, c // self.heads)), (0, 2, 1, 3))
        v = ops.transpose(ops.reshape(self.v_proj(x), (b, t, self.heads, c // self.heads)), (0, 2, 1, 3))
        scores = ops.matmul(q, ops.swapaxes(k, -2, -1)) / (c // self.heads) ** 0.5
        positions = ops.arange(t)
        scores = ops.where(positions[:, None] < positions, float("-inf"), scores)
        y = ops.matmul(ops.softmax(scores), v)
        return self.out_proj(ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (b, t, c)))


class MLP(layers.Layer):
    def __init__(self, dim, **kwargs):
        super().__init__(**kwargs)
        self.fc = layers.Dense(4 * dim)
        self.proj = layers.Dense(dim)

    def call(self, x):
        return self.proj(ops.gelu(self.fc(x), approximate=True))


class Block(layers.Layer):
    def __init__(self, dim, heads, **kwargs):
        super().__init__(**kwargs)
        self.ln_1 = layers.LayerNormalization()
        self.attn = CausalSelfAttention(dim, heads)
        self.ln_2 = layers.LayerNormalization()
        self.mlp = MLP(dim)

    def call(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class GPT(keras.Model):
    def __init__(self, vocabulary=50, context=12, dim=24, depth=3, heads=4, **kwargs):
        super().__init__(**kwargs)
        self.wte = layers.Embedding(vocabulary, dim)
        self.wpe = layers.Embedding(context, dim)
        self.blocks = [Block(dim, heads) for _ in range(depth)]
        self.ln_f = layers.LayerNormalization()
        self.lm_head = layers.Dense(vocabulary, use_bias=False)

    def call(self, tokens):
        x = self.wte(tokens) + self.wpe(ops.arange(ops.shape(tokens)[1]))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


# resnet
class BasicBlock(layers.Layer):
    def __init__(self, filters, strides=1, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)
        self.bn1 = layers.BatchNormalization()
        self.conv2 = layers.Conv2D(filters, 3, padding="same", use_bias=False)
        self.bn2 = layers.BatchNormalization()
        self.downsample = None
        if strides != 1:
            self.downsample = keras.Sequential([
                layers.Conv2D(filters, 1, strides=strides, use_bias=False),
                layers.BatchNormalization(),
            ])

    def call(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = ops.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        return ops.relu(x + shortcut)


class ResNet18(keras.Model):
    def __init__(self, width=8, classes=10, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = layers.Conv2D(width, 7, strides=2, padding="same", use_bias=False)
        self.bn1 = layers.BatchNormalization()
        self.maxpool = layers.MaxPooling2D(3, strides=2, padding="same")
        self.layer1 = keras.Sequential([BasicBlock(width), BasicBlock(width)])
        self.layer2 = keras.Sequential([BasicBlock(2 * width, strides=2), BasicBlock(2 * width)])
        self.layer3 = keras.Sequential([BasicBlock(4 * width, strides=2), BasicBlock(4 * width)])
        self.layer4 = keras.Sequential([BasicBlock(8 * width, strides=2), BasicBlock(8 * width)])
        self.avgpool = layers.GlobalAveragePooling2D()
        self.fc = layers.Dense(classes, activation="softmax")

    def call(self, x, training=False):
        x = self.maxpool(ops.relu(self.bn1(self.conv1(x))))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        return self.fc(self.avgpool(x))
