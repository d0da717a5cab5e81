-- SPDX-License-Identifier: MIT
-- A table and an index in memory, joined by the index in random order, half deleted; :rows long.
create table entry(id integer primary key, name text, value text);
with recursive counter(i) as (select 1 union all select i + 1 from counter where i < :rows)
insert into entry select i, 'name' || (i * 7919 % 1000003), printf('%080d', i) from counter;
create index by_name on entry(name);
select count(*) from entry a join entry b on b.name = a.name where a.id % 3 = 0;
delete from entry where id % 2 = 0;
select count(*), sum(length(value)) from entry;
