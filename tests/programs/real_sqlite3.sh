#!/bin/sh
# SPDX-License-Identifier: MIT
# sqlite3 gives the same answers and the same database under the library.
. "$(dirname "$0")/same.sh"
need sqlite3

cat >"$place/work.sql" <<'END'
PRAGMA journal_mode = WAL;
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
    INSERT INTO t SELECT i, i * 7919 % 10007, 'text ' || (i % 1000), zeroblob(i % 200) FROM n;
CREATE INDEX ia ON t (a); CREATE INDEX ib ON t (b, a);
SELECT count(*), sum(a), sum(length(c)) FROM t;
SELECT b, count(*), group_concat(a % 10, '') FROM t WHERE a < 500 GROUP BY b ORDER BY 2 DESC, 1 LIMIT 5;
SELECT x.id, y.id FROM t x JOIN t y ON x.a = y.a + 1 WHERE x.b = 'text 77' ORDER BY 1, 2 LIMIT 5;
UPDATE t SET b = upper(b) || a WHERE id % 3 = 0; DELETE FROM t WHERE id % 5 = 0;
SELECT a, row_number() OVER (PARTITION BY a % 7 ORDER BY id) AS r FROM t ORDER BY r DESC, a LIMIT 3;
SELECT json_group_array(json_object('a', a)) FROM (SELECT a FROM t ORDER BY id LIMIT 20);
PRAGMA integrity_check; VACUUM; SELECT count(*) FROM t;
END
work() {
    sqlite3 data.db <"$place/work.sql"
    sqlite3 data.db .dump | cksum
    rm -f data.db* # its header counts changes by time
}

same "sqlite3" work
finish
