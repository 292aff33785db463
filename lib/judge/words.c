/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/words.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/judge/peers.h"
#include "lib/judge/verdict_counts.h"
#include "lib/judge/verdict_item.h"
#include "lib/report/report.h"
#include "lib/sys/term.h"

/* Counts of what a host has; the rest of the name says of what. */
#define INVENTORY "inventory."

enum {
	SUBJECT_MAX = 160, /* bytes of a subject or name in a sentence */
	NOTE_MAX = 400,	   /* bytes of a probe's own text */
};

/* True if a control character starts at `at`. Those of C1 have two bytes, the first 0xc2. */
static bool is_control(const char *at)
{
	unsigned char c = (unsigned char)at[0], next = (unsigned char)(c ? at[1] : 0);

	return c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0);
}

char *words_clean(const char *text, size_t max)
{
	size_t len = text ? strnlen(text, max + 1) : 0, i;
	char *copy;

	if (len > max) {
		for (len = max; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
			;
	}
	copy = xstrndup(text ? text : "", len);
	for (i = 0; i < len; i++) {
		if (!is_control(copy + i))
			continue;
		if ((unsigned char)copy[i] == 0xc2 && i + 1 < len)
			copy[i++] = ' ';
		copy[i] = ' ';
	}
	return copy;
}

/* Counts in full: a host that lost one of 2048 GiB must not show "2.05e+12". */
static void count_format(double value, char ret_text[static NUMBER_SIZE])
{
	(void)snprintf(ret_text, NUMBER_SIZE, "%.15g", value);
}

/* "71.2 of 79.1 GFLOP/s (90 %)": the unit once if both have the same. */
static char *value_of(const struct sample *s, double expected)
{
	char value[NUMBER_SIZE], other[NUMBER_SIZE];
	char *value_unit, *other_unit;

	number_format(s->value, s->unit, value);
	number_format(expected, s->unit, other);
	value_unit = strchr(value, ' ');
	other_unit = strchr(other, ' ');
	if (value_unit && other_unit && streq(value_unit, other_unit))
		*value_unit = '\0';
	if (!(expected > 0))
		return xasprintf("%s of %s", value, other);
	return xasprintf("%s of %s (%.0f %%)", value, other, 100 * s->value / expected);
}

/* The verb for values of a unit. */
static const char *verb_of(const struct sample *s)
{
	if (streq(s->unit, "FLOP/s"))
		return "runs at";
	if (streq(s->unit, "B/s"))
		return "moves";
	if (streq(s->unit, "s"))
		return "takes";
	return "has";
}

/* What an expectation is based on: "its 7 peers". */
static char *basis(const struct expectation *e)
{
	unsigned long long n = e->n;

	switch ((enum verdict_source)e->source) {
	case SOURCE_PEERS:
		if (n == 1)
			return xstrdup("its only peer");
		if (n < REFERENCE_N_MIN)
			return xasprintf("the best of its %llu peers", n);
		return xasprintf("its %llu peers", n);
	case SOURCE_HISTORY:
		return xasprintf("its own last %llu runs", n);
	case SOURCE_SKU:
		return xstrdup("the SKU file");
	case SOURCE_FLEET:
		return xasprintf("%llu other hosts", n);
	case SOURCE_SELF:
		break;
	}
	return xstrdup("itself");
}

/* The bases of those that are low (or not low), joined by "and". */
static char *bases(const struct expectation *e, size_t n, bool low)
{
	char *text = xstrdup("");
	size_t i;

	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *before = text;
		CLEANUP(freep) char *one = basis(&e[i]);

		text = e[i].low == low ? xasprintf("%s%s%s", before, *before ? " and " : "", one)
				       : xstrdup(before);
	}
	return text;
}

/* "cpu:5 runs at 71.2 of 79.1 GFLOP/s (90 %) in gemm.rate" */
static char *told(const struct sample *s, double expected)
{
	CLEANUP(freep) char *subject = words_clean(s->subject, SUBJECT_MAX);
	CLEANUP(freep) char *check = words_clean(s->check, SUBJECT_MAX);
	CLEANUP(freep) char *value = value_of(s, expected);

	return xasprintf("%s %s %s in %s", subject, verb_of(s), value, check);
}

static size_t count_low(const struct expectation *e, size_t n)
{
	size_t n_low = 0, i;

	for (i = 0; i < n; i++)
		n_low += e[i].low;
	return n_low;
}

/* "host has 7 gpus where the SKU file says 8 (inventory.gpus)"; of other checks "x counts 7 ..." */
static char *counted(const struct sample *s, const struct expectation *e)
{
	CLEANUP(freep) char *subject = words_clean(s->subject, SUBJECT_MAX);
	CLEANUP(freep) char *check = words_clean(s->check, SUBJECT_MAX);
	CLEANUP(freep) char *by = basis(e);
	const char *const parts = starts_with(check, INVENTORY) ? check + strlen(INVENTORY) : NULL;
	char value[NUMBER_SIZE], expected[NUMBER_SIZE];

	count_format(s->value, value);
	count_format(e->expected, expected);
	return xasprintf("%s %s %s%s%s where %s say%s %s (%s)", subject, parts ? "has" : "counts",
			 value, parts ? " " : "", parts ? parts : "", by,
			 e->source == SOURCE_SKU ? "s" : "", expected, check);
}

char *words_low(const struct sample *s, const struct expectation *e, size_t n)
{
	const struct expectation *worst = expectations_worst(e, n);
	const char *side = s->better == BETTER_LOWER ? "above" : "below";
	CLEANUP(freep) char *fact = told(s, worst->expected);
	CLEANUP(freep) char *against = bases(e, n, true);
	CLEANUP(freep) char *for_it = bases(e, n, false);

	if (family_find(s->check, s->unit)->count)
		return counted(s, worst);
	if (count_low(e, n) >= 2)
		return xasprintf("%s: %s what %s say", fact, side, against);
	if (worst->far)
		return xasprintf("%s: far %s %s", fact, side, against);
	if (*for_it)
		return xasprintf("%s: %s %s, but %s would let it pass", fact, side, against, for_it);
	if (worst->source == SOURCE_PEERS && worst->n < REFERENCE_N_MIN)
		return xasprintf("%s: %s %s; too few peers to be sure", fact, side, against);
	return xasprintf("%s: %s %s; nothing else confirms it yet", fact, side, against);
}

char *words_impossible(const struct sample *s, const struct expectation *worst)
{
	CLEANUP(freep) char *fact = told(s, worst->expected);
	CLEANUP(freep) char *by = basis(worst);

	return xasprintf("%s, by %s: no such part is that fast, so the measurement is wrong", fact,
			 by);
}

char *words_fine(const struct sample *s, const struct expectation *e, size_t n)
{
	const struct expectation *worst = expectations_worst(e, n);
	CLEANUP(freep) char *fact = told(s, worst->expected);
	CLEANUP(freep) char *by = basis(worst);

	if (family_find(s->check, s->unit)->count)
		return counted(s, worst);
	return xasprintf("%s, by %s", fact, by);
}

char *words_recorded(const struct sample *s)
{
	CLEANUP(freep) char *subject = words_clean(s->subject, SUBJECT_MAX);
	CLEANUP(freep) char *check = words_clean(s->check, SUBJECT_MAX);
	CLEANUP(freep) char *note = words_clean(s->note, NOTE_MAX);
	char value[NUMBER_SIZE];

	if (isnan(s->value))
		return xasprintf("%s is good in %s%s%s", subject, check, *note ? ": " : "", note);
	number_format(s->value, s->unit, value);
	if (s->ok == TRI_YES || s->better == BETTER_NONE)
		return xasprintf("%s %s %s in %s", subject, verb_of(s), value, check);
	return xasprintf("%s %s %s in %s, recorded: nothing to compare with yet", subject,
			 verb_of(s), value, check);
}

char *words_incomparable(const struct sample *s)
{
	CLEANUP(freep) char *subject = words_clean(s->subject, SUBJECT_MAX);
	CLEANUP(freep) char *check = words_clean(s->check, SUBJECT_MAX);
	CLEANUP(freep) char *unit = words_clean(s->unit, SUBJECT_MAX);

	return xasprintf(
		"%s has %.15g '%s' in %s, a unit that this program cannot compare: expected "
		"B/s, s, FLOP/s or 1",
		subject, s->value, unit, check);
}

char *words_not_ok(const struct sample *s)
{
	CLEANUP(freep) char *subject = words_clean(s->subject, SUBJECT_MAX);
	CLEANUP(freep) char *check = words_clean(s->check, SUBJECT_MAX);
	CLEANUP(freep) char *code = words_clean(s->code, SUBJECT_MAX);
	CLEANUP(freep) char *note = words_clean(s->note, NOTE_MAX);
	char value[NUMBER_SIZE];

	if (*note)
		return xasprintf("%s: %s (%s%s%s)", subject, note, check, *code ? ", " : "", code);
	if (*code)
		return xasprintf("%s has a problem in %s: %s", subject, check, code);
	if (isnan(s->value))
		return xasprintf("%s has a problem in %s", subject, check);
	number_format(s->value, s->unit, value);
	return xasprintf("%s has a problem in %s: %s", subject, check, value);
}

/* Only "pid 4711 (stress)", rather than a whole sentence. */
static bool names_somebody(const char *note)
{
	return starts_with(note, "pid ") && note[strlen(note) - 1] == ')';
}

char *words_not_measured(const struct sample *s)
{
	static const char *const why[] = {
		[SAMPLE_MEASURED] = "gave no value",
		[SAMPLE_BUSY] = "was busy",
		[SAMPLE_FOREIGN_TRAFFIC] = "carried other traffic",
		[SAMPLE_SET_UP] = "could not be set up for the test",
		[SAMPLE_TIMEOUT] = "did not finish in time",
		[SAMPLE_ABORTED] = "was aborted because a job started",
	};
	CLEANUP(freep) char *subject = words_clean(s->subject, SUBJECT_MAX);
	CLEANUP(freep) char *check = words_clean(s->check, SUBJECT_MAX);
	CLEANUP(freep) char *note = words_clean(s->note, NOTE_MAX);
	const char *join = "";

	if (*note)
		join = s->state == SAMPLE_BUSY && names_somebody(note) ? " with " : ": ";
	return xasprintf("%s %s%s%s (%s not measured)", subject, why[s->state], join, note, check);
}

char *words_spread(const struct sample *s, const struct peer_group *group)
{
	CLEANUP(freep) char *check = words_clean(s->check, SUBJECT_MAX);
	char low[NUMBER_SIZE], best[NUMBER_SIZE];

	number_format(group->typical, s->unit, low);
	number_format(group->best, s->unit, best);
	return xasprintf("%s is spread out: %zu of %zu are near %s while the best is at %s, too "
			 "many to tell which are bad without a SKU file or earlier runs",
			 check, group->n_low, group->n, low, best);
}

char *words_spread_member(const struct sample *s, const struct peer_group *group, bool low)
{
	CLEANUP(freep) char *fact = told(s, group->best);

	if (!low)
		return xasprintf("%s, compared with the best of %zu peers, which differ too much "
				 "to say more",
				 fact, group->n);
	return xasprintf("%s, like %zu of its %zu peers: not blamed alone", fact, group->n_low - 1,
			 group->n - 1);
}

char *words_problem(const struct problem *p)
{
	static const char *const what[] = {
		[PROBLEM_TIMEOUT] = "ran out of time",
		[PROBLEM_CRASHED] = "crashed",
		[PROBLEM_EXIT] = "failed",
		[PROBLEM_GARBAGE] = "printed invalid output",
		[PROBLEM_TOO_MUCH] = "printed too much",
		[PROBLEM_EMPTY] = "ended without a result",
		[PROBLEM_NOT_EXECUTABLE] = "could not be started",
		[PROBLEM_NOT_APPLICABLE] = "found nothing to measure here",
		[PROBLEM_SET_UP] = "could not be set up",
		[PROBLEM_BUSY] = "did not run: another run is using the devices",
	};
	CLEANUP(freep) char *probe = words_clean(p->probe, SUBJECT_MAX);
	CLEANUP(freep) char *detail = words_clean(p->detail, NOTE_MAX);

	return xasprintf("probe %s %s%s%s", probe, what[p->code], *detail ? ": " : "", detail);
}

char *words_expected_device(const struct problem *p)
{
	CLEANUP(freep) char *fact = words_problem(p);

	return xasprintf("%s; the SKU file expects it to find something", fact);
}

char *words_uncounted(const char *check)
{
	return xasprintf("%s: the SKU file expects a count, but the parts of this host could not "
			 "be counted: run as root, or remove it from the SKU file",
			 check);
}

char *words_missing(const struct verdict_item *before, const char *profile)
{
	CLEANUP(freep) char *name = words_clean(profile, SUBJECT_MAX);
	CLEANUP(freep) char *subject = words_clean(before->subject, SUBJECT_MAX);
	CLEANUP(freep) char *check = words_clean(before->check, SUBJECT_MAX);

	return xasprintf("%s is missing from %s, where the run before had it; if that is intended, "
			 "remove the file 'last/%s.json' from the state directory, and tell the "
			 "controller with `assayctl repair-done`",
			 subject, check, name);
}

/* A check that was compared with nothing did not pass. */
static char *words_pass(const struct verdict *v)
{
	size_t counts[COUNTS], judged, measured;

	verdict_count(v, counts);
	judged = counts[COUNT_PASS];
	measured = counts[COUNT_MEASURED];
	if (judged == 0)
		return xasprintf("pass: %zu check%s measured, not judged: nothing to compare with",
				 measured, measured == 1 ? "" : "s");
	if (measured == 0)
		return xasprintf("pass: %zu check%s, nothing below its floor", judged,
				 judged == 1 ? "" : "s");
	return xasprintf("pass: %zu check%s, nothing below its floor; %zu more measured, not "
			 "judged: nothing to compare with",
			 judged, judged == 1 ? "" : "s", measured);
}

char *words_host(const struct verdict *v)
{
	const char *level = verdict_level_names[v->level];
	size_t same = 0, i;

	if (v->n_items == 0)
		return xasprintf("%s: nothing was measured", level);
	if (v->level == VERDICT_PASS)
		return words_pass(v);
	for (i = 0; i < v->n_items && v->items[i].level == v->level; i++)
		same += !verdict_explained(v, &v->items[i]);
	if (same <= 1)
		return xasprintf("%s: %s", level, v->items[0].sentence);
	return xasprintf("%s: %s; and %zu more", level, v->items[0].sentence, same - 1);
}
