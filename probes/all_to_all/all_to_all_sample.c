/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "lib/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/all_to_all/all_to_all.h"

/* NCCL has the operation itself since 2.28; before it is sends and receives. */
static const char *call_of(const struct all_to_all *t)
{
	return t->plan->library.call.all_to_all ? "ncclAlltoAll" : "ncclSend";
}

struct sample all_to_all_sample(const struct all_to_all *t, const char *check, const char *subject,
				uint64_t bytes)
{
	const struct all_to_all_plan *plan = t->plan;
	struct sample s = sample_init();

	s.check = xstrdup(check);
	s.subject = xstrdup(subject);
	s.unit = xstrdup("B/s");
	s.better = BETTER_HIGHER;
	s.params = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "engine", "nccl", "version",
			     plan->library.version, "driver",
			     plan->accel->ops->version(plan->accel), "ranks", (json_int_t)t->n,
			     "bytes", (json_int_t)bytes, "call", call_of(t));
	return s;
}

int all_to_all_emit(struct all_to_all *t, struct sample *s)
{
	int r = t->plan->emit(t->plan->context, s);

	sample_release(s);
	return r < 0 ? r : 0;
}

/* The GPU with which the sentence begins, else all of them. */
static const char *subject_of(const struct all_to_all *t, const char *why)
{
	unsigned i;

	for (i = 0; i < t->n; i++) {
		if (starts_with(why, t->devices[i].subject))
			return t->devices[i].subject;
	}
	return ALL_TO_ALL_SUBJECT;
}

int all_to_all_tell_failure(struct all_to_all *t, int failed, const char *why)
{
	const char *subject = subject_of(t, why);
	struct sample s = all_to_all_sample(t, "all_to_all.busbw", subject, t->bytes);

	accel_failure_fill(&s, subject, failed, why);
	return all_to_all_emit(t, &s);
}
