/* SPDX-License-Identifier: MIT */
/* fuzz.h -- what every fuzz_<reader>.c gives to libFuzzer and to the replay in
 * fuzz_main.c. */
#ifndef SEEP_FUZZ_H
#define SEEP_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/compiler.h"

/* One input. Must neither crash nor leak; a broken promise of the reader ends in
 * abort(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Sound inputs to start from: writes number `n` to `to` and returns its size; 0 = no
 * more. They are made when asked, so that they never lag behind the format. */
size_t fuzz_seed(unsigned n, uint8_t *to, size_t room);

/* One that is a text. */
static MAYBE_UNUSED size_t
fuzz_text_seed(const char *text, uint8_t *to, size_t room)
{
	size_t bytes = strlen(text);

	if (bytes > room)
		return 0;
	memcpy(to, text, bytes);
	return bytes;
}

#endif
