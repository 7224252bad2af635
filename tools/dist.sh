#!/bin/bash
# Makes a tarball of an optimized build, with all that it needs but the C and C++ libraries: dist.sh BUILD_FOLDER OUTPUT_FOLDER
set -euo pipefail
build=$1 output=$(realpath -m "$2")
version=$(sed -nE 's/^project\(onward VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
name=onward-$version-linux-$(uname -m)
tree=$output/$name

rm -rf "$tree"
cmake --install "$build" --prefix "$tree" --component onward --strip > /dev/null
strip --strip-unneeded "$tree/lib/libdnnl.so.3"
cp --dereference "$(c++ -print-file-name=libgomp.so.1)" "$tree/lib/libgomp.so.1"
for library in $(readelf -d "$tree"/lib/libonward.so.*.*.* | sed -nE 's/.*NEEDED.*\[(lib(jpeg|png16)\.so\.[0-9]+)\]/\1/p'); do
  cp --dereference "$(c++ -print-file-name="$library")" "$tree/lib/$library"
done
cp LICENSE CHANGELOG.md README.md "$tree"
tools/notices.py "$tree/NOTICES"
mkdir "$tree/examples"
cp -r examples/c examples/cpp examples/digits-*.npz "$tree/examples"
tar -C "$output" --sort=name --owner=0 --group=0 --numeric-owner -czf "$output/$name.tar.gz" "$name"
echo "$output/$name.tar.gz"
