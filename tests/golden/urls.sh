#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitized-too quick-too
#
# Profiles from a server: with and without a path, both protocols, gzip around it, names by
# POST to /pprof/symbol, seconds, and what is said when there is nothing.
. "$(dirname "$0")/../programs/common.sh"
need python3
cd "$place" || exit 2
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
memoir() { "$MEMOIR_TOOL" "$@"; }
cat >server.py <<'END'
import gzip, http.server, struct
heap = b"""heap profile: 3: 300 [ 3: 300] @ heapprofile
     2: 200 [ 2: 200] @ 0x7700000010 0x7700000020
     1: 100 [ 1: 100] @ 0x7700000030 0x7700000020
"""
cpu = struct.pack("<12Q", 0, 3, 0, 10000, 0, 7, 2, 0x7700000010, 0x7700000021, 0, 1, 0)
names = {0x7700000010: "Remote::load", 0x7700000020: "main", 0x7700000030: "Remote::keep"}

class Server(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with open("requests", "a") as file:
            file.write("GET %s\n" % self.path)
        if self.path.startswith("/pprof/heap"):
            self.answer(200, gzip.compress(heap), Content_Encoding="gzip")
        elif self.path.startswith("/pprof/profile"):
            self.answer(200, cpu)
        elif self.path == "/moved":
            self.answer(302, b"", Location="/pprof/heap")
        elif self.path == "/file":
            self.answer(302, b"", Location="file:///etc/passwd")
        else:
            self.answer(404, b"no such page\n" * 1000)  # longer than the profile

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with open("requests", "a") as file:
            file.write("POST %s %s\n" % (self.path, body))
        lines = ["%s\t%s\n" % (word, names[int(word, 16)]) for word in body.split("+")]
        self.answer(200, "".join(lines).encode())

    def log_message(self, *words):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Server)
with open("port.new", "w") as file:
    file.write(str(server.server_address[1]))
import os
os.rename("port.new", "port")
server.serve_forever()
END
serve

for url in "$at" "http://$at" "http://$at/" "$at/pprof/heap" "$at/pprof" "http://$at/pprof/" "http://$at/moved"; do
    memoir top "$url" --csv >said 2>errors || {
        grep -q 'libcurl, which is not installed' errors && skip "no libcurl"
        fail "$url: $(cat errors)"
    }
    grep -q '^200,2,0,200,2,0,Remote::load,' said || fail "$url: $(cat said)"
    grep -q '^100,1,0,100,1,0,Remote::keep,' said || fail "$url: $(cat said)"
done
grep -q '^GET /debug/pprof/heap$' requests || fail "the newer protocol was not tried first"
grep -q '^POST /pprof/symbol 0x' requests || fail "names were not asked for"
memoir top "$at/pprof/heap" --seconds 3 >/dev/null 2>&1
grep -q '^GET /pprof/heap?seconds=3$' requests || fail "no seconds: $(cat requests)"

# With seconds, a server without a path is asked for the time on the CPU.
for url in "$at" "http://$at/" "$at/pprof/" "$at/pprof/profile"; do
    : >requests
    memoir top "$url" --seconds 2 --csv >said 2>errors || fail "$url: $(cat errors)"
    grep -q '^70000000,7,.*,Remote::load,' said || fail "$url: $(cat said)"
    grep -q '^GET /pprof/profile?seconds=2$' requests || fail "$url: $(cat requests)"
done
for words in "google-pprof --text --seconds=3 $at" "google-pprof --text --seconds=3 $at/pprof/profile" \
    "jeprof --text --seconds=3 http://$at/pprof/profile" "pprof -top -seconds 3 http://$at/pprof/profile" \
    "pprof -top -seconds=3 http://$at"; do
    : >requests
    # shellcheck disable=SC2086
    HOME=$place memoir $words >said 2>errors || fail "$words: $(cat errors)"
    grep -q 'Remote::load' said || fail "$words: $(cat said)"
    grep -q '^GET /pprof/profile?seconds=3$' requests || fail "$words: $(cat requests)"
done

wrong() { # CODE PATTERN URL
    expect "$1" memoir top "$3" 2>errors >said
    grep -Eq "$2" errors || fail "$3: $(cat errors)"
}
wrong 4 'the server answers 404' "$at/nothing"
wrong 4 'curl -v ' "$at/nothing"
wrong 4 '.' "http://$at/file" # to another protocol one is not led
wrong 4 "[Cc]o.*n.*ct" 127.0.0.1:1/heap
finish
