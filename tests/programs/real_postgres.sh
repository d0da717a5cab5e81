#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial: all processes of a user share one folder of sockets.
# PostgreSQL under the library: it works, and a backend, which has SIGURG blocked for its own use,
# answers to `memoir top` while it does something.
. "$(dirname "$0")/common.sh"
need psql
programs=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ -x "$programs/postgres" ] || skip "postgres is not installed"
open_place
folder=$place/data
stop() { as_user "$programs/pg_ctl" -D "$folder" -m "$1" -w -t 60 stop >"$place/stopped" 2>&1; }
trap '[ ! -e "$folder/postmaster.pid" ] || stop immediate; rm -rf "$place"' EXIT

as_user() { # it refuses to run as root
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid postgres --regid postgres --clear-groups env -u XDG_RUNTIME_DIR \
            HOME="$place" TMPDIR=/tmp "$@"
    else
        "$@"
    fi
}
if [ "$(id -u)" -eq 0 ]; then
    id postgres >/dev/null 2>&1 || skip "there is no user postgres"
    mkdir "$folder"
    chown postgres "$folder"
    # The library and the command may lie where that user can't look.
    cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
    cp "$MEMOIR_TOOL" "$place/memoir"
    MEMOIR_LIB=$place/libmemoir.so
    MEMOIR_TOOL=$place/memoir
    chmod 755 "$MEMOIR_LIB" "$MEMOIR_TOOL"
fi
ask() { as_user "$programs/psql" -X -q -A -t -h "$folder" -U tester postgres "$@"; }

cd / || exit 2
as_user "$programs/initdb" -D "$folder" -U tester -A trust -N >"$place/log" 2>&1 ||
    skip "initdb: $(tail -n 1 "$place/log")"
as_user env LD_PRELOAD="$MEMOIR_LIB" "$programs/postgres" -D "$folder" -k "$folder" -c listen_addresses= \
    -c fsync=off -c logging_collector=off >"$place/log" 2>&1 &
server=$!
for _ in $(seq 300); do
    ask -c 'select 1' >/dev/null 2>&1 && break
    sleep 0.1
done
[ "$(ask -c 'select 6 * 7')" = 42 ] || fail "no answer: $(cat "$place/log")"

# a backend that sorts and aggregates, again and again
ask -c "do \$\$ declare n bigint; until timestamptz := clock_timestamp() + interval '60 s'; begin
  while clock_timestamp() < until loop
    select count(*) into n from (select string_agg(x::text, ',') from generate_series(1, 200000) x group by x % 5000) t;
  end loop; end \$\$" >/dev/null 2>&1 &
client=$!
worker=
for _ in $(seq 100); do
    worker=$(ask -c "select pid from pg_stat_activity where query like 'do %' and state = 'active'")
    [ -n "$worker" ] && break
    sleep 0.1
done
grep -q libmemoir "/proc/$worker/maps" || fail "no library in the backend"
for round in 1 2 3; do
    as_user "$MEMOIR_TOOL" top "$worker" >"$place/top" 2>&1 ||
        fail "round $round: exit code $?: $(cat "$place/top")"
done
grep -Eq 'AllocSet|Context|palloc|postgres' "$place/top" || fail "no function of postgres: $(cat "$place/top")"
"$MEMOIR_TOOL" ctl "$worker" stats >"$place/stats" 2>&1 || fail "root: $(cat "$place/stats")"
grep -q '^live_bytes:[1-9]' "$place/stats" || fail "no live bytes"
[ "$(ask -c 'select count(*) from generate_series(1, 1000)')" = 1000 ] || fail "it does not work any more"
ask -c "select pg_cancel_backend($worker)" >/dev/null
wait "$client"
grep -E 'PANIC|terminated by signal' "$place/log" && fail "a backend has crashed"
stop fast || fail "it does not stop: $(cat "$place/stopped")"
wait "$server" || fail "the server ended with $?"
quiet "$place/log"
finish
