#!/bin/sh
# SPDX-License-Identifier: MIT
# A PostgreSQL cluster made, filled, queried, dumped and put under pgbench with the library in
# every process. The dump equals the one of a bare cluster.
. "$(dirname "$0")/../../programs/same.sh"
binaries=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort | tail -n 1)
[ -x "$binaries/initdb" ] || skip "postgresql is not installed"
[ -x "$binaries/pgbench" ] || binaries=$binaries:$(dirname "$(command -v pgbench)")
export PATH="$binaries:$PATH"
[ "$(id -u)" -eq 0 ] || skip "needs root, to become the user postgres"
id postgres >/dev/null 2>&1 || skip "there is no user postgres"
need setpriv
chmod 755 "$place"
transactions=${POSTGRES_TRANSACTIONS:-500}

as_postgres() {
    setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
}
cluster() {
    chown postgres .
    as_postgres initdb -D data -A trust -U postgres --no-sync --no-locale -E UTF8 >log 2>&1 || cat log
    as_postgres pg_ctl -D data -w -t 60 -l server.log -o "-k $PWD/data -c listen_addresses= -c fsync=off" start \
        >log 2>&1 || cat log server.log
    export PGHOST="$PWD/data" PGUSER=postgres
    psql -q -X <<'END'
CREATE TABLE t (id serial PRIMARY KEY, a int, b text);
INSERT INTO t (a, b) SELECT i * 7919 % 10007, 'text ' || i % 100 FROM generate_series(1, 50000) i;
CREATE INDEX ON t (a); CREATE FUNCTION f(x int) RETURNS int LANGUAGE plpgsql AS
    'DECLARE s int := 0; BEGIN FOR i IN 1..x LOOP s := s + i; END LOOP; RETURN s; END';
SELECT count(*), sum(a), md5(string_agg(b, ',' ORDER BY id)) FROM t;
SELECT b, count(*), f(count(*)::int) FROM t GROUP BY b ORDER BY b LIMIT 5;
UPDATE t SET b = upper(b) WHERE id % 3 = 0; DELETE FROM t WHERE id % 7 = 0; VACUUM FULL;
SELECT x.id FROM t x JOIN t y ON x.a = y.a + 1 ORDER BY 1 LIMIT 5;
END
    pg_dump -t t | grep -v '^--\|^SET\|restrict' | cksum
    pgbench -q -i -s 2 >log 2>&1 || cat log
    pgbench -n -c 4 -j 2 -t "$transactions" 2>log | grep 'actually processed' || cat log
    as_postgres pg_ctl -D data -w -m fast stop >log 2>&1 || cat log
    echo "ended with $?"
    grep -c 'memoir' server.log
    grep -i 'panic\|terminated by signal' server.log
    rm -rf data log server.log
}
once_more() {
    cluster
    true
}
same "postgres" once_more
finish
