#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx under load with the library in all its processes: every answer arrives and is right, a
# reload and a stop in between go well.
. "$(dirname "$0")/../../programs/same.sh"
export PATH="$PATH:/usr/sbin"
need nginx curl
requests=${NGINX_REQUESTS:-2000}
port=$((20000 + $$ % 20000))

mkdir "$place/site"
seq 1 30000 >"$place/site/numbers.txt"
echo small >"$place/site/small.txt"
cat >"$place/nginx.conf" <<END
user root; worker_processes 2; pid $place/nginx.pid; error_log stderr warn;
events { worker_connections 200; }
http { access_log off; client_body_temp_path $place/t1; proxy_temp_path $place/t2; fastcgi_temp_path $place/t3;
    uwsgi_temp_path $place/t4; scgi_temp_path $place/t5; gzip on; gzip_types text/plain; gzip_min_length 10;
    server { listen 127.0.0.1:$port; root $place/site; location /proxy/ { proxy_pass http://127.0.0.1:$port/; } } }
END

load() {
    if command -v ab >/dev/null 2>&1; then
        for page in small.txt numbers.txt proxy/numbers.txt; do
            LD_PRELOAD='' ab -q -n "$requests" -c 20 -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/$page" |
                grep -E '^(Complete|Failed|Non-2xx)'
        done
    else
        i=0
        while [ $i -lt 200 ]; do
            LD_PRELOAD='' curl -sf --compressed "http://127.0.0.1:$port/proxy/numbers.txt" | cksum
            i=$((i + 1))
        done | sort | uniq -c
    fi
}
serve() {
    nginx -c "$place/nginx.conf" -g 'daemon off;' 2>log &
    server=$!
    tries=0
    until LD_PRELOAD='' curl -sf "http://127.0.0.1:$port/small.txt" >/dev/null || [ $tries -gt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    LD_PRELOAD='' curl -s --compressed "http://127.0.0.1:$port/numbers.txt" | cksum
    load
    kill -HUP $server
    sleep 1
    load
    LD_PRELOAD='' curl -s "http://127.0.0.1:$port/missing" | grep -o '<title>.*</title>'
    kill -QUIT $server
    wait $server
    echo "server ended with $?"
    grep -v 'signal process started' log | grep -i 'memoir\|signal\|alert' | grep -v 'signal 1[57]'
    rm -f log
}
same "nginx" serve
finish
