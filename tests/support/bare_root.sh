#!/usr/bin/env bash
# Run a command in a clean clone of this repository's HEAD inside a bare Debian root.
# See usage() below; tests/README.md says when to use it.
set -euo pipefail

usage() {
    cat <<'USAGE'
usage: bare_root.sh [--user] [--keep] [--share FOLDER] RELEASE DIR -- COMMAND [ARG...]

Makes a bare Debian RELEASE (bookworm, trixie) by debootstrap --variant=minbase, clones HEAD of
this repository into it, and runs COMMAND in the clone. Needs root, debootstrap and git.

  RELEASE   a Debian release for which debootstrap has a script
  DIR       a folder for the pristine root (base-RELEASE.tar, made once and used again) and for
            the working root, which is new in every run and removed at its end
  --user    run COMMAND as an ordinary user with sudo, not as root
  --keep    leave the working root in DIR and print its path
  --share   show this folder, which must be there, as /shared inside

The package mirror is the host's own (apt-get indextargets). On a host without apt, or with another
distribution's, set ASSAY_DEBIAN_MIRROR (and ASSAY_DEBIAN_SECURITY_MIRROR). CI is passed on to
COMMAND. The exit status is COMMAND's.
USAGE
}

die() {
    echo "bare_root.sh: $*" >&2
    exit 2
}

user=false
keep=false
share=
while [[ ${1-} == -* ]]; do
    case $1 in
    --user) user=true ;;
    --keep) keep=true ;;
    --share)
        [[ $# -ge 2 && -d $2 ]] || die "--share wants a folder that is there"
        share=$(cd "$2" && pwd)
        shift
        ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
[[ $# -ge 4 && $3 == -- ]] || { usage >&2; exit 2; }
release=$1
dir=$2
shift 3

[[ $EUID -eq 0 ]] || die "making a root needs root; run it with sudo"
for tool in debootstrap git unshare tar; do
    command -v "$tool" >/dev/null || die "$tool is not installed (Debian: apt-get install $tool)"
done
repository=$(git -C "$(dirname -- "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)

# The first URI that the host's apt uses for repositories with this label.
host_mirror() {
    command -v apt-get >/dev/null || return 0
    # shellcheck disable=SC2016  # apt expands $(REPO_URI), not the shell
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Label: $1" 2>/dev/null |
        sed -n 1p
}

mirror=${ASSAY_DEBIAN_MIRROR:-$(host_mirror Debian)}
security=${ASSAY_DEBIAN_SECURITY_MIRROR:-$(host_mirror Debian-Security)}
[[ -n $mirror ]] || die "no Debian mirror in the host's apt lists; set ASSAY_DEBIAN_MIRROR"

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
base=$dir/base-$release.tar
root=$(mktemp -d "$dir/root-$release.XXXXXX")
# shellcheck disable=SC2317,SC2329  # called by the trap
cleanup() {
    if $keep; then
        echo "bare_root.sh: working root kept in $root" >&2
    else
        rm -rf --one-file-system -- "$root"
    fi
}
trap cleanup EXIT
chmod 755 "$root"

if [[ ! -e $base ]]; then
    echo "bare_root.sh: debootstrap $release from $mirror" >&2
    debootstrap --variant=minbase "$release" "$root" "$mirror" >"$dir/debootstrap-$release.log" ||
        die "debootstrap failed; see $dir/debootstrap-$release.log"
    {
        echo "deb $mirror $release main"
        echo "deb $mirror $release-updates main"
        [[ -z $security ]] || echo "deb $security $release-security main"
    } >"$root/etc/apt/sources.list"
    apt-config dump 2>/dev/null | grep -i '^Acquire::https\?::Proxy' \
        >"$root/etc/apt/apt.conf.d/90proxy" || true
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    tar -C "$root" --numeric-owner --xattrs -cf "$base.part" .
    mv "$base.part" "$base"
else
    tar -C "$root" --numeric-owner --xattrs -xpf "$base"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
printf '127.0.0.1 localhost %s\n' "$(uname -n)" >"$root/etc/hosts"

home=/root
if $user; then
    home=/home/newcomer
    chroot "$root" useradd -m -s /bin/bash newcomer
    chroot "$root" sh -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
        apt-get -qq install -y --no-install-recommends -o Dpkg::Use-Pty=0 sudo >/dev/null 2>&1'
    echo 'newcomer ALL=(ALL) NOPASSWD:ALL' >"$root/etc/sudoers.d/newcomer"
fi
git clone -q --no-hardlinks "$repository" "$root$home/assay"
git -C "$root$home/assay" -c advice.detachedHead=false checkout -q \
    "$(git -C "$repository" rev-parse HEAD)"
if $user; then
    chroot "$root" chown -R newcomer: "$home/assay"
fi

# What runs inside: mounts of its own, and process ids of its own, so that nothing outlives it.
# shellcheck disable=SC2016  # expanded by the inner shells
inside='
set -eu
root=$1; home=$2; account=$3; share=$4; shift 4
mount --bind "$root" "$root" # so that / is a mount point inside
[ -z "$share" ] || { mkdir -p "$root/shared"; mount --bind "$share" "$root/shared"; }
mount --rbind --make-rslave /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t proc proc "$root/proc"
mount --rbind --make-rslave /sys "$root/sys"
exec chroot --userspec="$account" "$root" env -i HOME="$home" CI="${CI-}" TERM=dumb LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c '\''cd "$HOME/assay" && exec "$@"'\'' sh "$@"
'
account=root:root
if $user; then
    account=newcomer:newcomer
fi
status=0
unshare --mount --pid --fork --kill-child sh -c "$inside" sh "$root" "$home" "$account" "$share" "$@" ||
    status=$?
exit "$status"
