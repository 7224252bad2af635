#!/bin/bash
# Makes a wheel that needs nothing but the C and C++ libraries: wheel.sh OUTPUT_FOLDER. What program and module are linked
# with lies inside, and so do the licences of all that does. Its tag names the oldest glibc that it runs with.
set -euo pipefail
output=$(realpath -m "$1")
unrepaired=$output/unrepaired

rm -rf "$unrepaired" "$output"/onward-*.whl
mkdir -p "$unrepaired"
tools/notices.py "$output/NOTICES"
"$ONWARD_TOOLS/bin/pip" wheel --no-deps --no-build-isolation --wheel-dir "$unrepaired" \
  --config-settings "cmake.define.ONWARD_NOTICES=$output/NOTICES" . >&2
tools/setup.py wheel auditwheel repair --strip --wheel-dir "$output" "$unrepaired"/onward-*.whl >&2
rm -r "$unrepaired"
echo "$output"/onward-*.whl
