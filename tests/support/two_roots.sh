#!/usr/bin/env bash
# A measurement made on one distribution, verified and repeated on another. See usage().
set -euo pipefail

usage() {
    cat <<'USAGE'
usage: two_roots.sh DIR [FROM [TO]]

In a bare Debian FROM (bookworm): builds HEAD, makes a key, measures, and bundles the campaign with
host names and its command withheld. In a bare Debian TO (trixie): builds HEAD again, verifies the
bundle with the public key alone, sees a forged copy refused, imports it, reproduces its result within
5 %, and shows which of the recorded fields differ. Needs what bare_root.sh needs, and 5 to 15 minutes
on two processors, package downloads included.

DIR keeps the pristine roots, and in DIR/two-roots the bundle, what verify and reproduce said, the
dossier of both campaigns and the log of each half. The verdict is on the last line. Exit status: 0
reproduced, not reproduced or inconclusive, each with its differences listed; 1 anything else.
USAGE
}

die() {
    echo "two_roots.sh: $*" >&2
    exit 1
}

shared=/shared
assay=build/release/bin/assay
# The margin of agreement, fixed before anything is measured: another compiler made the kernel.
margin=0.05

# A kernel that computes and stays in the cache, so that compilers may differ visibly and a
# neighbour's memory traffic does not matter; medians, since processors may be shared with other
# machines.
declare_work() {
    cat >work.yaml <<'YAML'
workload: gelu_in_cache
version: 1
kind: memory_bound
description: GELU of 16384 elements, which stay in the cache
precisions: [fp32]
batches: [1]
scenario: offline
memory_bound: {kernel: gelu, elements: 16384}
YAML
    cat >method.yaml <<'YAML'
extends: standard
name: two-roots
version: 1
trials: 20
warmup: {iterations: 10, time: 500ms}
window: {time: 2s, min_samples: 100}
cooldown: 0s
analysis: {compare_by: median}
YAML
}

# Inside FROM.
make() {
    ./bootstrap.sh build
    declare_work
    "$assay" key new >"$shared/public.key"
    "$assay" run ./work.yaml --device cpu:0 --protocol ./method.yaml --nonce two-roots \
        --question "Does this rate hold on another distribution?" --db made.db --quiet
    "$assay" bundle last -o "$shared/offer.assay" --db made.db \
        --withhold host.name --withhold campaign.command
    "$assay" verify made.db --key "$shared/public.key"
}

# One byte of what is signed changed: the middle of the file is samples.
forge() {
    local size
    cp "$shared/offer.assay" forged.assay
    size=$(stat -c %s forged.assay)
    printf 'X' | dd of=forged.assay bs=1 seek=$((size / 2)) conv=notrunc status=none
    if "$assay" verify forged.assay --key "$shared/public.key" >"$shared/forged.txt" 2>&1; then
        die "a forged bundle was verified"
    fi
    if "$assay" import forged.assay --db taken.db >>"$shared/forged.txt" 2>&1; then
        die "a forged bundle was taken in"
    fi
    rm -f taken.db
}

# Inside TO.
take() {
    local status=0 id
    ./bootstrap.sh build
    "$assay" verify "$shared/offer.assay" --key "$shared/public.key" --nonce two-roots |
        tee "$shared/verify.txt"
    forge
    "$assay" import "$shared/offer.assay" --db taken.db
    "$assay" import "$shared/offer.assay" --db taken.db # and again, which changes nothing
    id=$("$assay" export csv --db taken.db | sed -n '2s/"\([^"]*\)".*/\1/p')
    "$assay" reproduce "$id" --margin "$margin" --db taken.db >"$shared/reproduce.txt" || status=$?
    cat "$shared/reproduce.txt"
    "$assay" verify taken.db
    "$assay" report --db taken.db --dossier "$shared/dossier.html" "${id%/*}" last
    cp taken.db "$shared/"
    [[ $status -eq 0 || $status -eq 1 || $status -eq 3 ]] || die "reproduce ended with $status"
}

# Both halves named what differs between the distributions.
judge() {
    local expected verdict
    verdict=$(sed -n '1s/[:,].*//p' "$work/reproduce.txt")
    for expected in compiler libc; do
        grep -q "$expected" "$work/reproduce.txt" ||
            die "the list of differences does not name the $expected; see $work/reproduce.txt"
    done
    echo "two_roots.sh: $from to $to: $verdict"
}

case ${1-} in
--inside) "$2" && exit ;;
'' | -*) usage; exit 2 ;;
esac
mkdir -p "$1"
dir=$(cd "$1" && pwd)
from=${2-bookworm}
to=${3-trixie}
work=$dir/two-roots
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
rm -rf -- "$work"
mkdir -p "$work"
for half in "$from make" "$to take"; do
    echo "two_roots.sh: $half; the log is $work/${half#* }.log" >&2
    # shellcheck disable=SC2086  # two words
    set -- $half
    "$here/bare_root.sh" --share "$work" "$1" "$dir" -- tests/support/two_roots.sh --inside "$2" \
        >"$work/$2.log" 2>&1 || die "the half in $1 failed: $(tail -n 3 "$work/$2.log")"
done
judge
