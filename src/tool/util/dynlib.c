/* SPDX-License-Identifier: MIT */
/* dynlib.c -- see dynlib.h. */
#include "tool/util/dynlib.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int
dynlib_load(const char *const *names, const struct dynlib_symbol *symbols, size_t n,
	    const char *missing, struct err *e)
{
	void *lib = NULL;

	for (; *names != NULL; names++) {
		lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
		if (lib != NULL)
			break;
	}
	if (lib == NULL)
		return err_set(e, -ENOSYS, "%s", missing);
	for (size_t i = 0; i < n; i++) {
		void *at = dlsym(lib, symbols[i].name);

		if (at == NULL) {
			dlclose(lib);
			return err_set(e, -ENOSYS, "%s has no %s", *names,
				       symbols[i].name);
		}
		memcpy(symbols[i].to, &at, sizeof at);
	}
	return 0;
}
