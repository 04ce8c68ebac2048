/* SPDX-License-Identifier: MIT */
/* statm.h -- resident memory of this process, measured without being in the way of its
 * descriptors. */
#ifndef SEEP_STATM_H
#define SEEP_STATM_H

#include <stdint.h>

/* In KiB; 0 = cannot be known here. For struct host. */
uint64_t statm_rss_kib(void);

#endif
