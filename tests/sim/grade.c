/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/grade.h"

#include <stdlib.h>

#include "lib/judge/stats.h"
#include "lib/xalloc.h"
#include "tests/sim/sim.h"

#define IN_TIME_US USEC_PER_DAY

void grade_begin(struct grade *g, size_t nodes)
{
	g->found_us = xcalloc(nodes * HOST_FAULTS, sizeof(*g->found_us));
	g->warned = xcalloc(nodes, sizeof(*g->warned));
	g->refused_hosts = xcalloc(nodes, sizeof(*g->refused_hosts));
	g->delays_s = xcalloc(nodes * HOST_FAULTS, sizeof(*g->delays_s));
}

void grade_release(struct grade *g)
{
	free(g->found_us);
	free(g->warned);
	free(g->refused_hosts);
	free(g->delays_s);
	*g = (struct grade){ 0 };
}

int grade_class(const struct fault *fault, uint64_t onset_us)
{
	static const struct {
		int kind, onset, born;
	} rows[] = {
		{ FAULT_SLOW_GPU, GRADE_GPU_ONSET, GRADE_GPU_BORN },
		{ FAULT_SLOW_HOST, GRADE_HOST_ONSET, GRADE_HOST_BORN },
		{ FAULT_SLOW_PCIE, GRADE_PCIE, GRADE_PCIE },
		{ FAULT_FLAPPING_LINK, GRADE_FLAPPING, GRADE_FLAPPING },
		{ FAULT_DYING_GPU, GRADE_DYING, GRADE_DYING },
		{ FAULT_BAD_TOR, GRADE_TOR, GRADE_TOR },
	};
	size_t i;

	if (fault->kind == FAULT_SLOW_GPU && onset_us == 0 && fault->blamed)
		return GRADE_GPU_BLAMED;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].kind == fault->kind)
			return onset_us ? rows[i].onset : rows[i].born;
	}
	return -1;
}

/* Takes the host out of service for good reason, when it is cordoned for it. */
static bool is_reason(int class)
{
	return class >= 0 && class != GRADE_GPU_BORN && class != GRADE_TOR;
}

static void find(struct sim *s, size_t number, size_t j)
{
	struct grade *g = &s->grade;
	const struct ailment *a = &s->hosts[number].ailments[j];
	uint64_t *found_us = &g->found_us[number * HOST_FAULTS + j];

	if (*found_us)
		return;
	*found_us = s->now_us;
	if (a->onset_us)
		g->delays_s[g->n_delays++] = (double)(s->now_us - a->onset_us) / 1e6;
}

/* Each host counts once for each reason. */
static void note_refusal(struct grade *g, size_t number, int by)
{
	const uint64_t bit = UINT64_C(1) << by;

	if (by < GRADE_REFUSALS && !(g->refused_hosts[number] & bit))
		g->refused[by]++;
	g->refused_hosts[number] |= bit;
}

void grade_cordon(struct sim *s, size_t number, const struct decision *d)
{
	struct grade *g = &s->grade;
	const struct sim_host *host = &s->hosts[number];
	bool reason = false, domain = false;
	size_t j;

	for (j = 0; j < host->n_ailments; j++) {
		const struct ailment *a = &host->ailments[j];
		const int class = grade_class(a->fault, a->onset_us);

		/* What was mended a moment ago is no false finding of it. */
		if (s->now_us < a->onset_us || s->now_us >= a->until_us)
			continue;
		reason |= is_reason(class);
		domain |= class == GRADE_TOR;
		if (is_reason(class))
			find(s, number, j);
	}
	if (d->refused) {
		note_refusal(g, number, d->refused->by);
	} else {
		g->cordons++;
		g->true_cordons += reason;
		g->domain_cordons += !reason && domain;
	}
	if (!reason && !domain && !(g->warned[number] & 2)) {
		g->false_cordons++;
		g->warned[number] |= 2;
		if (s->options->trace)
			(void)fprintf(stderr, "%s is well: the cordon is false\n", host->name);
	}
}

void grade_warn(struct sim *s, size_t number)
{
	s->grade.warned[number] |= 1;
}

void grade_budget(struct sim *s)
{
	struct grade *g = &s->grade;
	struct budget now = { 0 };
	size_t i;

	budget_count(&now, &s->rules.policy, &s->fleet, &s->breaker, s->now_us);
	g->budget_cap = now.total_max;
	g->budget_max_used = MAX(g->budget_max_used, now.out);
	g->domain_cap = s->rules.policy.domain_label ? s->rules.policy.domain_max : 0;
	for (i = 0; g->domain_cap && i < s->fleet.domains.n; i++) {
		g->domain_max_used = MAX(g->domain_max_used, (uint64_t)now.domains[i]);
		g->overruns += now.domains[i] > g->domain_cap;
	}
	g->overruns += now.out > now.total_max;
	g->overruns += s->rules.policy.rate_cordons && now.cordons > now.rate_max;
	budget_release(&now);
}

void grade_end(struct sim *s)
{
	struct grade *g = &s->grade;
	size_t i, j;

	for (i = 0; i < s->options->nodes; i++) {
		const struct sim_host *host = &s->hosts[i];

		for (j = 0; j < host->n_ailments; j++) {
			const struct ailment *a = &host->ailments[j];
			const int class = grade_class(a->fault, a->onset_us);
			const uint64_t found_us = g->found_us[i * HOST_FAULTS + j];

			if (class < 0)
				continue;
			g->rows[class].found += found_us != 0;
			g->rows[class].in_time += found_us != 0 && a->onset_us &&
						  found_us <= a->onset_us + IN_TIME_US;
			g->rows[class].warned += g->warned[i] & 1;
		}
	}
	stats_sort(g->delays_s, g->n_delays);
}
