#!/bin/sh
# What `make demo` shows: a training file is made, checked and shown.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

say() {
  printf '\n$ %s\n' "$*"
  "$@"
}

say onward example linear -o linear.onnx
say onward check linear.onnx
say onward show linear.onnx
