/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/reports.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

static struct verdict last;

struct report report_make(void)
{
	return (struct report){
		.node = xstrdup("host1"),
		.boot_id = xstrdup("b"),
		.seq = 7,
		.time = xstrdup("2026-03-01T10:00:00Z"),
		.profile = xstrdup("quick"),
	};
}

static const char *unit_of(const char *check)
{
	if (starts_with(check, "gemm.rate"))
		return "FLOP/s";
	if (strstr(check, "_bw"))
		return "B/s";
	return strstr(check, "_lat") ? "s" : "1";
}

struct sample *report_put(struct report *r, const char *check, const char *subject, double value)
{
	struct sample s = sample_init();

	s.check = xstrdup(check);
	s.subject = xstrdup(subject);
	s.value = value;
	s.unit = xstrdup(unit_of(check));
	s.better = BETTER_HIGHER;
	if (report_add_sample(r, &s) < 0)
		abort();
	return &r->samples[r->n_samples - 1];
}

void report_put_cores(struct report *r, const double *values, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *subject = xasprintf("cpu:%zu", i);

		(void)report_put(r, "gemm.rate", subject, values[i]);
	}
}

void report_put_problem(struct report *r, const char *probe, int code, const char *detail)
{
	struct problem p = { .probe = xstrdup(probe), .code = code, .detail = xstrdup(detail) };

	report_add_problem(r, &p);
}

const struct verdict_item *item_find(const struct verdict *v, const char *check, const char *subject)
{
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		if (streq(v->items[i].check, check) && streq(v->items[i].subject, subject))
			return &v->items[i];
	}
	return NULL;
}

int item_level(const struct verdict *v, const char *check, const char *subject)
{
	const struct verdict_item *item = item_find(v, check, subject);

	return item ? item->level : -1;
}

const struct verdict *judged(const struct report *r, const struct judge_inputs *inputs)
{
	verdict_release(&last);
	verdict_judge(r, inputs, &last);
	return &last;
}

void judged_done(void)
{
	verdict_release(&last);
}
