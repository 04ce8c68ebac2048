/* SPDX-License-Identifier: MIT */
/* diff_maps.h -- `seep diff` of saved memory maps: pmap -x, pmap -X, smaps. */
#ifndef SEEP_CLI_DIFF_MAPS_H
#define SEEP_CLI_DIFF_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct diff_maps_opts {
	bool json, all, no_pager;
	uint64_t rows;
};

/* If the first word is a file with a memory map, all are taken for such, oldest first,
 * and compared: true, with the exit status. Else nothing was done. */
bool diff_maps(int argc, char **argv, const struct diff_maps_opts *o, int *ret_status);

#endif
