/* SPDX-License-Identifier: MIT */
/* flame_colour.c -- hues, shades and who gets which.
 *
 * A module's hue begins at a hash of its name, so that it tends to be the same in another
 * picture, and goes on to the next free one, so that large modules never share one. */
#include "tool/render/flame/flame_colour.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/figure.h"
#include "tool/render/flame/flame.h"
#include "tool/render/flame/flame_text.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

/* Hue in degrees, saturation and lightness in percent. */
static struct flame_rgb
hsl(double h, double s, double l)
{
	struct flame_rgb r;
	int c[3];

	s /= 100, l /= 100;
	for (int i = 0; i < 3; i++) {
		double k = fmod((i == 0 ? 0 : i == 1 ? 8 : 4) + h / 30, 12);
		double a = s * (l < 1 - l ? l : 1 - l);
		double t = k - 3 < 9 - k ? k - 3 : 9 - k;

		t = t < -1 ? -1 : t > 1 ? 1 : t;
		c[i] = (int)((l - a * t) * 255 + 0.5);
	}
	snprintf(r.css, sizeof r.css, "#%02x%02x%02x", c[0] & 255, c[1] & 255,
		 c[2] & 255);
	return r;
}

/* ---- by name ---- */

struct family {
	short from, to; /* hue */
	short saturation, light_from, light_to;
};

enum { WARM, GREEN, BLUE, RED, AQUA, YELLOW, PURPLE, ORANGE, FAMILIES };

static const struct family families[FAMILIES] = {
	[WARM] = {12, 48, 86, 62, 74},	   [GREEN] = {95, 145, 48, 58, 74},
	[BLUE] = {205, 230, 70, 66, 80},   [RED] = {352, 368, 74, 66, 78},
	[AQUA] = {170, 190, 48, 58, 74},   [YELLOW] = {46, 58, 74, 58, 72},
	[PURPLE] = {265, 295, 48, 68, 80}, [ORANGE] = {24, 36, 84, 60, 72},
};

/* Up to four families a theme. Those with more than one tell kinds of code apart by how a
 * name is written: C++ has "::", and profilers of managed languages mark frames with a
 * suffix. */
static const struct theme {
	const char *name;
	uint8_t plain, cxx, kernel, managed;
} themes[] = {
	{"hot", WARM, WARM, WARM, WARM},
	{"mem", GREEN, GREEN, GREEN, GREEN},
	{"io", BLUE, BLUE, BLUE, BLUE},
	{"wakeup", AQUA, AQUA, AQUA, AQUA},
	{"chain", AQUA, AQUA, BLUE, AQUA},
	{"java", RED, YELLOW, ORANGE, GREEN},
	{"js", RED, YELLOW, ORANGE, GREEN},
	{"perl", RED, YELLOW, ORANGE, GREEN},
	{"red", RED, RED, RED, RED},
	{"green", GREEN, GREEN, GREEN, GREEN},
	{"blue", BLUE, BLUE, BLUE, BLUE},
	{"aqua", AQUA, AQUA, AQUA, AQUA},
	{"yellow", YELLOW, YELLOW, YELLOW, YELLOW},
	{"purple", PURPLE, PURPLE, PURPLE, PURPLE},
	{"orange", ORANGE, ORANGE, ORANGE, ORANGE},
};

const char *const flame_themes[] = {
	"hot", "mem",	"io",	"wakeup", "chain",  "java",   "js",	"perl",
	"red", "green", "blue", "aqua",	  "yellow", "purple", "orange", NULL};

static const struct theme *
theme_find(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof themes / sizeof *themes; i++) {
		if (strcmp(themes[i].name, name) == 0)
			return &themes[i];
	}
	return &themes[0];
}

enum { PER_FAMILY = FLAME_NAME_COLOURS / 4 };

static void
paint_names(struct flame_colours *c, const struct theme *t)
{
	const uint8_t of[4] = {t->plain, t->cxx, t->kernel, t->managed};

	for (int i = 0; i < FLAME_NAME_COLOURS; i++) {
		const struct family *f = &families[of[i / PER_FAMILY]];
		int step = i % PER_FAMILY, shade = step / 8;
		double hue = f->from + (f->to - f->from) * (step % 8) / 7.0;
		double light =
			f->light_from + (f->light_to - f->light_from) * shade / 2.0;

		c->by_name[i] = hsl(fmod(hue, 360), f->saturation, light);
	}
}

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static bool
is_managed(const char *name)
{
	return ends_with(name, "_[j]") || ends_with(name, "_[i]") ||
	       (name[0] == 'L' && strchr(name, '/') != NULL);
}

static uint8_t
name_colour(const char *name)
{
	unsigned family = ends_with(name, "_[k]")      ? 2
			  : is_managed(name)	       ? 3
			  : strstr(name, "::") != NULL ? 1
						       : 0;

	return (uint8_t)(family * PER_FAMILY + flame_hash(name) % PER_FAMILY);
}

/* ---- by module ---- */

/* Neighbours differ, as a hue that is taken gives way to the next; none is that of a
 * match. */
static const short module_hues[FLAME_HUES - 1] = {28,  205, 130, 345, 52,  262,
						  175, 4,   85,	 232, 110, 152};

static void
paint_modules(struct flame_colours *c)
{
	for (int i = 0; i < FLAME_MODULE_COLOURS; i++) {
		int hue = i / FLAME_SHADES, shade = i % FLAME_SHADES;

		if (hue == FLAME_HUES - 1)
			c->by_module[i] = hsl(220, 8, 70 + 3 * shade);
		else
			c->by_module[i] = hsl(module_hues[hue], 62, 71 + 3 * shade);
	}
}

struct module_size {
	uint32_t name;
	double flat;
};

static int
by_size(const void *a, const void *b)
{
	const struct module_size *x = a, *y = b;

	if (x->flat != y->flat)
		return x->flat > y->flat ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Modules by their names, and which hue each has. */
struct hues {
	struct strtab names;
	struct map of;
};

/* The module's name; where only the source is known, its folder. 0 = neither. */
static uint32_t
group_of(struct hues *h, const struct graph *g, const struct graph_entry *x)
{
	const char *file = graph_text(g, x->file), *slash = strrchr(file, '/');

	if (x->module != 0)
		return strtab_add(&h->names, file_last_part(graph_text(g, x->module)));
	return slash != NULL ? strtab_addn(&h->names, file, (size_t)(slash - file)) : 0;
}

static void
give_hues(struct hues *h, const struct module_size *m, size_t n)
{
	bool taken[FLAME_HUES - 1] = {false};

	for (size_t i = 0; i < n; i++) {
		unsigned hue =
			flame_hash(strtab_str(&h->names, m[i].name)) % (FLAME_HUES - 1);

		for (int k = 0; i < FLAME_HUES - 1 && taken[hue] && k < FLAME_HUES; k++)
			hue = (hue + 1) % (FLAME_HUES - 1);
		taken[hue] = true;
		*map_add(&h->of, m[i].name) = hue;
	}
}

/* How many modules there are. */
static size_t
choose_hues(struct hues *h, const struct graph *g)
{
	struct map sizes = {0}; /* module -> place in `all` + 1 */
	struct module_size *all = xcalloc(g->nentries + 1, sizeof *all);
	size_t n = 0;

	for (uint32_t i = 1; i < g->nentries; i++) {
		const struct graph_entry *x = &g->entries[i];
		double now = fabs(x->flat), was = fabs(x->was_flat);
		uint32_t group = group_of(h, g, x);
		uint64_t *at;

		if (group == 0)
			continue;
		at = map_add(&sizes, group);
		if (*at == 0) {
			all[n].name = group;
			*at = ++n;
		}
		all[*at - 1].flat += now > was ? now : was;
	}
	qsort(all, n, sizeof *all, by_size);
	give_hues(h, all, n);
	map_done(&sizes);
	free(all);
	return n;
}

void
flame_colours_init(struct flame_colours *ret_colours, const struct graph *g,
		   const char *theme)
{
	struct flame_colours *c = ret_colours;
	struct hues hues = {0};

	*c = (struct flame_colours){0};
	paint_names(c, theme_find(theme));
	paint_modules(c);
	for (int i = -FLAME_DIFF_STEPS; i <= FLAME_DIFF_STEPS; i++) {
		double t = (double)abs(i) / FLAME_DIFF_STEPS;

		c->diff[i + FLAME_DIFF_STEPS] =
			i == 0 ? hsl(220, 8, 84)
			       : hsl(i > 0 ? 6 : 212, 45 + 40 * t, 88 - 30 * t);
	}
	c->several_modules = choose_hues(&hues, g) > 1;
	c->module_of = xcalloc(g->nentries + 1, 1);
	c->name_of = xcalloc(g->nentries + 1, 1);
	for (uint32_t i = 1; i < g->nentries; i++) {
		const struct graph_entry *x = &g->entries[i];
		const char *name = graph_text(g, x->function);
		uint32_t group = group_of(&hues, g, x);
		unsigned row = group != 0 ? (unsigned)*map_find(&hues.of, group)
					  : FLAME_HUES - 1;

		c->module_of[i] =
			(uint8_t)(row * FLAME_SHADES + flame_hash(name) % FLAME_SHADES);
		c->name_of[i] = name_colour(name);
	}
	map_done(&hues.of);
	strtab_done(&hues.names);
}

void
flame_colours_done(struct flame_colours *c)
{
	free(c->module_of);
	free(c->name_of);
	*c = (struct flame_colours){0};
}

unsigned
flame_diff_step(double change, double most, bool negate)
{
	double t = change < 0 ? -change : change;
	unsigned step;

	if (!(most > 0) || !(t > 0))
		return FLAME_DIFF_STEPS;
	t = t < most ? t / most : 1;
	step = (unsigned)(figure_sqrt(t) * FLAME_DIFF_STEPS + 0.5);
	if (step == 0)
		step = 1; /* a change is never shown as none */
	return (change > 0) != negate ? FLAME_DIFF_STEPS + step : FLAME_DIFF_STEPS - step;
}
