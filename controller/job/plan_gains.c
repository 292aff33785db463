/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/plan_gains.h"

#include <math.h>
#include <stdlib.h>

#include "controller/job/plan_facts.h"
#include "controller/job/trace_files.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static struct plan_gains_job *find(const struct plan_gains *gains, int64_t job)
{
	size_t i;

	for (i = 0; i < gains->n; i++) {
		if (gains->jobs[i].job == job)
			return &gains->jobs[i];
	}
	return NULL;
}

static struct plan_gains_job *need(struct plan_gains *gains, int64_t job, int64_t window)
{
	struct plan_gains_job *one = find(gains, job);

	if (one && one->window == window)
		return one;
	if (!one) {
		gains->jobs = xrealloc(gains->jobs, gains->n + 1, sizeof(*gains->jobs));
		one = &gains->jobs[gains->n++];
		one->parts = NULL;
	}
	json_decref(one->parts);
	*one = (struct plan_gains_job){ .job = job, .window = window, .parts = json_object() };
	return one;
}

/* Unknown gains are stored as null, so as not to look again. */
static void read_gains(struct plan_gains_job *one, const json_t *analysis, const json_t *hosts)
{
	CLEANUP(plan_facts_release) struct plan_facts facts = { .hosts = NULL };
	const bool read = analysis && plan_facts_read(analysis, &facts);
	size_t i;

	one->gpus = json_number_value(json_object_get(analysis, "ranks"));
	for (i = 0; i < json_array_size(hosts); i++) {
		const char *host = json_string_value(json_array_get(hosts, i));
		const double part = read ? plan_facts_gain(&facts, host) : (double)NAN;

		(void)json_object_set_new(one->parts, host,
					  isfinite(part) ? json_real(part) : json_null());
	}
}

static bool knows_all(const struct plan_gains_job *one, const json_t *hosts)
{
	size_t i;

	for (i = 0; i < json_array_size(hosts); i++) {
		if (!json_object_get(one->parts, json_string_value(json_array_get(hosts, i))))
			return false;
	}
	return true;
}

void plan_gains_learn(struct plan_gains *gains, const struct trace_files *files, int64_t job,
		      int64_t window, const json_t *hosts)
{ /* lint: allow parameters: the cache, the source, and the subject */
	CLEANUP(freep) char *text = NULL;
	CLEANUP(json_freep) json_t *analysis = NULL;
	struct plan_gains_job *one;

	if (json_array_size(hosts) == 0)
		return;
	one = need(gains, job, window);
	if (knows_all(one, hosts))
		return;
	if (trace_files_analysis(files, window, &text, NULL) == 0)
		analysis = json_loads(text, 0, NULL);
	read_gains(one, analysis, hosts);
}

struct blame_gain plan_gains_of(const struct plan_gains *gains, int64_t job, const char *host)
{
	const struct plan_gains_job *one = find(gains, job);
	const json_t *part = one ? json_object_get(one->parts, host) : NULL;

	if (!json_is_number(part))
		return (struct blame_gain){ .known = false };
	return (struct blame_gain){ true, json_number_value(part), one->gpus };
}

void plan_gains_forget(struct plan_gains *gains, int64_t job)
{
	struct plan_gains_job *one = find(gains, job);

	if (!one)
		return;
	json_decref(one->parts);
	*one = gains->jobs[--gains->n];
}

void plan_gains_release(struct plan_gains *gains)
{
	while (gains->n > 0)
		json_decref(gains->jobs[--gains->n].parts);
	free(gains->jobs);
	*gains = (struct plan_gains){ 0 };
}
