#!/bin/sh
# SPDX-License-Identifier: MIT
# mariadbd under mysqlslap's mixed load: it starts, answers, and ends when it is told to.
. "$(dirname "$0")/../../programs/same.sh"
export PATH="$PATH:/usr/sbin"
need mariadbd mysqlslap mysqladmin mysql_install_db
LD_PRELOAD='' mysql_install_db --no-defaults --user="$(id -un)" --datadir="$place/data" \
    --auth-root-authentication-method=normal >/dev/null 2>&1 || skip "no database could be made"

serve() {
    mariadbd --no-defaults --user="$(id -un)" --datadir="$place/data" --socket="$place/socket" --skip-networking \
        --pid-file="$place/pid" --innodb-buffer-pool-size=64M >log 2>&1 &
    server=$!
    tries=0
    until LD_PRELOAD='' mysqladmin -uroot -S "$place/socket" ping >/dev/null 2>&1 || [ $tries -gt 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    LD_PRELOAD='' mysqlslap -uroot -S "$place/socket" --concurrency=8 --iterations=1 --number-of-queries=3000 \
        --auto-generate-sql --auto-generate-sql-load-type=mixed 2>&1 | grep -i 'per client\|error'
    LD_PRELOAD='' mysqladmin -uroot -S "$place/socket" shutdown
    wait $server
    echo "server ended with $?"
    grep -i '\[ERROR\]\|got signal\|memoir' log
    rm -f log
}
same mariadbd serve
finish
