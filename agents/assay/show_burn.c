/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/show_burn.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/judge/localise.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { NAME_MAX_COLUMNS = 20, EARLY_PARTS = 5 /* the first fifth is the baseline */ };

/* From good to bad: the first whose limit the value satisfies. */
struct band {
	double from;
	char mark;
	int paint; /* enum paint; -1 none */
	const char *words;
};

/* Relative to its initial rate; below 0.95 the probe reports a slowdown. */
static const struct band rate_bands[] = {
	{ 0.97, '.', -1, "97 % and more" },
	{ 0.95, '-', -1, "95 to 97" },
	{ 0.90, '=', PAINT_WARN, "90 to 95" },
	{ 0, '#', PAINT_BAD, "below" },
};
/* Negated degrees C: cooler is better. */
static const struct band heat_bands[] = {
	{ -80, '.', -1, "80 C and less" },
	{ -88, '-', -1, "to 88" },
	{ -93.5, '=', PAINT_WARN, "to 93" },
	{ -INFINITY, '#', PAINT_BAD, "above" },
};

static const struct map {
	const char *check, *title;
	const struct band *bands;
	size_t n_bands;
} maps[] = {
	{ "gemm.burn_rate", "rate over time, relative to what each GPU reached at first",
	  rate_bands, ARRAY_SIZE(rate_bands) },
	{ "gemm.burn_hbm_temp", "memory temperature over time", heat_bands, ARRAY_SIZE(heat_bands) },
};

static bool is_of(const struct map *map, const struct sample *s)
{
	return streq(s->check, map->check) && s->state == SAMPLE_MEASURED &&
	       s->w.n >= SAMPLE_WINDOWS_MIN;
}

/* Reference of its windows: the best initial one, or none. */
static double scale_of(const struct map *map, const struct sample *s)
{
	double most = s->w.v[0];
	size_t i;

	if (map->bands != rate_bands)
		return -1;
	for (i = 1; i < MAX(s->w.n / EARLY_PARTS, (size_t)1); i++)
		most = fmax(most, s->w.v[i]);
	return most;
}

static const struct band *band_of(const struct map *map, double value)
{
	size_t i = 0;

	while (i + 1 < map->n_bands && !(value >= map->bands[i].from))
		i++;
	return &map->bands[i];
}

static char *name_of(const struct sample *s, const struct host_parts *parts)
{
	CLEANUP(freep) char *name = host_parts_words(parts, s->subject);

	return utf8_clean(name);
}

/* "620 to 565 TFLOP/s" */
static void print_ends(const struct map *map, const struct sample *s, FILE *out)
{
	char first[NUMBER_SIZE], last[NUMBER_SIZE];

	number_format(s->w.v[0], s->unit, first);
	number_format(s->w.v[s->w.n - 1], s->unit, last);
	(void)fprintf(out, "  %s to %s%s\n", first, last, map->bands == heat_bands ? " C" : "");
}

static void print_row(const struct map *map, const struct sample *s, const struct host_parts *parts,
		      FILE *out, bool colour)
{
	CLEANUP(freep) char *name = name_of(s, parts);
	const double scale = scale_of(map, s);
	const size_t length = strlen(name);
	size_t i;

	(void)fprintf(out, "%-*s  ", NAME_MAX_COLUMNS,
		      length > NAME_MAX_COLUMNS ? name + length - NAME_MAX_COLUMNS : name);
	for (i = 0; i < s->w.n; i++) {
		const struct band *band = band_of(map, s->w.v[i] / scale);
		const bool painted = colour && band->paint >= 0;

		(void)fprintf(out, "%s%c%s", painted ? paint_on(true, (enum paint)band->paint) : "",
			      band->mark, paint_off(painted));
	}
	print_ends(map, s, out);
}

static void print_title(const struct map *map, FILE *out, unsigned width)
{
	CLEANUP(freep) char *title = xstrdup(map->title);
	size_t i;

	for (i = 0; i < map->n_bands; i++) {
		CLEANUP(freep) char *before = title;

		title = xasprintf("%s%s [%c] %s", before, i ? "," : ":", map->bands[i].mark,
				  map->bands[i].words);
	}
	(void)fputc('\n', out);
	text_wrap(title, out, 0, width);
}

void show_burn(const struct sample_list *samples, const struct host_parts *parts, FILE *out,
	       bool colour, unsigned width)
{
	size_t m, i, n;

	for (m = 0; m < ARRAY_SIZE(maps); m++) {
		for (i = n = 0; i < samples->n; i++) {
			if (!is_of(&maps[m], &samples->v[i]))
				continue;
			if (n++ == 0)
				print_title(&maps[m], out, width);
			print_row(&maps[m], &samples->v[i], parts, out, colour);
		}
	}
}
