#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=200
#
# Go's pprof and memoir's fetch alike, from servers that anybody could be and until the time is over;
# and, which the one that comes with Go does not do and pprof itself does, from servers whose
# certificate an authority of ours signed and from those that want to know who asks. Both find
# programs in the folders of PPROF_BINARY_PATH, and the code that --add_lib names.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../programs/common.sh"
need go python3 openssl
go tool pprof -h 2>&1 | grep -q -- -topproto || skip "go tool pprof is another one"
sources=$here/old_commands
cd "$place" || exit 2
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY PPROF_TOOLS PPROF_BINARY_PATH
export HOME="$place" PPROF_TMPDIR="$place/pprof" MEMOIR_CACHE="$place/cache"
. "$sources/compare.sh"
python3 "$sources/labels.py" labels columns || exit 2
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
    -addext subjectAltName=IP:127.0.0.1 2>/dev/null || skip "openssl makes no certificate"
cat >server.py <<'END'
import http.server, os, ssl, time

class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.connection.getpeercert() is not None
        if self.path.startswith("/slow"):
            time.sleep(30)
        status = 403 if self.path.startswith("/known") and not known else 200
        body = open("labels.pb.gz", "rb").read() if status == 200 else b"who are you?\n"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
context.load_verify_locations("cert.pem")
context.verify_mode = ssl.CERT_OPTIONAL
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True)
with open("port.new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename("port.new", "port")
server.serve_forever()
END
serve

# fetched OPTION...: output and exit code.
fetched() {
    go tool pprof -top -symbolize=none "$@" >real.out 2>real.err </dev/null
    real=$?
    links/pprof -top -symbolize=none "$@" >ours.out 2>ours.err </dev/null
    ours=$?
    grep -q 'libcurl, which is not installed' ours.err && skip "no libcurl"
    compared=$((compared + 1))
    [ "$((real != 0))" -eq "$((ours != 0))" ] || fail "exit code $ours, not $real: pprof $*"
    cmp -s real.out ours.out || fail "pprof $* differs: $(diff real.out ours.out)"
}
fetched "https://$at/heap"
[ -s ours.out ] && fail "a server that nobody vouches for was believed"
fetched "https+insecure://$at/heap"
[ -s ours.out ] || fail "https+insecure is refused: $(cat ours.err)"
mv ours.out whole.out
fetched "https+insecure://$at/known"
[ -s ours.out ] && fail "the server told a stranger"
# Five seconds more than asked for, both.
fetched -timeout=1 "https+insecure://$at/slow"
[ -s ours.out ] && fail "-timeout waits for ever"

# told OPTION...: memoir's alone.
told() {
    links/pprof -top -symbolize=none "$@" >ours.out 2>ours.err </dev/null
    compared=$((compared + 1))
}
told -tls_ca=cert.pem "https://$at/heap"
cmp -s whole.out ours.out || fail "our authority is not heard: $(cat ours.err)"
told -tls_ca=cert.pem "https://$at/known"
[ -s ours.out ] && fail "the server told a stranger"
told -tls_ca=cert.pem -tls_cert=cert.pem -tls_key=key.pem "https://$at/known"
cmp -s whole.out ours.out || fail "the server does not know us: $(cat ours.err)"
told -tls_ca=cert.pem -tls_cert=cert.pem "https://$at/heap"
grep -q 'tls_cert is specified, so -tls_key must also be' ours.err || fail "$(cat ours.err)"
told -tls_ca=nosuch.pem "https://$at/heap"
grep -q '^nosuch.pem: No such file' ours.err || fail "$(cat ours.err)"

# Programs of another machine: by name and by path. The one that comes with Go knows no build ids of
# other languages' programs; memoir does as pprof itself: one of another build is refused.
build -g "$sources/plain.c" "$sources/shared.c" -Wl,--build-id=0x0123456789abcdef -o server
build -g "$sources/plain.c" "$sources/shared.c" -Wl,--build-id=0xaaaaaaaaaaaaaaaa -o later
binaries() { # FOLDERS
    PPROF_BINARY_PATH=$1 go tool pprof -symbolize=none -raw columns.pb.gz 2>real.err >real.out
    PPROF_BINARY_PATH=$1 links/pprof -symbolize=none -raw columns.pb.gz 2>ours.err >ours.out
    differ "PPROF_BINARY_PATH=$1"
    cmp -s real.err ours.err || fail "PPROF_BINARY_PATH=$1 says $(cat ours.err), not $(cat real.err)"
}
by_build() { # FOLDERS FILE
    PPROF_BINARY_PATH=$1 links/pprof -symbolize=none -raw labels.pb.gz 2>ours.err >ours.out
    grep -q "^1: 0x400000/0x500000/0x0 $2 0123456789abcdef " ours.out || fail "$2: $(cat ours.out)"
}
mkdir -p name path/srv/bin build/0123456789abcdef perf/srv/bin/server wrong pprof/binaries
cp server name/server
cp server path/srv/bin/server
cp server build/0123456789abcdef/other
cp server perf/srv/bin/server/0123456789abcdef
cp later wrong/server
for folders in "$place/name" "$place/path" "$place/nosuch:$place/path" "$place/wrong:$place/name" \
    "$place/name/" "$place/build"; do
    binaries "$folders"
done
by_build name name/server
by_build path path/srv/bin/server
by_build build build/0123456789abcdef/other
by_build perf perf/srv/bin/server/0123456789abcdef
by_build wrong:name name/server
[ "$(cat ours.err)" = \
    "Ignoring local file wrong/server: build-id mismatch (0123456789abcdef != aaaaaaaaaaaaaaaa)" ] ||
    fail "another build is not named: $(cat ours.err)"
cp server pprof/binaries/server
binaries ''
grep -q pprof/binaries/server ours.out || fail "the usual folder is not looked into"

# A library at its own addresses.
if command -v jeprof >/dev/null && command -v google-pprof >/dev/null; then
    build -O0 -gdwarf-3 -gstrict-dwarf -shared -fPIC "$sources/shared.c" -o libshared.so
    start=$(nm libshared.so | awk '$3 == "shared_keep" { print $1 }')
    python3 - "$start" >bare.heap <<'END'
import sys
start = int(sys.argv[1], 16)
print("heap profile:      3:      300 [     3:      300] @ heapprofile")
print("     2:      200 [     2:      200] @ 0x%x 0x%x" % (start + 6, start + 12))
print("     1:      100 [     1:      100] @ 0x%x 0x%x" % (start + 10, start + 12))
print("\nMAPPED_LIBRARIES:")
END
    for command in jeprof google-pprof; do
        for option in --text '--text --lines' '--text --addresses' '--list=shared_keep'; do
            # shellcheck disable=SC2086
            said $command $option --add_lib=libshared.so server bare.heap
        done
        grep -q shared_keep ours.out || fail "$command --add_lib finds nothing"
        echo "0x$start" | $command --symbols --add_lib=libshared.so server 2>/dev/null >real.out
        echo "0x$start" | links/$command --symbols --add_lib=libshared.so server 2>/dev/null >ours.out
        differ $command --symbols --add_lib
    done
    # gv is told the same; it shows nothing without a screen.
    mkdir bin
    cat >bin/gv <<'END'
#!/bin/sh
[ "$1" != --version ] || exit 0
echo "$1 $2 ${3##*.}" >"$GV_WORDS"
rm -f "$3"
END
    chmod +x bin/gv
    for command in jeprof google-pprof; do
        for name in real ours; do
            rm -f $name.out
            program=$command
            [ $name = real ] || program=links/$command
            GV_WORDS=$name.out PATH=$place/bin:$PATH \
                "$program" --gv --scale=3 --add_lib=libshared.so server bare.heap 2>&1 | cat >/dev/null
        done
        for _ in $(seq 50); do
            [ -s ours.out ] && break
            sleep 0.1
        done
        ! command -v dot >/dev/null || differ $command --gv --scale
    done
fi
echo "$compared comparisons"
finish
