/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/grade.h"

#include <stdlib.h>

#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/judge/verdict.h"
#include "tests/sim/sim.h"

#define IN_TIME_US USEC_PER_DAY

void grade_begin(struct grade *g, size_t nodes)
{
	g->faults = xcalloc(nodes * HOST_FAULTS, sizeof(*g->faults));
	g->named = xcalloc(nodes, sizeof(*g->named));
	g->warned = xcalloc(nodes, sizeof(*g->warned));
	g->refused_hosts = xcalloc(nodes, sizeof(*g->refused_hosts));
	g->delays_s = xcalloc(nodes * HOST_FAULTS, sizeof(*g->delays_s));
}

void grade_release(struct grade *g)
{
	free(g->faults);
	free(g->named);
	free(g->warned);
	truth_release(&g->truth);
	causes_release(&g->causes);
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
		{ FAULT_LOST_CHANNEL, GRADE_CHANNEL, GRADE_CHANNEL_BORN },
		{ FAULT_FLAP_STORM, GRADE_FLAP_STORM, GRADE_FLAP_STORM },
		{ FAULT_XID_STORM, GRADE_XID_STORM, GRADE_XID_STORM },
		{ FAULT_TOO_FAST, GRADE_TOO_FAST, GRADE_TOO_FAST },
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

/* Is a cordon for this class right? */
static bool is_reason(int class)
{
	return class >= 0 && class != GRADE_GPU_BORN && class != GRADE_TOR &&
	       class != GRADE_XID_STORM && class != GRADE_TOO_FAST;
}

static struct grade_fault *fault_of(struct grade *g, size_t number, size_t j)
{
	return &g->faults[number * HOST_FAULTS + j];
}

static bool is_now(const struct ailment *a, uint64_t now_us)
{
	return a->onset_us <= now_us && now_us < a->until_us;
}

static void find(struct sim *s, size_t number, size_t j)
{
	struct grade *g = &s->grade;
	const struct ailment *a = &s->hosts[number].ailments[j];
	struct grade_fault *fault = fault_of(g, number, j);

	if (fault->found_us)
		return;
	fault->found_us = s->now_us;
	if (a->onset_us)
		g->delays_s[g->n_delays++] = (double)(s->now_us - a->onset_us) / 1e6;
}

/* Each host counts once per reason. */
static void note_refusal(struct grade *g, size_t number, int by)
{
	const uint64_t bit = UINT64_C(1) << by;

	if (!(g->refused_hosts[number] & bit))
		g->refused[by]++;
	g->refused_hosts[number] |= bit;
}

void grade_cordon(struct sim *s, size_t number, const struct decision *d)
{
	struct grade *g = &s->grade;
	const struct sim_host *host = &s->hosts[number];
	const bool domain = cause_explains(s, number, d->finding ? d->finding->check : NULL);
	/* jobs.born limits these: job_grade.h. */
	const bool lottery = job_grade_cordon(s, number, d);
	bool reason = false;
	size_t j;

	for (j = 0; j < host->n_ailments; j++) {
		const struct ailment *a = &host->ailments[j];
		const int class = grade_class(a->fault, a->onset_us);

		/* A finding about a fault just repaired is not false. */
		if (!is_now(a, s->now_us))
			continue;
		reason |= is_reason(class);
		if (is_reason(class))
			find(s, number, j);
		fault_of(g, number, j)->cordoned |= !d->refused;
	}
	if (d->refused) {
		note_refusal(g, number, d->refused->by);
	} else {
		g->cordons++;
		g->true_cordons += reason;
		g->domain_cordons += !reason && domain;
		if (!reason && domain)
			cause_cordon(s, number);
	}
	if (!reason && !domain && !lottery && !(g->warned[number] & 2)) {
		g->false_cordons++;
		g->warned[number] |= 2;
		if (s->options->trace)
			(void)fprintf(stderr, "%s is well: the cordon is false\n", host->name);
	}
}

void grade_ailing(struct sim *s)
{
	struct grade *g = &s->grade;
	size_t i, j;

	truth_find(&g->truth, s->hosts, s->options->nodes);
	if (s->options->trace)
		truth_print(&g->truth, s->hosts, s->options->nodes, stderr);
	for (i = 0; i < s->options->nodes; i++) {
		g->clean.hosts += truth_is_clean(&s->hosts[i]);
		for (j = 0; j < s->hosts[i].n_ailments; j++) {
			const struct ailment *a = &s->hosts[i].ailments[j];

			if (fault_traits[a->fault->kind].shared)
				cause_add(&g->causes, i, a, s->hosts[i].rack, s->hosts[i].sku);
		}
	}
}

/* Is the check one that this fault lowers? */
static bool is_about(const struct sim_host *host, const struct ailment *a, const char *check,
		     const char *subject)
{
	const char *family = truth_family(a->fault->kind);
	const size_t n = strlen(family);
	char gpu[64];

	switch ((enum fault_kind)a->fault->kind) {
	case FAULT_SLOW_GPU:
	case FAULT_TOO_FAST:
		(void)snprintf(gpu, sizeof(gpu), "gpu:GPU-%zu-%zu", host->number, (size_t)a->gpu);
		return strncmp(check, family, n) == 0 && streq(subject, gpu);
	case FAULT_LOST_CHANNEL:
		return strncmp(check, family, n) == 0;
	default:
		return true;
	}
}

void grade_warn(struct sim *s, size_t number, const struct store_window *row)
{
	const struct sim_host *host = &s->hosts[number];
	size_t j;

	for (j = 0; j < host->n_ailments; j++) {
		if (is_now(&host->ailments[j], s->now_us) &&
		    is_about(host, &host->ailments[j], row->check, row->subject))
			fault_of(&s->grade, number, j)->warned = true;
	}
}

static void name(struct grade *g, size_t number, int how)
{
	if (!(g->named[number] & how))
		g->named_hosts[how]++;
	g->named[number] |= (unsigned char)how;
}

/* Does the host have a fault of its own, now or within the last day? If so, it explains all
 * incidents. */
static bool name_fault(struct sim *s, size_t number)
{
	const struct sim_host *host = &s->hosts[number];
	bool any = false;
	size_t j;

	for (j = 0; j < host->n_ailments; j++) {
		const struct ailment *a = &host->ailments[j];

		if (!fault_traits[a->fault->kind].mends || s->now_us < a->onset_us ||
		    (a->until_us != UINT64_MAX && s->now_us >= a->until_us + USEC_PER_DAY))
			continue;
		fault_of(&s->grade, number, j)->incidents++;
		any = true;
	}
	return any;
}

/* Does it have a good GPU that cannot be told from one born slow? */
static bool has_tail(const struct sim *s, size_t number)
{
	size_t part;

	for (part = 0; part < HOST_PARTS; part++) {
		if ((s->grade.truth.gpus[number * HOST_PARTS + part] &
		     (TRUTH_IDENTIFIABLE | TRUTH_BORN)) == TRUTH_IDENTIFIABLE)
			return true;
	}
	return false;
}

static void name_well(struct sim *s, size_t number, const char *check)
{
	struct grade *g = &s->grade;

	/* Findings on such a GPU are counted separately, and are not false. */
	if (has_tail(s, number) && strncmp(check, "gemm.", 5) == 0) {
		g->clean.of_tail++;
		return;
	}
	name(g, number, NAMED_WRONGLY);
	g->clean.incidents += truth_is_clean(&s->hosts[number]);
	if (s->options->trace)
		(void)fprintf(stderr, "day %.3f %s is well: the incident of %s is false\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, s->hosts[number].name,
			      check);
}

void grade_incident(struct sim *s, size_t number, const char *check, bool open)
{
	cause_incident(s, number, check, open);
	if (!open)
		return;
	if (name_fault(s, number))
		name(&s->grade, number, NAMED_RIGHTLY);
	else if (cause_explains(s, number, check))
		name(&s->grade, number, NAMED_FOR_SHARED);
	else
		name_well(s, number, check);
}

static void trace_run(const struct sim *s, size_t number, const struct verdict *verdict)
{
	if (s->options->trace && verdict->level >= VERDICT_WARN)
		(void)fprintf(stderr, "day %.3f %s is well%s: a run of it is %s: %s\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, s->hosts[number].name,
			      s->hosts[number].low_once ? " but was low" : "",
			      verdict_level_names[verdict->level], verdict->sentence);
}

void grade_run(struct sim *s, size_t number, const struct verdict *verdict)
{
	struct grade_clean *clean = &s->grade.clean;
	const int level = verdict->level;

	cause_run(s, number);
	if (!truth_is_clean(&s->hosts[number]))
		return;
	trace_run(s, number, verdict);
	if (s->hosts[number].low_once) {
		clean->once_runs++;
		clean->once_warn += level == VERDICT_WARN;
		clean->once_fail += level == VERDICT_FAIL;
		return;
	}
	clean->runs++;
	clean->warn += level == VERDICT_WARN;
	clean->fail += level == VERDICT_FAIL;
	if (s->grade.truth.low[number])
		return;
	clean->plain_runs++;
	clean->plain_warn += level == VERDICT_WARN;
	clean->plain_fail += level == VERDICT_FAIL;
}

void grade_tested(struct sim *s, size_t number)
{
	const struct sim_host *host = &s->hosts[number];
	size_t j;

	for (j = 0; j < host->n_ailments; j++)
		fault_of(&s->grade, number, j)->tested |= is_now(&host->ailments[j], s->now_us);
}

static void tell_wrong_sku(struct sim *s)
{
	if (s->sku_is_wrong && s->grade.wrong_sku_told_us == 0)
		s->grade.wrong_sku_told_us = s->now_us;
}

void grade_breaker(struct sim *s)
{
	s->grade.breaker_opened++;
	s->grade.breaker_causes[s->breaker.cause]++;
	if (s->breaker.cause == BREAKER_SKU_FILE)
		tell_wrong_sku(s);
}

void grade_told(struct sim *s, const char *key, const char *sentence)
{
	cause_told(s, key, sentence);
	if (sentence && strstr(sentence, "SKU file"))
		tell_wrong_sku(s);
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

static void count_born(struct grade *g, size_t number, const struct ailment *a,
		       const struct grade_fault *fault)
{
	const unsigned char truth = g->truth.gpus[number * HOST_PARTS + a->gpu];
	const bool identifiable = truth & TRUTH_IDENTIFIABLE, apart = truth & TRUTH_APART;
	/* A job's blame may have its host cordoned before K of N runs find it. */
	const bool warned = fault->warned || fault->found_us;

	g->born.gpus++;
	g->born.warned += warned;
	g->born.identifiable += identifiable;
	g->born.identifiable_warned += identifiable && warned;
	g->born.apart += apart;
	g->born.apart_warned += apart && warned;
}

static void count_fault(struct grade *g, size_t number, size_t j, const struct ailment *a)
{
	const int class = grade_class(a->fault, a->onset_us);
	const struct grade_fault *fault = fault_of(g, number, j);
	struct grade_row *row;

	if (class < 0)
		return;
	row = &g->rows[class];
	row->found += fault->found_us != 0;
	row->in_time += fault->found_us != 0 && a->onset_us &&
			fault->found_us <= a->onset_us + IN_TIME_US;
	row->warned += fault->warned;
	row->tested += fault->tested;
	row->cordoned += fault->cordoned;
	row->incidents += fault->incidents;
	if (a->fault->kind == FAULT_SLOW_GPU && a->onset_us == 0)
		count_born(g, number, a, fault);
}

/* Prints a fault with an onset, and when it was found. */
static void trace_fault(const struct sim_host *host, const struct ailment *a,
			const struct grade_fault *fault)
{
	const double day = (double)a->onset_us / (double)USEC_PER_DAY - 1;

	if (a->onset_us == 0)
		return;
	(void)fprintf(stderr, "%s has a %s since day %.3f: ", host->name,
		      fault_names[a->fault->kind], day);
	if (fault->found_us)
		(void)fprintf(stderr, "found after %.1f h\n",
			      (double)(fault->found_us - a->onset_us) / (double)USEC_PER_HOUR);
	else
		(void)fprintf(stderr, "not found\n");
}

void grade_end(struct sim *s)
{
	struct grade *g = &s->grade;
	size_t i, j;

	causes_settle(s, true);
	for (i = 0; i < s->options->nodes; i++) {
		for (j = 0; j < s->hosts[i].n_ailments; j++) {
			const struct ailment *a = &s->hosts[i].ailments[j];

			count_fault(g, i, j, a);
			if (s->options->trace)
				trace_fault(&s->hosts[i], a, fault_of(g, i, j));
		}
	}
	stats_sort(g->delays_s, g->n_delays);
	job_grade_end(s);
}
