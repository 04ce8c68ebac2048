/* SPDX-License-Identifier: MIT */
/* rt_tls.c -- the one thread-local object of libseep.so. See rt_tls.h. */
#include "guest/rt/rt_tls.h"

TLS_STATIC struct tls tls = {.owner = TLS_NOBODY};
