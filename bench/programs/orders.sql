-- SPDX-License-Identifier: MIT
-- An sqlite3 program with fixed work, in memory: rows made by recursion, indexes, joins, groups,
-- text functions, json, updates and deletes. Prints a few sums, equal under every allocator.
PRAGMA journal_mode = MEMORY;
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, city TEXT, note TEXT);
CREATE TABLE sale (id INTEGER PRIMARY KEY, customer INTEGER, day INTEGER, amount REAL, item TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO customer SELECT i, 'customer ' || i, 'city ' || (i * 7919 % 300),
    substr('the quick brown fox jumps over the lazy dog again and again', 1 + i % 30, 10 + i % 25)
    FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
INSERT INTO sale SELECT i, 1 + i * 104729 % 20000, i % 365, (i * 31 % 10007) / 7.0,
    'item ' || (i * 17 % 5000) FROM n;
COMMIT;
CREATE INDEX sale_customer ON sale (customer, day);
CREATE INDEX sale_item ON sale (item);
CREATE INDEX customer_city ON customer (city);
SELECT count(*), round(sum(amount)) FROM sale WHERE item LIKE 'item 4%';
SELECT count(*), round(sum(total)) FROM (
    SELECT city, sum(amount) AS total FROM customer JOIN sale ON customer.id = sale.customer
    GROUP BY city ORDER BY total DESC);
SELECT sum(length(j)) FROM (
    SELECT json_group_array(json_object('id', id, 'name', name, 'note', upper(note))) AS j
    FROM customer GROUP BY city);
SELECT count(*), sum(length(g)) FROM (
    SELECT customer, group_concat(item || ':' || printf('%.2f', amount), ';') AS g
    FROM sale GROUP BY customer);
UPDATE sale SET item = replace(item, 'item', 'thing'), amount = amount * 1.1 WHERE day % 3 = 0;
DELETE FROM sale WHERE id % 5 = 0;
SELECT count(DISTINCT item), round(avg(amount), 3) FROM sale;
SELECT sum(rank) FROM (
    SELECT rank() OVER (PARTITION BY day ORDER BY amount DESC) AS rank FROM sale);
SELECT count(*) FROM sale a JOIN sale b ON a.customer = b.customer AND a.id < b.id
    WHERE a.day < b.day AND substr(a.item, -1) = substr(b.item, -1);
