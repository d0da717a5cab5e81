#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
#
# ./dev says what is meant: help for each verb, the nearest word of a slip, and what to do where a
# folder can't be written. Nothing is built here.
. "$(dirname "$0")/../programs/common.sh"
dev=$root/dev

said() { # STATUS TEXT WORDS...
    status=$1 text=$2
    shift 2
    "$dev" "$@" >"$place/out" 2>&1 </dev/null
    got=$?
    [ "$got" -eq "$status" ] || fail "./dev $*: status $got, not $status: $(cat "$place/out")"
    grep -q -- "$text" "$place/out" || fail "./dev $*: no '$text' in: $(cat "$place/out")"
}

said 0 'test --quick' help
said 0 '^  ./dev test --quick ' test --help
said 0 '^  ./dev test --quick ' help test
said 0 'tests/fuzz/run .-k' help fuzz
said 0 '^  help .VERB. ' help help
said 2 "no verb 'dmeo'; did you mean:  ./dev demo" help dmeo
said 0 'N passed, N failed' test -h
said 0 '^  ./dev build .PRESET' build --help
said 0 '^  ./dev install ' install --help
said 0 'bench/run --help' bench --help
said 0 'tests/soak/run .--short' soak -h
said 0 'tests/fuzz/run .-k' fuzz --help
said 2 "demo does not take 'twice'" demo twice
said 2 "no verb 'dmeo'; did you mean:  ./dev demo" dmeo --help
said 2 "no verb 'tset'; did you mean:  ./dev test" tset
said 2 "no verb 'insatll'; did you mean:  ./dev install" insatll
said 2 "no verb 'xyzzy'" xyzzy
said 2 "no preset 'relaese'; did you mean release" test relaese
said 2 "tests by name:  ./dev test -R golden" test golden
said 2 "ctest has no option '--quik'; did you mean:  ./dev test --quick" test --quik

# The slip is told before the packages of the tests are asked for: here one of them, make, is missing.
mkdir "$place/tools"
for tool in /usr/bin/* /bin/*; do
    ln -s "$tool" "$place/tools/" 2>/dev/null
done
rm -f "$place/tools/make" "$place/tools/apt-get"
path=$PATH PATH=$place/tools
said 2 "ctest has no option '--quik'" test --quik
said 2 "dev: missing:.* make" test --quick # the control
PATH=$path

said 2 "bench does not take 'wlak'; did you mean:  ./dev bench walk" bench wlak
for what in $(sed -n 's/^ *\.\/dev bench \([a-z]*\) .*/\1/p' "$root/bench/README.md" | sort -u); do
    grep -q "^benches='.*\<$what\>" "$root/dev" || fail "./dev bench $what is in bench/README.md, but refused"
done
said 2 "install does not take '--prefx'" install --prefx
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && cp "$dev" /tmp/memoir-dev-$$; then
    chmod 755 /tmp/memoir-dev-$$
    setpriv --reuid=65534 --regid=65534 --clear-groups /tmp/memoir-dev-$$ install --prefix /usr/nowhere \
        >"$place/out" 2>&1
    got=$?
    rm /tmp/memoir-dev-$$
    [ $got -eq 2 ] && grep -q "/usr can't be written by" "$place/out" && grep -q 'sudo ./dev install' "$place/out" ||
        fail "install as a user: $(cat "$place/out")"
fi
finish
