# SPDX-License-Identifier: MIT
# helper: sourced by old_commands*.sh. The real commands and memoir's on the same files.
# shellcheck shell=sh disable=SC2154
compared=0
canon=$sources/canon.py

# Rows that are not the programs' own.
own() {
    sed -E 's/ \(discriminator [0-9]+\)//
        /^ .* ([^ ]*(csu|sysdeps|nptl|elf|malloc|misc|include)\/[^ ]*|0*[0-9a-f]{16}|\?\?:.|:\?|~.*|_start.*|__libc_.*|_dl_.*|.*call_init.*|(__)?clone3?.*|start_thread.*|.*@@.*|__GI_.*|allocate_.*|.*pthread_create.*|calloc \(inline\).*|malloc_usable_size.*|[^ ]*\.so[.0-9]*\+0x[0-9a-f]+)( [^ ]*)?( \([0-9a-f]+\))?$/d'
}

# near: the two outputs are equal but for the last unit of large numbers. The real ones add floating
# point numbers in an order that Perl draws anew in each run.
near() {
    paste -d '\n' real.out ours.out | awk '
        NR % 2 { count = split($0, real); next }
        {
            if (split($0, ours) != count) exit wrong = 1
            for (i = 1; i <= count; i++) {
                digits = real[i] ~ /^[0-9]+$/ && ours[i] ~ /^[0-9]+$/ && real[i] > 100000
                off = real[i] - ours[i]
                if (real[i] != ours[i] && !(digits && off >= -2 && off <= 2)) exit wrong = 1
            }
        }
        END { exit wrong }'
}

# differ WORDS...: counts a comparison of real.out and ours.out and complains about what differs.
differ() {
    compared=$((compared + 1))
    [ -s real.out ] || fail "the real one prints nothing: $*"
    if ! cmp -s real.out ours.out && ! near; then
        fail "$* differs:"
        diff real.out ours.out | head -n 12
    fi
}

# same COMMAND OPTION...: the real command and memoir's agree in what they print.
same() {
    command=$1
    shift
    "$command" "$@" 2>real.err </dev/null | own >real.out
    "$place/links/$command" "$@" 2>ours.err </dev/null | own >ours.out
    differ "$command" "$@"
}

# alike KIND COMMAND OPTION...: they agree but for the order.
alike() {
    kind=$1 command=$2
    shift 2
    "$command" "$@" 2>real.err </dev/null | python3 "$canon" "$kind" >real.out
    "$place/links/$command" "$@" 2>ours.err </dev/null | python3 "$canon" "$kind" >ours.out
    differ "$command" "$@"
}

# said COMMAND OPTION...: they agree in what they say on standard error.
said() {
    same "$@"
    if ! cmp -s real.err ours.err; then
        fail "$* says something else:"
        diff real.err ours.err | head -n 12
    fi
}

# ends COMMAND OPTION...: exit codes are the same.
ends() {
    command=$1
    shift
    "$command" "$@" >real.out 2>real.err </dev/null
    real=$?
    "$place/links/$command" "$@" >ours.out 2>ours.err </dev/null
    ours=$?
    compared=$((compared + 1))
    [ "$real" -eq "$ours" ] || fail "exit code $ours, not $real: $command $*"
}

# refused COMMAND OPTION...: exit code and last line of standard error are the same.
refused() {
    ends "$@"
    [ "$(tail -n 1 real.err)" = "$(tail -n 1 ours.err)" ] ||
        fail "$* says '$(tail -n 1 ours.err)', not '$(tail -n 1 real.err)'"
}

mkdir links && for name in jeprof google-pprof pprof memoir; do
    ln -s "$MEMOIR_TOOL" "links/$name"
done

# go_ends OPTION...: Go's pprof, on profiles that have their names in them: what it prints and the way
# it ends are the same.
go_ends() {
    go tool pprof -symbolize=none "$@" >real.out 2>real.err </dev/null
    real=$?
    links/pprof -symbolize=none "$@" >ours.out 2>ours.err </dev/null
    ours=$?
    compared=$((compared + 1))
    [ "$real" -eq "$ours" ] || fail "pprof $* exits with $ours, the real one with $real"
    if ! cmp -s real.out ours.out; then
        fail "pprof $* differs:"
        diff -a real.out ours.out | head -n 12
    fi
}

# names_or_skip PROGRAM PROFILE: without its helpers (file, addr2line) and libc's debug file the real
# one guesses names, and there is nothing that could be equal.
names_or_skip() {
    libc=$(ldd "./$1" | awk '/libc\.so/ { print $3 }')
    id=$(readelf -n "$libc" 2>/dev/null | sed -n 's/.*Build ID: //p')
    if [ ! -e "/usr/lib/debug/.build-id/$(printf '%.2s' "$id")/${id#??}.debug" ] ||
        ! jeprof --text --lines "$1" "$2" 2>/dev/null | grep -q 'plain\.c:[0-9]'; then
        skip "the real jeprof finds no lines here, or no debug file of libc"
    fi
}
