/* SPDX-License-Identifier: Apache-2.0 */
/* From the reports of the members to the outcome of their group. */
#include "controller/campaign/campaign_side.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"

enum { WORDS_MAX = 240 };

/* Returns at most WORDS_MAX bytes of `text`, on one line. The caller frees it. */
static char *short_text(const char *text)
{
	size_t n = strlen(text);
	CLEANUP(freep) char *cut = NULL;

	if (n > WORDS_MAX) {
		n = WORDS_MAX;
		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	}
	cut = xstrndup(text, n);
	return utf8_clean(cut);
}

/* --- one side --- */

/* How a sample without a value counts. */
static const struct {
	enum pairing_outcome outcome;
	bool unfit;
} by_state[] = {
	[SAMPLE_MEASURED] = { PAIRING_MEASURED, false },
	[SAMPLE_BUSY] = { PAIRING_NOT_RUN, true },
	[SAMPLE_FOREIGN_TRAFFIC] = { PAIRING_NOT_RUN, false },
	[SAMPLE_SET_UP] = { PAIRING_NOT_RUN, false },
	[SAMPLE_TIMEOUT] = { PAIRING_FAILED, false },
	[SAMPLE_ABORTED] = { PAIRING_FAILED, false },
};

/* Returns the rail of "rail:3", or -1 if the code names none or two. */
static int rail_of(const char *code)
{
	if (!code || !starts_with(code, "rail:") || code[5] < '0' ||
	    code[5] >= '0' + PAIRING_RAILS_MAX || code[6])
		return -1;
	return code[5] - '0';
}

/* Not run outweighs failed, and failed outweighs measured. */
static void weigh(struct campaign_side *side, enum pairing_outcome outcome, const char *words)
{
	static const int weights[] = {
		[PAIRING_NOT_RUN] = 2,
		[PAIRING_MEASURED] = 0,
		[PAIRING_FAILED] = 1,
	};

	if (weights[outcome] <= weights[side->outcome])
		return;
	side->outcome = outcome;
	free(side->words);
	side->words = words && words[0] ? short_text(words) : NULL;
}

static void read_value(struct campaign_side *side, const struct sample *s)
{
	const int rail = rail_of(s->code);
	double *at = rail < 0 ? NULL : &side->rails[rail];

	if (at && s->value > 0 && isfinite(s->value))
		*at = *at > 0 ? MIN(*at, s->value) : s->value;
}

static size_t read_samples(struct campaign_side *side, const char *check,
			   const struct report *report)
{
	size_t n = 0, i;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		if (!streq(s->check, check))
			continue;
		n++;
		side->unfit |= by_state[s->state].unfit;
		weigh(side, by_state[s->state].outcome, s->note);
		if (s->state == SAMPLE_MEASURED)
			read_value(side, s);
	}
	return n;
}

/* Beside samples, only problems that make the host unfit count: samples tell the rest better. */
static void read_problems(struct campaign_side *side, const struct report *report, bool samples)
{
	size_t i;

	for (i = 0; i < report->n_problems; i++) {
		const struct problem *p = &report->problems[i];
		const bool unfit = p->code == PROBLEM_BUSY || p->code == PROBLEM_NOT_APPLICABLE;

		if (samples && !unfit)
			continue;
		side->unfit |= unfit;
		side->late |= !samples && p->code == PROBLEM_TIMEOUT;
		weigh(side, PAIRING_NOT_RUN, p->detail);
	}
}

static bool has_value(const struct campaign_side *side)
{
	size_t i = 0;

	while (i < PAIRING_RAILS_MAX && !(side->rails[i] > 0))
		i++;
	return i < PAIRING_RAILS_MAX;
}

size_t campaign_seat(const struct campaign_group *g, size_t host)
{
	size_t i = 0;

	while (i < g->n && g->members[i] != host)
		i++;
	return i < g->n ? i : SIZE_MAX;
}

void campaign_side_read(struct campaign_side *side, const char *check, const struct report *report)
{
	size_t n;

	side->answered = true;
	side->outcome = PAIRING_MEASURED;
	n = read_samples(side, check, report);
	read_problems(side, report, n > 0);
	if (side->outcome == PAIRING_MEASURED && !has_value(side))
		weigh(side, PAIRING_NOT_RUN, "its report has no rate for any rail");
}

/* --- the group --- */

void campaign_drop(struct campaign_host *host, const char *why)
{
	if (host->state == PAIRING_GONE)
		return;
	host->state = PAIRING_GONE;
	free(host->why);
	host->why = xstrdup(why);
}

static void say(const struct campaign *c, struct campaign_group *g, const struct campaign_side *side)
{
	if (g->words)
		return;
	g->words = xasprintf("%s: %s", c->hosts[side->host].name,
			     side->words ? side->words : "it gave no reason");
}

static bool is_late(const struct campaign_side *side)
{
	return side->late && !side->unfit;
}

/*
 * The worst outcome of the members: not run first, then failed. A member that was only late counts
 * last: it had no time, or it hangs, and then another member has seen the run break off.
 */
static enum pairing_outcome outcome_of(const struct campaign *c, struct campaign_group *g)
{
	static const struct {
		enum pairing_outcome outcome;
		bool late;
	} order[] = {
		{ PAIRING_NOT_RUN, false },
		{ PAIRING_FAILED, false },
		{ PAIRING_NOT_RUN, true },
	};
	size_t i, s;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		for (s = 0; s < g->n; s++) {
			const struct campaign_side *side = &g->sides[s];

			if (side->outcome != order[i].outcome || is_late(side) != order[i].late)
				continue;
			say(c, g, side);
			return order[i].outcome;
		}
	}
	return PAIRING_MEASURED;
}

/* Takes the lowest value of each rail over the members; leaves out rails that a member lacks. */
static void take_values(struct campaign_group *g)
{
	size_t rail, s;

	g->least = INFINITY;
	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
		double least = INFINITY;

		for (s = 0; s < g->n; s++)
			least = MIN(least, g->sides[s].rails[rail]);
		g->rails[rail] = least > 0 ? least : 0;
		if (g->rails[rail] > 0 && (g->rail < 0 || (size_t)g->rail == rail))
			g->least = MIN(g->least, least);
	}
}

void campaign_settle(struct campaign *c, struct campaign_group *g)
{
	size_t s;

	g->phase = GROUP_OVER;
	for (s = 0; s < g->n; s++) {
		struct campaign_side *side = &g->sides[s];
		struct campaign_host *host = &c->hosts[side->host];

		if (!side->answered && side->told_us)
			campaign_drop(host, "it accepted the order but did not report");
		else if (!side->answered)
			campaign_drop(host, "it did not accept the order");
		else if (side->unfit)
			campaign_drop(host, side->words ? side->words : "it was busy");
		if (!side->answered)
			side->words = xstrdup(host->why);
	}
	g->outcome = outcome_of(c, g);
	if (g->outcome != PAIRING_MEASURED)
		return;
	take_values(g);
	if (!isfinite(g->least)) {
		g->outcome = PAIRING_NOT_RUN;
		g->words = xstrdup("no rail was measured by all hosts");
	}
}
