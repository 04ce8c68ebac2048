#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes an SQL script to stdout: ROWS inserts, each a statement of its own, then selects
# over them. Meant for `sqlite3 -batch :memory:`.
# Usage: sqlite.sh ROWS
exec awk -v rows="${1:-10000}" 'BEGIN {
	print "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, grp INTEGER, note TEXT);"
	print "CREATE INDEX item_grp ON item(grp);"
	print "BEGIN;"
	for (i = 1; i <= rows; i++)
		printf "INSERT INTO item VALUES(%d,\047item %06d\047,%d,\047note %d on %d\047);\n",
			i, i * 7919 % 1000003, i * 31 % 997, i, i * 17 % 65537
	print "COMMIT;"
	for (i = 1; i <= rows / 10; i++)
		printf "SELECT count(*), max(name) FROM item WHERE grp = %d AND id %% 7 = %d;\n",
			i * 37 % 997, i % 7
	print "SELECT grp, count(*), group_concat(name) FROM item GROUP BY grp ORDER BY 2 DESC LIMIT 3;"
	print "SELECT count(*) FROM item;"
}'
