"""A training with a schedule, clipping, groups and averages goes on from a checkpoint as if it had never stopped."""

from program import digits, done, equal_bits, example, state


def test_resumed_in_the_middle(tmp_path):
    done("train", example(tmp_path, "logistic"), "--data", digits(tmp_path), "--steps", 1, "--inference",
         "-o", tmp_path / "inference.onnx")
    done("prepare", tmp_path / "inference.onnx", "--loss", "softmax_cross_entropy", "--optimizer", "adamw", "--lr", 0.1,
         "--schedule", "one_cycle", "--schedule-steps", 30, "--warmup-steps", 5, "--clip-norm", 0.5, "--ema", 0.9,
         "--group", "*b*:lr=0.01,weight_decay=0", "-o", tmp_path / "training.onnx")
    train = ["train", tmp_path / "training.onnx", "--data", digits(tmp_path), "--batch-size", 8]
    done(*train, "--steps", 20, "-o", tmp_path / "straight.onnx")
    done(*train, "--steps", 11, "--checkpoint", tmp_path / "kept", "-o", tmp_path / "first.onnx")
    done(*train, "--steps", 20, "--checkpoint", tmp_path / "kept", "--resume", "-o", tmp_path / "resumed.onnx")
    assert equal_bits(tmp_path / "resumed.onnx", tmp_path / "straight.onnx")
    assert state(tmp_path / "resumed.onnx")["step"] == 20
