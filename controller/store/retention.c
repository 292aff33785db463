/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/retention.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/fnv.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

/* Below this share of the limit the times grow again. */
enum { RELAX_PERCENT = 80 };

struct retention retention_init(void)
{
	return (struct retention){
		.pass = { 1 * USEC_PER_DAY, 7 * USEC_PER_DAY, 30 * USEC_PER_DAY },
		.bad = { 3 * USEC_PER_DAY, 14 * USEC_PER_DAY, 90 * USEC_PER_DAY },
		.incidents_us = 365 * USEC_PER_DAY,
		.nodes_us = 90 * USEC_PER_DAY,
	};
}

/* Times below the limit from the start are left unchanged. */
static uint64_t halved(uint64_t us, unsigned times)
{
	return MAX(us >> times, MIN(us, RETENTION_LEAST_US));
}

static struct retention_ladder ladder_halved(const struct retention_ladder *l, unsigned times)
{
	return (struct retention_ladder){ halved(l->all_us, times), halved(l->hourly_us, times),
					  halved(l->daily_us, times) };
}

struct retention retention_squeeze(const struct retention *r, unsigned times)
{
	struct retention out = *r;

	times = MIN(times, (unsigned)RETENTION_SQUEEZE_MAX);
	out.pass = ladder_halved(&r->pass, times);
	out.bad = ladder_halved(&r->bad, times / 2);
	return out;
}

unsigned retention_squeeze_next(unsigned times, uint64_t used, uint64_t max)
{
	if (max && used > max)
		return MIN(times + 1, (unsigned)RETENTION_SQUEEZE_MAX);
	if (times > 0 && (max == 0 || used < max / 100 * RELAX_PERCENT))
		return times - 1;
	return times;
}

uint64_t retention_clock(uint64_t before_us, uint64_t real_us, uint64_t ahead_us)
{
	return before_us ? MIN(real_us, before_us + ahead_us) : real_us;
}

/* Hour and day of the last report of one host, profile and verdict. */
struct last {
	int64_t node;
	uint32_t profile; /* hash: on a collision two profiles only thin each other */
	int level;
	uint64_t hour, day;
};

static int compare(const void *a, const void *b)
{
	const struct last *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->profile != y->profile)
		return x->profile < y->profile ? -1 : 1;
	return (x->level > y->level) - (x->level < y->level);
}

static struct last *last_of(struct retention_round *round, const struct retention_row *row)
{
	const char *profile = row->profile ? row->profile : "";
	struct last key = { row->node, fnv1a(profile, strlen(profile)), row->level, UINT64_MAX,
			    UINT64_MAX };
	struct last **found = tfind(&key, &round->tree, compare), *last;

	if (found)
		return *found;
	if (round->n == RETENTION_KEYS_MAX)
		return NULL;
	last = xcalloc(1, sizeof(*last));
	*last = key;
	if (!tsearch(last, &round->tree, compare))
		abort(); /* out of memory */
	round->n++;
	return last;
}

int retention_judge(struct retention_round *round, const struct retention_row *row)
{
	const struct retention_ladder *ladder = row->level == VERDICT_PASS ? &round->retention.pass
									   : &round->retention.bad;
	uint64_t age_us = round->now_us > row->seen_us ? round->now_us - row->seen_us : 0;
	uint64_t hour = row->seen_us / USEC_PER_HOUR, day = row->seen_us / USEC_PER_DAY;
	struct last *last = last_of(round, row);
	bool first_of_hour = !last || last->hour != hour;
	bool first_of_day = !last || last->day != day;

	if (last) {
		last->hour = hour;
		last->day = day;
	}
	if (age_us < ladder->all_us)
		return RETAIN_WHOLE;
	if (age_us < ladder->daily_us && first_of_day)
		return RETAIN_WHOLE;
	return age_us < ladder->hourly_us && first_of_hour ? RETAIN_LEAN : RETAIN_NOT;
}

uint64_t retention_youngest_us(const struct retention *r)
{
	return MIN(r->pass.all_us, r->bad.all_us);
}

void retention_release(struct retention_round *round)
{
	tdestroy(round->tree, free);
	round->tree = NULL;
	round->n = 0;
}
