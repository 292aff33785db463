/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/outlook_check.h"

#include <errno.h>
#include <math.h>

#include "attribution/outlook.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

bool outlook_check_differs(double told, double has)
{
	return told > has * (1 + OUTLOOK_DIFFERENCE) || told * (1 + OUTLOOK_DIFFERENCE) < has;
}

/* Compare the counts. */
static int check_shape(const struct measured *m, const struct description *d, const char *trace,
		       struct err *err)
{
	if (d->stages.n != m->pp)
		return description_fail(d, "stages", err, "%zu values, but %s has %zu (pp_size)",
					d->stages.n, trace, m->pp);
	if (d->microbatches > 0 && d->microbatches != m->microbatches)
		return description_fail(d, "microbatches", err,
					"%ju, but %s has %zu forward computes per stage in a step",
					(uintmax_t)d->microbatches, trace, m->microbatches);
	return 0;
}

/* Compare the time of each stage by its layers with the trace. */
static int check_times(const struct measured *m, const struct description *d, const char *trace,
		       struct err *err)
{
	size_t p, i, at = 0;

	for (p = 0; p < m->pp && d->layers.forward_s; p++) {
		double forward = 0, backward = 0;

		for (i = 0; i < d->stages.layers[p]; i++, at++) {
			forward += d->layers.forward_s[at];
			backward += d->layers.backward_s[at];
		}
		if (outlook_check_differs(forward, m->forward_s[p]))
			return description_fail(
				d, "layers", err,
				"those of stage %zu take %.4g ms forward, but %s has %.4g ms", p,
				forward * 1e3, trace, m->forward_s[p] * 1e3);
		if (outlook_check_differs(backward, m->backward_s[p]))
			return description_fail(
				d, "layers", err,
				"those of stage %zu take %.4g ms backward, but %s has %.4g ms", p,
				backward * 1e3, trace, m->backward_s[p] * 1e3);
	}
	return 0;
}

static bool has_host(const struct trace_job *job, const char *name)
{
	size_t i;

	for (i = 0; i < job->n_nodes; i++)
		if (streq(job->nodes[i], name))
			return true;
	return false;
}

static int check_lost(const struct trace_job *job, const struct description *d, const char *trace,
		      struct err *err)
{
	size_t i, k;

	for (i = 0; d->lose && d->lose[i]; i++) {
		if (!has_host(job, d->lose[i]))
			return description_fail(d, "lose", err, "%.60s is not a host of %s",
						d->lose[i], trace);
		for (k = 0; k < i; k++)
			if (streq(d->lose[k], d->lose[i]))
				return description_fail(d, "lose", err, "%.60s is there twice",
							d->lose[i]);
	}
	return 0;
}

/* Known slowdowns take precedence over the trace, but must agree with it. */
static int take_slowdown(const struct trace_job *job, const struct description *d,
			 const char *trace, double *slowdown, struct err *err)
{
	const char *name;
	json_t *value;
	size_t w;

	json_object_foreach(d->slowdown, name, value)
	{
		double told = json_number_value(value);

		if (!json_is_number(value) || !(told >= 0.1 && told <= 100))
			return description_fail(d, "slowdown", err,
						"%.60s: expected a number from 0.1 to 100", name);
		if (!has_host(job, name))
			return description_fail(d, "slowdown", err, "%.60s is not a host of %s",
						name, trace);
		for (w = 0; w < (size_t)job->dp * job->pp; w++) {
			if (!streq(job->nodes[job->workers[w].node], name))
				continue;
			if (outlook_check_differs(told, slowdown[w]))
				return description_fail(
					d, "slowdown", err,
					"%.60s is %.4g times slower, but %s has %.4g", name, told,
					trace, slowdown[w]);
			slowdown[w] = told;
		}
	}
	return 0;
}

static double forward_part(const struct measured *m)
{
	double forward = 0, all = 0;
	size_t p;

	for (p = 0; p < m->pp; p++) {
		forward += m->forward_s[p];
		all += m->forward_s[p] + m->backward_s[p];
	}
	return all > 0 ? forward / all : 0;
}

/* Layers of the description, else those of a stage are taken to be equal. */
static void take_layers(const struct measured *m, const struct description *d,
			struct outlook_job *to)
{
	size_t p, i, at = 0;

	to->forward = xcalloc(d->layers.n, sizeof(*to->forward));
	to->backward = xcalloc(d->layers.n, sizeof(*to->backward));
	for (p = 0; p < m->pp; p++) {
		for (i = 0; i < d->stages.layers[p]; i++, at++) {
			double share = 1 / (double)d->stages.layers[p];

			to->forward[at] = d->layers.forward_s ? d->layers.forward_s[at]
							      : m->forward_s[p] * share;
			to->backward[at] = d->layers.forward_s ? d->layers.backward_s[at]
							       : m->backward_s[p] * share;
		}
	}
}

static int put_together(const struct attribution *a, const struct measured *m,
			const struct description *d, const char *trace, struct outlook_job *to,
			struct err *err)
{
	struct rearrange_bounds bounds = { 0 };
	struct err why = ERR_INIT;
	size_t w;
	int r;

	to->slowdown = xcalloc(m->dp * m->pp, sizeof(*to->slowdown));
	for (w = 0; w < m->dp * m->pp; w++)
		to->slowdown[w] = m->slowdown[w];
	r = take_slowdown(&a->trace->job, d, trace, to->slowdown, err);
	if (r < 0)
		return r;
	take_layers(m, d, to);
	to->job = (struct rearrange_job){ .dp = m->dp,
					  .pp = m->pp,
					  .microbatches = m->microbatches,
					  .chunks = a->trace->job.vpp,
					  .layers = d->layers.n,
					  .forward = to->forward,
					  .backward = to->backward,
					  .bytes = d->layers.bytes,
					  .room = d->memory,
					  .ends = d->ends,
					  .split = d->stages.layers,
					  .slowdown = to->slowdown };
	r = rearrange_now(&to->job, &bounds, &why);
	if (r < 0)
		return description_fail(d, "memory_gib", err, "%s", why.msg);
	to->now = a->slowdown.simulated;
	to->fixed = to->now - bounds.now;
	to->bound = bounds.bound;
	to->forward_part = forward_part(m);
	return 0;
}

int outlook_check(const struct attribution *a, const struct measured *m, const struct description *d,
		  const char *trace, struct outlook_job *ret_job, struct err *err)
{
	CLEANUP(outlook_check_release) struct outlook_job job = { .fixed = 0 };
	int r = check_shape(m, d, trace, err);

	if (r == 0)
		r = check_times(m, d, trace, err);
	if (r == 0)
		r = check_lost(&a->trace->job, d, trace, err);
	if (r == 0)
		r = put_together(a, m, d, trace, &job, err);
	if (r < 0)
		return r;
	*ret_job = job;
	job = (struct outlook_job){ .fixed = 0 };
	return 0;
}

void outlook_check_release(struct outlook_job *job)
{
	free(job->forward);
	free(job->backward);
	free(job->slowdown);
}
