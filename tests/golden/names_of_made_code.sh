#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too
#
# Code that is made at run time has the names that its maker wrote into /tmp/perf-PID.map: in a
# recording, in a process that runs, and in a file that was kept elsewhere; not those of an
# older process with the same number, nor those that another user wrote there. With node, its functions in JavaScript.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
open_place
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"
[ "$(uname -m)" = x86_64 ] || skip "its code is of x86-64"

cat >made.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void *kept;
int main(int argc, char **argv)
{
    unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xbf, 0xa0, 0x86, 1, 0, 0xff, 0xd0, 0x5d, 0xc3};
    void *(*function)(size_t) = malloc;
    char path[64];
    unsigned char *place = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code + 6, &function, 8);
    memcpy(place + 64, code, sizeof code);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx 1000 old and wrong\n", (unsigned long)place);
    fprintf(map, "%lx %zx JS:*makeThings /some/file.js:12:3\nnot a line\n%lx 10 neighbour\n", (unsigned long)place + 64,
            sizeof code, (unsigned long)place + 256);
    fclose(map);
    kept = ((void *(*)(void))(place + 64))();
    printf("%d\n", getpid());
    fflush(stdout);
    while (argc > 1)
        pause();
    return 0;
}
C
build made.c -o made
named() { # WORDS...
    "$MEMOIR_TOOL" traces "$@" --frames all --no-cache >said 2>err || fail "traces $*: $(cat err)"
    grep -q 'JS:\*makeThings /some/file.js:12:3' said
}
pid=$("$MEMOIR_TOOL" run --exact -o run.memoir ./made 2>err) || fail "run: $(cat err)"
named run.memoir || fail "no name in a recording: $(cat said)"
"$MEMOIR_TOOL" symbols run.memoir >said
grep -q "/tmp/perf-$pid.map" said || fail "symbols does not say where the name is from: $(cat said)"
if [ "$(id -u)" -eq 0 ]; then # any user may write to /tmp
    chown 65534 "/tmp/perf-$pid.map"
    named run.memoir && fail "names of another user's file were used"
fi
mkdir kept && mv "/tmp/perf-$pid.map" kept
named run.memoir && fail "a name from nowhere"
"$MEMOIR_TOOL" symbols run.memoir >said
grep -q 'generated at run time: .*perf-PID.map' said || fail "symbols has no advice: $(cat said)"
named run.memoir --debug-path "$place/kept" || fail "no name by --debug-path: $(cat said)"
touch -d '2 days ago' "kept/perf-$pid.map"
named run.memoir --debug-path "$place/kept" && fail "names of an older process were used"

LD_PRELOAD=$MEMOIR_LIB MEMOIR=heap.rate:0 ./made wait >out &
process=$!
for _ in $(seq 100); do
    [ -s out ] && break
    sleep 0.2
done
named "$process" || fail "no name in a process: $(cat said)"
[ "$(id -u)" -ne 0 ] || chown 65534 "/tmp/perf-$process.map"
[ "$(id -u)" -ne 0 ] || ! named "$process" || fail "names of another user's file were used for a process"
kill "$process"
rm -f "/tmp/perf-$process.map"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    cp "$(readlink -f "$MEMOIR_LIB")" lib.so
    chmod 755 made lib.so
    : >out
    setpriv --reuid=65534 --regid=65534 --clear-groups \
        env LD_PRELOAD="$place/lib.so" MEMOIR=heap.rate:0 ./made wait >out &
    process=$!
    for _ in $(seq 100); do
        [ -s out ] && break
        sleep 0.2
    done
    named "$process" || fail "no name from the file of the process's own user: $(cat said)"
    kill "$process"
    rm -f "/tmp/perf-$process.map"
fi

if command -v node >/dev/null; then
    cat >work.js <<'JS'
function keepBuffers(many) {
    const kept = [];
    for (let i = 0; i < many; i++)
        kept.push(Buffer.allocUnsafeSlow(50000));
    return kept;
}
let all = [];
for (let j = 0; j < 100; j++)
    all = keepBuffers(20);
require("fs").writeFileSync("node.pid", String(process.pid));
JS
    "$MEMOIR_TOOL" run --rate 64K -o node.memoir node --perf-basic-prof --interpreted-frames-native-stack work.js >/dev/null 2>err || fail "node: $(cat err)"
    "$MEMOIR_TOOL" traces node.memoir --frames all >said
    grep -q 'keepBuffers .*work.js' said || fail "no function of JavaScript: $(head -n 30 said)"
    rm -f "/tmp/perf-$(cat node.pid).map"
fi
finish
