#!/usr/bin/env bash
# Puts all that a machine with nothing but a driver and the vendor's libraries needs into one
# folder. usage: tests/device/pack.sh BUILD_FOLDER [OUT]
set -euo pipefail

[[ $# -ge 1 ]] || {
    echo "usage: $0 BUILD_FOLDER [OUT]" >&2
    exit 2
}
build=$1
out=${2:-$build/assay-device}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

rm -rf -- "$out"
mkdir -p "$out/bin" "$out/lib"
cp -L "$build/device/bin/device_check" "$build/device/bin/assay" \
    "$build/device/bin/test_conformance" "$out/bin/"
cp -r "$here/declared" "$here/README.md" "$out/"

# All shared libraries but the C library's own, which must be the target's.
ldd "$out"/bin/* | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' |
    while read -r library; do
        cp -L "$library" "$out/lib/"
    done

cat >"$out/run" <<'RUN'
#!/bin/sh
# ./run [--device cuda:0] [--protocol quick] ...: see README.md
here=$(cd "$(dirname "$0")" && pwd)
DEVICE_CHECK_LIBRARY_PATH=${LD_LIBRARY_PATH-}
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH DEVICE_CHECK_LIBRARY_PATH
exec "$here/bin/device_check" "$@"
RUN
chmod +x "$out/run"
glibc=$(objdump -T "$out"/bin/* "$out"/lib/* 2>/dev/null | grep -o 'GLIBC_2\.[0-9]*' |
    sort -Vu | tail -n 1)
echo "$out: $(du -sh "$out" | cut -f 1); the target needs ${glibc:-the same C library} or newer"
