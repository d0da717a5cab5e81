#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# `memoir run` loses no recording and leaves nothing else behind, wherever it is started and whatever
# becomes of its own words: a closed stream, a folder nobody may write to, one without room, names
# with spaces, a file that can't be made where it was wanted.
. "$(dirname "$0")/common.sh"
build -no-pie "$root/tests/programs/run_target.c" -o "$place/target"
mkdir "$place/here"
cd "$place/here" || exit 2
memoir() { "$MEMOIR_TOOL" "$@"; }
files() { find "${1-.}" -mindepth 1 | sort; }

only() { # SHELL-PATTERN: that, and nothing else, is here, and can be read
    case "$(files)" in
    $1) ;;
    *) fail "files: $(files)" ;;
    esac
    memoir top "$(files)" 2>/dev/null | grep -q keep_some || fail "nothing was recorded in $(files)"
    find . -mindepth 1 -delete
}

# nobody reads to the end of the summary, or reads it at all
memoir run ../target exit 0 2>&1 | head -c 10 >/dev/null
only './target-*.memoir'
memoir run ../target exit 5 2>&-
[ $? -eq 5 ] || fail "closed standard error: exit code $?"
only './target-*.memoir'

# a folder as the place; a place that becomes a folder meanwhile; names with spaces
mkdir "$place/out put"
expect 0 memoir run --output "$place/out put" ../target 2>"$place/errors"
case "$(files "$place/out put")" in
"$place/out put/target-"*.memoir) ;;
*) fail "a folder: $(files "$place/out put")" ;;
esac
[ -z "$(files)" ] || fail "a folder: left behind $(files)"
expect 0 memoir run --output "$place/out put/" ../target 2>"$place/errors"
grep -q 'out put/target-.*memoir' "$place/errors" && ! grep -q '//' "$place/errors" ||
    fail "a folder with a slash: $(cat "$place/errors")"
cp ../target "../my target"
expect 0 memoir run "../my target" 2>"$place/errors"
only './my target-*.memoir'
expect 0 memoir run --output "a b.memoir" "../my target" 2>"$place/errors"
only './a b.memoir'
mkdir "$place/he re"
cd "$place/he re" || exit 2
expect 0 memoir run ../target 2>"$place/errors"
only './target-*.memoir'
cd "$place/here" || exit 2

# of a program that starts others, a folder gets all
rm -f "$place/out put/"*
expect 3 memoir run --exact --output "$place/out put" bash -c '../target; ../target child; exit 3' 2>"$place/errors"
grep -Eq '^    and [23] more files there, of the other processes$' "$place/errors" || fail "all: $(cat "$place/errors")"
[ "$(files "$place/out put" | grep -c '/target-[-0-9]*-peak[0-9]*M.memoir$')" -ge 1 ] || fail "all: $(files "$place/out put")"
[ -z "$(files)" ] || fail "all: left behind $(files)"

# a process that gave itself a title, as daemons do, has its program's name, and the time of its own end
cat >"$place/titled.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argc;
    memset(argv[0], 0, strlen(argv[0]));
    strcpy(argv[0], "titled: worker"); /* shorter than the path */
    if (fork() == 0) {
        void *volatile block = malloc(5000000);
        return block == NULL;
    }
    wait(NULL);
    void *volatile block = malloc(3000000);
    sleep(2);
    return block == NULL;
}
END
build "$place/titled.c" -o "$place/titled"
rm -f "$place/out put/"*
expect 0 memoir run --exact --output "$place/out put" "$place/titled" 2>"$place/errors"
[ "$(files "$place/out put" | grep -c '/titled-[-0-9]*-peak')" -eq 2 ] || fail "titled: $(files "$place/out put")"
times=$(files "$place/out put" | sed 's|.*/titled-[0-9]*-\([0-9]*\)-.*|\1|' | sort -u | wc -l)
[ "$times" -eq 2 ] || fail "titled: the time of the same end: $(files "$place/out put")"

# what is no file is written into, and stays what it is: pipes, devices
mkfifo pipe
cat pipe >"$place/piped" &
expect 0 memoir run --output pipe ../target 2>"$place/errors"
wait $!
[ -p pipe ] && memoir top "$place/piped" 2>/dev/null | grep -q keep_some || fail "a pipe: $(cat "$place/errors")"
# a pipe that no process reads holds up nothing: the recording lies beside it
timeout 30 "$MEMOIR_TOOL" run --output pipe ../target 2>"$place/errors" || fail "a pipe that is not read: $?"
grep -q 'write .*pipe: no process reads the pipe' "$place/errors" || fail "a pipe that is not read: $(cat "$place/errors")"
memoir top target-*.memoir 2>/dev/null | grep -q keep_some || fail "not kept: $(files .)"
timeout 30 "$MEMOIR_TOOL" run --quiet --output pipe ../target 2>"$place/errors" || fail "a pipe, --quiet: $?"
grep -q 'write .*pipe: no process reads the pipe' "$place/errors" &&
    [ -s "$(sed -n 's/.*the recording is \(.*\)/\1/p' "$place/errors")" ] || fail "a pipe, --quiet: $(cat "$place/errors")"
# too few descriptors: said, with the next step
(ulimit -n 6; expect 3 memoir run ../target; exit "$failures") 2>"$place/errors" || fail "6 descriptors"
grep -q 'ulimit -n' "$place/errors" || fail "6 descriptors: $(cat "$place/errors")"
if [ "$(id -u)" -eq 0 ] && mknod nothing c 1 3 2>"$place/errors"; then
    expect 0 memoir run --output nothing ../target 2>"$place/errors"
    [ -c nothing ] || fail "a device was replaced"
fi
find . -mindepth 1 -delete

# one's own preloaded library stays
build -shared -fPIC "$root/tests/programs/user_library.c" -o "$place/libuser.so"
LD_PRELOAD=$place/libuser.so expect 0 memoir run sh -c 'echo "$LD_PRELOAD"' >"$place/out" 2>"$place/errors"
grep -q "libmemoir.so[^:]*:$place/libuser.so\$" "$place/out" || fail "LD_PRELOAD is $(cat "$place/out")"
find . -mindepth 1 -delete

# scripts, with and without #!
printf '#!/bin/sh\n../target exit 6\n' >"$place/script"
printf '../target exit 6\n' >"$place/bare"
chmod +x "$place/script" "$place/bare"
for script in script bare; do
    expect 6 memoir run "$place/$script" 2>"$place/errors"
    grep -Eq '^    (the largest of [23] processes|a process that it started), [0-9]+: ../target exit 6' "$place/errors" ||
        fail "$script: $(cat "$place/errors")"
    only './target-*.memoir' # named after the process that it is of
done

# no execute bit: what to do is said
cp ../target "$place/plain"
chmod -x "$place/plain"
expect 126 memoir run "$place/plain" 2>"$place/errors"
grep -q "chmod +x $place/plain" "$place/errors" || fail "no execute bit: $(cat "$place/errors")"
echo text >"$place/text"
expect 126 memoir run "$place/text" 2>"$place/errors"
grep -q chmod "$place/errors" && fail "a text is to be executed: $(cat "$place/errors")"
expect 2 memoir run --lib "$place/text" ../target 2>"$place/errors"

# static programs run, and why nothing is recorded is said
build -static "$root/tests/programs/run_target.c" -o "$place/static" 2>/dev/null
expect 4 memoir run "$place/static" exit 4 2>"$place/errors"
grep -q 'statically linked and keeps its own malloc.*libmemoir.a' "$place/errors" ||
    fail "static: $(cat "$place/errors")"
[ -z "$(files)" ] || fail "static: left behind $(files)"

# programs that are linked with libmemoir.a are recorded like any other, once
for how in '' -no-pie -static -static-pie; do
    build $how "$root/tests/programs/run_target.c" "$MEMOIR_STATIC" -o "$place/linked"
    mkdir all
    expect 4 memoir run --output all "$place/linked" exit 4 2>"$place/errors"
    [ "$(files all | wc -l)" -eq 1 ] || fail "linked $how: $(files all)"
    grep -Eq 'processes|nothing|malloc' "$place/errors" && fail "linked $how: $(cat "$place/errors")"
    mv all/*.memoir . && rmdir all
    only './linked-*.memoir'
    LD_PRELOAD=$MEMOIR_LIB HEAPPROFILE=$PWD/old "$place/linked" 2>"$place/errors" || fail "linked $how: $?"
    case "$(files)" in
    ./old.0001.heap) ;;
    *) fail "linked $how, HEAPPROFILE: $(files): $(cat "$place/errors")" ;;
    esac
    find . -mindepth 1 -delete
done

# a library by a relative path, for a program that goes elsewhere
cp -L "$MEMOIR_LIB" libmine.so
expect 0 memoir run --lib ./libmine.so --output "$place/relative.memoir" sh -c 'cd /; '"$place/target" \
    2>"$place/errors"
memoir top "$place/relative.memoir" | grep -q keep_some || fail "--lib: $(cat "$place/errors")"
find . -mindepth 1 -delete

# a folder where nobody may write: the recording is in TMPDIR, and its place is said
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$place/closed" "$place/temporary"
    chmod -w "$place/closed"
    (cd "$place/closed" && TMPDIR=$place/temporary memoir run ../target 2>"$place/errors")
    grep -q "^    $place/temporary/target-.*\\.memoir" "$place/errors" ||
        fail "a closed folder: $(cat "$place/errors")"
    grep -q '^    (there, because the current folder is not writable)$' "$place/errors" || fail "and not why"
fi

# one without room: the program does not notice, and what there is to say is said
if [ "$(id -u)" -eq 0 ] && mkdir "$place/full" && mount -t tmpfs -o size=4k none "$place/full" 2>/dev/null; then
    head -c 4096 /dev/zero >"$place/full/other"
    (cd "$place/full" && memoir run --exact "$place/target" exit 3 2>"$place/errors")
    [ $? -eq 3 ] || fail "a full disk: exit code $?"
    grep -q "^memoir: can't write $place/full/.*: No space left on device; nothing is lost" "$place/errors" ||
        fail "a full disk: $(cat "$place/errors")"
    grep 'nothing was recorded' "$place/errors" && fail "a full disk: the recording is not lost"
    [ "$(files "$place/full")" = "$place/full/other" ] || fail "a full disk: left behind $(files "$place/full")"
    left=$(sed -n 's/.*nothing is lost:  memoir recover \(.*\) -o FILE$/\1/p' "$place/errors")
    memoir recover "$left" -o "$place/recovered.memoir" 2>"$place/errors" ||
        fail "a full disk: recover '$left': $(cat "$place/errors")"
    [ ! -e "$left" ] || fail "a full disk: $left stays"
    umount "$place/full"
fi
finish
