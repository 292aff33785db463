/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/again.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/judge/missing.h"
#include "lib/report/report.h"

size_t again_busy(const struct report *report, const char *probe)
{
	size_t n = 0, i;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		if (!probe_has_check(probe, s->check))
			continue;
		if (s->state == SAMPLE_ABORTED)
			return 0;
		n += s->state == SAMPLE_BUSY;
	}
	return n;
}

static bool same_text(const char *a, const char *b)
{
	return streq(a ? a : "", b ? b : "");
}

/* A busy sample may lack some parameters that a measured one has. */
static bool same_params(const struct sample *a, const struct sample *b)
{
	return !a->params || !b->params || json_equal(a->params, b->params);
}

static bool same_place(const struct sample *a, const struct sample *b)
{
	return streq(a->check, b->check) && streq(a->subject, b->subject) &&
	       same_text(a->locality, b->locality) && same_params(a, b);
}

/* The matching sample, preferably a busy one; NULL: none. */
static struct sample *find(struct report *report, const struct sample *like)
{
	struct sample *found = NULL;
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		struct sample *s = &report->samples[i];

		if (!same_place(s, like))
			continue;
		if (s->state == SAMPLE_BUSY)
			return s;
		found = found ? found : s;
	}
	return found;
}

static void replace(struct sample *s, struct sample *by)
{
	sample_release(s);
	*s = *by;
	*by = (struct sample){ .value = NAN };
}

/* Returns true if a busy sample is now measured. */
static bool take(struct report *report, struct sample *s)
{
	struct sample *there = find(report, s);

	if (s->state != SAMPLE_MEASURED)
		return false;
	if (!there) {
		(void)report_add_sample(report, s);
		return false;
	}
	if (there->state == SAMPLE_BUSY) {
		replace(there, s);
		return true;
	}
	if (s->ok == TRI_NO && there->ok != TRI_NO)
		replace(there, s);
	return false;
}

size_t again_merge(struct report *report, struct report *more)
{
	size_t n = 0, i;

	for (i = 0; i < more->n_samples; i++)
		n += take(report, &more->samples[i]);
	for (i = 0; i < more->n_problems; i++) {
		if (more->problems[i].code != PROBLEM_BUSY)
			report_add_problem(report, &more->problems[i]);
	}
	return n;
}
