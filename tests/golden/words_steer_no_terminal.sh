#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too
#
# A profile in which every text (names of values, units, labels, paths, build ids, remarks) has characters
# that a terminal obeys: no verb prints them, whether it answers or refuses.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

python3 - <<'END'
import gzip

steer, strings, profile = b"\x1b]0;title\x07\x1b[2J", [b""], b""


def number(value):
    bytes_made = b""
    while value > 127:
        bytes_made += bytes([value & 127 | 128])
        value >>= 7
    return bytes_made + bytes([value])


def field(key, value):
    return number(key << 3) + number(value)


def part(key, value):
    return number(key << 3 | 2) + number(len(value)) + value


def text(word):
    strings.append(word.encode() + steer)
    return len(strings) - 1


kind = text("inuse_space")
profile += part(1, field(1, text("inuse_objects")) + field(2, text("count")))
profile += part(1, field(1, kind) + field(2, text("bytes")))
label = part(3, field(1, text("key")) + field(2, text("value")))
label += part(3, field(1, text("size")) + field(3, 77) + field(4, text("unit")))
profile += part(2, part(1, number(1)) + part(2, number(5) + number(5000)) + label)
mapping = field(1, 1) + field(2, 0x400000) + field(3, 0x500000)
profile += part(3, mapping + field(5, text("/bin/program")) + field(6, text("abcd")))
profile += part(4, field(1, 1) + field(2, 1) + field(3, 0x400100) + part(4, field(1, 1) + field(2, 7)))
function = field(1, 1) + field(2, text("function")) + field(3, text("system"))
profile += part(5, function + field(4, text("file.c")))
period = part(11, field(1, text("space")) + field(2, text("bytes"))) + field(12, 1)
remark = field(13, text("remark")) + field(14, kind)
profile += b"".join(part(6, string) for string in strings) + period + remark
gzip.open("words.pb.gz", "wb").write(profile)
END

tried=0
try() { # WORD...
    "$MEMOIR_TOOL" "$@" </dev/null >out 2>errors
    got=$?
    [ $got -le 4 ] || fail "memoir $*: exit status $got"
    tried=$((tried + 1))
    tr -d '\033\007' <out >plain
    cmp -s out plain || fail "memoir $*: steers the terminal: $(cat -v out | grep -m 1 '\^\[\|\^G')"
    tr -d '\033\007' <errors >plain
    cmp -s errors plain || fail "memoir $*: errors steer it: $(cat -v errors | grep -m 1 '\^\[\|\^G')"
}

for verb in top report tree traces leaks churn sizes threads time symbols doctor frag; do
    try $verb words.pb.gz
    try $verb words.pb.gz -v
    try $verb words.pb.gz --json
done
try top words.pb.gz --metric nonsense
try top words.pb.gz --csv
try threads words.pb.gz --csv
try top words.pb.gz nothing_like_it
try peek words.pb.gz function
try list words.pb.gz function
try diff words.pb.gz words.pb.gz
try check words.pb.gz --max-live 1
for flag in -top -raw -tags -traces -comments -tree -peek=function -list=function -dot -sample_index=nonsense; do
    try pprof $flag words.pb.gz
done
try jeprof --text /bin/true words.pb.gz
try google-pprof --text /bin/true words.pb.gz
[ $tried -ge 50 ] || fail "only $tried commands were tried"
finish
