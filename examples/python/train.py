"""Makes an inference model trainable, trains it on digits, and saves it: onward example digits -o digits.onnx"""

import numpy as np
import onward

train, test = np.load("digits-train.npz"), np.load("digits-test.npz")
images, labels = train["image"], train["label"]
model = onward.prepare(onward.load("digits.onnx"), loss="softmax_cross_entropy", optimizer="adam", lr=0.002)
trainer = onward.Trainer(model)

random = np.random.default_rng(42)
for epoch in range(4):
    losses = []
    for rows in np.array_split(random.permutation(len(labels)), len(labels) // 32):
        step = trainer.step({"image": images[rows], "label": labels[rows]})
        losses.append(step["loss"])
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")

scores = trainer.infer({"image": test["image"]})["scores"]
print(f"accuracy on {len(scores)} held-out examples: {100 * np.mean(scores.argmax(axis=1) == test['label']):.2f} %")
trainer.save("trained.onnx")
