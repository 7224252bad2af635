#!/bin/sh
# What `make demo` shows: an inference model is made trainable, trained on a folder of pictures, reported on, and
# used. Its files stay in the folder that is given.
set -eu
examples=$(cd "$(dirname "$0")/../examples" && pwd)
mkdir -p "$1"
cd "$1"

say() {
  printf '\n$ %s\n' "$*"
  "$@"
}

cp "$examples"/digits-*.npz "$examples"/digits_as_pictures.py .
rm -rf digits new-digits
say python3 digits_as_pictures.py digits-train.npz digits
say python3 digits_as_pictures.py digits-test.npz new-digits
say onward example digits -o digits.onnx
say onward prepare digits.onnx -o training.onnx --loss softmax_cross_entropy --optimizer adam --lr 0.002
say onward train training.onnx --data digits --val-split 0.2 --epochs 20 --early-stop accuracy:3 --keep best \
  --metrics accuracy,f1,confusion --report report.html -o trained.onnx
say onward eval trained.onnx --data new-digits
say onward predict trained.onnx --data new-digits -o predictions.csv
printf '\nLook at %s/report.html in a browser. trained.onnx also holds the optimizer and its state: training it again\n' "$PWD"
printf 'continues from here.\n'
