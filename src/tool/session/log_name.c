/* SPDX-License-Identifier: MIT */
/* log_name.c -- see log_name.h: file names with %p, %n, %q{NAME} and %% in them. */
#include "tool/session/log_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool/util/buf.h"
#include "tool/util/x.h"

/* Appends the variable in "q{NAME}" at `at`; returns what is behind it, NULL = wrong. */
static const char *
log_name_variable(const char *at, const char *pattern, struct buf *to, struct err *e)
{
	const char *end = at[1] == '{' ? strchr(at, '}') : NULL;
	const char *value;
	char *name;

	if (end == NULL) {
		err_set(e, -EINVAL, "%s: want %%q{NAME}", pattern);
		return NULL;
	}
	name = xmemdup0(at + 2, (size_t)(end - at - 2));
	value = getenv(name);
	if (value != NULL)
		buf_add_str(to, value);
	else
		err_set(e, -EINVAL, "%s: the variable %s is not set", pattern, name);
	free(name);
	return value != NULL ? end + 1 : NULL;
}

int
log_name(const char *pattern, uint32_t pid, uint32_t number, char **ret_name,
	 struct err *e)
{
	const char *at = pattern;
	struct buf b = {0};
	int r = 0;

	while (r == 0 && *at != '\0') {
		if (*at != '%') {
			buf_add_char(&b, *at++);
			continue;
		}
		switch (at[1]) {
		case '%':
			buf_add_char(&b, '%');
			break;
		case 'p':
			buf_printf(&b, "%u", pid);
			break;
		case 'n':
			buf_printf(&b, "%u", number);
			break;
		case 'q':
			at = log_name_variable(at + 1, pattern, &b, e);
			if (at == NULL)
				r = -EINVAL;
			continue;
		default:
			r = err_set(e, -EINVAL,
				    "%s: only %%p, %%n, %%q{NAME} and %%%% stand "
				    "for something",
				    pattern);
		}
		at += 2;
	}
	if (r == 0 && b.len == 0)
		r = err_set(e, -EINVAL, "no file named");
	if (r == 0)
		*ret_name = buf_take(&b);
	buf_done(&b);
	return r;
}

bool
log_name_differs(const char *pattern)
{
	for (const char *at = strchr(pattern, '%'); at != NULL && at[1] != '\0';
	     at = strchr(at + 2, '%')) {
		if (at[1] == 'p' || at[1] == 'n')
			return true;
	}
	return false;
}
