/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/admit.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/verdict_item.h"
#include "lib/report/report.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/machine.h"

const char *const admit_answer_names[] = {
	[ADMIT_OK] = "ok",
	[ADMIT_DEGRADED] = "degraded",
	[ADMIT_BAD] = "bad",
	[ADMIT_UNKNOWN] = "unknown",
	NULL,
};

/* Takes `sentence`. */
static void add_reason(struct admit *a, char *sentence)
{
	if (a->n_reasons < ADMIT_REASONS_MAX)
		a->reasons[a->n_reasons++] = sentence;
	else
		free(sentence);
}

/*
 * Adds the items that decide the answer: all of `level` (with `fatal`: only fatal ones), except
 * cells of a slow link, which has an item of its own.
 */
static void add_items(struct admit *a, const struct verdict *v, int level, bool fatal)
{
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->level == level && (!fatal || item->fatal) && !verdict_explained(v, item))
			add_reason(a, xstrdup(item->sentence ? item->sentence : item->check));
	}
}

static bool has_fatal(const struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		if (v->items[i].level == VERDICT_FAIL && v->items[i].fatal)
			return true;
	}
	return false;
}

/*
 * The controller's opinion {verdict, policy, expires, sentence}: followed until it expires, then
 * ignored. In the boot in which it arrived, its expiry is measured by the time since boot:
 * {boot_id, until_s}.
 */
static const json_t *fresh_opinion(const struct verdict *v, const struct clock_pair *now)
{
	const char *expires = json_string_value(json_object_get(v->fleet, "expires"));
	const char *boot_id = json_string_value(json_object_get(v->fleet, "boot_id"));
	uint64_t until_us =
		clock_pair_up_us(json_number_value(json_object_get(v->fleet, "until_s")));
	uint64_t expires_us;
	bool fresh;

	if (until_us && now->up_us && boot_id && streq(boot_id, now->boot_id))
		fresh = until_us > now->up_us;
	else
		fresh = expires && clock_parse_stamp(expires, &expires_us) == 0 &&
			expires_us > now->real_us;
	return fresh ? v->fleet : NULL;
}

static const char *says(const json_t *opinion, const char *key)
{
	return json_string_value(json_object_get(opinion, key));
}

static void unknown(struct admit *a, char *sentence)
{
	a->answer = ADMIT_UNKNOWN;
	add_reason(a, sentence);
}

/* Returns false, with the answer set, if the verdict cannot be used at all. */
static bool usable(const struct verdict *v, const char *node, const char *machine,
		   const struct clock_pair *now, struct admit *a)
{
	struct clock_pair then = { .boot_id = v->boot_id, .up_us = clock_pair_up_us(v->uptime_s) };
	uint64_t age_us;

	if (!streq(v->node, node)) {
		unknown(a, xasprintf("the verdict is about host '%s', not about this one ('%s')",
				     v->node ? v->node : "", node));
		return false;
	}
	if (machine_differs(v->machine, machine)) {
		unknown(a,
			xstrdup("the verdict is about another machine that had this name, or this "
				"disk: no test has run on this one yet"));
		return false;
	}
	if (!v->time || clock_parse_stamp(v->time, &then.real_us) < 0) {
		unknown(a, xstrdup("the verdict has no readable time"));
		return false;
	}
	if (!clock_pair_age(&then, now, &age_us)) {
		unknown(a,
			xasprintf("the verdict is from the future (%s): check the clock", v->time));
		return false;
	}
	a->age_s = (double)age_us / 1e6;
	return true;
}

/* Answers from the host's own evidence: the worst item. */
static void from_items(const struct verdict *v, struct admit *a)
{
	switch ((enum verdict_level)v->level) {
	case VERDICT_PASS:
		a->answer = ADMIT_OK;
		break;
	case VERDICT_WARN:
	case VERDICT_FAIL:
		a->answer = ADMIT_DEGRADED;
		add_items(a, v, VERDICT_FAIL, false);
		add_items(a, v, VERDICT_WARN, false);
		break;
	case VERDICT_INCONCLUSIVE:
		a->answer = ADMIT_UNKNOWN;
		add_items(a, v, VERDICT_INCONCLUSIVE, false);
		break;
	}
}

static void from_opinion(const json_t *opinion, int answer, const char *else_why, struct admit *a)
{
	const char *sentence = says(opinion, "sentence");

	a->answer = answer;
	a->fleet = true;
	add_reason(a, xstrdup(sentence ? sentence : else_why));
}

/* At any age: a fatal signature does not heal with time. */
static void from_fatal(const struct verdict *v, const json_t *opinion, struct admit *a)
{
	if (streq(says(opinion, "admit"), "degraded"))
		from_opinion(opinion, ADMIT_DEGRADED, "too many hosts refuse jobs for this reason",
			     a);
	else
		a->answer = ADMIT_BAD;
	add_items(a, v, VERDICT_FAIL, true);
}

static void decide(const struct verdict *v, const char *node, const struct clock_pair *now,
		   const struct admit_options *options, struct admit *a)
{
	/* If false, there is only the fleet's word, or assayd's, which knows only of events. */
	const bool watched = streq(v->profile, PROFILE_WATCH);
	const bool has_run = v->profile && *v->profile && !watched;
	const json_t *opinion;
	char limit[CLOCK_DURATION_SIZE];

	if (!usable(v, node, options->machine, now, a))
		return;
	if (has_run)
		a->profile = xstrdup(v->profile);
	else
		a->age_s = NAN;
	opinion = fresh_opinion(v, now);
	if (has_fatal(v)) {
		from_fatal(v, opinion, a);
	} else if (streq(says(opinion, "verdict"), "bad") ||
		   streq(says(opinion, "verdict"), "fail")) {
		from_opinion(opinion, ADMIT_BAD, "the controller judges this host bad", a);
	} else if (watched) {
		unknown(a, xstrdup("no test has run on this host yet; assayd has only watched "
				   "it"));
	} else if (!has_run) {
		unknown(a, xstrdup(v->sentence));
	} else if (a->age_s * 1e6 > (double)options->max_age_us) {
		duration_format(options->max_age_us, limit);
		unknown(a, xasprintf("the newest verdict is %.0f s old, more than %s", a->age_s,
				     limit));
	} else {
		from_items(v, a);
		/* Only others saw it: slow with good partners, or among similar hosts. */
		if (a->answer == ADMIT_OK && streq(says(opinion, "verdict"), "warn"))
			from_opinion(opinion, ADMIT_DEGRADED, "the controller doubts this host", a);
	}
}

void admit_decide(const struct verdict *v, const char *why_none, const char *node,
		  const struct clock_pair *now, const struct admit_options *options,
		  struct admit *ret)
{
	struct admit a = { .answer = ADMIT_UNKNOWN, .age_s = NAN };

	if (v)
		decide(v, node, now, options, &a);
	else
		add_reason(&a, xstrdup(why_none ? why_none : "no verdict yet"));
	a.admit = a.answer == ADMIT_OK || (a.answer == ADMIT_DEGRADED && !options->strict) ||
		  (a.answer == ADMIT_UNKNOWN && !options->fail_closed);
	*ret = a;
}

void admit_release(struct admit *a)
{
	size_t i;

	for (i = 0; i < a->n_reasons; i++)
		free(a->reasons[i]);
	free(a->profile);
	*a = (struct admit){ .age_s = NAN };
}

json_t *admit_encode(const struct admit *a)
{
	json_t *reasons = json_array();
	size_t i;

	for (i = 0; i < a->n_reasons; i++)
		json_array_append_new(reasons, json_string(a->reasons[i]));
	return json_pack("{s:i, s:s, s:s, s:b, s:o, s:s?, s:s, s:o}", "v", 1, "kind", "admit",
			 "answer", admit_answer_names[a->answer], "admit", (int)a->admit, "age_s",
			 isnan(a->age_s) ? json_null() : json_real(a->age_s), "profile", a->profile,
			 "source", a->fleet ? "fleet" : "local", "reasons", reasons);
}
