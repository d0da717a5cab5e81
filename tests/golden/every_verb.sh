#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too
#
# Every verb of commands.def, with every flag that it has, on profiles of every kind, as text, JSON
# and CSV: it ends with an answer that can be read, or with a cause; never by a signal, never with
# nothing. A verb or a flag that is new is tried as well: they come from the table.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
export XDG_CACHE_HOME="$place/cache" HOME="$place"

cat >work.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[4096];
static int count;
static inline __attribute__((always_inline)) void *inlined(size_t size) { return malloc(size); }
__attribute__((noinline)) void keep(int many)
{
    for (int i = 0; i < many; i++)
        kept[count++ % 4096] = inlined(100 + (size_t)i);
}
__attribute__((noinline)) void drop(int many)
{
    for (int i = 0; i < many; i++)
        free(strdup("some text"));
}
static void *worker(void *argument)
{
    drop(50);
    return malloc(5000);
}
int main(int argc, char **argv)
{
    pthread_t thread;
    keep(argc > 1 ? 400 : 300);
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    drop(500);
    while (argc > 2)
        pause();
    return 0;
}
C
build work.c -o work
"$MEMOIR_TOOL" run --exact -o a.memoir ./work 2>err || fail "run: $(cat err)"
"$MEMOIR_TOOL" run --rate 4K -o b.memoir ./work more 2>err || fail "run: $(cat err)"
MEMOIR=dump.format:jemalloc,heap.rate:0,dump.exit:true,dump.prefix:je preload ./work 2>err
MEMOIR=dump.format:gperftools,heap.rate:0,dump.exit:true,dump.prefix:gp preload ./work 2>err
MEMOIR=dump.format:pprof,heap.rate:0,dump.exit:true,dump.prefix:pb preload ./work 2>err
for number in 0 1 2; do # what a program leaves that is killed
    MEMOIR=recorder:$place/state.$number,heap.rate:0 LD_PRELOAD=$MEMOIR_LIB ./work and waits & # no shell between
    killed=$!
    for _ in $(seq 100); do
        [ -s "state.$number" ] && grep -q '^State:.S' "/proc/$killed/status" && break
        sleep 0.1
    done
    kill -9 "$killed"
    wait "$killed" 2>/dev/null
done
wait_there() { # until it is the program, and waits
    for _ in $(seq 100); do
        grep -q /work "/proc/$1/maps" && grep -q '^State:.S' "/proc/$1/status" && return
        sleep 0.1
    done
    fail "the program did not start"
}
LD_PRELOAD=$MEMOIR_LIB ./work more wait 2>err &
process=$!
wait_there "$process"

cat >try.py <<'PY'
import concurrent.futures, csv, glob, io, json, os, re, struct, subprocess, sys

tool, root, process = os.environ["MEMOIR_TOOL"], os.environ["ROOT"], sys.argv[1]
table = "".join(open(root + "/tool/command/" + name).read() for name in ("commands.def", "commands_flags.def"))
words = re.findall(r'^    (?:FIRST|NEXT)\((\w+)\)', open(root + "/tool/profile/write/write.h").read(), re.M)
assert len(words) > 10
table = table.replace("WRITER_WORDS", '"%s"' % "|".join(words))
table = re.sub(r'"\s*\n\s*"', "", table)
ids = dict(re.findall(r'COMMAND\((\w+),\s*"([^"]*)"', table))
verbs = re.findall(r'COMMAND\(\w+,\s*"([^"]*)", \w+,\s*(\w+)', table)
flags = re.findall(r'(?:FLAG|ALSO)\(\s*\w+,\s*(\w+),\s*"([^"]*)",\s*(?:CHOICE\()?"?([^",)]*)', table)
flags = [(ids.get(of, of), name, argument) for of, name, argument in flags]
flags = [flag for flag in flags if not flag[2].startswith("VIEW_")]  # words that view.h puts together
assert len(verbs) > 30 and len(flags) > 60 and ("READERS", "--json", "NONE") in flags


def newest(pattern):
    found = sorted(glob.glob(pattern))
    assert found, "no " + pattern
    return found[-1]


def export(to, *words):
    subprocess.run([tool, "export", "a.memoir", "-o", to, *words], check=True, capture_output=True)
    return to


# A CPU profile as gperftools writes it: words of 8 bytes, then the mappings as text.
start = [int(line.split("-")[0], 16) for line in open("/proc/%s/maps" % process) if "r-xp" in line and "/work" in line][0]
words = [0, 3, 0, 10000, 0]
for number in range(20):
    words += [number + 1, 2, start + 16 * number + 8, start + 400]
with open("cpu.prof", "wb") as file:
    file.write(struct.pack("<%dQ" % len(words), *words) + struct.pack("<3Q", 0, 1, 0))
    file.write(open("/proc/%s/maps" % process, "rb").read())
with open("cpu.folded", "w") as file:
    file.write("main;work;one 10\nmain;work;two 20\nmain 5\n")
with open("growth.heap", "w") as file:
    file.write("heap profile: 1: 4096 [1: 4096] @ growthz\n1: 4096 [1: 4096] @ 0x401000 0x402000\n")
with open("contention", "w") as file:
    file.write("--- contention:\ncycles/second=1000000000\nsampling period=100\n1000 5 @ 0x401000 0x402000\n")
with open("memoir-guard-1-1.json", "w") as file:
    file.write('{"schema":"memoir.guard/1","program":"/work","pid":1,"text":"an overflow",'
               '"stacks":[{"what":"accessed","thread":1,"name":"a","age_ms":0,"frames":["0x401000"]}],"modules":[]}')
inputs = {
    "capture": "a.memoir", "jemalloc": newest("je*"), "gperftools": newest("gp*"), "pprof": newest("pb*"),
    "cpu": "cpu.prof", "folded": "cpu.folded", "growth": "growth.heap", "contention": "contention",
    "process": process,
}
for ending in "callgrind", "speedscope.json", "dhat.json", "massif":
    inputs[ending] = export("written." + ending)
inputs["symbolized"] = export("written.symbolized")

values = {
    "PATH": ["/nothing"], "RE": ["keep|main", "^nothing$"], "RANGE": ["1:1G"], "METRIC": ["live", "peak", "alloc", "count"],
    "NUMBER": ["3"], "LIMIT": ["1K"], "PROFILE": ["b.memoir"], "NAME": ["1"], "SETTING": ["heap.rate=1M"],
    "BYTES": ["64K"], "TIME": ["1s"], "NONE": [None],
}
alone = {"run", "cpu", "stats", "shell", "jeprof", "google-pprof", "pprof", "flamegraph.pl", "difffolded.pl"}  # tried in their own way, below
writes = {"export", "merge", "redact"}
runs, count = [], 0


def add(verb, operands, words, *, form="text", codes=(0,), answer=True):
    global count
    count += 1
    runs.append(([verb, *operands, *words], form, codes, answer))


for verb, operands in verbs:
    if verb in alone:
        continue
    own = [(name, argument) for of, name, argument in flags if of == verb or (of == "READERS" and "PROFILES" in operands)]
    if "PROFILES" not in operands:
        first = {"VERB": ["run"], "WORD": ["zsh"]}.get(operands, [])
        if operands == "PROCESS":
            first = [process, "show"]
        if verb == "recover":  # of a file of ours: without an operand it takes all of this user's
            for number, words in enumerate(([], ["--json"], ["--output", "recovered.memoir"])):
                add(verb, ["state.%d" % number], words, form="json" if "--json" in words else "text",
                    answer="--json" in words)  # else it speaks on standard error
            continue
        add(verb, first, [])
        for name, argument in own:
            if name == "--format":  # of ctl: of a dump
                add(verb, [process, "dump", os.path.abspath("dump.%d" % count)], [name, argument.split("|")[0]], answer=False)
            else:
                add(verb, first, [name], form="json" if name == "--json" else "text")
        continue
    rest = ["main"] if operands == "PROFILES_AND_RE" else []
    for kind, path in inputs.items():
        target = ["-o", "made.%s.%s.pb.gz" % (verb, kind)] if verb in writes else []
        # A profile of no blocks has no sizes, of no code no instructions, ...: then it says so.
        for form in ("text",) if verb in writes else ("text", "json", "csv"):
            words = [] if form == "text" else ["--" + form]
            add(verb, [path] + rest, words + target, form=form, codes=(0, 1, 2, 3), answer=verb not in writes)
    for name, argument in own:
        if name in ("--json", "--csv", "--output", "--fetch"):
            continue
        for value in values.get(argument) or argument.split("|"):
            path = inputs["pprof"] if count % 4 == 0 else "a.memoir"
            words = [name] if value is None else [name, value]
            target = ["-o", "made.%d.pb.gz" % count] if verb in writes or name == "--embed" else []
            if name == "--picture":
                target = ["-o", "made.%d.svg" % count]
            add(verb, [path] + rest, words + target, codes=(0, 1, 2, 3), answer=verb not in writes)
    if operands == "TWO_PROFILES":
        for form in "text", "json", "csv":
            add(verb, ["b.memoir", "a.memoir"], [] if form == "text" else ["--" + form], form=form, codes=(0, 1, 2))
for ending in "svg", "dot", "png", "pdf", "ps", "gif", "pb.gz", "folded", "callgrind", "perfetto.json", "csv", "heap":
    for path in "a.memoir", "cpu.prof":
        add("export", [path], ["-o", "picture.%d.%s" % (count, ending)], codes=(0, 2, 3), answer=False)
        add("export", [path], ["--base", "cpu.folded" if path == "cpu.prof" else "b.memoir", "-o", "picture.%d.%s" % (count, ending)],
            codes=(0, 2, 3), answer=False)
add("cpu", [process], ["--duration", "200ms", "--rate-hz", "1000", "--rows", "3", "--output", "sampled.memoir"])
add("stats", [process], [])
add("stats", [process], ["--json"])
add("flamegraph.pl", ["--title=All", "cpu.folded"], [])
add("difffolded.pl", ["cpu.folded", "cpu.folded"], [])
old = "jeprof", "google-pprof", "pprof"
for name in old:
    for output in "text", "raw", "dot", "callgrind", "collapsed", "tree", "traces", "top", "list=main", "disasm=keep", "svg":
        for path in inputs["jemalloc"], inputs["gperftools"], inputs["pprof"], "cpu.prof":
            add(name, ["--" + output, "./work", path], [], codes=(0, 1, 2, 3))
shell = [word + "\n" for word in ("top", "top5", "tree", "peek main", "list main", "disasm keep", "traces", "focus=keep", "top",
                                  "focus=", "sizes", "threads", "leaks", "churn", "frag", "time", "report", "peak", "symbols", "help",
                                  "export -o shell.folded", "top > shell.txt", "wrong", "quit")]


def judge(words, form, codes, answer):
    source = "".join(shell) if words[0] == "shell" else None
    done = subprocess.run([tool, *words], input=source, capture_output=True, text=True, errors="replace", timeout=120)
    say = "memoir %s: " % " ".join(words)
    if "AddressSanitizer" in done.stderr or "runtime error" in done.stderr:
        return say + done.stderr[:2000]
    if done.returncode not in codes:
        return say + "status %d: %s" % (done.returncode, done.stderr[-500:])
    refused = done.returncode > 1 or words[0] in old and (done.returncode == 1 or words[1].startswith(("--list", "--disasm")))
    if refused and not done.stdout.strip():
        return None if done.stderr.strip() else say + "status %d without a word" % done.returncode
    if "-o" in words and words[0] != "check":
        path = words[words.index("-o") + 1]
        if not os.path.exists(path) or os.path.getsize(path) == 0:
            return say + "it wrote nothing"
    elif answer and not done.stdout.strip():
        return say + "nothing was said"
    if form == "json":
        try:
            schema = json.loads(done.stdout)["schema"]
        except (ValueError, KeyError) as error:
            return say + "no JSON: %s" % error
        if not schema.startswith("memoir."):
            return say + schema
    if form == "csv":
        rows = list(csv.reader(io.StringIO(done.stdout)))
        if words[0] == "traces":  # which have as many columns as frames
            rows = [row[:3] for row in rows]
        if len({len(row) for row in rows}) != 1:
            return say + "rows of different lengths"
    return "answered"


for path in inputs.values():
    runs.append((["shell", path], "text", (0, 1, 2, 3), True))
share = int(os.environ.get("SHARE") or "1")  # one in this many
runs = runs[::share]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = list(pool.map(lambda run: judge(*run), runs))
wrong = sorted({result for result in results if result and result != "answered"})
print("%d commands, %d answers, %d wrong" % (len(runs), results.count("answered"), len(wrong)))
print("\n".join(wrong[:40]))
answered = {run[0][0] for run, result in zip(runs, results) if result == "answered" }
silent = sorted({verb for verb, _ in verbs} - answered - {"run"}) if share == 1 else []
if silent:
    print("verbs without any answer:", *silent)
sys.exit(bool(wrong or silent) or results.count("answered") < len(runs) // 2)
PY
# Where each takes longer, one in three.
ROOT=$root MEMOIR_TOOL=$MEMOIR_TOOL SHARE=${MEMOIR_SANITIZER:+3} python3 try.py "$process" || fail "see above"
kill "$process"
# The control: a command that crashes, and one that says nothing, are seen.
for planted in 'kill -SEGV $$' 'exit 0'; do
    printf '#!/bin/sh\ncase " $* " in *" export "*) exec %s "$@" ;; *) %s ;; esac\n' "$MEMOIR_TOOL" "$planted" >planted
    chmod +x planted
    ./work more wait &
    process=$!
    wait_there "$process"
    ! ROOT=$root MEMOIR_TOOL=$place/planted SHARE=40 python3 try.py "$process" >out 2>&1 || fail "control: '$planted' was not seen"
    kill "$process"
done
finish
