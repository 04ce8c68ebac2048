/* SPDX-License-Identifier: MIT */
/* test_util_text.c -- what the tool reads from people and writes for them: options,
 * figures, terminals, JSON. Expected texts are written out in full. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "t.h"
#include "tool/util/buf.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/err.h"
#include "tool/util/fmt.h"
#include "tool/util/json.h"
#include "tool/util/term.h"

T_TEST(opt_sizes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"0", 0},
		{"512", 512},
		{"512K", 524288},
		{"512k", 524288},
		{"1.5M", 1572864},
		{"2GiB", 2147483648},
		{"2gib", 2147483648},
		{"100 kB", 102400},
		{"1.1G", 1181116006},
		{".5K", 512},
		{"7b", 7},
		{"18446744073709551615", UINT64_MAX},
		{"0.0009765625K", 1},
		{"15.99999999999999999999E", 18446744073709551614u},
	};
	static const char *const bad[] = {
		"",	 "K",	"-1",	"1.2.3",   "12x",
		"5KiBs", "1 2", "0x10", "./a.out", "18446744073709551616",
		"16E",	 "1Ki", ".",
	};
	uint64_t n;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		n = 77;
		T_EQ(opt_size(good[i].text, &n), 0);
		T_EQ(n, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		n = 77;
		if (opt_size(bad[i], &n) >= 0 || n != 77)
			T_FAIL("'%s' was taken as %llu", bad[i], (unsigned long long)n);
	}
	T_EQ(opt_size("16E", &n), -ERANGE);
}

T_TEST(opt_durations)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"60s", 60000000000},	 {"10m", 600000000000},
		{"500ms", 500000000},	 {"1.5h", 5400000000000},
		{"1m30s", 90000000000},	 {"1m30", 90000000000},
		{"2d", 172800000000000}, {"7", 7000000000},
		{"250us", 250000},	 {"3ns", 3},
		{"15min", 900000000000}, {"0.25", 250000000},
	};
	static const char *const bad[] = {"",	 "s", "-1s", "5x", "1y", "300000000000d",
					  "1s s"};
	uint64_t n;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		n = 77;
		T_EQ(opt_duration(good[i].text, &n), 0);
		T_EQ(n, good[i].ns);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		n = 77;
		if (opt_duration(bad[i], &n) >= 0 || n != 77)
			T_FAIL("'%s' was taken as %llu", bad[i], (unsigned long long)n);
	}
}

static struct settings {
	bool exact, quiet;
	const char *output;
	uint64_t max_bytes, for_ns, count;
	struct opt_optional sample;
	double share;
	uint64_t sum;
} set;

#define AT(member) .at = offsetof(struct settings, member)

static int
set_sum(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	if (v->u64 == 13)
		return err_set(e, -EINVAL, "--%s: not 13", o->name);
	*(uint64_t *)to += v->u64;
	return 0;
}

static const struct opt opts[] = {
	{"exact", 'e', OPT_NONE, AT(exact), .help = "record every event"},
	{"quiet", 'q', OPT_NONE, AT(quiet), .help = "say nothing"},
	{"output", 'o', OPT_STRING, AT(output), .metavar = "FILE",
	 .help = "write the recording to FILE instead of a name made of the program's "
		 "and its process id"},
	{"max-size", 0, OPT_SIZE, AT(max_bytes), .help = "largest recording"},
	{"for", 0, OPT_DURATION, AT(for_ns), .help = "how long"},
	{"count", 'n', OPT_U64, AT(count), .help = "how many"},
	{"sample", 's', OPT_SIZE_OPTIONAL, AT(sample), .metavar = "N",
	 .help = "one sample per N bytes"},
	{"share", 0, OPT_FLOAT, AT(share), .metavar = "X", .help = "smallest share"},
	{"add", 0, OPT_U64, AT(sum), .set = set_sum, .help = "added up"},
	{.name = "hidden"},
	{0},
};

/* Parses the words (NULL ends them); returns opt_parse's answer, *ret_at where it
	 * stopped. */
static int
parse(const char *const *words, int *ret_at, uint64_t *sum, struct err *e)
{
	int argc = 0, r;
	char *argv[16];

	for (; words[argc] != NULL; argc++)
		argv[argc] = (char *)words[argc];
	set = (struct settings){0};
	*ret_at = 0;
	*e = (struct err){0};
	r = opt_parse(opts, argc, argv, ret_at, &set, e);

	*sum = set.sum;
	return r;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

T_TEST(opt_reads_every_spelling)
{
	struct err e;
	uint64_t sum = 0;
	int at;

	T_EQ(parse(WORDS("--exact", "-o", "f1", "--max-size=1.5M", "--for", "10m",
			 "-n0x1f", "--share", "2.5e-1", "--add=5", "--add", "6", "prog",
			 "--quiet"),
		   &at, &sum, &e),
	     0);
	T_STR(e.msg, "");
	T_EQ(at, 12);
	T_CHECK(set.exact && !set.quiet);
	T_STR(set.output, "f1");
	T_EQ(set.max_bytes, 1572864);
	T_EQ(set.for_ns, 600000000000);
	T_EQ(set.count, 31);
	T_CHECK(set.share == 0.25);
	T_EQ(sum, 11);
	T_EQ(parse(WORDS("-eqofile", "--", "--exact"), &at, &sum, &e), 0);
	T_EQ(at, 2);
	T_CHECK(set.exact && set.quiet);
	T_STR(set.output, "file");
	T_EQ(parse(WORDS("--output=", "-", "x"), &at, &sum, &e), 0);
	T_EQ(at, 1);
	T_STR(set.output, "");
	T_EQ(parse(WORDS("--hidden", "-o", "--exact"), &at, &sum, &e), 0);
	T_STR(set.output, "--exact"); /* an argument is taken as it is */
	T_EQ(at, 3);
}

T_TEST(opt_optional_size_takes_only_sizes)
{
	struct err e;
	uint64_t sum = 0;
	int at;

	T_EQ(parse(WORDS("--sample", "512K", "prog"), &at, &sum, &e), 0);
	T_EQ(at, 2);
	T_CHECK(set.sample.given && set.sample.has_value && set.sample.value == 524288);
	T_EQ(parse(WORDS("--sample", "./prog"), &at, &sum, &e), 0);
	T_EQ(at, 1);
	T_CHECK(set.sample.given && !set.sample.has_value);
	T_EQ(parse(WORDS("--sample", "--exact"), &at, &sum, &e), 0);
	T_EQ(at, 2);
	T_CHECK(set.sample.given && !set.sample.has_value && set.exact);
	T_EQ(parse(WORDS("--sample"), &at, &sum, &e), 0);
	T_EQ(at, 1);
	T_EQ(parse(WORDS("-s64K", "--sample=1M", "x"), &at, &sum, &e), 0);
	T_EQ(set.sample.value, 1048576);
	T_EQ(parse(WORDS("--sample=often"), &at, &sum, &e), -EINVAL);
	T_STR(e.msg, "--sample: 'often' is not a size such as 512K, 1.5M or 2GiB");
}

T_TEST(opt_says_what_is_wrong)
{
	static const struct {
		const char *word, *msg;
	} bad[] = {
		{"--sampel", "unknown option '--sampel'; did you mean '--sample'?"},
		{"--max-siez=5",
		 "unknown option '--max-siez'; did you mean '--max-size'?"},
		{"--out", "unknown option '--out'; did you mean '--output'?"},
		{"--zzzzzz", "unknown option '--zzzzzz'"},
		{"-eZ", "unknown option '-Z' in '-eZ'"},
		{"--exact=yes", "--exact takes no argument ('yes')"},
		{"--output", "--output needs an argument: FILE"},
		{"-n", "--count needs an argument: N"},
		{"--count=-1", "--count: '-1' is not a whole number"},
		{"--count=99999999999999999999",
		 "--count: '99999999999999999999' is too large"},
		{"--share=nan", "--share: 'nan' is not a number"},
		{"--for=soon",
		 "--for: 'soon' is not a time such as 500ms, 60s, 10m or 2h"},
		{"--add=13", "--add: not 13"},
	};
	struct err e;
	uint64_t sum;
	int at;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		T_EQ(parse(WORDS("-q", bad[i].word), &at, &sum, &e), -EINVAL);
		T_STR(e.msg, bad[i].msg);
		T_EQ(at, 1);
		T_CHECK(set.quiet);
	}
	T_EQ(opt_distance("kitten", "sitting"), 3);
	T_EQ(opt_distance("report", "reprot"), 1);
	T_EQ(opt_distance("", "abc"), 3);
}

T_TEST(opt_usage_is_the_table)
{
	struct buf b = {0};

	opt_usage(opts, 72, &b);
	T_STR(buf_str(&b),
	      "  -e, --exact             record every event\n"
	      "  -q, --quiet             say nothing\n"
	      "  -o, --output FILE       write the recording to FILE instead of a name\n"
	      "                          made of the program's and its process id\n"
	      "      --max-size SIZE     largest recording\n"
	      "      --for TIME          how long\n"
	      "  -n, --count N           how many\n"
	      "  -s, --sample [N]        one sample per N bytes\n"
	      "      --share X           smallest share\n"
	      "      --add N             added up\n");
	buf_done(&b);
}

T_TEST(fmt_sizes)
{
	static const struct {
		uint64_t n;
		const char *text;
	} rows[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1.00 KiB"},
		{3240960, "3.09 MiB"},
		{6430720, "6.13 MiB"},
		{65536, "64.0 KiB"},
		{1023 * 1024, "1023 KiB"},
		{1048575, "1.00 MiB"},
		{10480517, "9.99 MiB"},
		{10480518, "10.0 MiB"}, /* not 9.99 and not 10.00 */
		{1047 * 1048576ull, "1.02 GiB"},
		{999 * 1048576ull + 524288, "1000 MiB"},
		{UINT64_MAX, "16.0 EiB"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		T_STR(fmt_size(rows[i].n).s, rows[i].text);
	T_STR(fmt_size_signed(50331648).s, "+48.0 MiB");
	T_STR(fmt_size_signed(-1468006).s, "\xe2\x88\x92"
					   "1.40 MiB");
	T_STR(fmt_size_signed(0).s, "0 B");
	T_STR(fmt_size_signed(INT64_MIN).s, "\xe2\x88\x92"
					    "8.00 EiB");
}

T_TEST(fmt_counts_shares_and_times)
{
	T_STR(fmt_count(0).s, "0");
	T_STR(fmt_count(999).s, "999");
	T_STR(fmt_count(1000).s, "1,000");
	T_STR(fmt_count(6430720).s, "6,430,720");
	T_STR(fmt_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
	T_STR(fmt_count_signed(12288).s, "+12,288");
	T_STR(fmt_count_signed(-350).s, "\xe2\x88\x92"
					"350");
	T_STR(fmt_percent(1, 2).s, "50 %");
	T_STR(fmt_percent(69, 1000).s, "6.9 %");
	T_STR(fmt_percent(4, 1000).s, "0.4 %");
	T_STR(fmt_percent(0, 9).s, "0 %");
	T_STR(fmt_percent(5, 100).s, "5 %");
	T_STR(fmt_percent(1, 100000).s, "<0.1 %");
	T_STR(fmt_percent(99999, 100000).s, "99 %");
	T_STR(fmt_percent(7, 7).s, "100 %");
	T_STR(fmt_percent(UINT64_MAX, UINT64_MAX).s, "100 %");
	T_STR(fmt_percent(5, 0).s, "\xe2\x80\x93");
	T_STR(fmt_change(8124, 8681).s, "+6.9 %");
	T_STR(fmt_change(60, 46).s, "\xe2\x88\x92"
				    "23 %");
	T_STR(fmt_change(0, 5).s, "new");
	T_STR(fmt_change(100, 1099).s, "+999 %");
	T_STR(fmt_change(100, 1100).s, "\xc3\x97"
				       "11");
	T_STR(fmt_change(2, 10461).s, "\xc3\x97"
				      "5,231");
	T_STR(fmt_change(1, UINT64_MAX).s, "\xc3\x97"
					   "18,446,744,073,709,551,615");
	T_STR(fmt_change(5, 5).s, "0 %");
	T_STR(fmt_duration(0).s, "0 s");
	T_STR(fmt_duration(850).s, "850 ns");
	T_STR(fmt_duration(12300).s, "12 \xc2\xb5s");
	T_STR(fmt_duration(1800000).s, "1.8 ms");
	T_STR(fmt_duration(20000000).s, "0.02 s");
	T_STR(fmt_duration(9996000000).s, "10 s");
	T_STR(fmt_duration(12340000000).s, "12.3 s");
	T_STR(fmt_duration(60000000000).s, "60 s");
	T_STR(fmt_duration(900000000000).s, "15 min");
	T_STR(fmt_duration(28 * 3600000000000).s, "28 h");
	T_STR(fmt_duration(12 * 86400000000000).s, "12 d");
	T_STR(fmt_duration(UINT64_MAX).s, "213,504 d");
}

T_TEST(term_is_plain_when_piped)
{
	struct term t;
	int fds[2];

	T_EQ(pipe(fds), 0);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	unsetenv("COLUMNS");
	term_init(&t, fds[1]);
	T_CHECK(!t.tty && !t.colour);
	T_EQ(t.columns, 0);
	T_STR(term_on(&t, TERM_BAD), "");
	term_colour(TERM_ALWAYS);
	term_init(&t, fds[1]);
	T_CHECK(!t.tty && t.colour);
	term_colour(TERM_AUTO);
	close(fds[0]);
	close(fds[1]);

	int pty = posix_openpt(O_RDWR | O_NOCTTY);
	if (pty < 0 || grantpt(pty) != 0 || unlockpt(pty) != 0)
		T_SKIP("no pseudo terminal here");
	int tty = open(ptsname(pty), O_RDWR | O_NOCTTY);
	unsetenv("COLUMNS");
	term_init(&t, tty);
	T_CHECK(t.tty && t.colour);
	term_colour(TERM_NEVER);
	term_init(&t, tty);
	T_CHECK(t.tty && !t.colour);
	term_colour(TERM_AUTO);
	term_init(&t, tty);
	T_EQ(t.columns, 80);
	T_STR(term_on(&t, TERM_BAD), "\033[1;31m");
	T_STR(term_off(&t), "\033[0m");
	setenv("COLUMNS", "133", 1);
	term_init(&t, tty);
	T_EQ(t.columns, 133);
	setenv("NO_COLOR", "1", 1);
	term_init(&t, tty);
	T_CHECK(t.tty && !t.colour);
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	term_init(&t, tty);
	T_CHECK(t.tty && !t.colour);
	close(tty);
	close(pty);
}

T_TEST(json_writes_what_it_should)
{
	struct buf b = {0};
	struct json j;

	json_init(&j, &b);
	json_obj(&j);
	json_key(&j, "n");
	json_u64(&j, UINT64_MAX);
	json_key(&j, "a");
	json_arr(&j);
	json_i64(&j, -7);
	json_f64(&j, 0.1);
	json_f64(&j, 1.0 / 3);
	json_f64(&j, INFINITY);
	json_bool(&j, true);
	json_str(&j, NULL);
	json_obj(&j);
	json_obj_end(&j);
	json_arr_end(&j);
	json_key(&j, "q\"\\");
	json_strn(&j, "\x01\n\t<\0\x7f", 6);
	json_obj_end(&j);
	T_CHECK(json_ok(&j));
	T_STR(buf_str(&b),
	      "{\"n\":18446744073709551615,\"a\":[-7,0.1,0.3333333333333333,null,"
	      "true,null,{}],\"q\\\"\\\\\":\"\\u0001\\n\\t<\\u0000\\u007f\"}");
	buf_done(&b);
}

T_TEST(json_mends_broken_utf8)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"gr\xc3\xbc\xc3\x9f \xe2\x86\x92 \xf0\x9f\x98\x80",
		 "gr\xc3\xbc\xc3\x9f \xe2\x86\x92 \xf0\x9f\x98\x80"},
		{"\xe0\x80\x80", "???"}, /* overlong too */
		{"\xf0\x80\x80\x80", "????"},
		{"\xff", "?"},
		{"a\xc3", "a?"},
		{"\xc0\x80z", "??z"},	      /* overlong */
		{"\xed\xa0\x80", "???"},      /* surrogate */
		{"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
		{"\xf0\x9f\x98", "?"},	      /* cut short: one mark for the whole */
		{"\xe2\x82(", "?("},
		{"\x80\x80x", "??x"},
		{"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf b = {0}, want = {0};
		struct json j;

		json_init(&j, &b);
		json_str(&j, rows[i].in);
		buf_add_char(&want, '"');
		for (const char *s = rows[i].out; *s != '\0'; s++) {
			if (*s == '?')
				buf_add_str(&want, "\xef\xbf\xbd");
			else
				buf_add_char(&want, *s);
		}
		buf_add_char(&want, '"');
		T_STR(buf_str(&b), buf_str(&want));
		buf_done(&b);
		buf_done(&want);
	}
}

T_TEST(json_notices_misuse)
{
	struct buf b = {0};
	struct json j;

	json_init(&j, &b);
	T_CHECK(!json_ok(&j)); /* nothing is no JSON text */
	json_obj(&j);
	json_u64(&j, 5); /* no key */
	T_CHECK(j.bad);
	json_init(&j, &b);
	json_arr(&j);
	json_obj_end(&j);
	T_CHECK(j.bad);
	json_init(&j, &b);
	for (int i = 0; i < JSON_MAX_DEPTH + 1; i++)
		json_arr(&j);
	T_CHECK(j.bad);
	T_EQ(j.depth, JSON_MAX_DEPTH);
	json_init(&j, &b);
	json_null(&j);
	json_null(&j);
	T_CHECK(!json_ok(&j));
	buf_clear(&b);
	json_init(&j, &b);
	j.html = true;
	json_str(&j, "</script>&");
	T_STR(buf_str(&b), "\"\\u003c/script\\u003e\\u0026\"");
	buf_done(&b);
}

T_MAIN()
