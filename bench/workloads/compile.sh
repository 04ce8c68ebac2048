#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes a C file of FUNCTIONS functions to stdout: loops, switches, structs, calls to
# each other. It includes nothing, so it is its own preprocessed form and cc1 can read it
# as it is. Usage: compile.sh FUNCTIONS
exec awk -v count="${1:-50}" 'BEGIN {
	print "struct node { struct node *next; long key; double weight; char name[24]; };"
	print "struct table { struct node *slot[64]; unsigned long used; };"
	for (f = 0; f < count; f++) {
		printf "static long work_%d(struct table *t, const long *v, int n)\n{\n", f
		printf "\tlong sum = %d;\n\tdouble weight = %d.5;\n", f, f % 17
		print "\tfor (int i = 0; i < n; i++) {"
		print "\t\tstruct node *p = t->slot[(unsigned long)v[i] % 64];"
		print "\t\twhile (p && p->key != v[i]) {"
		print "\t\t\tweight += p->weight * (double)p->key;"
		print "\t\t\tp = p->next;\n\t\t}"
		print "\t\tswitch (v[i] & 15) {"
		for (c = 0; c < 12; c++) {
			printf "\t\tcase %d: sum += (v[i] * %d) ^ (sum >> %d);", c, f * 13 + c, c % 7 + 1
			printf " if (p) p->name[%d] = (char)sum; break;\n", (f + c) % 24
		}
		printf "\t\tdefault: sum -= %d;\n\t\t}\n", f % 29
		printf "\t\tif (weight > %d.0)\n\t\t\tsum += (long)weight;\n\t}\n", f * 100
		if (f > 0)
			printf "\tif (sum > %d)\n\t\tsum += work_%d(t, v, n - 1);\n", f, (f * 7 + 3) % f
		print "\tt->used += (unsigned long)sum;\n\treturn sum;\n}\n"
	}
	print "long work_all(struct table *t, const long *v, int n)\n{\n\tlong sum = 0;"
	for (f = 0; f < count; f++)
		printf "\tsum += work_%d(t, v, n);\n", f
	print "\treturn sum;\n}"
}'
