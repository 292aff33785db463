/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_to_all/all_to_all.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"

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

/* The end that the message begins with, otherwise the subject of all ends. */
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

enum { LINKS_MAX = 64, NAMES_SIZE = 256 };

/* "link 3", "links 3, 12": those that are down; "": none known. */
static void name_down(uint64_t down, char ret[static NAMES_SIZE])
{
	unsigned link;
	size_t used = 0;

	ret[0] = '\0';
	for (link = 0; link < LINKS_MAX && used < NAMES_SIZE; link++) {
		if (!(down & UINT64_C(1) << link))
			continue;
		used += (size_t)snprintf(ret + used, NAMES_SIZE - used, "%s%u",
					 used		       ? ", "
					 : (down & (down - 1)) ? "links "
							       : "link ",
					 link);
	}
}

static void fill_down(struct sample *s, struct all_to_all *t, const struct all_to_all_end *end,
		      const struct accel_condition *now, unsigned most)
{
	char names[NAMES_SIZE];

	name_down(now->links_down, names);
	s->ok = TRI_NO;
	s->severity = SEVERITY_FAIL;
	s->code = xstrdup("nvlink-down");
	s->note = xasprintf("%u of %u NVLinks are up, the same as its peers%s%s (%s)",
			    now->links_up, most, names[0] ? "; down: " : "", names, end->pci);
	(void)snprintf(t->suspect, sizeof(t->suspect), "%s has %u of %u NVLinks", end->subject,
		       now->links_up, most);
}

static struct sample sample_of(const struct all_to_all_end *end, unsigned up)
{
	struct sample s = sample_init();

	s.check = xstrdup("all_to_all.nvlinks");
	s.subject = xstrdup(end->subject);
	s.locality = xstrdup("self");
	s.unit = xstrdup("1");
	s.value = up;
	s.ok = TRI_YES;
	return s;
}

/* The NVLinks built in are not the reference: a bridge may use only some of them. */
int all_to_all_links(struct all_to_all *t)
{
	struct accel *a = t->plan->accel;
	struct accel_condition now[COLL_RANKS_MAX] = { { 0 } };
	unsigned most = 0, i;
	int r = 0;

	for (i = 0; i < t->n; i++) {
		if (a->ops->condition(a, i, &now[i], NULL) < 0)
			now[i] = (struct accel_condition){ 0 };
		most = MAX(most, now[i].links_up);
		t->links_to = i == 0 || t->links_to == now[i].links_to ? now[i].links_to
								       : ACCEL_LINKS_UNKNOWN;
	}
	for (i = 0; r == 0 && i < t->n && most; i++) {
		struct sample s = sample_of(&t->ends[i], now[i].links_up);

		if (now[i].links_up < most)
			fill_down(&s, t, &t->ends[i], &now[i], most);
		r = all_to_all_emit(t, &s);
	}
	return r;
}
