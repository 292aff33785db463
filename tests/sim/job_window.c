/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/job_window.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/lottery.h"
#include "attribution/speeds.h"
#include "attribution/summary.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/blame.h"
#include "tests/attribution/as_trace.h"
#include "tests/attribution/inject.h"

/* Fraction of the threshold for a suspect from which a window is analysed. */
#define NEAR 0.8

enum {
	GPUS = 8,	  /* per host: one tensor-parallel group */
	MB_MIN = 8,	  /* minimum of micro-batches */
	MB_OF_STAGES = 4, /* micro-batches per stage: keeps the pipeline mostly full */
};

/* --- the quick check --- */

/* The paces of workers, from their compute speeds alone. */
struct paces {
	struct trace trace; /* only its shape is set */
	struct pace pace;
	struct lottery_known known;
	double tested[JOB_PLAN_HOSTS_MAX];
	double mean[JOB_PLAN_HOSTS_MAX * OPTYPE_N];
	uint32_t count[JOB_PLAN_HOSTS_MAX * OPTYPE_N];
};

static void fill(const struct job_window_case *of, struct paces *ret)
{
	const bool known = of->good.spread > 0;
	size_t n = (size_t)(of->dp * of->pp), i;

	ret->trace.job.dp = (uint32_t)of->dp;
	ret->trace.job.pp = (uint32_t)of->pp;
	for (i = 0; i < n; i++)
		ret->mean[i * OPTYPE_N + OP_FORWARD_COMPUTE] = 1 / of->speeds[i];
	for (i = 0; i < (size_t)of->pp; i++)
		ret->count[i * OPTYPE_N + OP_FORWARD_COMPUTE] = 1;
	for (i = 0; i < n; i++)
		ret->tested[i] = of->tested[i] > 0 ? of->tested[i] : NAN;
	ret->known = (struct lottery_known){ known ? of->good.spread : LOTTERY_SPREAD,
					     known ? ret->tested : NULL, of->good.low };
	ret->pace = (struct pace){ .trace = &ret->trace, .mean = ret->mean, .count = ret->count };
}

static size_t slowest_of(const struct lottery *lottery, const bool *left_out, size_t n)
{
	size_t slowest = n, i;

	for (i = 0; i < n; i++) {
		if (!left_out[i] &&
		    (slowest == n || lottery_ratio(lottery, i) > lottery_ratio(lottery, slowest)))
			slowest = i;
	}
	return slowest;
}

/* Is each worker in `left_out` nearly as far from the others as a suspect must be? */
static bool is_clear(const struct paces *paces, const bool *left_out, size_t n, size_t members)
{
	CLEANUP(lottery_release)
	struct lottery others = lottery_of(&paces->pace, left_out, &paces->known);
	size_t i;

	for (i = 0; i < n; i++) {
		double least = lottery_least(&others, i, LOTTERY_BEYOND, members) - 1;

		if (left_out[i] && lottery_ratio(&others, i) < 1 + NEAR * least)
			return false;
	}
	return true;
}

bool job_window_may_blame(const struct job_window_case *of)
{
	CLEANUP(freep) struct paces *paces = xcalloc(1, sizeof(*paces));
	const size_t n = (size_t)(of->dp * of->pp);
	bool left_out[JOB_PLAN_HOSTS_MAX] = { false };
	size_t members;

	fill(of, paces);
	for (members = 1; members <= SUSPECTS_MAX && members < n; members++) {
		CLEANUP(lottery_release)
		struct lottery lottery = lottery_of(&paces->pace, left_out, &paces->known);

		left_out[slowest_of(&lottery, left_out, n)] = true;
		if (is_clear(paces, left_out, n, members))
			return true;
	}
	return false;
}

/* --- the full analysis --- */

static void make_job(const struct job_window_case *of, struct job *ret)
{
	const struct job sizes = { .dp = of->dp,
				   .pp = of->pp,
				   .tp = GPUS,
				   .steps = JOB_WINDOW_STEPS,
				   .mb = MAX(MB_OF_STAGES * of->pp, MB_MIN) };
	int i;

	injection_job(injection_find(of->own ? of->own : "none"), &sizes, of->seed, ret);
	for (i = 0; i < of->dp * of->pp; i++)
		ret->slow[i] = (struct job_slow){ i / of->pp, i % of->pp, 0, JOB_WINDOW_STEPS,
						  1 / of->speeds[i] };
	ret->n_slow = of->dp * of->pp;
}

static int class_of(const struct attribution *a)
{
	json_t *doc = summary_document(a);
	const char *name = json_string_value(json_object_get(doc, "class"));
	int class = 0;

	while (class < BLAME_CLASSES && !streq(name, blame_class_names[class]))
		class ++;
	json_decref(doc);
	return class == BLAME_CLASSES ? BLAME_UNCLEAR : class;
}

static void take_suspects(const struct suspects *from, struct job_window_result *ret)
{
	size_t i;

	for (i = 0; from->counts && i < from->n; i++)
		ret->list[ret->n++] = (struct job_window_suspect){
			.worker = from->list[i].worst,
			.class = from->transfers ? BLAME_LINK : BLAME_COMPUTE,
			.identifiable = from->identifiable,
			.share = isfinite(from->share.value) ? from->share.value : 0,
		};
}

/* Returns the tested speeds by rank. */
static struct speeds known_of(const struct job_window_case *of, const struct job *job)
{
	struct speeds ret = { .good = of->good };
	int d, p;

	ret.spans = xcalloc(JOB_PLAN_HOSTS_MAX, sizeof(*ret.spans));
	for (p = 0; p < of->pp; p++) {
		for (d = 0; d < of->dp; d++) {
			double speed = of->tested[d * of->pp + p];

			if (speed > 0)
				ret.spans[ret.n++] =
					(struct speeds_span){ job_rank(job, d, p), job->tp, speed };
		}
	}
	return ret;
}

struct job_window_result job_window_find(const struct job_window_case *of)
{
	CLEANUP(speeds_release) struct speeds speeds = { .n = 0 };
	struct attribution_options how = ATTRIBUTION_OPTIONS;
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	CLEANUP(attribution_freep) struct attribution *a = NULL;
	struct job_window_result ret = { .class = BLAME_UNCLEAR, .slowdown = 1 };

	/* As in the controller. */
	how.min_slowdown = SUMMARY_STRAGGLING;
	how.nodes = false;
	how.min_gain = of->min_gain;
	how.share = of->share;
	make_job(of, job);
	speeds = known_of(of, job);
	if (of->good.spread > 0) {
		how.speeds = &speeds;
		how.spread = of->good.spread;
	}
	if (attribution_new(job_as_trace(job), &how, &a, NULL) < 0)
		return ret;
	ret.class = class_of(a);
	ret.slowdown = a->slowdown.s;
	take_suspects(&a->suspects, &ret);
	return ret;
}
