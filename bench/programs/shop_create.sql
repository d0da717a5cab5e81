/* SPDX-License-Identifier: MIT. The tables that shop_queries.sql asks. */
CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(60), city VARCHAR(40), note TEXT)
    ENGINE=Aria TRANSACTIONAL=0;
CREATE TABLE sale (id INT PRIMARY KEY, customer INT, day INT, amount DOUBLE, item VARCHAR(40), KEY
    (customer), KEY (item)) ENGINE=Aria TRANSACTIONAL=0;
INSERT INTO customer SELECT seq, CONCAT('customer ', seq), CONCAT('city ', seq * 7919 % 300),
    SUBSTR('the quick brown fox jumps over the lazy dog again and again', 1 + seq % 30, 10 + seq %
    25) FROM seq_1_to_2000;
INSERT INTO sale SELECT seq, 1 + seq * 1009 % 2000, seq % 365, (seq * 31 % 10007) / 7.0,
    CONCAT('item ', seq * 17 % 1000) FROM seq_1_to_10000;
