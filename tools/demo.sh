#!/bin/sh
# What `make demo` shows: an inference model is made trainable and trained on digits. Its files stay in the folder
# that is given.
set -eu
examples=$(cd "$(dirname "$0")/../examples" && pwd)
mkdir -p "$1"
cd "$1"

say() {
  printf '\n$ %s\n' "$*"
  "$@"
}

cp "$examples"/digits-*.npz .
say onward example digits -o digits.onnx
say onward prepare digits.onnx -o training.onnx --loss softmax_cross_entropy --optimizer adam
say onward check training.onnx
say onward train training.onnx --data digits-train.npz --eval digits-test.npz --epochs 10 -o trained.onnx
say onward eval trained.onnx --data digits-test.npz
printf '\n%s/trained.onnx also holds the optimizer and its state: training it again continues from here.\n' "$PWD"
