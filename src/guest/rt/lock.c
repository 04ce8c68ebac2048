/* SPDX-License-Identifier: MIT */
/* lock.c -- the one word that all users of lock.h share, in the preload and in the
 * injected image. */
#include "guest/rt/lock.h"

uint32_t lock_timeouts;
