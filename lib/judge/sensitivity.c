/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/sensitivity.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

/* Two limits per reference. */
enum { LIMITS_MAX = 2 * EXPECTATIONS_MAX };

/* Far enough beyond a limit that rounding does not undo it. */
#define JUST_BEYOND 1e-9

const char *const sense_names[] = {
	[SENSE_NOT_MEASURED] = "not-measured", [SENSE_RECORDED] = "recorded",
	[SENSE_NOTHING] = "nothing",	       [SENSE_PROBE] = "probe",
	[SENSE_COMPARED] = "compared",	       NULL,
};

/* A sample and its peers, as a report of their own. */
struct trial {
	const struct judge_inputs *inputs;
	struct measure m;
	struct report group; /* copies that borrow; empty if it has no peers */
	struct sample *self; /* in the group */
	bool leans;	     /* as in the report */
	int own;	     /* level by the probe itself */
};

/* True if sample number `i` belongs to the group of sample `at`; one per subject does. */
static bool in_trial(const struct report *report, const struct peers *peers, size_t at, size_t i)
{
	const struct peer_view *view = &peers->views[i];

	if (i == at)
		return true;
	return view->compared && !view->repeat && view->group == peers->views[at].group &&
	       !streq(report->samples[i].subject, report->samples[at].subject);
}

static struct trial trial_start(const struct report *report, const struct judge_inputs *inputs,
				const struct peers *peers, size_t at)
{
	const struct peer_view *view = &peers->views[at];
	struct trial t = { .inputs = inputs };
	size_t i;

	if (!peers_measure(&report->samples[at], inputs, &t.m) || !view->compared)
		return t;
	t.leans = peers->groups[view->group].spread;
	if (peers->groups[view->group].n > SENSITIVITY_TRIED_MAX)
		return t;
	t.group.samples = xcalloc(peers->groups[view->group].n, sizeof(*t.group.samples));
	for (i = 0; i < report->n_samples; i++) {
		struct sample *copy = &t.group.samples[t.group.n_samples];

		if (!in_trial(report, peers, at, i))
			continue;
		*copy = report->samples[i];
		copy->params = NULL; /* equal in a group */
		t.self = i == at ? copy : t.self;
		t.group.n_samples++;
	}
	return t;
}

static void trial_release(struct trial *t)
{
	free(t->group.samples); /* not the samples' contents, which are borrowed */
}

/* True if half of the group would be low if the subject had `value`. */
static bool would_lean(const struct trial *t, double value)
{
	CLEANUP(peers_release) struct peers peers = { 0 };

	if (!t->self)
		return t->leans;
	t->self->value = value;
	peers_build(&t->group, t->inputs, &peers);
	return peers.groups[0].spread;
}

/* The level by the references for `value`; `ret_sources` receives those that find it low. */
static int level_at(const struct trial *t, const struct sensitivity *s, double value,
		    unsigned *ret_sources)
{
	const bool leans = would_lean(t, value);
	struct expectation e[EXPECTATIONS_MAX];
	struct measure m = t->m;
	unsigned sources = 0;
	size_t n = 0, i;

	m.value = value;
	for (i = 0; i < s->n; i++) {
		if (leans && s->e[i].source == SOURCE_PEERS)
			continue;
		e[n] = s->e[i];
		e[n].low = !measure_keeps(&m, e[n].floor);
		e[n].far = !measure_keeps(&m, e[n].limit);
		sources |= e[n].low ? 1u << e[n].source : 0;
		n++;
	}
	*ret_sources = sources;
	return expectations_level(e, n);
}

static double beyond(const struct trial *t, double limit)
{
	const double step = fmax(fabs(limit) * JUST_BEYOND, DBL_MIN);

	return t->m.lower ? limit + step : limit - step;
}

static struct loss loss_to(const struct trial *t, double limit, unsigned sources)
{
	const double value = t->m.value;
	const double amount = fmax(t->m.lower ? limit - value : value - limit, 0);

	return (struct loss){
		.limit = limit,
		.amount = amount,
		.part = value > 0    ? amount / value
			: amount > 0 ? INFINITY
				     : 0,
		.sources = sources,
	};
}

/*
 * The values at which the level may change, nearest first. A rate cannot fall below 0, so a floor
 * of 0 is never crossed.
 */
static size_t limits_of(const struct trial *t, const struct sensitivity *s,
			double ret_limits[static LIMITS_MAX])
{
	size_t n = 0, i;

	for (i = 0; i < s->n; i++) {
		const double both[] = { s->e[i].floor, s->e[i].limit };
		size_t k;

		for (k = 0; k < ARRAY_SIZE(both); k++) {
			if (!isnan(both[k]) && measure_keeps(&t->m, both[k]) &&
			    (t->m.lower || both[k] > 0))
				ret_limits[n++] = both[k];
		}
	}
	stats_sort(ret_limits, n);
	for (i = 0; !t->m.lower && i < n / 2; i++) {
		double keep = ret_limits[i];

		ret_limits[i] = ret_limits[n - 1 - i];
		ret_limits[n - 1 - i] = keep;
	}
	return n;
}

/* The smallest loss at which the level is `level` or worse. */
static struct loss find_loss(const struct trial *t, const struct sensitivity *s, int level)
{
	double limits[LIMITS_MAX];
	size_t n = limits_of(t, s, limits), i;
	unsigned sources;

	if (t->own >= level)
		return loss_to(t, t->m.value, 1u << SOURCE_SELF);
	if (level_at(t, s, t->m.value, &sources) >= level)
		return loss_to(t, t->m.value, sources);
	for (i = 0; i < n; i++) {
		if (level_at(t, s, beyond(t, limits[i]), &sources) >= level)
			return loss_to(t, limits[i], sources);
	}
	return (struct loss){ .limit = NAN, .amount = NAN, .part = NAN };
}

/* The level by the probe itself, as the judge sees it. */
static int level_of_probe(const struct sample *s)
{
	if (s->ok != TRI_NO || s->severity == SEVERITY_INFO)
		return VERDICT_PASS;
	return s->severity == SEVERITY_WARN ? VERDICT_WARN : VERDICT_FAIL;
}

static double relative_spread(const double *values, size_t n)
{
	CLEANUP(freep) double *sorted = NULL;
	double median;

	if (n < REFERENCE_N_MIN)
		return NAN;
	sorted = xcalloc(n, sizeof(*sorted));
	memcpy(sorted, values, n * sizeof(*sorted));
	stats_sort(sorted, n);
	median = stats_median(sorted, n);
	return median > 0 ? stats_sigma_of_mad(stats_mad(sorted, n, median)) / median : NAN;
}

static void look_back(const struct judge_inputs *inputs, struct sensitivity *s)
{
	CLEANUP(freep) char *key = params_key(s->sample);
	double values[REFERENCE_HISTORY_MAX];

	if (inputs->history)
		s->n_history = inputs->history(inputs->history_context, s->sample->check,
					       s->sample->subject, key, values, ARRAY_SIZE(values));
	s->runs = relative_spread(values, s->n_history);
}

static enum sense sense_of(const struct sensitivity *s)
{
	struct measure m;

	if (s->sample->state != SAMPLE_MEASURED ||
	    (isnan(s->sample->value) && s->sample->ok == TRI_UNKNOWN))
		return SENSE_NOT_MEASURED;
	if (s->n > 0)
		return SENSE_COMPARED;
	if (s->sample->ok != TRI_UNKNOWN)
		return SENSE_PROBE;
	return measure_of(s->sample, &m) ? SENSE_NOTHING : SENSE_RECORDED;
}

static void weigh(struct trial *t, struct sensitivity *s)
{
	unsigned sources;
	int level = level_at(t, s, t->m.value, &sources);

	t->own = level_of_probe(s->sample);
	s->level = MAX(level, t->own);
	s->leaning = t->leans;
	s->counts = t->m.family->count;
	s->remembered = t->m.family->compared;
	s->warns = find_loss(t, s, VERDICT_WARN);
	s->fails = find_loss(t, s, VERDICT_FAIL);
}

static struct sensitivity sensitivity_at(const struct report *report,
					 const struct judge_inputs *inputs,
					 const struct peers *peers, size_t at)
{
	const struct sample *sample = &report->samples[at];
	const struct loss none = { .limit = NAN, .amount = NAN, .part = NAN };
	CLEANUP(trial_release) struct trial t = trial_start(report, inputs, peers, at);
	struct peer_view view = peers->views[at];
	struct sensitivity s = {
		.sample = sample,
		.warns = none,
		.fails = none,
		.windows = NAN,
		.runs = NAN,
	};

	/* What the peers would say if half of them were not low. */
	view.known = view.e.n > 0;
	s.n = peers_expectations(sample, inputs, &view, s.e);
	s.sense = sense_of(&s);
	s.level = s.sense == SENSE_NOT_MEASURED ? VERDICT_INCONCLUSIVE : level_of_probe(sample);
	if (s.sense == SENSE_NOT_MEASURED || !t.m.family)
		return s;
	s.windows = relative_spread(sample->w.v, sample->w.n);
	look_back(inputs, &s);
	weigh(&t, &s);
	return s;
}

void sensitivity_of(const struct report *report, const struct judge_inputs *inputs,
		    struct sensitivity *ret)
{
	static const struct judge_inputs nothing = { 0 };
	const struct judge_inputs *in = inputs ? inputs : &nothing;
	CLEANUP(peers_release) struct peers peers = { 0 };
	size_t i;

	peers_build(report, in, &peers);
	for (i = 0; i < report->n_samples; i++)
		ret[i] = sensitivity_at(report, in, &peers, i);
}
