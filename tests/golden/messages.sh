#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# What the tool says and how it exits, to the letter: every line of messages.txt that begins with "$ "
# is a command; below it stand its output, its errors and its exit status. The folder it runs in
# has programs of every kind that `run` must tell apart. messages.sh --write writes the file anew.
set -eu
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
tool=${MEMOIR_TOOL:-$root/build/memoir}
expected=$root/tests/golden/messages.txt
cc=${CC:-cc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
cd "$scratch/bin"

cp "$tool" memoir
echo 'int main(void) { return 42; }' >answer.c
$cc -shared -fPIC -x c /dev/null -o libmemoir.so # any library will do: `run` only finds it
$cc answer.c -o answer
$cc -static answer.c -o static
$cc -static-pie answer.c -o static_pie
printf '#!%s/static\n' "$PWD" >script
printf '#!/no/such/interpreter\n' >orphan
# shellcheck disable=SC2016
printf 'echo $LD_PRELOAD $MEMOIR\n' >shell
echo text >text
chmod +x script orphan shell
mkdir folder 'with space'
cp libmemoir.so 'with space'
PATH=$PWD:/usr/bin:/bin
export PATH LC_ALL=C
unset MEMOIR LD_PRELOAD NO_COLOR CLICOLOR_FORCE

while IFS= read -r line; do
    case $line in
    '$ '*) ;;
    *) continue ;;
    esac
    echo "$line"
    status=0
    sh -c "${line#??}" >"$scratch/out" 2>&1 </dev/null || status=$?
    sed "s|$PWD|HERE|g; s|$scratch|ABOVE|g; s|/[.]memoir-[A-Za-z0-9]*|/.memoir-XXXXXX|g; s|=/[^,]*/memoir-[0-9]*-[A-Za-z0-9]*\(/[0-9a-f]*\)*/state|=SHELF/state|g" "$scratch/out"
    echo "[$status]"
done <"$expected" >"$scratch/got"

if [ "${1-}" = --write ]; then
    cp "$scratch/got" "$expected"
    exit 0
fi
failed=0
diff -u "$expected" "$scratch/got" || failed=1
# A program with rights of its own takes root to make.
if [ "$(id -u)" = 0 ]; then
    cp answer other && chown 65534 other && chmod u+s other
    memoir run ./other 2>"$scratch/out" || [ $? = 42 ] || failed=1
    grep -q 'other runs setuid, .* ignores LD_PRELOAD' "$scratch/out" ||
        { echo "a setuid program was not noticed"; failed=1; }
fi
# The control: one wrong letter is noticed.
sed 's/nearest/nearer/' "$expected" >"$scratch/wrong"
if cmp -s "$scratch/wrong" "$scratch/got"; then echo "control: a changed message was not noticed"; failed=1; fi
exit "$failed"
