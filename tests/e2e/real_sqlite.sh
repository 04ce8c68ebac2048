#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: the sqlite3 shell, with indices, a transaction undone and an
# error.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command sqlite3

rows=$(times 5003 50021)
cat >"$TMP/work.sql" <<END
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < $rows)
	insert into t select i, printf('row %d', i * 7919 % 10007), i / 7.0 from n;
create index tb on t(b);
begin; delete from t where a % 3 = 0; select count(*) from t; rollback;
select count(*), sum(a), round(sum(c), 3), min(b), max(b) from t;
select b, count(*) from t group by b order by 2 desc, 1 limit 5;
select group_concat(b, ',') from (select b from t order by b limit 11);
select json_group_array(a) from t where a < 23;
update t set b = upper(b) where a < 101; vacuum; pragma integrity_check;
END
real_same work -- sqlite3 -bail :memory: ".read $TMP/work.sql"
real_estimate work
real_valgrind work sqlite3 -bail :memory: ".read $TMP/work.sql"
real_same file -- sqlite3 -bail file.db ".read $TMP/work.sql" 'select nothing from nowhere'
