/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/job_wait.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/policy/job_judge.h"
#include "tests/sim/sim.h"

static const char *const end_names[WAIT_ENDS] = {
	[WAIT_OPEN] = "open",		[WAIT_EVICT] = "evict",
	[WAIT_ACQUITTED] = "acquitted", [WAIT_CANNOT_TELL] = "cannot_tell",
	[WAIT_CLEARED] = "cleared",	[WAIT_LAPSED] = "lapsed_idle",
};

/* --- durations --- */

void job_times_add(struct job_times *times, uint64_t from_us, uint64_t to_us)
{
	times->s = xrealloc(times->s, times->n + 1, sizeof(*times->s));
	times->s[times->n++] = (double)(to_us - from_us) / (double)USEC_PER_SEC;
}

void job_times_sort(struct job_times *times)
{
	stats_sort(times->s, times->n);
}

static json_t *at_quantile(const struct job_times *times, double q)
{
	return times->n ? json_real(stats_quantile(times->s, times->n, q)) : json_null();
}

json_t *job_times_encode(const struct job_times *times)
{
	return json_pack("{s:I, s:o, s:o}", "hosts", (json_int_t)times->n, "p50",
			 at_quantile(times, 0.5), "p95", at_quantile(times, 0.95));
}

/* --- events --- */

void job_waits_begin(struct job_waits *waits, size_t hosts)
{
	waits->hosts = xcalloc(hosts, sizeof(*waits->hosts));
}

void job_waits_release(struct job_waits *waits)
{
	free(waits->hosts);
	free(waits->to_order.s);
	free(waits->to_answer.s);
	free(waits->to_decided.s);
	free(waits->to_acquitted.s);
	free(waits->to_evict.s);
	*waits = (struct job_waits){ .hosts = NULL };
}

static double minutes(uint64_t from_us, uint64_t to_us)
{
	return from_us ? (double)(to_us - from_us) / (double)USEC_PER_MIN : -1;
}

static void trace(const struct sim *s, size_t host, const char *why)
{
	const struct job_wait *w = &s->jobs.waits.hosts[host];

	if (s->options->trace)
		(void)fprintf(stderr,
			      "day %.4f %s suspected %.0f min, idle %.1f, test ordered %.1f ago, "
			      "answered %.1f ago: %s; %s\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, s->hosts[host].name,
			      minutes(w->since_us, s->now_us), minutes(w->idle_us, s->now_us),
			      minutes(w->ordered_us, s->now_us), minutes(w->answered_us, s->now_us),
			      end_names[w->end], why);
}

static void end(struct sim *s, size_t host, int how, const char *why)
{
	struct job_waits *waits = &s->jobs.waits;
	struct job_wait *w = &waits->hosts[host];
	const bool decided = how < WAIT_CLEARED;

	w->end = how;
	waits->ends[how]++;
	trace(s, host, why);
	if (!decided || !w->idle_us)
		return;
	job_times_add(&waits->to_decided, w->idle_us, s->now_us);
	if (how == WAIT_ACQUITTED)
		job_times_add(&waits->to_acquitted, w->idle_us, s->now_us);
	if (how == WAIT_EVICT)
		job_times_add(&waits->to_evict, w->idle_us, s->now_us);
}

void job_waits_minute(struct sim *s)
{
	size_t i;

	for (i = 0; i < s->options->nodes; i++)
		s->jobs.waits.hosts[i].now = false;
}

/* Returns the end given by the judge's result, or WAIT_OPEN. */
static int end_of(const struct job_judge_item *item)
{
	if (item->action == BLAME_EVICT)
		return WAIT_EVICT;
	if (item->action == BLAME_ACQUIT)
		return WAIT_ACQUITTED;
	return item->action == BLAME_WATCH && item->incident != BLAME_QUIET ? WAIT_CANNOT_TELL
									    : WAIT_OPEN;
}

void job_waits_judged(struct sim *s, size_t host, const struct job_judge_item *item)
{
	struct job_wait *w = &s->jobs.waits.hosts[host];
	const int how = end_of(item);

	/* A host whose acquittal holds is no suspect; one with proven blame is decided. */
	if (item->acquitted ||
	    (w->since_us == 0 && s->jobs.desk.proven[host].blame.class != BLAME_NOTHING))
		return;
	w->now = true;
	if (w->since_us == 0)
		*w = (struct job_wait){ .since_us = s->now_us, .now = true };
	if (w->end == WAIT_OPEN && how != WAIT_OPEN)
		end(s, host, how, item->sentence);
}

void job_waits_settle(struct sim *s)
{
	struct job_waits *waits = &s->jobs.waits;
	size_t i;

	for (i = 0; i < s->options->nodes; i++) {
		struct job_wait *w = &waits->hosts[i];

		if (w->since_us == 0)
			continue;
		if (!w->now) {
			if (w->end == WAIT_OPEN)
				end(s, i, w->idle_us ? WAIT_LAPSED : WAIT_CLEARED,
				    "nobody suspects it");
			*w = (struct job_wait){ .since_us = 0 };
			continue;
		}
		if (w->end == WAIT_OPEN && !w->idle_us && !job_is_on(s, i) &&
		    s->agents[i].node->n_jobs == 0) {
			w->idle_us = s->now_us;
			waits->idle++;
		}
	}
}

void job_waits_ordered(struct sim *s, size_t host)
{
	struct job_waits *waits = &s->jobs.waits;
	struct job_wait *w = &waits->hosts[host];

	if (w->since_us == 0 || w->end != WAIT_OPEN || w->ordered_us)
		return;
	w->ordered_us = s->now_us;
	if (w->idle_us)
		job_times_add(&waits->to_order, w->idle_us, s->now_us);
}

void job_waits_tested(struct sim *s, size_t host)
{
	struct job_waits *waits = &s->jobs.waits;
	struct job_wait *w = &waits->hosts[host];

	if (!w->ordered_us || w->end != WAIT_OPEN || w->answered_us)
		return;
	w->answered_us = s->now_us;
	if (w->idle_us)
		job_times_add(&waits->to_answer, w->idle_us, s->now_us);
}

void job_waits_end(struct job_waits *waits)
{
	job_times_sort(&waits->to_order);
	job_times_sort(&waits->to_answer);
	job_times_sort(&waits->to_decided);
	job_times_sort(&waits->to_acquitted);
	job_times_sort(&waits->to_evict);
}

json_t *job_waits_encode(const struct job_waits *waits)
{
	const struct {
		const char *key;
		const struct job_times *times;
	} rows[] = {
		{ "idle_to_ordered_s", &waits->to_order },
		{ "idle_to_answered_s", &waits->to_answer },
		{ "idle_to_decided_s", &waits->to_decided },
		{ "idle_to_acquitted_s", &waits->to_acquitted },
		{ "idle_to_evict_s", &waits->to_evict },
	};
	json_t *v = json_pack("{s:I}", "idle", (json_int_t)waits->idle);
	size_t i;

	for (i = WAIT_EVICT; i < WAIT_ENDS; i++)
		(void)json_object_set_new(v, end_names[i], json_integer((json_int_t)waits->ends[i]));
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		(void)json_object_set_new(v, rows[i].key, job_times_encode(rows[i].times));
	return v;
}
