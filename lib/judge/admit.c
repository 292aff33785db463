/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/admit.h"

#include <math.h>
#include <stdlib.h>

#include "lib/duration.h"
#include "lib/xalloc.h"

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

/* The items that carry the answer: all of `level` (only fatal ones when asked). */
static void add_items(struct admit *a, const struct verdict *v, int level, bool fatal)
{
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->level == level && (!fatal || item->fatal))
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
 * The controller's opinion {verdict, policy, expires, sentence}: obeyed until
 * it expires, then as if it had never been given.
 */
static const char *fresh_opinion(const struct verdict *v, uint64_t now_real_us)
{
	const char *expires = json_string_value(json_object_get(v->fleet, "expires"));
	uint64_t expires_us;

	if (!expires || clock_parse_stamp(expires, &expires_us) < 0 || expires_us <= now_real_us)
		return NULL;
	return json_string_value(json_object_get(v->fleet, "verdict"));
}

static void unknown(struct admit *a, char *sentence)
{
	a->answer = ADMIT_UNKNOWN;
	add_reason(a, sentence);
}

/* False, with the answer given, when the verdict cannot be used at all. */
static bool usable(const struct verdict *v, const char *node, uint64_t now_real_us, struct admit *a)
{
	uint64_t time_us;

	if (!streq(v->node, node)) {
		unknown(a, xasprintf("the verdict is about host '%s', not about this one ('%s')",
				     v->node ? v->node : "", node));
		return false;
	}
	if (!v->time || clock_parse_stamp(v->time, &time_us) < 0) {
		unknown(a, xstrdup("the verdict carries no readable time"));
		return false;
	}
	if (time_us > now_real_us + ADMIT_FUTURE_US) {
		unknown(a,
			xasprintf("the verdict is from the future (%s): check the clock", v->time));
		return false;
	}
	a->age_s = time_us > now_real_us ? 0 : (double)(now_real_us - time_us) / 1e6;
	return true;
}

/* The host's own evidence, by the worst item. */
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

static void from_opinion(const struct verdict *v, struct admit *a)
{
	const char *sentence = json_string_value(json_object_get(v->fleet, "sentence"));

	a->answer = ADMIT_BAD;
	a->fleet = true;
	add_reason(a, xstrdup(sentence ? sentence : "the controller judges this host bad"));
}

static void decide(const struct verdict *v, const char *node, uint64_t now_real_us,
		   const struct admit_options *options, struct admit *a)
{
	const char *opinion;
	char limit[CLOCK_DURATION_SIZE];

	if (!usable(v, node, now_real_us, a))
		return;
	a->profile = xstrdup(v->profile);
	opinion = fresh_opinion(v, now_real_us);
	if (has_fatal(v)) {
		/* However old: a fatal signature does not heal by waiting. */
		a->answer = ADMIT_BAD;
		add_items(a, v, VERDICT_FAIL, true);
	} else if (streq(opinion, "bad") || streq(opinion, "fail")) {
		from_opinion(v, a);
	} else if (a->age_s * 1e6 > (double)options->max_age_us) {
		duration_format(options->max_age_us, limit);
		unknown(a, xasprintf("the newest verdict is %.0f s old, more than %s", a->age_s,
				     limit));
	} else {
		from_items(v, a);
	}
}

void admit_decide(const struct verdict *v, const char *why_none, const char *node,
		  uint64_t now_real_us, const struct admit_options *options, struct admit *ret)
{
	struct admit a = { .answer = ADMIT_UNKNOWN, .age_s = NAN };

	if (v)
		decide(v, node, now_real_us, options, &a);
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
