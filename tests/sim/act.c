/* SPDX-License-Identifier: Apache-2.0 */
/* Between the hosts and the policy: reports in, decisions out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/fleet/findings_fleet.h"
#include "controller/fleet/report_clock.h"
#include "controller/ingest/ingest.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/sim/memory_store.h"
#include "tests/sim/sim.h"

#define REPAIR_US USEC_PER_DAY
#define TEST_AFTER_US (10 * USEC_PER_MIN)
/* Until the test of a host that is idle when it is ordered. */
#define TEST_IDLE_US (5 * USEC_PER_MIN)
/*
 * Durations of a rung on such a host: its active probes (policies/profiles.yaml), the start of the
 * GPUs (minimum and maximum), and the time for order, report and judge.
 */
#define RUNG_WAYS_US (5 * USEC_PER_SEC)
static const struct {
	const char *profile;
	uint64_t run_us, start_us[2];
} rungs[] = {
	{ "rung-gemm", 15 * USEC_PER_SEC, { 2 * USEC_PER_SEC, 10 * USEC_PER_SEC } },
	{ "rung-load", 90 * USEC_PER_SEC, { 2 * USEC_PER_SEC, 30 * USEC_PER_SEC } },
};
/* The spool delay of late reports, as reported by their sender. */
#define LATE_S "10800"

/* --- assigning faults to hosts --- */

static uint64_t after(uint64_t start_us, uint64_t us)
{
	return us > UINT64_MAX - start_us ? UINT64_MAX : start_us + us;
}

static bool is_sick(const struct sim_host *host)
{
	return host->n_ailments > 0;
}

/* Draws a host without a fault, so that each fault is graded separately; of the fault's model, if
 * it has one. */
static size_t draw_host(struct sim *s, const struct fault *f)
{
	size_t tries = 100, number, first = 0, n = s->options->nodes;

	if (f->sku != FAULT_ANY && f->sku < world_skus(&s->faults->world, n))
		n = world_hosts_of(&s->faults->world, n, (size_t)f->sku, &first);
	do
		number = first + random_below(&s->chance, MAX(n, (size_t)1));
	while (is_sick(&s->hosts[number % s->options->nodes]) && --tries > 0);
	return number % s->options->nodes;
}

static bool is_rack_sick(const struct sim *s, size_t rack)
{
	const size_t first = rack * s->faults->world.rack;
	size_t i;

	for (i = first; i < MIN(first + s->faults->world.rack, s->options->nodes); i++) {
		if (is_sick(&s->hosts[i]))
			return true;
	}
	return false;
}

/* Draws the first host of a full rack of the model, one without faults if possible. */
static size_t draw_rack(struct sim *s, const struct fault *f)
{
	const size_t size = s->faults->world.rack;
	size_t tries = 100, first = 0, n = s->options->nodes, rack, racks;

	if (f->sku != FAULT_ANY)
		n = world_hosts_of(&s->faults->world, n, (size_t)f->sku, &first);
	first = (first + size - 1) / size;
	racks = MAX(n / size, (size_t)1);
	do
		rack = first + random_below(&s->chance, racks);
	while (is_rack_sick(s, rack) && --tries > 0);
	return rack * size;
}

static void ail_one(struct sim *s, const struct fault *f, uint64_t first, uint64_t i)
{
	const size_t number = first == FAULT_ANY ? draw_host(s, f)
						 : (size_t)(first + i) % s->options->nodes;
	const uint64_t wave_us = f->every_us * (i * f->waves / f->nodes);
	const struct ailment ailment = {
		.fault = f,
		.onset_us = f->onset_us ? after(s->now_us, f->onset_us + wave_us) : wave_us,
		.until_us = after(s->now_us, f->until_us),
		.gpu = f->gpu == FAULT_ANY ? random_below(&s->chance, HOST_PARTS) : f->gpu,
	};
	const int class = grade_class(f, ailment.onset_us);

	if (host_ail(&s->hosts[number], &ailment) && class >= 0)
		s->grade.rows[class].hosts++;
}

static void ail(struct sim *s, const struct fault *f)
{
	uint64_t nodes = f->nodes, first = f->first, i;
	size_t ignored;

	if (f->kind == FAULT_WRONG_SKU)
		return;
	if (fault_traits[f->kind].of_rack && first == FAULT_ANY) {
		first = draw_rack(s, f);
		nodes = s->faults->world.rack;
	}
	if (!isnan(f->share) && f->sku != FAULT_ANY)
		nodes = (uint64_t)(f->share * (double)world_hosts_of(&s->faults->world,
								     s->options->nodes,
								     (size_t)f->sku, &ignored));
	for (i = 0; i < MIN(nodes, s->options->nodes); i++)
		ail_one(s, f, first, i);
}

void sim_ail(struct sim *s)
{
	size_t i;

	for (i = 0; i < s->faults->n; i++)
		ail(s, &s->faults->list[i]);
	grade_ailing(s);
}

/* --- reports --- */

static int keep(struct sim *s, const struct report *report, const struct report_clock *arrival,
		struct err *err)
{
	const struct ingest in = { .report = *report, .arrival = *arrival };
	int r = ingest_keep(s->store, &s->rules, &s->baselines, &s->known, &in, err);

	s->grade.reports++;
	return r < 0 ? r : 0;
}

/* Two runs whose reports arrive in the wrong order. */
static int report_swapped(struct sim *s, size_t number, const char *profile, struct err *err)
{
	const struct report_clock arrival = { s->now_us, s->now_us, true, true, 0 };
	struct sim_host *host = &s->hosts[number];
	const uint64_t first = host->seq + 1;
	int r;

	host->seq = first;
	r = keep(s, host_run(host, s->faults, s->options->seed, profile, s->now_us), &arrival, err);
	host->seq = first - 1;
	if (r == 0)
		r = keep(s, host_run(host, s->faults, s->options->seed, profile, s->now_us),
			 &arrival, err);
	host->seq = first + 1;
	return r;
}

int sim_report(struct sim *s, size_t number, const char *profile, struct err *err)
{
	struct sim_host *host = &s->hosts[number];
	/* Its own random stream, so nothing else depends on the number of reports. */
	struct random lot = random_seeded(s->options->seed ^ number << 48 ^ s->now_us);
	const double late = host_has(host, FAULT_LATE, s->now_us) ? random_unit(&lot) : 1;
	struct report_clock arrival = { s->now_us, s->now_us, true, true, 0 };
	const struct report *report;
	int r;

	if (profile_is_active(profile))
		host_live(host, &s->faults->noise);
	if (late < 0.3)
		return report_swapped(s, number, profile, err);
	if (late < 0.6)
		arrival = report_clock_of(LATE_S, NULL, s->now_us);
	if (host_has(host, FAULT_CLOCK, s->now_us))
		arrival = report_clock_of(
			"0.5", number % 2 ? "2019-01-01T00:00:00Z" : "2038-01-19T03:14:07Z",
			s->now_us);
	report = host_run(host, s->faults, s->options->seed, profile, s->now_us);
	fleet_set_env(&s->fleet, s->agents[number].node, report->env);
	r = keep(s, report, &arrival, err);
	if (r == 0 && host_has(host, FAULT_DUPLICATES, s->now_us))
		r = keep(s, report, &arrival, err);
	return r;
}

/* --- decisions --- */

static size_t number_of(const struct fleet_node *node)
{
	return strtoul(node->name + strlen("node-"), NULL, 10);
}

/* Returns the time from the order of a test to its result. */
static uint64_t test_takes(const struct sim *s, size_t number, const char *profile)
{
	struct random lot = random_seeded(s->options->seed ^ (uint64_t)number << 32 ^ s->now_us);
	size_t i;

	if (!s->jobs.n)
		return TEST_AFTER_US;
	(void)random_next(&lot);
	for (i = 0; i < ARRAY_SIZE(rungs); i++) {
		const uint64_t *start_us = rungs[i].start_us;

		if (streq(rungs[i].profile, profile))
			return rungs[i].run_us + RUNG_WAYS_US + start_us[0] +
			       random_below(&lot, start_us[1] - start_us[0]);
	}
	return TEST_IDLE_US;
}

static void order(struct sim *s, size_t number, const struct finding *finding, const char *profile)
{
	struct agent *agent = &s->agents[number];

	free(agent->check);
	free(agent->subject);
	agent->check = finding ? xstrdup(finding->check) : NULL;
	agent->subject = finding ? xstrdup(finding->subject) : NULL;
	agent->profile = profile;
	agent->test_us = s->now_us + test_takes(s, number, profile);
	if (s->jobs.n)
		job_loop_ordered(s, number, agent->check, profile);
	grade_tested(s, number);
}

void sim_tested(struct sim *s, size_t number)
{
	struct agent *agent = &s->agents[number];
	struct finding *finding =
		agent->check ? fleet_finding(agent->node, agent->check, agent->subject) : NULL;
	/* Busy or timed out: it did not measure the check in question. */
	const bool measured = agent->judged_bad || host_measured(&s->hosts[number], agent->check);
	const struct fleet_test test = {
		.outcome = agent->judged_bad ? TEST_FAILED
			   : measured	     ? TEST_PASSED
					     : TEST_NOTHING,
		.finding = finding,
		.deep = !agent->check && !agent->profile,
		.at_us = s->now_us,
		.partner = "node-known-good",
		.partner_good = true,
	};

	agent->test_us = 0;
	if (s->jobs.n)
		job_loop_tested(s, number, test.outcome);
	if (agent->check && !finding && agent->judged_bad)
		return;
	if (fleet_tested(&s->fleet, agent->node, &test))
		memory_store_forget(s->store, number, agent->check, agent->subject);
	s->changed = true;
}

static int apply(struct sim *s, const struct decision *d, struct err *err)
{
	int r = policy_applied(&s->rules.policy, &s->fleet, &s->breaker, d, s->now_us, NULL, err);

	return r < 0 ? err_wrap(err, r, "%s of %s", decision_action_names[d->action], d->node->name)
		     : 0;
}

static void trace(const struct sim *s, const struct decision *d)
{
	(void)fprintf(stderr, "day %.4f %s %s%s%s: %s (%s)\n",
		      (double)s->now_us / (double)USEC_PER_DAY - 1, d->node->name,
		      decision_action_names[d->action], d->refused ? ", refused by " : "",
		      d->refused ? refused_by_names[d->refused->by] : "", d->reason,
		      d->evidence ? d->evidence : "");
}

/* A hold is followed by its test at once (`ret_again`). */
static int carry_out(struct sim *s, const struct decision *d, bool *ret_again, struct err *err)
{
	const size_t number = number_of(d->node);
	/* A decision repeats until it is done; print it once. */
	const int traced = d->action * (int)REFUSED_BY_COUNT + (d->refused ? d->refused->by : 0);

	if (s->options->trace && d->action != DECIDE_ALERT && s->agents[number].traced != traced) {
		s->agents[number].traced = traced;
		trace(s, d);
	}
	if (d->action == DECIDE_CORDON || d->action == DECIDE_CORDON_DRAIN)
		grade_cordon(s, number, d);
	if (!d->effect || d->refused)
		return 0;
	switch ((enum decision_action)d->action) {
	case DECIDE_RETEST:
		order(s, number, d->finding, NULL);
		break;
	case DECIDE_DEEP:
		s->jobs.grade.tests += streq(d->rule, "attribution");
		order(s, number, NULL, d->profile);
		break;
	case DECIDE_VERIFY:
		order(s, number, NULL, NULL);
		break;
	case DECIDE_HOLD:
		*ret_again = true;
		break;
	case DECIDE_CORDON:
	case DECIDE_CORDON_DRAIN:
		s->agents[number].repaired_us = s->now_us + REPAIR_US;
		break;
	case DECIDE_RELEASE:
		s->grade.releases++;
		break;
	default:
		break;
	}
	return d->action == DECIDE_ALERT || d->action == DECIDE_NOTHING ? 0 : apply(s, d, err);
}

/* Returns the class by which a job that suffers from the fault blames its host. */
static int class_of(const struct fault *fault)
{
	return fault->kind == FAULT_FLAPPING_LINK || fault->kind == FAULT_FLAP_STORM ||
			       fault->kind == FAULT_BAD_TOR
		       ? BLAME_LINK
		       : BLAME_COMPUTE;
}

/*
 * Jobs blame a host from a day after its fault begins until it is repaired, and have been slow
 * since it began.
 */
static void blame(struct sim *s)
{
	size_t i, j;

	for (i = 0; i < s->options->nodes; i++) {
		const struct sim_host *host = &s->hosts[i];

		for (j = 0; j < host->n_ailments; j++) {
			const struct ailment *a = &host->ailments[j];

			const struct blame found = { .class = class_of(a->fault),
						     .since_us = a->onset_us,
						     .until_us = UINT64_MAX };

			if (a->fault->blamed && a->onset_us + USEC_PER_DAY <= s->now_us &&
			    s->now_us < a->until_us)
				fleet_set_blame(s->agents[i].node, &found);
		}
	}
}

/* If half of the fleet contradicts a file, the file is wrong. */
static void hold_against_file(struct sim *s)
{
	const char *sku = s->breaker.open ? NULL : anomalies_file(&s->baselines.anomalies);
	CLEANUP(freep) char *sentence = NULL;

	if (!sku)
		return;
	sentence = xasprintf("half of the hosts of %s are far below what its SKU file asks", sku);
	if (breaker_open(&s->breaker, BREAKER_SKU_FILE, s->now_us, sentence))
		grade_breaker(s);
}

/* Records a notice about more than one host. */
static void tell_notice(struct sim *s, const struct notice *n)
{
	if (n->begun && s->options->trace)
		(void)fprintf(stderr, "day %.3f %s notice: %s\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, n->key, n->sentence);
	if (n->ended_us && s->options->trace)
		(void)fprintf(stderr, "day %.3f %s is over\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, n->key);
	if (n->ended_us == 0)
		grade_told(s, n->key, n->sentence);
	if (n->begun)
		*(n->kind == NOTICE_DOMAIN ? &s->grade.domain_incidents : &s->grade.alarms) += 1;
}

static int decide(struct sim *s, bool *ret_again, struct err *err)
{
	size_t i;
	int r;

	*ret_again = false;
	policy_decide(&s->rules.policy, &s->fleet, &s->breaker, s->now_us, &s->outcome);
	if (s->outcome.opened)
		grade_breaker(s);
	r = findings_share(s->store, &s->baselines.anomalies, &s->fleet, s->now_us, err);
	if (s->outcome.opened && s->options->trace)
		(void)fprintf(stderr, "day %.3f breaker: %s\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, s->breaker.sentence);
	for (i = 0; i < s->outcome.n_notices; i++)
		tell_notice(s, &s->outcome.notices[i]);
	for (i = 0; r == 0 && i < s->outcome.n; i++)
		r = carry_out(s, &s->outcome.items[i], ret_again, err);
	grade_budget(s);
	causes_settle(s, false);
	return r;
}

int sim_decide(struct sim *s, struct err *err)
{
	bool again;
	int r;

	if (s->jobs.n == 0 && s->now_us % USEC_PER_HOUR == 0)
		blame(s);
	hold_against_file(s);
	r = decide(s, &again, err);
	return r == 0 && again ? decide(s, &again, err) : r;
}
