/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/fleet/findings.h"
#include "controller/store/store.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/sku.h"
#include "tests/sim/memory_store.h"

/* The first minute; not 0, which means no timestamp. */
#define START_US USEC_PER_DAY
#define TICK_US USEC_PER_MIN
#define BETWEEN_US (5 * USEC_PER_SEC)
#define PASSIVE_US (5 * USEC_PER_MIN)
#define QUICK_US (4 * USEC_PER_HOUR)
#define IDLE_AGAIN_US (30 * USEC_PER_MIN) /* retry while not idle */
#define JOBS_US (10 * USEC_PER_MIN)
#define DECIDE_US (5 * USEC_PER_MIN) /* at the latest */

enum { HOSTS_OF_JOB = 8 };

static const double idle_chance = 1.0 / 3;

/* --- from windows to findings of the policy --- */

static void on_window(void *context, size_t number, const struct store_window *row)
{
	struct sim *s = context;
	struct agent *agent = &s->agents[number];
	const struct finding_news news = findings_news(row);

	agent->quiet = false;
	(void)fleet_note(&s->fleet, agent->node, &news);
	s->changed = true;
	if (windows_bad(&row->windows, 1) == 0)
		return;
	if (windows_reached(&row->windows, row->k, row->n))
		grade_warn(s, number, row);
	if (!agent->check ||
	    (streq(agent->check, row->check) && streq(agent->subject, row->subject)))
		agent->judged_bad = true;
}

static void on_window_gone(void *context, size_t number, const char *check, const char *subject)
{
	struct sim *s = context;
	struct fleet_node *node = s->agents[number].node;
	struct finding *finding = fleet_finding(node, check, subject);

	if (finding)
		fleet_clear(&s->fleet, node, finding);
	s->changed = true;
}

static size_t number_of(const char *name)
{
	return strtoul(name + strlen("node-"), NULL, 10);
}

static void on_run(void *context, size_t number, bool active, const struct verdict *verdict)
{
	if (active)
		grade_run(context, number, verdict);
}

static void on_incident_over(void *context, const char *name, const char *check, bool fleet)
{
	if (!fleet)
		grade_incident(context, number_of(name), check, false);
}

static void on_incident(void *context, const struct store_incident *incident, bool fleet)
{
	const char *name = incident->node, *check = incident->check;
	struct sim *s = context;
	CLEANUP(freep) char *key = xasprintf("%s %s", name, check);

	if (s->options->trace)
		(void)fprintf(stderr, "day %.3f %s incident: %s: %s\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, name, check,
			      incident->sentence);
	s->grade.alarms += fleet;
	s->grade.sku_incidents += fleet;
	s->grade.host_incidents += !fleet;
	if (fleet)
		grade_told(s, key, incident->sentence);
	else
		grade_incident(s, number_of(name), check, true);
}

/* --- the hosts --- */

static bool is_silent(const struct sim *s, size_t number)
{
	return host_has(&s->hosts[number], FAULT_SILENT, s->now_us) != NULL;
}

static int run_passive(struct sim *s, size_t number, struct err *err)
{
	struct agent *agent = &s->agents[number];
	const bool shows = host_shows(&s->hosts[number], s->now_us) || s->sku_is_wrong;

	agent->passive_us += PASSIVE_US;
	if (is_silent(s, number))
		return 0;
	agent->node->reported_us = s->now_us;
	if (agent->quiet && !shows && !s->options->every_passive)
		return 0;
	agent->quiet = true;
	/* A bad result, now or before, makes it report again: on_window(). */
	return sim_report(s, number, "passive", err);
}

static int run_quick(struct sim *s, size_t number, struct err *err)
{
	struct agent *agent = &s->agents[number];
	const bool idle = s->jobs.n ? !job_is_on(s, number)
				    : agent->node->out || random_unit(&s->chance) < idle_chance;

	if (!idle || is_silent(s, number)) {
		agent->quick_us = s->now_us + IDLE_AGAIN_US;
		return 0;
	}
	agent->quick_us = s->now_us + QUICK_US;
	return sim_report(s, number, "quick", err);
}

static int run_test(struct sim *s, size_t number, struct err *err)
{
	struct agent *agent = &s->agents[number];
	int r;

	if (is_silent(s, number) ||
	    (s->jobs.n ? job_is_on(s, number) : random_unit(&s->chance) >= idle_chance)) {
		agent->test_us = s->now_us + 10 * USEC_PER_MIN;
		return 0;
	}
	agent->judged_bad = false;
	s->grade.tests++;
	r = sim_report(s, number, agent->profile ? agent->profile : "quick", err);
	if (!agent->profile)
		agent->quick_us = s->now_us + QUICK_US;
	sim_tested(s, number);
	s->answered = true;
	return r;
}

static void repair(struct sim *s, size_t number)
{
	struct agent *agent = &s->agents[number];
	const struct fleet_cause cause = { .event = EVENT_REPAIR_DONE,
					   .who = "operator sim",
					   .why = "repaired" };
	struct finding *f;

	agent->repaired_us = 0;
	/* It was returned to service meanwhile: no repair. */
	if (!life_holds(agent->node->record.life.state))
		return;
	host_mend(&s->hosts[number], s->now_us);
	job_grade_mended(s, number);
	for (f = agent->node->findings; f; f = f->next)
		memory_store_forget(s->store, number, f->check, f->subject);
	if (fleet_event(&s->fleet, agent->node, &cause, s->now_us, NULL, NULL) == 0) {
		fleet_set_blame(agent->node, NULL);
		baselines_forget(&s->baselines, agent->node->name);
	}
	s->changed = true;
}

static int step_host(struct sim *s, size_t number, struct err *err)
{
	struct agent *agent = &s->agents[number];
	int r = 0;

	if (agent->repaired_us && agent->repaired_us <= s->now_us)
		repair(s, number);
	if (agent->test_us && agent->test_us <= s->now_us)
		r = run_test(s, number, err);
	if (r == 0 && agent->passive_us <= s->now_us)
		r = run_passive(s, number, err);
	if (r == 0 && agent->quick_us <= s->now_us)
		r = run_quick(s, number, err);
	return r;
}

/* --- changes of the fleet --- */

/*
 * Where jobs run: a job on each eight consecutive hosts, a different one each day, and idle a third
 * of the hours; except the job of FAULT_SLOW_JOB. A host held or out of service gets no new job.
 */
static bool is_free(const struct sim *s, size_t number)
{
	struct random lot = random_seeded(s->options->seed ^ (number / HOSTS_OF_JOB) << 32 ^
					  s->now_us / USEC_PER_HOUR);

	(void)random_next(&lot);
	return s->agents[number].node->out || random_unit(&lot) < idle_chance;
}

static void place_jobs(struct sim *s)
{
	size_t i;

	for (i = 0; i < s->options->nodes; i++) {
		const bool slow = host_has(&s->hosts[i], FAULT_SLOW_JOB, s->now_us) != NULL;
		CLEANUP(freep)
		char *job = slow ? xstrdup(FAULT_JOB)
				 : xasprintf("job-%zu-%llu", i / HOSTS_OF_JOB,
					     (unsigned long long)(s->now_us / USEC_PER_DAY));
		const char *const jobs[] = { job };
		const bool none = s->agents[i].node->out || (!slow && is_free(s, i));

		fleet_set_jobs(&s->fleet, s->agents[i].node, jobs, none ? 0 : 1);
	}
}

static void spoil_sku(struct sim *s, double factor)
{
	size_t i, j;

	for (i = 0; i < s->rules.n_skus; i++) {
		for (j = 0; j < s->rules.skus[i].n_expects; j++) {
			s->rules.skus[i].expects[j].value *= factor;
			s->rules.skus[i].expects[j].floor *= factor;
		}
	}
}

static void step_fleet(struct sim *s)
{
	size_t i;
	bool wrong = false;

	for (i = 0; i < s->faults->n; i++) {
		const struct fault *f = &s->faults->list[i];

		if (f->kind == FAULT_WRONG_SKU && START_US + f->onset_us <= s->now_us &&
		    (f->until_us == UINT64_MAX || s->now_us < START_US + f->until_us)) {
			wrong = true;
			if (s->grade.wrong_sku_us == 0)
				s->grade.wrong_sku_us = s->now_us;
			if (!s->sku_is_wrong)
				spoil_sku(s, 1 - f->slow);
		}
	}
	s->sku_is_wrong = wrong;
}

/* Can the passing of time alone lead to a decision? Only with jobs do decisions wait for minutes. */
static bool is_due(const struct sim *s)
{
	return s->jobs.n > 0 && s->outcome.again_us > 0 && s->outcome.again_us <= s->now_us;
}

/* Jobs get the result of a test before the policy decides again, because it takes only a second. */
static void judge_answers(struct sim *s)
{
	if (s->answered && s->jobs.n)
		job_loop_judge(s);
	s->answered = false;
}

static int step(struct sim *s, struct err *err)
{
	size_t i;
	int r = 0;

	step_fleet(s);
	if (s->jobs.n)
		job_step(s);
	else if (s->now_us % JOBS_US == 0)
		place_jobs(s);
	for (i = 0; r == 0 && i < s->options->nodes; i++)
		r = step_host(s, i, err);
	if (r == 0)
		judge_answers(s);
	if (r == 0 && (s->changed || s->now_us % DECIDE_US == 0 || is_due(s))) {
		s->changed = false;
		r = sim_decide(s, err);
	}
	return r;
}

/* Between two minutes: tests end, and their results are judged and decided on. */
static int step_between(struct sim *s, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < s->options->nodes; i++) {
		const struct agent *agent = &s->agents[i];

		if (agent->test_us && agent->test_us <= s->now_us)
			r = run_test(s, i, err);
	}
	if (r < 0)
		return r;
	judge_answers(s);
	if (!s->changed && !is_due(s))
		return 0;
	s->changed = false;
	return sim_decide(s, err);
}

/* Returns the next minute, or the time of an earlier event. */
static uint64_t next_us(const struct sim *s)
{
	const uint64_t minute_us = (s->now_us / TICK_US + 1) * TICK_US;
	uint64_t next = minute_us, again_us = s->outcome.again_us;
	size_t i;

	if (s->jobs.n == 0)
		return minute_us;
	for (i = 0; i < s->options->nodes; i++) {
		const uint64_t test_us = s->agents[i].test_us;

		next = test_us > s->now_us ? MIN(next, test_us) : next;
	}
	next = again_us > s->now_us ? MIN(next, again_us) : next;
	return (next + BETWEEN_US - 1) / BETWEEN_US * BETWEEN_US;
}

static void begin(struct sim *s)
{
	const struct memory_events events = { on_window,	on_window_gone, on_incident,
					      on_incident_over, on_run,		s };
	size_t n = s->options->nodes, i;

	s->chance = random_seeded(s->options->seed ^ UINT64_C(0xc0ffee));
	s->hosts = hosts_make(n, s->faults, s->options->seed);
	s->agents = xcalloc(n, sizeof(*s->agents));
	s->store = memory_store_new(n, &events);
	s->now_us = START_US;
	grade_begin(&s->grade, n);
	sim_ail(s);
	s->fleet.tells_jobs = true;
	for (i = 0; i < n; i++) {
		struct agent *agent = &s->agents[i];

		agent->passive_us = START_US + random_below(&s->chance, 5) * USEC_PER_MIN;
		agent->quick_us =
			START_US + random_below(&s->chance, QUICK_US / USEC_PER_MIN) * USEC_PER_MIN;
		agent->node = fleet_need(&s->fleet, s->hosts[i].name, START_US);
		fleet_set_domain(&s->fleet, agent->node, s->hosts[i].rack);
		fleet_set_sku(&s->fleet, agent->node, s->hosts[i].report.sku);
		agent->node->reported_us = agent->node->deep_us = START_US;
	}
	job_begin(s);
}

int sim_run(struct sim *s, struct err *err)
{
	uint64_t end_us = START_US + s->options->days_us;
	int r = rules_read(s->options->policy, &s->rules, err);

	if (r == 0 && s->rules.policy.n_rules == 0)
		r = err_set(err, ENOENT,
			    "no policy with rules in $ASSAY_POLICY_DIR: use --policy FILE");
	if (r < 0)
		return r;
	/* The simulation always enforces. */
	s->rules.policy.mode = s->rules.policy.jobs.mode = MODE_ENFORCE;
	begin(s);
	for (; r == 0 && s->now_us < end_us; s->now_us = next_us(s))
		r = s->now_us % TICK_US == 0 ? step(s, err) : step_between(s, err);
	grade_end(s);
	return r;
}

void sim_release(struct sim *s)
{
	size_t i;

	for (i = 0; s->agents && i < s->options->nodes; i++) {
		free(s->agents[i].check);
		free(s->agents[i].subject);
	}
	free(s->agents);
	if (s->store)
		memory_store_free(s->store);
	outcome_release(&s->outcome);
	fleet_release(&s->fleet);
	map_release(&s->speeds, NULL);
	baselines_release(&s->baselines);
	hosts_release(&s->known);
	rules_release(&s->rules);
	if (s->hosts)
		hosts_done(s->hosts, s->options->nodes);
	grade_release(&s->grade);
	job_release(s);
}
