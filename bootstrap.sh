#!/usr/bin/env bash
# From a bare Debian (12, 13) or Ubuntu to a first result, or to a tested build. See usage().
set -euo pipefail

usage() {
    cat <<'USAGE'
usage: ./bootstrap.sh COMMAND

  run        install what is missing, build, and measure: the suite first-look under the protocol
             quick on every usable device; prints the table and where database and report are
  test       install what is missing, build with warnings as errors, run the short set of tests:
             every folder and kind, at most five minutes on two processors
  test --all the whole test suite
  sanitize   under AddressSanitizer and UBSan: the unit, conformance and fuzz tests, and those of the
             command line that call each command
  check      what CI checks besides: a build by clang with warnings as errors and the line coverage
             of the short set, the tests of threads under ThreadSanitizer, clang-format, clang-tidy;
             `check coverage`, `check threads`, `check format`, `check tidy`: one of them
  build      install what is missing and build (build/release/bin/assay)
  package    build a Debian package (build/release/assay.deb)
  install    install the packages that run needs; `install test`, `install check`, `install package`
             those of test, check, package

Packages come from the distribution, by apt-get, as root or through sudo; on a distribution
without apt-get the names are printed, and the work goes on if the tools are there.

environment:
  ASSAY_RESULTS   folder for first-look.db and first-look.html (default: assay-results, here)
  ASSAY_JOBS      parallel compile jobs (default: one a processor)
  ASSAY_TEST_JOBS parallel tests (default: three times as many, since most of their time is waiting)
USAGE
}

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
jobs=${ASSAY_JOBS:-$(nproc)}
test_jobs=${ASSAY_TEST_JOBS:-$((3 * jobs))}
results=${ASSAY_RESULTS:-$here/assay-results}

# OpenCL's loader and PoCL are not linked: they are the device that every machine has.
run_packages=(gcc libc6-dev cmake ninja-build pkgconf libsqlite3-dev libcsv-dev libyaml-dev
    libjansson-dev libsodium-dev libssl-dev libelf-dev libcurl4-openssl-dev ocl-icd-libopencl1
    pocl-opencl-icd)
# shellcheck disable=SC2034  # by reference in install_by_apt
test_packages=("${run_packages[@]}" libcmocka-dev openssl sqlite3 python3
    python3-cryptography git shellcheck)
# Not in every release. oneDNN, whose package is named after its version, computes the vendor implementation's
# GEMMs on the CPU, CLBlast those of OpenCL devices; pip installs the frameworks of `assay worker install`; the
# tests that want one of the others say "skipped" without it.
# shellcheck disable=SC2034  # by reference in install_by_apt
optional_run_packages=(libdnnl2 libdnnl3 libdnnl3.6 libclblast1 python3-venv)
# shellcheck disable=SC2034
optional_test_packages=("${optional_run_packages[@]}" g++ chromium fonts-dejavu-core opencl-headers
    oclgrind libdnnl-dev libclblast-dev libamdhip64-dev libhiprtc-builtins5 librocm-smi-dev
    python3-jsonschema python3-pandas python3-cffi python3-pytest rpm util-linux iproute2 swtpm tpm2-tools zsh fish)
# shellcheck disable=SC2034
package_packages=("${run_packages[@]}" dpkg-dev file)
# shellcheck disable=SC2034
optional_package_packages=()
# Each of the checks says "skipped" without its tools.
# shellcheck disable=SC2034
check_packages=("${test_packages[@]}")
# shellcheck disable=SC2034
optional_check_packages=("${optional_test_packages[@]}" clang libomp-dev llvm clang-format clang-tidy)

say() {
    printf '==> %s\n' "$*"
}

die() {
    printf 'bootstrap.sh: %s\n' "$@" >&2
    exit 1
}

missing_of() {
    local package installed
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
    for package in "$@"; do
        grep -qxF "installed $package" <<<"$installed" || echo "$package"
    done
}

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    elif [[ -t 0 ]]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

check_space() {
    local need_mib=$1 have_kib
    have_kib=$(df -Pk /usr | awk 'NR == 2 { print $4 }')
    [[ $have_kib -ge $((need_mib * 1024)) ]] || die \
        "the packages need about $need_mib MiB and /usr has $((have_kib / 1024)) MiB free" \
        "free some space (apt-get clean helps) and run this again"
}

# apt_get WHAT ARG...: quiet when it works; when it does not, its own words and what they mean. A
# refresh that reaches no mirror is only a warning to apt-get, so the log of both calls is read.
apt_get() {
    local what=$1 log=$scratch/apt.log
    shift
    if as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 \
        -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" >>"$log" 2>&1 </dev/null; then
        return 0
    fi
    grep -E '^(E|W|Err)' "$log" | tail -n 8 >&2 || tail -n 8 "$log" >&2
    if grep -qiE 'no space left|enough free space' "$log"; then
        die "apt-get could not $what: the disk is full" "free some space and run this again"
    elif grep -qiE 'could not resolve|failure resolving|could not connect|unable to connect|network is unreachable|failed to fetch|connection timed out' "$log"; then
        die "apt-get could not $what: the package mirror cannot be reached" \
            "check the network (or the proxy in /etc/apt/apt.conf.d) and run this again"
    elif grep -q 'Unable to locate package' "$log"; then
        die "apt-get could not $what: this release lacks a package named above" \
            "Debian 12 and 13 have them all in main, Ubuntu in main and universe"
    fi
    die "apt-get could not $what; its messages stand above"
}

# Whether packages can be installed: as root, or through a sudo that lets us.
may_install() {
    [[ $EUID -eq 0 ]] || { command -v sudo && as_root true; } >/dev/null 2>&1
}

install_by_apt() {
    local set=$1 missing extra optional
    local -n wanted=${set}_packages wanted_extra=optional_${set}_packages
    mapfile -t missing < <(missing_of "${wanted[@]}")
    mapfile -t extra < <(missing_of "${wanted_extra[@]}")
    mapfile -t optional < <(available_of "${extra[@]}")
    if [[ ${#missing[@]} -eq 0 && ${#optional[@]} -eq 0 ]]; then
        say "every package is installed already"
        return
    fi
    if ! may_install; then
        [[ ${#missing[@]} -eq 0 ]] || die "packages are missing, and there is neither root nor a sudo that works" \
            "ask an administrator for: apt-get update && apt-get install --no-install-recommends ${missing[*]} ${optional[*]}"
        say "going on without ${optional[*]}, which need root or sudo to install"
        return
    fi
    # All of them take 2.1 GB: about 100 MiB a package.
    check_space $((100 * (${#missing[@]} + ${#extra[@]})))
    say "refreshing the package lists"
    apt_get "refresh the package lists" update
    mapfile -t optional < <(available_of "${extra[@]}")
    say "installing (some minutes on a slow line): ${missing[*]} ${optional[*]}"
    apt_get "install the packages" install --no-install-recommends "${missing[@]}" "${optional[@]}"
}

# Those of the named packages that the release has; none before its lists were fetched once.
available_of() {
    [[ $# -eq 0 ]] || { apt-cache policy "$@" 2>/dev/null || true; } |
        awk '/^[^ ]/ { sub(":$", "", $1); name = $1 } /Candidate: [0-9]/ { print name }'
}

explain_other_distribution() {
    local set=$1 id=${ID-unknown} like="${ID-} ${ID_LIKE-}" test=true
    [[ $set =~ ^(run|package)$ ]] && test=false
    say "no apt-get here ($id): install these by hand if they are missing"
    case " $like " in
    *fedora* | *rhel* | *centos*)
        echo "  dnf install gcc cmake ninja-build pkgconf-pkg-config sqlite-devel libcsv-devel \\"
        echo "      libyaml-devel jansson-devel libsodium-devel openssl-devel elfutils-libelf-devel libcurl-devel \\"
        echo "      ocl-icd pocl"
        ! $test || echo "  dnf install libcmocka-devel sqlite python3 python3-cryptography git ShellCheck chromium opencl-headers"
        ;;
    *suse*)
        echo "  zypper install gcc cmake ninja pkgconf-pkg-config sqlite3-devel libcsv-devel \\"
        echo "      libyaml-devel libjansson-devel libsodium-devel libopenssl-3-devel libelf-devel libcurl-devel \\"
        echo "      libOpenCL1 pocl"
        ! $test || echo "  zypper install libcmocka-devel sqlite3 python3 python3-cryptography git ShellCheck chromium opencl-headers"
        ;;
    *arch*)
        echo "  pacman -S gcc cmake ninja pkgconf sqlite libyaml jansson libsodium openssl libelf curl ocl-icd pocl"
        echo "  and from the AUR: libcsv"
        ! $test || echo "  pacman -S cmocka python git shellcheck chromium opencl-headers"
        ;;
    *)
        echo "  a C compiler with OpenMP, cmake 3.22, ninja, pkg-config; with their headers: sqlite3,"
        echo "  libcsv, libyaml, jansson, libsodium, OpenSSL 3, libelf, libcurl; an OpenCL loader and PoCL"
        ! $test || echo "  cmocka, sqlite3, python3 with cryptography, git, shellcheck, chromium, the OpenCL headers"
        ;;
    esac
}

# What the build needs, found by trying; the names of what is not there.
probe() {
    local set=$1 tool module
    for tool in "${CC:-cc}" cmake ninja pkg-config; do
        command -v "$tool" >/dev/null || echo "$tool"
    done
    local modules=(sqlite3 jansson libsodium libcrypto libelf yaml-0.1 libcurl)
    [[ $set =~ ^(run|package)$ ]] || modules+=(cmocka)
    for module in "${modules[@]}"; do
        pkg-config --exists "$module" 2>/dev/null || echo "$module (by pkg-config)"
    done
    echo 'int main(void) { return 0; }' >"$scratch/probe.c"
    "${CC:-cc}" -include csv.h -o "$scratch/probe" "$scratch/probe.c" -lcsv 2>/dev/null ||
        echo "libcsv (csv.h, -lcsv)"
    "${CC:-cc}" -fopenmp -o "$scratch/probe" "$scratch/probe.c" 2>/dev/null ||
        echo "OpenMP (-fopenmp)"
}

install_packages() {
    local set=$1 lacking
    if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
        install_by_apt "$set"
    else
        local ID='' ID_LIKE=''
        # shellcheck disable=SC1091
        [[ ! -r /etc/os-release ]] || . /etc/os-release
        explain_other_distribution "$set"
    fi
    mapfile -t lacking < <(probe "$set")
    [[ ${#lacking[@]} -eq 0 ]] || die "cannot build, these are not usable here:" "${lacking[@]/#/  }"
}

# configure PRESET [OPTION...]: a build folder copied or moved from elsewhere starts anew.
configure() {
    local preset=$1 folder=$here/build/$1
    shift
    if [[ -e $folder/CMakeCache.txt ]] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$here" "$folder/CMakeCache.txt"; then
        rm -rf -- "$folder"
    fi
    (cd "$here" && cmake --preset "$preset" "$@" >"$scratch/configure.log" 2>&1) || {
        cat "$scratch/configure.log" >&2
        die "CMake could not configure $folder; its messages stand above"
    }
}

duration() {
    if [[ $1 -ge 60 ]]; then echo "$(($1 / 60)) min $(($1 % 60)) s"; else echo "$1 s"; fi
}

# Ninja's lines "[done/all seconds] what" as one counter that is written over on a terminal, and as a
# line each half minute elsewhere; the time left is that of the steps so far. Other lines pass.
counter() {
    local line pattern='^\[([0-9]+)/([0-9]+) ([0-9]+)[.0-9]*\] ' text said=0 clear='' end=$'\n'
    [[ ! -t 1 ]] || { clear=$'\r\e[K' end=''; }
    while IFS= read -r line; do
        if [[ ! $line =~ $pattern ]]; then
            printf '%s%s\n' "$clear" "$line"
            continue
        fi
        [[ ${BASH_REMATCH[1]} -gt 0 ]] || continue
        text="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps, about $(duration $((
            BASH_REMATCH[3] * (BASH_REMATCH[2] - BASH_REMATCH[1]) / BASH_REMATCH[1]))) left"
        if [[ -n $clear ]] || ((BASH_REMATCH[3] >= said + 30)); then
            printf '%s    %s%s' "$clear" "$text" "$end"
            said=${BASH_REMATCH[3]}
        fi
    done
    printf '%s' "$clear"
}

# build PRESET [OPTION...]
build() {
    local preset=$1
    say "building in $here/build/$preset"
    (cd "$here" && NINJA_STATUS='[%f/%t %e] ' cmake --build --preset "$preset" --parallel "$jobs" \
        "${@:2}" 2>&1) </dev/null | counter || die "the build failed; its messages stand above"
}

build_release() {
    install_packages run
    configure release -DASSAY_TESTS=OFF
    build release
}

command_package() {
    install_packages package
    configure release -DASSAY_TESTS=OFF
    build release
    (cd "$here" && cmake --build --preset release --target package >"$scratch/package.log" 2>&1) || {
        cat "$scratch/package.log" >&2
        die "the package could not be made; the messages above say why"
    }
    say "package: $here/build/release/assay.deb; sudo apt install ./build/release/assay.deb"
}

# PoCL keeps compiled kernels under the home folder; where that cannot be written, beside the build.
provide_cache() {
    local cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}
    if ! mkdir -p "$cache" 2>/dev/null || [[ ! -w $cache ]]; then
        export XDG_CACHE_HOME=$here/build/cache POCL_CACHE_DIR=$here/build/cache/pocl
        mkdir -p "$POCL_CACHE_DIR"
    fi
}

# promtool checks what is exported for Prometheus. Its package would start a service, so the one
# program is taken out of it; without it that test says "skipped".
provide_promtool() {
    local tools=$here/build/tools
    export PATH=$tools:$PATH
    if command -v promtool >/dev/null || ! command -v apt-get >/dev/null; then
        return
    fi
    say "taking promtool out of the package prometheus"
    if (mkdir -p "$tools" "$scratch/prometheus" && cd "$scratch/prometheus" &&
        apt-get -q download prometheus >>"$scratch/apt.log" 2>&1 </dev/null &&
        dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool); then
        mv "$scratch/prometheus/usr/bin/promtool" "$tools/promtool"
    else
        say "going on without promtool"
    fi
}

command_run() {
    local status=0 database=$results/first-look.db html=$results/first-look.html
    local assay=$here/build/release/bin/assay
    build_release
    provide_cache
    mkdir -p "$results" || die "cannot make $results; name another folder in ASSAY_RESULTS"
    say "measuring: suite first-look, protocol quick, every usable device"
    "$assay" run first-look --protocol quick --db "$database" </dev/null || status=$?
    [[ -e $database ]] || die "the run left no database (exit status $status)"
    "$assay" report --db "$database" --html "$html" >/dev/null || status=$?
    [[ $status -eq 0 ]] ||
        say "something did not go well (exit status $status); the messages above and the report say what"
    printf 'database: %s\nreport:   %s\n' "$database" "$html"
    exit "$status"
}

# run_tests PRESET [OPTION...]: ctest's verdict is said once more at the end, after its lists.
# More tests than processors run at once, so OpenMP's threads must sleep while they wait: spinning,
# they take each other's time, and a test of two seconds takes ninety.
run_tests() {
    local preset=$1 status=0
    shift
    (cd "$here" && export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}" &&
        ctest --preset "$preset" --parallel "$test_jobs" --no-label-summary "$@") \
        </dev/null 2>&1 | tee "$scratch/ctest.log" || status=$?
    sed -n 's/^\([0-9]*% tests passed.*\)/\1/p' "$scratch/ctest.log" | tail -n 1
    return "$status"
}

command_test() {
    local preset=short
    [[ ${1-} != --all ]] || preset=ci
    install_packages test
    configure ci
    build ci
    provide_cache
    provide_promtool
    say "testing"
    run_tests "$preset"
}

# What a sanitizer finds in a process of the command line is a file in found (tests/cli/CMakeLists.txt).
command_sanitize() {
    local reports=$here/build/asan/found status=0
    install_packages test
    configure asan -DASSAY_WERROR=ON
    build asan
    provide_cache
    mkdir -p "$reports"
    rm -f -- "$reports"/*
    say "testing under AddressSanitizer and UndefinedBehaviorSanitizer"
    run_tests asan -L '^(unit|conformance|fuzz|sanitized)$' -LE '^long$' || status=$?
    if [[ -n $(ls -A "$reports") ]]; then
        head -n 40 "$reports"/* >&2
        die "a sanitizer found what stands above; the whole is in $reports"
    fi
    return "$status"
}

# has TOOL...: false, and says that the check is skipped, where one is missing.
has() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || {
            say "skipped: there is no $tool"
            return 1
        }
    done
}

# What the short set reaches of the program, by room; the parts that only CI's long tests or a real
# device reach count as not covered.
check_coverage() {
    local folder=$here/build/coverage profile=$here/build/coverage/profile status=0
    has clang llvm-profdata llvm-cov || return 0
    configure coverage || return
    build coverage || return
    rm -rf -- "$profile"
    provide_cache
    LLVM_PROFILE_FILE=$profile/%4m.profraw run_tests coverage || status=$?
    llvm-profdata merge -sparse -o "$profile/all" "$profile"/*.profraw || status=$?
    llvm-cov export -summary-only -instr-profile "$profile/all" "$folder/bin/assay" |
        python3 "$here/tests/support/coverage.py" || status=$?
    return "$status"
}

check_threads() {
    has clang || return 0
    configure tsan -DASSAY_WERROR=ON || return
    build tsan --target assay_thread_tests || return
    provide_cache
    run_tests tsan -L '^threads$'
}

# Versions differ in details, so that only the one that the tree is formatted by can judge.
check_format() {
    local version
    has clang-format git || return 0
    version=$(clang-format --version | sed -n 's/.*version \([0-9]*\).*/\1/p')
    if [[ $version -ne 14 ]]; then
        say "skipped: the tree is formatted by clang-format 14; this is version $version"
        return 0
    fi
    (cd "$here" && git ls-files -z '*.c' '*.h' | xargs -0 -n 64 -P "$jobs" clang-format --dry-run -Werror) || {
        say "the files above are not formatted: clang-format -i FILE"
        return 1
    }
}

check_tidy() {
    local folder=$here/build/ci log=$scratch/tidy.log
    has clang-tidy run-clang-tidy || return 0
    configure ci || return
    (cd "$here" && run-clang-tidy -j "$jobs" -quiet -p "$folder" \
        "^$here/(backends|harness|protocols|reports|results|workloads)/.*\.c\$") >"$log" 2>&1 || {
        grep -E -A 4 '(warning|error): ' "$log" >&2 || tail -n 20 "$log" >&2
        return 1
    }
}

# Each check says itself where it fails: "set -e" does not act within `||`.
command_check() {
    local what status=0
    [[ $# -gt 0 ]] || set -- format tidy threads coverage
    for what in "$@"; do
        [[ $what =~ ^(format|tidy|threads|coverage)$ ]] ||
            wrong "there is no check \"$what\"; there are: format tidy threads coverage"
    done
    install_packages check
    for what in "$@"; do
        say "check: $what"
        "check_$what" || {
            say "check: $what FAILED"
            status=1
        }
    done
    return "$status"
}

# wrong WHAT: what is wrong in the command line.
wrong() {
    printf 'bootstrap.sh: %s\n' "$1" "./bootstrap.sh help explains the commands and options" >&2
    exit 2
}

# takes_only WORD... -- ARGUMENT...: at most one argument, which is one of the words.
takes_only() {
    local words=()
    while [[ $1 != -- ]]; do
        words+=("$1")
        shift
    done
    shift
    [[ $# -le 1 ]] || wrong "there is an argument too many: \"$2\""
    [[ $# -eq 0 || " ${words[*]} " == *" $1 "* ]] ||
        wrong "\"$command\" does not take \"$1\"; it takes ${words[*]:-no argument}"
}

commands=(run test sanitize check build package install help)
[[ $# -ge 1 ]] || wrong "it needs a command: ${commands[*]}"
command=$1
shift
case $command in
test) takes_only --all -- "$@" ;;
install) takes_only run test check package -- "$@" ;;
check) ;;
run | sanitize | build | package) takes_only -- "$@" ;;
-h | --help | help) usage; exit ;;
*) wrong "there is no command \"$command\"; there are: ${commands[*]}" ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
case $command in
run) command_run ;;
test) command_test "$@" ;;
sanitize) command_sanitize ;;
check) command_check "$@" ;;
build) build_release ;;
package) command_package ;;
install) install_packages "${1-run}" ;;
esac
