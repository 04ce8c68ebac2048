/* SPDX-License-Identifier: MIT */
/* diff_figure.c -- figures and frames of a comparison, as text.
 *
 * Sizes have one digit behind the point, from GiB on two. An estimate never stands
 * without its standard error, in the same unit. Texts returned are to be freed. */
#include <inttypes.h>
#include <stdlib.h>

#include "tool/render/diff/diff_page.h"
#include "tool/render/figure.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum { DIFF_NAME_MAX = 60 };

const char *const diff_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

int64_t
diff_less(int64_t a, int64_t b)
{
	int64_t r;

	if (__builtin_sub_overflow(a, b, &r))
		return a < b ? INT64_MIN : INT64_MAX;
	return r;
}

unsigned
diff_unit(double bytes)
{
	unsigned unit = 0;

	while (unit < 6 && bytes >= 999.95) {
		bytes /= 1024;
		unit++;
	}
	return unit;
}

char *
diff_in_unit(double bytes, unsigned unit, unsigned more)
{
	unsigned digits = unit == 0 ? 0 : (unit > 2 ? 2 : 1) + more;

	for (unsigned i = 0; i < unit; i++)
		bytes /= 1024;
	return xasprintf("%s%.*f", bytes < 0 ? DIFF_MINUS : "", (int)digits,
			 bytes < 0 ? -bytes : bytes);
}

char *
diff_exactly(int64_t n)
{
	return xasprintf("%s%s", n < 0 ? DIFF_MINUS : "", fmt_count(fmt_abs(n)).s);
}

char *
diff_change(int64_t by, double var, bool plain, unsigned known)
{
	const char *sign = by > 0 ? "+" : by < 0 ? DIFF_MINUS : "";
	double error = figure_sqrt(var), size = (double)fmt_abs(by);
	unsigned unit = diff_unit(size > error ? size : error);
	char *n, *e = NULL, *all;

	if (plain) {
		n = xstrdup(fmt_count(fmt_abs(by)).s);
		if (error > 0)
			e = xstrdup(fmt_count((uint64_t)(error + 0.5)).s);
	} else {
		n = diff_in_unit(size, unit, 0);
		if (error > 0)
			e = diff_in_unit(error, unit, 0);
	}
	all = xasprintf("%s%s%s%s%s%s", sign, n, e != NULL ? DIFF_ERROR : "",
			e != NULL ? e : "", plain || unit == known ? "" : " ",
			plain || unit == known ? "" : diff_units[unit]);
	free(n);
	free(e);
	return all;
}

void
diff_frame_text(struct buf *out, const struct prof *p, struct skip_pos pos)
{
	const struct prof_frame *f = skip_frame(p, pos);
	const struct prof_loc *l = skip_loc(p, pos);
	const char *module = file_base(prof_text(p, p->modules[l->module].path));
	static const char *const kinds[] = {
		[PROF_LOC_TRUNCATED] = "(could not be followed further)",
		[PROF_LOC_ELIDED] = "(frames left out)",
		[PROF_LOC_CLASS] = "[not from malloc]",
	};

	if (l->kind != PROF_LOC_CODE) {
		buf_add_str(out, l->kind <= PROF_LOC_CLASS ? kinds[l->kind] : "?");
		return;
	}
	if (f == NULL || f->function == 0)
		buf_printf(out, "0x%" PRIx64, l->offset);
	else
		figure_function(out, prof_text(p, f->function), DIFF_NAME_MAX);
	if (f != NULL && f->line != 0) {
		buf_add_char(out, ' ');
		clean_text(out, file_base(prof_text(p, f->file)));
		buf_printf(out, ":%u", f->line);
		return;
	}
	if (f != NULL && f->function != 0 && f->symbol_off != 0)
		buf_printf(out, " +0x%x", f->symbol_off);
	if (module[0] != '\0') {
		buf_add_str(out, " in ");
		clean_text(out, module);
	}
}
