"""The networks of the benchmarks that PyTorch writes: what is trained, on what, and by which loss and optimizer."""

import dataclasses

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


@dataclasses.dataclass
class Job:
    """A network with one batch, and how both are made into a training step."""
    network: nn.Module
    x: torch.Tensor
    label: torch.Tensor
    loss: str = "softmax_cross_entropy"  # the name that `onward prepare` knows
    optimizer: str = "adam"
    lr: float = 1e-3
    trained: str = "*"  # a pattern of parameters' names

    def torch_loss(self):
        return nn.MSELoss() if self.loss == "mse" else nn.CrossEntropyLoss()

    def torch_optimizer(self):
        parameters = [each for each in self.network.parameters() if each.requires_grad]
        if self.optimizer == "momentum":
            return torch.optim.SGD(parameters, self.lr, momentum=0.9)
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "adagrad": torch.optim.Adagrad}[self.optimizer]
        return kind(parameters, self.lr)


def images(batch, size, classes, channels=3):
    return torch.randn(batch, channels, size, size), torch.randint(classes, (batch, ))


def linear():
    return Job(nn.Linear(1, 1, bias=False), torch.randn(5, 1), torch.randn(5, 1), "mse", "adagrad", 0.2)


def mlp():
    network = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    return Job(network, torch.randn(64, 784), torch.randint(10, (64, )))


def cnn():
    network = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                            nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))
    return Job(network, *images(64, 28, 10, channels=1))


def cnn_bn():
    """Convolutions with batch normalization, as in the first stage of a residual network."""
    def part(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

    network = nn.Sequential(*part(3, 32), *part(32, 64), nn.MaxPool2d(2), *part(64, 64), *part(64, 64),
                            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return Job(network, *images(64, 32, 10))


class Attention(nn.Module):
    def __init__(self, size, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))

    def forward(self, x):
        q, k, v = (part(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, size, heads, causal=False):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = Attention(size, heads, causal)
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(functional.gelu(self.wide(self.norm2(x))))


class OneBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.fc = Block(256, 4), nn.Linear(256, 10)

    def forward(self, x):
        return self.fc(self.block(x).mean(1))


def block():
    return Job(OneBlock(), torch.randn(64, 32, 256), torch.randint(10, (64, )))


class Scan(nn.Module):
    """A loop in Python over the steps of an LSTM cell."""

    def __init__(self, size):
        super().__init__()
        self.cell, self.fc = nn.LSTMCell(size, size), nn.Linear(size, 10)

    def forward(self, x):
        state = None
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
        return self.fc(state[0])


def scan():
    return Job(Scan(64), torch.randn(32, 32, 64), torch.randint(10, (32, )))


class CharacterLSTM(nn.Module):
    """Predicts the next of 96 characters."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(96, 128), nn.LSTM(128, 256, batch_first=True)
        self.fc = nn.Linear(256, 96)

    def forward(self, x):
        return self.fc(self.lstm(self.embedding(x))[0]).transpose(1, 2)


def lstm():
    return Job(CharacterLSTM(), torch.randint(96, (32, 64)), torch.randint(96, (32, 64)))


class Transformer(nn.Module):
    """An encoder that sorts texts into 10 classes."""

    def __init__(self, words=8192, size=256, heads=4, blocks=4, tokens=128):
        super().__init__()
        self.embedding, self.position = nn.Embedding(words, size), nn.Parameter(0.02 * torch.randn(tokens, size))
        self.blocks = nn.Sequential(*(Block(size, heads) for _ in range(blocks)))
        self.norm, self.fc = nn.LayerNorm(size), nn.Linear(size, 10)

    def forward(self, x):
        return self.fc(self.norm(self.blocks(self.embedding(x) + self.position)).mean(1))


def transformer():
    return Job(Transformer(), torch.randint(8192, (16, 128)), torch.randint(10, (16, )), optimizer="adamw")


class GPT(nn.Module):
    """Predicts the next of 4096 words."""

    def __init__(self, words=4096, size=192, heads=6, blocks=4, tokens=128):
        super().__init__()
        self.embedding, self.position = nn.Embedding(words, size), nn.Parameter(0.02 * torch.randn(tokens, size))
        self.blocks = nn.Sequential(*(Block(size, heads, causal=True) for _ in range(blocks)))
        self.norm, self.fc = nn.LayerNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, x):
        return self.fc(self.norm(self.blocks(self.embedding(x) + self.position))).transpose(1, 2)


def gpt():
    return Job(GPT(), torch.randint(4096, (8, 128)), torch.randint(4096, (8, 128)), optimizer="adamw")


def conv_norm(inputs, outputs, size, stride=1, groups=1):
    return [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]


class Residual(nn.Module):
    """What is added to its input, which is brought to its shape where it has another one; then a Relu."""

    def __init__(self, branch, inputs, outputs, stride):
        super().__init__()
        self.branch = nn.Sequential(*branch)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else nn.Sequential(*conv_norm(inputs, outputs, 1, stride))

    def forward(self, x):
        return functional.relu(self.branch(x) + self.shortcut(x))


def basic(inputs, width, stride):
    branch = [*conv_norm(inputs, width, 3, stride), nn.ReLU(), *conv_norm(width, width, 3)]
    return Residual(branch, inputs, width, stride)


def bottleneck(inputs, width, stride):
    branch = [*conv_norm(inputs, width, 1), nn.ReLU(), *conv_norm(width, width, 3, stride), nn.ReLU(),
              *conv_norm(width, 4 * width, 1)]
    return Residual(branch, inputs, 4 * width, stride)


class ResNet(nn.Module):
    def __init__(self, make, depths, classes):
        super().__init__()
        layers, inputs = [*conv_norm(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
        for stage, depth in enumerate(depths):
            for number in range(depth):
                layers.append(make(inputs, 64 << stage, 2 if stage and number == 0 else 1))
                inputs = (64 << stage) * (4 if make is bottleneck else 1)
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.fc(self.features(x))


def resnet18_32():
    return Job(ResNet(basic, [2, 2, 2, 2], 10), *images(32, 32, 10), optimizer="momentum", lr=0.01)


def resnet18():
    return Job(ResNet(basic, [2, 2, 2, 2], 1000), *images(16, 224, 1000), optimizer="momentum", lr=0.01)


def resnet50():
    return Job(ResNet(bottleneck, [3, 4, 6, 3], 1000), *images(8, 224, 1000), optimizer="momentum", lr=0.01)


def frozen_resnet18():
    """Only the head is trained, as in transfer learning; normalizations go by their running statistics."""
    network = ResNet(basic, [2, 2, 2, 2], 10)
    for name, parameter in network.named_parameters():
        parameter.requires_grad = name.startswith("fc.")
    network.eval()
    return Job(network, *images(16, 224, 10), trained="fc.*")


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        wide = inputs * expansion
        self.is_added = stride == 1 and inputs == outputs
        self.branch = nn.Sequential(*([] if expansion == 1 else [*conv_norm(inputs, wide, 1), nn.ReLU6()]),
                                    *conv_norm(wide, wide, 3, stride, groups=wide), nn.ReLU6(),
                                    *conv_norm(wide, outputs, 1))

    def forward(self, x):
        return x + self.branch(x) if self.is_added else self.branch(x)


class MobileNetV2(nn.Module):
    STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]

    def __init__(self, classes):
        super().__init__()
        layers, inputs = [*conv_norm(3, 32, 3, 2), nn.ReLU6()], 32
        for expansion, outputs, depth, stride in self.STAGES:
            for number in range(depth):
                layers.append(Inverted(inputs, outputs, stride if number == 0 else 1, expansion))
                inputs = outputs
        self.features = nn.Sequential(*layers, *conv_norm(inputs, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1),
                                      nn.Flatten())
        self.fc = nn.Linear(1280, classes)

    def forward(self, x):
        return self.fc(self.features(x))


def mobilenetv2():
    return Job(MobileNetV2(1000), *images(16, 224, 1000), optimizer="momentum", lr=0.01)


JOBS = {make.__name__: make for make in (linear, mlp, cnn, cnn_bn, block, scan, lstm, transformer, gpt, resnet18_32,
                                         resnet18, resnet50, mobilenetv2, frozen_resnet18)}


def job(name):
    torch.manual_seed(0)
    return JOBS[name]()


def flops(name):
    """Multiplications and additions in the convolutions and products of matrices of a step: those of the forward, and as
    many by the input and by the weights of each, where all are trained."""
    made = job(name)
    if name == "lstm":  # PyTorch's counter does not look into its kernel
        steps, batch, inputs, hidden = 64, 32, 128, 256
        forward = 2 * steps * batch * (4 * hidden * (inputs + hidden) + hidden * 96)
    else:
        counter = FlopCounterMode(display=False)
        with counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
            made.network(made.x)
        forward = counter.get_total_flops()
    return forward * (3 if made.trained == "*" else 1)
