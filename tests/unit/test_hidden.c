/* SPDX-License-Identifier: MIT */
/* test_hidden.c -- sites whose lost blocks may be in use: figures by hand. */
#include "t.h"

#include "t_prof.h"
#include "tool/analyze/sites/hidden.h"
#include "tool/render/report/report.h"

enum { RAN_MS = 20000 };

/* A site with so many lost blocks, made in the last `ms` of the recording, and so many
 * freed ones, 2 to 4 s old. */
static bool
is_hidden(uint64_t lost, uint64_t live, uint64_t ms, unsigned freed)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "a", 11, RAN_MS), row;
	struct sites_query q = {0};
	struct skip *s;
	struct buf out = {0};
	struct sites ss;
	bool *hidden, is;

	p->processes[a].end = PROF_END_RUNNING;
	p->processes[a].exit_ms = 0;
	tp_site(p, a, TP_STACK(p, "put x.c:3 x", "main x.c:9 x"), live + freed, freed,
		(live + freed) * 100, freed * 100);
	tp_lives(p, 1, 12, freed);
	for (uint64_t i = 0; i < live; i++) {
		row = prof_add_block(p);
		p->blocks[row] = (struct prof_block){
			.site = 1,
			.process = a,
			.bytes = 100,
			.ms = (uint32_t)(RAN_MS - ms + i * ms / live)};
	}
	row = prof_add_check(p);
	p->checks[row] = (struct prof_check){.process = a, .done = true};
	if (lost > 0) {
		row = prof_add_loss(p);
		p->losses[row] = (struct prof_loss){.site = 1,
						    .kind = PROF_LOSS_DEFINITE,
						    .blocks = lost,
						    .bytes = lost * 100};
	}
	s = skip_new(p, NULL);
	sites_init(&ss, p, s, &q);
	hidden = hidden_find(p, &ss);
	is = hidden[0];
	/* The report says so below the site, and of no other. */
	report_text(&out, p, &(struct report_opts){0});
	T_EQ(strstr(buf_str(&out), "\n    blocks as old as these were freed: ") != NULL,
	     is);
	buf_done(&out);
	free(hidden);
	sites_done(&ss);
	skip_free(s);
	prof_free(p);
	return is;
}

T_TEST(freed_later)
{
	T_CHECK(is_hidden(40, 40, 4000, 160));
	T_CHECK(is_hidden(37, 40, 4000, 160)); /* a few are in a register */
	/* Half of them are in use: somebody has their addresses. */
	T_CHECK(!is_hidden(20, 40, 4000, 160));
	T_CHECK(!is_hidden(0, 40, 4000, 160));
}

T_TEST(leaks_get_old)
{
	T_CHECK(!is_hidden(40, 40, 19000, 160));
	T_CHECK(!is_hidden(40, 40, 11000, 160));
}

T_TEST(too_few)
{
	T_CHECK(!is_hidden(7, 7, 4000, 160));
	T_CHECK(!is_hidden(40, 40, 4000,
			   39)); /* fewer were freed at that age than are lost */
	T_CHECK(!is_hidden(40, 40, 9000, 160)); /* those that were freed were younger */
}

T_MAIN()
