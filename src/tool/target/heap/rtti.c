/* SPDX-License-Identifier: MIT */
/* rtti.c -- see rtti.h. Layout as in the Itanium C++ ABI:
 *
 *	table:    offset to top | typeinfo | first function …   the object points at the last
 *	typeinfo: its own table | name | …
 */
#include "tool/target/heap/rtti.h"

#include <ctype.h>
#include <string.h>

#include "shared/compiler.h"

/* Whether `addr` is in memory of a file. */
static bool
is_file(const struct memmap *map, uint64_t addr)
{
	const struct memmap_area *a = memmap_find(map, addr);

	return a != NULL && a->inode != 0 && a->perms[0] == 'r';
}

/* Of typeinfo: also in .data or in zeroed data that was copied there by the loader. */
static bool
is_data(const struct memmap *map, uint64_t addr)
{
	const struct memmap_area *a = memmap_find(map, addr);

	return a != NULL && a->perms[0] == 'r' && IS_ALIGNED(addr, UINT64_C(8));
}

static bool
is_name(const char *name)
{
	size_t n = strlen(name);

	/* A leading * says that the name is this file's own. */
	if (name[0] == '*')
		name++;
	if (n < 2 || (!isdigit((unsigned char)name[0]) && name[0] != 'N' &&
		      name[0] != 'S' && name[0] != 'Z'))
		return false;
	for (const char *c = name; *c != '\0'; c++) {
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.' && *c != '$')
			return false;
	}
	return true;
}

bool
rtti_class(const struct procmem *m, const struct memmap *map, uint64_t vptr,
	   char *ret_name, size_t size)
{
	uint64_t table[3], info[2];
	size_t room;

	if (!is_file(map, vptr) || !IS_ALIGNED(vptr, UINT64_C(8)) ||
	    procmem_read(m, vptr - 16, table, sizeof table) < 0)
		return false;
	/* Offset to top is 0, or minus some bytes for a second base. */
	if (table[0] != 0 && -table[0] > (1 << 20))
		return false;
	if (!is_data(map, table[1]) || procmem_read(m, table[1], info, sizeof info) < 0 ||
	    !is_data(map, info[0]) || !is_file(map, info[1]))
		return false;
	/* The name may end near the end of its mapping. */
	for (room = size - 1; room >= 16; room /= 2) {
		memset(ret_name, 0, size);
		if (procmem_read(m, info[1], ret_name, room) == 0)
			break;
	}
	if (room < 16 || memchr(ret_name, '\0', room) == NULL || !is_name(ret_name))
		return false;
	if (ret_name[0] == '*')
		memmove(ret_name, ret_name + 1, strlen(ret_name));
	return true;
}
