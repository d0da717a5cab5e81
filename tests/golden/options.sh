#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# The pages and completions that are kept in the tree are what the tool prints today.
#   tests/golden/options.sh           compares
#   tests/golden/options.sh --write   writes them anew, after a change of config.def or commands.def
set -eu
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
tool=${MEMOIR_TOOL:-$root/build/memoir}
unset MEMOIR NO_COLOR CLICOLOR_FORCE
failed=0

# page DIRECTORY FILE COMMAND...: FILE, below DIRECTORY, is the output of the command
page() {
    file=$1/$2
    shift 2
    if [ "$mode" = write ]; then
        mkdir -p "$(dirname "$file")"
        "$tool" "$@" >"$file"
    elif ! "$tool" "$@" | cmp -s - "$file"; then
        return 1
    fi
}

pages() {
    page "$1" docs/OPTIONS.md options --markdown &&
        page "$1" docs/COMMANDS.md man --markdown &&
        page "$1" docs/man/memoir.1 man &&
        page "$1" docs/man/memoir.conf.5 options --man &&
        page "$1" packaging/completions/bash/memoir completion bash &&
        page "$1" packaging/completions/zsh/_memoir completion zsh &&
        page "$1" packaging/completions/fish/memoir.fish completion fish
}

if [ "${1-}" = --write ]; then
    mode='write'
    pages "$root"
    exit 0
fi
mode='compare'
pages "$root" || { echo "$file is out of date: run tests/golden/options.sh --write"; failed=1; }

# The control: a page with one byte more must be noticed, each of the seven.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mode='write'
pages "$scratch"
mode='compare'
pages "$scratch" || { echo "control: the same pages differ"; failed=1; }
(cd "$scratch" && find . -type f) >"$scratch.list"
while read -r name; do
    cp "$scratch/$name" "$scratch.kept"
    echo >>"$scratch/$name"
    if pages "$scratch"; then echo "control: a changed $name was not noticed"; failed=1; fi
    mv "$scratch.kept" "$scratch/$name"
done <"$scratch.list"
[ "$(wc -l <"$scratch.list")" -eq 7 ] || { echo "control: not seven pages"; failed=1; }
rm -f "$scratch.list"
exit "$failed"
