#!/bin/bash
# Runs each fuzz target of a build folder: tools/fuzz.sh BUILD_FOLDER SECONDS
# It starts from the small models inside the onnx package, our examples, arrays, images and tests/fuzz/seeds. A finding fails
# the run and stays in BUILD_FOLDER/fuzz; add it to tests/fuzz/seeds with the fix.
set -euo pipefail
build=$1
seconds=$2

seeds=$build/fuzz/seeds
rm -rf "$seeds"
mkdir -p "$seeds"
onnx=$("$ONWARD_TEST_PYTHON" -c 'import onnx, os; print(os.path.dirname(onnx.__file__))')
find "$onnx" -name '*.onnx' -size -8k -exec cp --backup=numbered -t "$seeds" {} +
"$ONWARD_TEST_PYTHON" - "$seeds" << 'END'
import sys, numpy as np
arrays = {"x": np.zeros((4, 3), np.float32, "F"), "label": np.arange(4), "text": np.array(["a", "bc"])}
np.savez(sys.argv[1] + "/stored.npz", **arrays)
np.savez_compressed(sys.argv[1] + "/deflated.npz", **arrays)
for name, array in arrays.items():
    np.save(f"{sys.argv[1]}/{name}.npy", array)
END
"$build/onward" example --all -o "$seeds" > /dev/null
if [ -d tests/fuzz/seeds ]; then cp tests/fuzz/seeds/* "$seeds"; fi
cp tests/image/files/* "$seeds"

# Side by side; each prints when it is done, the whole story where it found something.
declare -A runs
for source in tests/fuzz/*_fuzz.cpp; do
  name=$(basename "$source" .cpp)
  mkdir -p "$build/fuzz/$name"  # what earlier runs found worth keeping
  "$build/tests/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$build/fuzz/" -print_final_stats=1 "$build/fuzz/$name" "$seeds" > "$build/fuzz/$name.log" 2>&1 &
  runs[$name]=$!
done
failed=0
for name in "${!runs[@]}"; do
  if wait "${runs[$name]}"; then
    echo "$name: $(grep -o 'Done [0-9]* runs.*' "$build/fuzz/$name.log")"
  else
    cat "$build/fuzz/$name.log"
    failed=1
  fi
done
exit $failed
