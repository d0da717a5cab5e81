#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# Tables of `memoir top` and its relatives, of a heap profile that brings its names: the text to
# the letter, JSON and CSV with exact numbers, filters by word and by flag, colours, width.
. "$(dirname "$0")/../programs/common.sh"
need python3
settle
memoir() { "$MEMOIR_TOOL" "$@"; }

cat >heap.raw <<'END'
--- symbol
binary=/bin/server
0x0000000000000010 main
0x0000000000000020 Parser::parse
0x0000000000000030 std::vector::push_back
0x0000000000000040 malloc
0x0000000000000050 Cache::insert
---
--- heap
heap profile: 9: 1000 [ 19: 3000] @ heapprofile
     7: 700 [ 14: 1400] @ 0x0040 0x0030 0x0020 0x0010
     1: 200 [  4:  800] @ 0x0040 0x0050 0x0010
     1: 100 [  1:  800] @ 0x0050 0x0020 0x0020 0x0010
MAPPED_LIBRARIES:
00000000-00001000 r-xp 00000000 00:00 0 /bin/server
END

is() { # NAME: standard input is what the command before it printed
    cat >"$place/wanted"
    diff -u "$place/wanted" "$place/said" >"$place/diff" || fail "$1: $(cat "$place/diff")"
}

memoir top heap.raw --width 90 >/dev/null 2>&1 && fail "a flag that does not exist was taken"

memoir top heap.raw >said 2>errors || fail "top: $(cat errors)"
is top <<'END'
heap.raw    live heap: 1000 B    100 % of frames named
      self            total         objects       avg  site
     700 B   70 %     800 B   80 %        7     100 B  Parser::parse  server
     300 B   30 %     300 B   30 %        2     150 B  Cache::insert  server
       …  1 more (0 %)
self: allocated at this site, library frames included (-v shows them) · total: with callees
END
[ -s errors ] && fail "top: on standard error: $(cat errors)"

LC_ALL=C memoir top heap.raw >said
LC_ALL=C grep -q '[^ -~]' said && fail "not ASCII: $(cat said)"

memoir top heap.raw Cache -Parser --frames all --by function >said
is "words and flags" <<'END'
heap.raw    live heap: 200 B, 20 % of all    100 % of frames named
      self            total         objects       avg  function
     200 B  100 %     200 B  100 %        1     200 B  malloc  server
       …  2 more (0 %)
self: allocated at this site · total: with callees
END

memoir tree heap.raw --metric alloc >said
is tree <<'END'
heap.raw    allocated: 2.93 KiB    100 % of frames named
     total                   site
  2.93 KiB  100 %  ████████  main                                        server
  2.15 KiB   73 %  █████▊    ├ Parser::parse                             server
     800 B   27 %  ██▏       │ Parser::parse                             server
     800 B   27 %  ██▏       │ Cache::insert                             server
     800 B   27 %  ██▏       └ Cache::insert                             server
END

memoir peek heap.raw parse >said
is peek <<'END'
heap.raw    live heap: 1000 B    100 % of frames named

     800 B  100 %  ┌ main                                             server
     100 B   12 %  ┌ Parser::parse                                    server
     800 B   80 %  ▶ Parser::parse                                    server   self 700 B, 70 %
     100 B   12 %  └ Parser::parse                                    server
     100 B   12 %  └ Cache::insert                                    server
END

memoir traces heap.raw -v --rows 1 >said
is traces <<'END'
heap.raw    live heap: 1000 B    100 % of frames named

     700 B  malloc                                                server
         7  std::vector::push_back                                server
            Parser::parse                                         server
            main                                                  server

2 more stacks, --rows 0 shows all
END

memoir top heap.raw --csv >said
is csv <<'END'
self,self_objects,self_error,total,total_objects,total_error,name,file,line,module
700,7,0,800,8,0,Parser::parse,,0,/bin/server
300,2,0,300,2,0,Cache::insert,,0,/bin/server
0,0,0,1000,9,0,main,,0,/bin/server
END

for verb in top tree traces report "peek heap.raw main"; do
    # shellcheck disable=SC2086 # a verb may come with its words
    memoir $verb heap.raw --json | python3 -m json.tool >said || fail "$verb: no JSON"
    grep -q "\"schema\": \"memoir.${verb%% *}/1\"" said || fail "$verb: $(head -3 said)"
done
memoir top heap.raw --json -o out.json || fail "-o"
python3 - <<'END' || fail "JSON is not what the table says"
import json
top = json.load(open("out.json"))
assert top["total"] == 1000 and top["total_objects"] == 9 and top["named"] == 1
assert [row["self"] for row in top["rows"]] == [700, 300, 0]
assert [row["total"] for row in top["rows"]] == [800, 300, 1000]
assert top["metric"] == {"name": "inuse_space", "unit": "bytes"}
END

# the default is a report, also of standard input; two add up; a base is beside
memoir heap.raw | grep -q '^live when last seen: 1000 B' || fail "no report"
memoir leaks heap.raw | grep -q '^live when last seen: 1000 B' || fail "no end"
memoir report - <heap.raw | grep -q '^allocations: 19' || fail "not from standard input"
memoir top heap.raw heap.raw | head -1 | grep -q 'heap.raw and 1 more .* 1.95 KiB' || fail "two"
memoir top heap.raw --base heap.raw --json | grep -q '"base_total": 1000' || fail "no base"

# colours: on request only, and NO_COLOR is weaker than the request
memoir top heap.raw --color always | grep -q "$(printf '\033\\[1;31m700 B')" || fail "no colour"
CLICOLOR_FORCE=1 memoir top heap.raw | grep -q "$(printf '\033')" || fail "not forced"
CLICOLOR_FORCE=1 NO_COLOR=1 memoir top heap.raw | grep -q "$(printf '\033')" && fail "NO_COLOR"

# what is wrong is said, with the status for it
wrong() { # CODE PATTERN COMMAND...
    code=$1 pattern=$2
    shift 2
    expect "$code" memoir "$@" 2>errors >said
    grep -Eq "$pattern" errors || fail "memoir $*: $(cat errors)"
}
wrong 2 "'a\(' is not a regular expression: .* at position 3" top heap.raw 'a('
wrong 2 "has no metric 'peak'" peak heap.raw
wrong 2 "top has no flag '--flub'" top heap.raw --flub
wrong 2 'top needs a profile, and there is no' top
wrong 2 "can't be 'many'" top heap.raw --size many
wrong 0 'no stack matches the filters' top heap.raw --size 1000000000000G:
wrong 2 'peek needs a function' peek heap.raw
wrong 3 'no function matches' peek heap.raw nothing_like_it
wrong 3 'other.heap: No such file' top other.heap
echo nonsense >nonsense.txt
wrong 3 'nonsense.txt: ' top nonsense.txt
# a name can't talk to the terminal
printf 'main;evil\033[31mname 5\n' >evil.folded
memoir top evil.folded >said 2>&1
grep -q "$(printf '\033')" said && fail "an escape sequence came through"
finish
