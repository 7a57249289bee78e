#!/bin/sh
# chromium_page.sh PAGE FOLDER - opens a local page in headless Chromium and leaves in FOLDER
#   dom.html     the document as the browser built it
#   console.log  the page's console output (one line each; empty is good)
#   page.png     a picture of it
# Exit status 77 when there is no Chromium, 1 when it fails. CHROMIUM names another program.
set -u
page=$1
folder=$2

browser=${CHROMIUM:-}
if [ -z "$browser" ]; then
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null 2>&1; then
            browser=$name
            break
        fi
    done
fi
if [ -z "$browser" ] || ! command -v "$browser" >/dev/null 2>&1; then
    echo "no Chromium here: install the package chromium, or set CHROMIUM" >&2
    exit 77
fi

# A profile of its own; the sandbox needs privileges that a container seldom has.
profile=$(mktemp -d "${TMPDIR:-/tmp}/assay_chromium_XXXXXX") || exit 1
trap 'rm -rf "$profile"' EXIT
run() {
    HOME=$profile timeout 900 "$browser" --headless --no-sandbox --disable-gpu \
        --disable-dev-shm-usage --no-first-run --user-data-dir="$profile/data" --hide-scrollbars \
        --window-size=1280,2400 "$@" "file://$page"
}

run --enable-logging=stderr --v=0 --dump-dom >"$folder/dom.html" 2>"$folder/stderr.log" || exit 1
grep -a 'CONSOLE' "$folder/stderr.log" >"$folder/console.log"
run --screenshot="$folder/page.png" >/dev/null 2>&1 || exit 1
[ -s "$folder/dom.html" ] && [ -s "$folder/page.png" ]
