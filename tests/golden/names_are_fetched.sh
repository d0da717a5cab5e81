#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Debug information from a real debuginfod, which serves a folder: only when --fetch asks for it,
# for the program and for files that are not here at all; kept for the next time; and a server that
# is not there, or does not answer, costs a bounded time and is named.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need debuginfod strip objcopy python3
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"
unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
port=$((20000 + $$ % 20000))

cat >work.c <<'C'
#include <stdlib.h>
void *kept;
static __attribute__((noinline)) void hidden_function(void) { kept = malloc(100000); }
int main(void) { hidden_function(); return 0; }
C
mkdir served
build work.c -o work
cp work served/work
objcopy --only-keep-debug work served/work.debug
strip work
"$MEMOIR_TOOL" run --exact -o run.memoir ./work >/dev/null 2>&1 || fail "run: $?"
id=$(readelf -nW work | sed -n 's/.*Build ID: //p')

HOME=$place debuginfod -F -p "$port" -d "$place/index" served >server.log 2>&1 &
server=$!
trap 'kill $server $mute 2>/dev/null; rm -rf "$place"' EXIT
mute=''
python3 - "$port" "$id" <<'PY' || skip "debuginfod did not start: $(tail -n 3 server.log)"
import sys, time, urllib.request
for _ in range(100):
    try:
        urllib.request.urlopen("http://127.0.0.1:%s/buildid/%s/debuginfo" % tuple(sys.argv[1:]), timeout=2).read()
        sys.exit(0)
    except OSError:
        time.sleep(0.2)
sys.exit(1)
PY
asked() { grep -c "GET /buildid/$id" server.log; }
before=$(asked)
export DEBUGINFOD_URLS="http://127.0.0.1:$port/"
named() { # WORDS...
    "$MEMOIR_TOOL" traces run.memoir --frames all --no-cache "$@" >said 2>err || fail "traces $*: $(cat err)"
    grep -q 'hidden_function.*work.c:3' said
}
named && fail "names without being asked: $(cat said)"
[ "$(asked)" -eq "$before" ] || fail "the server was asked without --fetch"
named --fetch || fail "no names with --fetch: $(cat said err)"
[ "$(asked)" -gt "$before" ] || fail "the server was not asked: $(cat server.log)"
"$MEMOIR_TOOL" symbols run.memoir | grep -Eq 'lines +[0-9a-f]{8} +work +.*debuginfo' || fail "symbols: $("$MEMOIR_TOOL" symbols run.memoir)"
now=$(asked)
named || fail "what was fetched is not used the next time"
[ "$(asked)" -eq "$now" ] || fail "it was fetched again"
# The program is gone: the file itself comes, too.
mv work gone
rm -rf cache
named --fetch || fail "no names of a file that is not here: $(cat said err)"
"$MEMOIR_TOOL" disasm run.memoir hidden_function --fetch >said 2>err || fail "disasm: $(cat err)"
grep -q malloc@plt said || fail "no code of a file that is not here: $(cat said)"
kill "$server"
wait "$server" 2>/dev/null

# Nobody is there; and somebody who never answers.
rm -rf cache
named --fetch && fail "names from nowhere"
python3 -c '
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listens", flush=True)
time.sleep(60)
' $((port + 1)) >mute.log &
mute=$!
for _ in $(seq 100); do
    grep -q listens mute.log && break
    sleep 0.1
done
DEBUGINFOD_URLS="http://127.0.0.1:$((port + 1))/" DEBUGINFOD_TIMEOUT=1 timeout 30 "$MEMOIR_TOOL" top run.memoir --fetch >said 2>err ||
    fail "a server that does not answer: status $?"
grep -q "no answer from http://127.0.0.1:$((port + 1))/ within 1 seconds" err || fail "nothing is said of it: $(cat err)"
unset DEBUGINFOD_URLS
"$MEMOIR_TOOL" top run.memoir --fetch >said 2>err
grep -q 'DEBUGINFOD_URLS is not set' err || fail "nothing is said without a server: $(cat err)"
finish
