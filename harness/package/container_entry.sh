#!/bin/sh
# Runs assay in the container as the one who owns the working folder, which is where results go: a folder of a
# user's that is mounted there can be written, and what is written belongs to its owner. Where another user
# was asked for (--user), or the container has the owner's rights as root (rootless podman), nothing changes.
set -eu

owner=$(stat -c %u .)
if [ "$(id -u)" -ne 0 ] || [ "$owner" -eq 0 ]; then
    exec assay "$@"
fi

# Devices of a GPU belong to groups, whose numbers are the host's.
groups=$(stat -c %g /dev/kfd /dev/dri/* 2>/dev/null | sort -u | paste -s -d , -) || true
if [ -n "$groups" ]; then
    exec setpriv --reuid "$owner" --regid "$(stat -c %g .)" --groups "$groups" -- assay "$@"
fi
exec setpriv --reuid "$owner" --regid "$(stat -c %g .)" --clear-groups -- assay "$@"
