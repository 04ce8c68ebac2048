/* SPDX-License-Identifier: MIT */
/* re.c -- PCRE2 behind four functions.
 *
 * The library is opened at run time under its fixed name; its header is only needed to
 * build. Text is taken as UTF-8 in which anything may be broken; a pattern that is not
 * UTF-8 is bytes. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tool/util/re.h"

#include <errno.h>
#include <pcre2.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/util/dynlib.h"
#include "tool/util/x.h"

enum { RE_MATCH_LIMIT = 1000000, RE_HEAP_KIB = 64 << 10 };

struct re {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
};

static struct {
	__typeof__(pcre2_compile_8) *compile;
	__typeof__(pcre2_jit_compile_8) *jit_compile;
	__typeof__(pcre2_code_free_8) *code_free;
	__typeof__(pcre2_match_8) *match;
	__typeof__(pcre2_match_data_create_8) *data_create;
	__typeof__(pcre2_match_data_free_8) *data_free;
	__typeof__(pcre2_match_context_create_8) *context_create;
	__typeof__(pcre2_match_context_free_8) *context_free;
	__typeof__(pcre2_set_match_limit_8) *set_match_limit;
	__typeof__(pcre2_set_heap_limit_8) *set_heap_limit;
	__typeof__(pcre2_get_error_message_8) *error_message;
} re_lib;

static int
re_load(struct err *e)
{
	static const char *const names[] = {"libpcre2-8.so.0", NULL};
	static const struct dynlib_symbol symbols[] = {
		{"pcre2_compile_8", &re_lib.compile},
		{"pcre2_jit_compile_8", &re_lib.jit_compile},
		{"pcre2_code_free_8", &re_lib.code_free},
		{"pcre2_match_8", &re_lib.match},
		{"pcre2_match_data_create_8", &re_lib.data_create},
		{"pcre2_match_data_free_8", &re_lib.data_free},
		{"pcre2_match_context_create_8", &re_lib.context_create},
		{"pcre2_match_context_free_8", &re_lib.context_free},
		{"pcre2_set_match_limit_8", &re_lib.set_match_limit},
		{"pcre2_set_heap_limit_8", &re_lib.set_heap_limit},
		{"pcre2_get_error_message_8", &re_lib.error_message},
	};
	static bool loaded;
	int r = loaded ? 0
		       : dynlib_load(names, symbols, ARRAY_LEN(symbols),
				     "regular expressions need libpcre2-8.so.0, which is "
				     "not installed (Debian: libpcre2-8-0)",
				     e);

	loaded = r == 0;
	return r;
}

static pcre2_code *
re_compile(const char *pattern, uint32_t options, int *ret_code, size_t *ret_at)
{
	PCRE2_SIZE at = 0;
	pcre2_code *code = re_lib.compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
					  options, ret_code, &at, NULL);

	*ret_at = at;
	return code;
}

int
re_new(const char *pattern, struct re **ret_re, struct err *e)
{
	char why[160] = "";
	struct re *re;
	pcre2_code *code;
	int number = 0;
	size_t at = 0;
	int r = re_load(e);

	if (r < 0)
		return r;
	code = re_compile(pattern, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &number, &at);
	if (code == NULL && number < 0) /* errors of UTF-8 are negative */
		code = re_compile(pattern, 0, &number, &at);
	if (code == NULL) {
		re_lib.error_message(number, (PCRE2_UCHAR *)why, sizeof why);
		return err_set(e, -EINVAL, "%s: %s at character %zu", pattern, why,
			       at + 1);
	}
	re_lib.jit_compile(code, PCRE2_JIT_COMPLETE); /* else it is interpreted */
	re = xcalloc(1, sizeof *re);
	re->code = code;
	re->data = re_lib.data_create(1, NULL);
	re->limits = re_lib.context_create(NULL);
	if (re->data == NULL || re->limits == NULL)
		x_oom(0);
	re_lib.set_match_limit(re->limits, RE_MATCH_LIMIT);
	re_lib.set_heap_limit(re->limits, RE_HEAP_KIB);
	*ret_re = re;
	return 0;
}

void
re_free(struct re *re)
{
	if (re == NULL)
		return;
	re_lib.context_free(re->limits);
	re_lib.data_free(re->data);
	re_lib.code_free(re->code);
	free(re);
}

bool
re_matches(const struct re *re, const char *text)
{
	return re_lib.match(re->code, (PCRE2_SPTR)text, strlen(text), 0, 0, re->data,
			    re->limits) >= 0;
}
