#!/bin/sh
# oclgrind.sh FAULTY PROGRAM [ARG...]: a program's kernels in Oclgrind, an OpenCL interpreter that
# finds races and accesses out of bounds. Exit status 77 (skipped) where it is not installed.
set -u
faulty=$1
shift
icd=${ASSAY_OCLGRIND_ICD:-}
for candidate in /usr/lib/oclgrind /usr/lib64/oclgrind /usr/lib/*/oclgrind /usr/local/lib/oclgrind; do
    [ -n "$icd" ] && break
    [ -e "$candidate/liboclgrind-rt-icd.so" ] && icd=$candidate/liboclgrind-rt-icd.so
done
if [ -z "$icd" ]; then
    echo "SKIP: liboclgrind-rt-icd.so is not here (Debian package oclgrind)"
    exit 77
fi
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
export OCL_ICD_VENDORS="$icd" OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1
export OCLGRIND_LOCAL_MEM_SIZE=1048576 # a CPU has more than its default of 32 KiB
unset ASSAY_LIB_OPENCL

"$faulty" >"$log" 2>&1
if ! grep -q 'data race' "$log" || ! grep -q 'Invalid write' "$log"; then
    cat "$log"
    echo "FAIL: Oclgrind did not report the defects of the faulty kernels, so it proves nothing"
    exit 1
fi

"$@" >"$log" 2>&1
status=$?
if grep -q -E 'data race|Invalid (read|write)|divergence|Oclgrind.*FATAL|unaligned' "$log"; then
    status=1
fi
if ! grep -q 'Oclgrind' "$log" || [ $status -ne 0 ]; then
    cat "$log"
    echo "FAIL under $icd"
    exit 1
fi
grep -c -E ' OK \]|^ok ' "$log" | sed 's/$/ tests passed under Oclgrind, no race, nothing out of bounds/'
