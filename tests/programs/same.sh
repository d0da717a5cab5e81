#!/bin/sh
# SPDX-License-Identifier: MIT
# helper: real programs, bare and under the library. Source it after setting nothing.
#   same NAME COMMAND...   runs the command (a shell function as a rule) twice, in an empty folder each time, bare and
#                          with the library in it and all its children; output, errors and exit code must be equal,
#                          and the files it leaves in the folder too
# Anything that differs between two bare runs (times, process ids) is the command's to keep out.
for folder in "$(dirname "$0")" "$(dirname "$0")/../../programs"; do
    if [ -e "$folder/common.sh" ]; then
        . "$folder/common.sh"
        break
    fi
done
export LC_ALL=C TZ=UTC HOME="$place/home" GIT_CONFIG_NOSYSTEM=1
mkdir "$HOME"

once() { # FOLDER LIBRARY COMMAND...
    folder=$1 library=$2
    shift 2
    rm -rf "$place/work"
    mkdir "$place/work"
    (
        cd "$place/work" || exit 99
        if [ -n "$library" ]; then
            export LD_PRELOAD="$library" MEMOIR="$mode"
        fi
        "$@"
    ) >"$place/out" 2>"$place/errors"
    echo "exit code $?" >>"$place/out"
    rm -rf "${place:?}/$folder"
    mv "$place/work" "$place/$folder"
    mv "$place/out" "$place/errors" "$place/$folder"
}

same() { # NAME COMMAND...
    name=$1
    shift
    once bare "" "$@"
    once under "$MEMOIR_LIB" "$@"
    quiet "$place/under/errors"
    if ! diff -r "$place/bare" "$place/under" >"$place/difference" 2>&1; then
        fail "$name differs: $(head -n 5 "$place/difference")"
    elif grep -qx 'exit code 0' "$place/bare/out"; then
        echo "$name: same"
    else
        fail "$name does not even work bare: $(tail -n 2 "$place/bare/out" "$place/bare/errors")"
    fi
}
