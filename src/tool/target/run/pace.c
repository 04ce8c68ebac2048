/* SPDX-License-Identifier: MIT */
/* pace.c -- see pace.h.
 *
 * Waking up costs 3 µs on one machine and 25 µs on another, so the tick is a millisecond
 * only where all of this stays below half a percent of a core; elsewhere it gets longer,
 * up to five. Who samples wants to pay less: ten milliseconds where this stays below a
 * thousandth, else up to twenty. The recorder does not depend on it: when the word stands
 * still it reads a clock of its own. */
#include "tool/target/run/pace.h"
#include "tool/util/clock.h"

#define MS UINT64_C(1000000)

enum {
	TICK_MS = 1,
	TICK_MOST_MS = 5,
	TICK_SAMPLED_MS = 10, /* ages in a sampled recording are estimates anyway */
	TICK_SAMPLED_MOST_MS = 20,
	PACE_MS = 100,	  /* our own cost is looked at so often */
	PACE_SHARE = 200, /* 1 / share of a core that we may take */
	PACE_SHARE_SAMPLED = 1000,
};

void
pace_start(struct pace *p, bool sampled, uint64_t now)
{
	p->least_ns = p->tick_ns = (sampled ? TICK_SAMPLED_MS : TICK_MS) * MS;
	p->most_ns = (sampled ? TICK_SAMPLED_MOST_MS : TICK_MOST_MS) * MS;
	p->share = sampled ? PACE_SHARE_SAMPLED : PACE_SHARE;
	p->since_ns = now;
	p->next_ns = now + PACE_MS * MS;
	p->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void
pace_adjust(struct pace *p, uint64_t now)
{
	uint64_t cpu, used, may;

	if (now < p->next_ns)
		return;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	used = cpu - p->cpu_ns;
	may = (now - p->since_ns) / p->share;
	/* What a tick costs does not depend on their distance: this is where they fit
	 * in. */
	p->tick_ns = p->tick_ns * used / (may > 0 ? may : 1);
	if (p->tick_ns < p->least_ns)
		p->tick_ns = p->least_ns;
	if (p->tick_ns > p->most_ns)
		p->tick_ns = p->most_ns;
	p->cpu_ns = cpu;
	p->since_ns = now;
	p->next_ns = now + PACE_MS * MS;
}
