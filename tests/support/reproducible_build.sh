#!/usr/bin/env bash
# usage: reproducible_build.sh SOURCE BUILD [CMAKE-OPTION...]
#
# Builds the source a second time, from a copy in another folder, and compares program and library
# with those of BUILD byte by byte: nothing of the place or time of a build may be in it. Prints the
# digests of both (harness/package/provenance.py makes a signed statement of them). Exit status: 0 equal, 1 different, 77 cannot be tried here.
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
source=$1
first=$2
shift 2

if ! git -C "$source" rev-parse --git-dir >/dev/null 2>&1; then
    echo "skipped: needs git and a checkout, to know which files are the source"
    exit 77
fi
elsewhere=$(mktemp -d "${TMPDIR:-/tmp}/assay elsewhere.XXXXXX")
trap 'rm -rf -- "$elsewhere"' EXIT

# A path with a space, and of another length, so that embedded paths are detected.
git -C "$source" ls-files -z --cached --others --exclude-standard |
    (cd "$source" && while IFS= read -r -d '' name; do
        [[ ! -e $name ]] || printf '%s\0' "$name"
    done | tar --null -T - -cf -) | tar -xf - -C "$elsewhere"
ln -s "$(cd "$source" && cd "$(git rev-parse --git-dir)" && pwd)" "$elsewhere/.git"

if ! {
    cmake -S "$elsewhere" -B "$elsewhere/build" -G Ninja -DASSAY_TESTS=OFF "$@" &&
        nice cmake --build "$elsewhere/build" --target assay assay_shared
} >"$elsewhere/log" 2>&1; then
    cat "$elsewhere/log"
    exit 1
fi
for file in bin/assay lib/libassay.so; do
    if cmp "$first/$file" "$elsewhere/build/$file"; then
        (cd "$first" && sha256sum "$file")
    else
        echo "the same source gave another $file in $elsewhere; what differs:"
        diff <(strings -a "$first/$file") <(strings -a "$elsewhere/build/$file") | head -20 || true
        exit 1
    fi
done
