/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/all_to_all/all_to_all.h"

struct sample all_to_all_sample(const struct all_to_all *t, const char *check, const char *subject,
				uint64_t bytes)
{
	struct sample s = sample_init();

	s.check = xstrdup(check);
	s.subject = xstrdup(subject);
	s.unit = xstrdup("B/s");
	s.better = BETTER_HIGHER;
	s.params = t->plan->kind->params(t, bytes);
	return s;
}

int all_to_all_emit(struct all_to_all *t, struct sample *s)
{
	int r = t->plan->emit(t->plan->context, s);

	sample_release(s);
	return r < 0 ? r : 0;
}

/* The end with which the sentence begins, else all of them. */
static const char *subject_of(const struct all_to_all *t, const char *why)
{
	unsigned i;

	for (i = 0; i < t->n; i++) {
		if (starts_with(why, t->ends[i].subject))
			return t->ends[i].subject;
	}
	return t->plan->kind->all;
}

void all_to_all_forget(struct sample *s)
{
	s->value = s->min = s->max = s->stddev = s->p50 = s->p99 = NAN;
	s->n = 0;
	s->w.n = 0;
	s->ok = TRI_UNKNOWN;
}

int all_to_all_tell_failure(struct all_to_all *t, int failed, const char *why)
{
	const char *subject = subject_of(t, why);
	struct sample s = all_to_all_sample(t, t->plan->kind->busbw, subject, t->bytes);

	accel_failure_fill(&s, subject, failed, why);
	return all_to_all_emit(t, &s);
}

int all_to_all_tell_busy(struct all_to_all *t)
{
	const char *const checks[] = { t->plan->kind->busbw, t->plan->kind->correct };
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < ARRAY_SIZE(checks); i++) {
		struct sample s = all_to_all_sample(t, checks[i], t->plan->kind->all, t->bytes);

		s.state = SAMPLE_BUSY;
		s.note = xstrdup(t->busy);
		r = all_to_all_emit(t, &s);
	}
	return r;
}

char **all_to_all_subjects(const struct all_to_all *t, uint64_t ranks)
{
	char **subjects = xcalloc(t->n + 1, sizeof(*subjects));
	size_t n = 0;
	unsigned i;

	for (i = 0; i < t->n; i++) {
		if (ranks & COLL_RANK_BIT(i))
			subjects[n++] = xstrdup(t->ends[i].subject);
	}
	return subjects;
}
