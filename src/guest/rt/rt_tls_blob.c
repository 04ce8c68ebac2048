/* SPDX-License-Identifier: MIT */
/* rt_tls_blob.c -- the table of threads of injected code. See rt_tls_blob.h. */
#include "guest/rt/rt_tls_blob.h"

ALIGNED_CACHE struct tls tls_table[(1 << TLS_SLOTS_BITS) + TLS_PROBES];

NOINLINE struct tls *
tls_slot(uintptr_t key)
{
	struct tls *t = tls_home(key);

	if (key == 0)
		return NULL;
	for (unsigned i = 0; i < TLS_PROBES; i++, t++) {
		uintptr_t seen = __atomic_load_n(&t->key, __ATOMIC_RELAXED);

		if (seen == key)
			return t;
		if (seen == 0 &&
		    (__atomic_compare_exchange_n(&t->key, &seen, key, 0, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) ||
		     seen == key))
			return t;
	}
	return NULL;
}
