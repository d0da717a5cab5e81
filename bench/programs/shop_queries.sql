/* SPDX-License-Identifier: MIT. Asked by 8 clients in turn. The delimiter stands in no text. */
SELECT name, city FROM customer WHERE id = 1234;
SELECT customer, COUNT(*), SUM(amount) FROM sale WHERE item = 'item 77' GROUP BY customer ORDER BY
    3 DESC;
SELECT c.city, COUNT(*) AS n FROM customer c JOIN sale s ON s.customer = c.id WHERE c.id BETWEEN
    100 AND 120 GROUP BY c.city ORDER BY n;
SELECT GROUP_CONCAT(UPPER(note) SEPARATOR ',') FROM customer WHERE id BETWEEN 500 AND 540;
SELECT JSON_OBJECT('id', id, 'name', name, 'note', REPLACE(note, 'o', '0')) FROM customer WHERE id
    BETWEEN 900 AND 930;
SELECT id FROM sale WHERE item IN ('item 1', 'item 2', 'item 3', 'item 4', 'item 5') AND amount >
    (SELECT AVG(amount) FROM sale WHERE customer = 17) ORDER BY amount LIMIT 20;
UPDATE sale SET amount = amount + 1, item = CONCAT('item ', 5000 % 1000) WHERE id = 5000;
SELECT s.item, t.n FROM sale s JOIN (SELECT customer, COUNT(*) AS n FROM sale WHERE customer < 40
    GROUP BY customer) t ON t.customer = s.customer WHERE s.customer < 20
