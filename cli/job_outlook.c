/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_outlook.h"

#include <math.h>
#include <stdlib.h>

#include "cli/job_words.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"

/* "8.31", or "-". The caller frees it. */
static char *seconds(const json_t *object, const char *key)
{
	const double value = number_at(object, key);

	return isnan(value) ? xstrdup("-") : xasprintf("%.3g", value);
}

/* What is unusual about its state, or "". */
static const char *state_words(const char *state)
{
	if (streq(state, "shown"))
		return "; recorded once one of its hosts is replaced";
	return streq(state, "unchecked") ? "; no run confirmed it within a day" : "";
}

char *job_outlook_prediction(const json_t *job)
{
	const json_t *p = json_object_get(job, "prediction");
	CLEANUP(freep) char *before = seconds(p, "before_s");
	CLEANUP(freep) char *after = seconds(p, "after_s");
	CLEANUP(freep) char *low = seconds(p, "low_s");
	CLEANUP(freep) char *high = seconds(p, "high_s");
	CLEANUP(freep) char *hosts = job_words_hosts(json_object_get(p, "hosts"));
	const double restart_s = number_at(p, "restart_s"), steps = number_at(p, "pays_steps");
	const double pays_s = number_at(p, "pays_s");

	if (!json_is_object(p))
		return NULL;
	if (isnan(restart_s) || isnan(steps) || isnan(pays_s))
		return xasprintf("without %s: %s s -> %s s a step [%s, %s]", hosts, before, after,
				 low, high);
	return xasprintf(
		"without %s: %s s -> %s s a step [%s, %s]; a restart (%.0f min) pays after %.0f "
		"steps, %.1f h%s",
		hosts, before, after, low, high, restart_s / 60, steps, pays_s / 3600,
		state_words(raw_at(p, "state")));
}

/* ", gpu-31 for gpu-17", as far as known. The caller frees it. */
static char *instead_words(const json_t *p)
{
	const json_t *instead = json_object_get(p, "instead");
	CLEANUP(freep) char *hosts = job_words_hosts(json_object_get(p, "hosts"));
	CLEANUP(freep) char *others = job_words_hosts(instead);

	if (json_array_size(instead) == 0)
		return xasprintf(", without %s", hosts);
	return xasprintf(", %s for %s", others, hosts);
}

char *job_outlook_verified(const json_t *job)
{
	const json_t *p = json_object_get(job, "verified"), *trust = json_object_get(p, "trust");
	CLEANUP(freep) char *run = job_words_count(p, "by_run");
	CLEANUP(freep) char *instead = instead_words(p);
	CLEANUP(freep) char *measured = seconds(p, "measured_s");
	CLEANUP(freep) char *steps = job_words_count(p, "steps");
	CLEANUP(freep) char *class = text_at(p, "class");
	CLEANUP(freep) char *held = job_words_count(trust, "held");
	CLEANUP(freep) char *checked = job_words_count(trust, "checked");

	if (!json_is_object(p))
		return NULL;
	return xasprintf(
		"run %s%s: %s s over %s steps: %s (%s: %s of %s%s)", run, instead, measured, steps,
		streq(raw_at(p, "state"), "held") ? "held" : "did not hold", class, held, checked,
		json_is_true(json_object_get(trust, "poor")) ? "; too few to cordon a host for"
							     : "");
}

/* Whether anybody has answered. The caller frees it. */
static char *answer_words(const json_t *advice, uint64_t now_us)
{
	const char *state = raw_at(advice, "state");
	CLEANUP(freep) char *done = age_of_stamp(raw_at(advice, "acknowledged"), now_us);
	CLEANUP(freep) char *until = text_at(advice, "expires");

	if (streq(state, "acknowledged"))
		return xasprintf(", acknowledged %s", done);
	if (streq(state, "open"))
		return xasprintf(", not acknowledged yet, valid until %s", until);
	return xstrdup(streq(state, "expired") ? ", expired without an answer" : "");
}

char *job_outlook_advice(const json_t *job, uint64_t now_us)
{
	const json_t *advice = json_object_get(job, "advice");
	const double id = number_at(advice, "id");
	CLEANUP(freep) char *what = text_at(advice, "advice");
	CLEANUP(freep) char *reason = text_at(advice, "reason");
	CLEANUP(freep) char *answer = answer_words(advice, now_us);

	if (isnan(id) || id < 1)
		return NULL;
	return xasprintf("%.0f: %s%s: %s", id, what, answer, reason);
}
