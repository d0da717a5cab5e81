# SPDX-License-Identifier: MIT
# helper: sourced by old_commands.sh. Command lines as people were taught them, in a folder where the
# old names are memoir's.
# shellcheck shell=sh disable=SC2154
mkdir -p guides && cd guides || exit 2
cp ../plain a.out && cp ../plain exe
for file in jeprof.28954.0.m0.heap jeprof.34584.2.i2.heap heapprofile.out.0001.heap; do
    cp "../$first" $file
done
for file in jeprof.28954.1.m1.heap jeprof.34584.3.i3.heap heapprofile.out.0002.heap prof.2; do
    cp "../$second" $file
done
cp ../gp.0001.heap logfile && cp ../gp.0002.heap logfile2 && cp "../$first" prof.1

# works PATTERN COMMAND: what it prints has a line like this.
works() {
    pattern=$1
    shift
    (PATH=$place/links:$PATH sh -c "$*") >out 2>err </dev/null ||
        fail "exit code $? of: $* ($(tail -n 1 err))"
    grep -a -q "$pattern" out || fail "no '$pattern' in the output of: $*"
}
ln -sf ../links/pprof pprof
works '^Total: ' 'pprof --text ./exe logfile'
works '^Total: ' 'pprof --text ./exe --base=logfile logfile2'
works '^%PDF' 'pprof --pdf ./exe logfile > 1.pdf && cat 1.pdf'
works '^GIF8' 'pprof --gif ./exe logfile > 1.gif && cat 1.gif'
works '<svg' 'pprof --svg ./exe logfile > 1.svg && cat 1.svg'
works '^%!PS' 'pprof --gv ./exe logfile > 1.gv && cat 1.gv'
works '^%!PS' 'pprof --ps ./exe logfile'
works 'keep_small' 'pprof --text --focus=keep --ignore=large --line ./exe logfile'
works 'keep_small' 'pprof --text --addresses ./exe logfile'
works '^digraph' 'pprof --dot ./exe logfile'
works 'ROUTINE.*keep_deep' 'pprof --list=keep_deep ./exe logfile'
works 'ROUTINE.*keep_deep' 'pprof --disasm=keep_deep ./exe logfile'
works 'keep_small' 'pprof --text --functions --focus=keep ./exe logfile'
works '^Total: ' "pprof --text --ignore='DoAllocWithArena|SbrkSysAllocator::Alloc|MmapSysAllocator::Alloc' ./exe logfile"
works '^Total: ' './pprof --text ./exe --base=logfile logfile2'
works ':[0-9]' 'jeprof --text --lines a.out prof.2'
works '^Total: ' 'jeprof --show_bytes a.out jeprof.28954.1.m1.heap'
works '^%PDF' 'jeprof --pdf a.out jeprof.28954.1.m1.heap > je.pdf && cat je.pdf'
works '^digraph' 'jeprof --dot a.out -base=jeprof.28954.0.m0.heap jeprof.28954.1.m1.heap'
works '^%PDF' 'jeprof --show_bytes --pdf a.out jeprof.28954.1.m1.heap > a.pdf && cat a.pdf'
works '^Total: .* MB' 'jeprof a.out --base=jeprof.34584.2.i2.heap jeprof.34584.3.i3.heap'
works '^Total: .* MB' 'jeprof a.out --base=prof.1 prof.2'
works '<svg' 'pprof --svg a.out logfile > heap.svg && cat heap.svg'
works '<svg' 'pprof --svg a.out --base=logfile logfile2 > heap.diff.svg && cat heap.diff.svg'
if command -v dot >/dev/null; then
    works 'svg' 'jeprof --dot a.out prof.2 > heap.dot && dot -Tsvg heap.dot -o heap.svg && cat heap.svg'
fi
works 'keep' 'jeprof --text --show_bytes a.out prof.1 > heap1.txt
    jeprof --text --show_bytes a.out prof.2 > heap2.txt; diff heap1.txt heap2.txt || true'
# A table is nothing that a flame graph could be drawn of; one command does it from the profile.
works '<svg' 'memoir export prof.2 -o heap_flame.svg --title="jemalloc Heap Profile" && cat heap_flame.svg'
works '<svg' 'memoir export prof.2 --base prof.1 -o heap_diff.svg --title="jemalloc Heap Diff" && cat heap_diff.svg'
works '<svg' 'jeprof --collapsed a.out prof.2 | memoir export - --picture flame -o -'
works ' [0-9]* [0-9]*$' 'memoir export prof.2 --base prof.1 -o heap_diff.diff.folded && cat heap_diff.diff.folded'
works '<svg' 'memoir export heap_diff.diff.folded -o heap_diff2.svg && cat heap_diff2.svg'
works 'no stacks' 'memoir export heap1.txt -o no.svg 2>&1 || true'
# What the shell draws goes to a file.
works '^GIF8' "printf 'text\ngif > shell.gif\nquit\n' | pprof --interactive ./exe logfile && cat shell.gif"
works '^%!PS' "printf 'gv > shell.ps\nquit\n' | pprof --interactive ./exe logfile && head -n 1 shell.ps"
works '<pre>' "printf 'weblist keep_deep > shell.html\nquit\n' | pprof --interactive ./exe logfile && cat shell.html"
if [ -s ../cpu.prof ]; then
    cp ../cpu.prof cpuprofile.out
    works '<svg' 'pprof --svg a.out cpuprofile.out > cpu.svg && cat cpu.svg'
    works 'burn' 'pprof --text ./a.out ./cpuprofile.out'
fi
# The program as /proc knows it, while it runs.
sleep 60 &
sleeper=$!
works '^Total: ' "jeprof --text --show_bytes /proc/$sleeper/exe prof.1 > heap.txt && cat heap.txt"
if command -v dot >/dev/null; then
    works 'svg' "jeprof --dot /proc/$sleeper/exe prof.1 > heap.dot; dot -Tsvg heap.dot -o heap.svg && cat heap.svg"
fi
kill $sleeper

# From a server.
mkdir -p served/pprof && cp prof.2 served/pprof/heap
python3 -u -c '
import functools, http.server
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="served")
server = http.server.HTTPServer(("127.0.0.1", 0), handler)
print(server.server_port, flush=True)
server.serve_forever()' >port 2>/dev/null &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -s port ] && break
    sleep 0.5
done
works 'keep_large' "JEPROF_TMPDIR=$place/fetched jeprof --text a.out http://127.0.0.1:$(cat port)/pprof/heap"
works 'Total: ' "JEPROF_TMPDIR=$place/fetched jeprof --text 127.0.0.1:$(cat port)/pprof/heap"
kill $server

# On a terminal it is a shell.
python3 - "$place/links" <<'END' >out 2>&1 || fail "no shell on a terminal"
import os, pty, sys
def run(words, typed):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["PATH"] = sys.argv[1] + ":" + os.environ["PATH"]
        os.environ["TERM"] = "dumb"
        os.execvp(words[0], words)
    os.write(fd, typed.encode())
    text = b""
    while True:
        try:
            part = os.read(fd, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    os.waitpid(pid, 0)
    return text.decode()
text = run(["jeprof", "a.out", "prof.2"], "top\nhelp\nnonsense\nquit\n")
for wanted in ("Using local file a.out.", "Welcome to jeprof!  For help, type 'help'.", "(jeprof) ",
               "Total: ", "keep_large", "Unknown command: try 'help'."):
    if wanted not in text:
        sys.exit("no '%s' in: %s" % (wanted, text))
text = run(["jeprof", "a.out", "--base=prof.1", "prof.1"], "top\nquit\n")
if "Total: 0.0 MB" not in text:
    sys.exit("a profile without itself is not empty: " + text)
text = run(["pprof", "-sample_index=inuse_space", "a.out", "logfile"], "png\ntop3\nquit\n")
if "Generating report in profile001.png" not in text or open("profile001.png", "rb").read(4) != b"\x89PNG":
    sys.exit("no picture from Go's shell: " + text)
text = run(["google-pprof", "a.out", "logfile"], "top\nquit\n")
if "Welcome to pprof!" not in text or "(pprof) " not in text:
    sys.exit("no shell of google-pprof: " + text)
END
grep -q . out && cat out
cd "$place" || exit 2
