/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random fleets and random days: whatever hosts, people, clocks and restarts
 * do, granted actions keep every budget, and only our own cordons are lifted.
 * The checks are in fleet_books.c.
 */
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "tests/unit/fleet_books.h"
#include "tests/unit/test.h"

#define START (20000 * USEC_PER_DAY)

enum { DOMAINS = 6, JOBS = 5 };

static const char *const rules =
	"{v: 1, rules: ["
	"{name: fatal, match: {severity: fatal}, action: cordon},"
	"{name: slow, match: {check: 'gemm.*'}, windows: {k: 2, n: 3}, action: retest},"
	"{name: pair, match: {check: 'rnic_pair.*'}, windows: {k: 1, n: 2}, action: retest},"
	"{name: loop, match: {check: 'loopback.*'}, windows: {k: 2, n: 2}, action: cordon+drain},"
	"{name: rest, match: {check: '*'}, action: alert}]}";

static const char *const checks[] = { "gpu.lost", "gemm.rate", "rnic_pair.write_bw",
				      "loopback.write_bw", "inventory.gpus" };

static bool chance(struct books *w, double p)
{
	return random_unit(&w->random) <= p;
}

/* There always is one. */
static struct fleet_node *any_node(struct books *w)
{
	return w->fleet.nodes[random_below(&w->random, w->fleet.n)];
}

/* What the caller of policy_decide() tells the fleet from the cluster. */
static void set_facts(struct books *w, struct fleet_node *node)
{
	struct truth *t = truth_of(w, node);
	CLEANUP(freep) char *domain = t->domain ? xasprintf("rack%d", t->domain) : NULL;
	CLEANUP(freep) char *job = xasprintf("job%d", t->job);
	const char *jobs[] = { job };

	fleet_set_domain(&w->fleet, node, domain);
	fleet_set_sku(&w->fleet, node, "hgx");
	fleet_set_jobs(&w->fleet, node, jobs, t->job > 0);
	node->managed = !t->opted_out;
	node->out = books_out(t);
}

static void add_node(struct books *w, size_t i)
{
	CLEANUP(freep) char *name = xasprintf("n%02zu", i);
	struct fleet_node *node;

	w->truth[i] = (struct truth){ .there = true,
				      .domain = (int)random_below(&w->random, DOMAINS),
				      .job = (int)random_below(&w->random, JOBS) };
	node = fleet_need(&w->fleet, name, w->now_us);
	node->reported_us = w->now_us;
	set_facts(w, node);
}

static void world_init(struct books *w, uint64_t seed)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct err err = ERR_INIT;
	struct jval root;
	size_t i, n;

	*w = (struct books){ .random = random_seeded(seed), .now_us = START };
	CHECK_EQ(yaml_parse(rules, strlen(rules), "p.yaml", &doc, &err), 0);
	root = jval_root(doc, "p.yaml");
	w->policy = policy_init();
	CHECK_EQ(policy_decode(&root, &w->policy, &err), 0);
	CHECK_STR(err.msg, "");
	w->policy.mode = MODE_ENFORCE;
	w->policy.total_percent = (double)random_below(&w->random, 50);
	w->policy.total_nodes = random_below(&w->random, 6);
	w->policy.domain_label = chance(w, 0.8) ? xstrdup("rack") : NULL;
	w->policy.domain_max = 1 + random_below(&w->random, 3);
	w->policy.per_job = 1 + random_below(&w->random, 3);
	w->policy.rate_cordons = random_below(&w->random, 6);
	w->policy.storm_cordons = chance(w, 0.5) ? 30 : 0;
	w->policy.alike_nodes = 3 + random_below(&w->random, 20);
	w->policy.jobs.born_percent = (double)random_below(&w->random, 5) * 15;
	w->policy.jobs.born_per_us = 3 * USEC_PER_DAY;
	w->policy.release_passes = 1 + random_below(&w->random, 2);
	w->policy.hold_at_once = random_below(&w->random, 4);
	w->stamps = xcalloc(STAMPS_MAX, sizeof(*w->stamps));
	n = 1 + random_below(&w->random, NODES_MAX);
	for (i = 0; i < n; i++)
		add_node(w, i);
}

static void world_release(struct books *w)
{
	outcome_release(&w->out);
	fleet_release(&w->fleet);
	policy_release(&w->policy);
	free(w->stamps);
}

/* ---- what can happen ------------------------------------------------------------ */

static void time_passes(struct books *w)
{
	static const uint64_t spans[] = { USEC_PER_MIN, 5 * USEC_PER_MIN, 31 * USEC_PER_MIN,
					  3 * USEC_PER_HOUR, 30 * USEC_PER_HOUR };
	size_t i;

	w->now_us += spans[random_below(&w->random, ARRAY_SIZE(spans))];
	for (i = 0; i < w->fleet.n; i++) {
		if (!chance(w, 0.1))
			w->fleet.nodes[i]->reported_us = w->now_us;
	}
}

static void goes_bad(struct books *w, struct fleet_node *node, size_t check)
{
	const struct finding_news news = {
		.check = checks[check],
		.subject = "gpu:1",
		.severity = check == 0 ? SEVERITY_FATAL : SEVERITY_FAIL,
		.source = check == 4 ? SOURCE_SKU : SOURCE_FLEET,
		.seen_us = w->now_us - random_below(&w->random, USEC_PER_HOUR),
		.born = chance(w, 0.3),
		.parts = 8,
		.parts_bad = 1,
	};

	(void)fleet_note(&w->fleet, node, &news);
}

static void one_goes_bad(struct books *w)
{
	goes_bad(w, any_node(w), random_below(&w->random, ARRAY_SIZE(checks)));
}

static void many_go_bad(struct books *w)
{
	size_t check = random_below(&w->random, ARRAY_SIZE(checks)), i;
	int domain = (int)random_below(&w->random, 2 * DOMAINS);

	for (i = 0; i < w->fleet.n; i++) {
		struct fleet_node *node = w->fleet.nodes[i];

		if (domain < DOMAINS ? truth_of(w, node)->domain == domain : chance(w, 0.7)) {
			goes_bad(w, node, check);
			goes_bad(w, node, check);
		}
	}
}

static void gets_well(struct books *w)
{
	struct fleet_node *node = any_node(w);

	if (node->findings)
		fleet_clear(&w->fleet, node, node->findings);
}

static void tests_end(struct books *w)
{
	size_t i;

	for (i = 0; i < w->fleet.n; i++) {
		struct fleet_node *node = w->fleet.nodes[i];
		struct fleet_test test = {
			.outcome = (int)random_below(&w->random, 3),
			.finding = life_holds(node->record.life.state) ? NULL : node->findings,
			.partner = "n01",
			.partner_good = chance(w, 0.5),
			.deep = chance(w, 0.5),
			.at_us = w->now_us,
		};

		if (node->record.ordered_us > 0 && chance(w, 0.8))
			fleet_tested(&w->fleet, node, &test);
	}
}

static void cluster_changes(struct books *w)
{
	struct fleet_node *node = any_node(w);
	struct truth *t = truth_of(w, node);

	switch (random_below(&w->random, 5)) {
	case 0:
		t->not_ready = !t->not_ready;
		break;
	case 1:
		t->others = !t->others;
		break;
	case 2:
		t->opted_out = chance(w, 0.2);
		break;
	case 3:
		t->job = (int)random_below(&w->random, JOBS);
		break;
	default:
		t->domain = (int)random_below(&w->random, DOMAINS);
		break;
	}
	set_facts(w, node);
	fleet_set_blame(node,
			&(struct blame){ .class = chance(w, 0.5) ? BLAME_COMPUTE
								 : (int)random_below(&w->random,
										     BLAME_CLASSES),
					 .reach = (int)random_below(&w->random, BLAME_TO_TELL + 1),
					 .until_us = UINT64_MAX });
}

/* Done by a person or seen on the node; what the state does not allow changes nothing. */
static bool happens(struct books *w, struct fleet_node *node, int event, const char *who)
{
	const struct fleet_cause cause = { .event = event,
					   .who = who,
					   .why = "because",
					   .until_us = w->now_us + w->policy.override_us };
	struct node_record before = node->record;
	struct err err = ERR_INIT;
	unsigned out = node->out;
	int r = fleet_event(&w->fleet, node, &cause, w->now_us, NULL, &err);

	if (r < 0) {
		CHECK(err.msg[0] != '\0');
		CHECK_EQ(memcmp(&before, &node->record, sizeof(before)), 0);
		CHECK_EQ(node->out, out);
	}
	return r == 0;
}

static void person_cordons(struct books *w, struct fleet_node *node, bool break_glass)
{
	struct truth *t = truth_of(w, node);
	struct refusal refusal;

	if (life_holds(node->record.life.state))
		return;
	if (!break_glass &&
	    !budget_cordon_allowed(&w->policy, &w->fleet, &w->breaker, node, w->now_us, &refusal)) {
		books_check_refusal(&refusal);
		return;
	}
	if (!break_glass)
		books_check_room(w, t);
	CHECK(happens(w, node, EVENT_CORDONED, "operator ann"));
	t->ours = t->by_person = true;
}

static void person_gives_back(struct books *w, struct fleet_node *node, int event)
{
	struct truth *t = truth_of(w, node);

	CHECK_EQ(happens(w, node, event, "operator ann"), t->ours);
	if (!t->ours)
		return;
	t->ours = t->by_person = false;
	t->override_us = w->now_us;
	t->override_until_us = w->now_us + w->policy.override_us;
}

static void person_acts(struct books *w)
{
	struct fleet_node *node = any_node(w);
	struct truth *t = truth_of(w, node);

	switch (random_below(&w->random, 8)) {
	case 0:
		person_cordons(w, node, false);
		break;
	case 1:
		person_cordons(w, node, chance(w, 0.2));
		break;
	case 2:
		person_gives_back(w, node, EVENT_UNCORDONED);
		break;
	case 3:
		person_gives_back(w, node, EVENT_RELEASED);
		break;
	case 4:
		if (happens(w, node, EVENT_REPAIR_DONE, "operator bob"))
			t->by_person = false;
		break;
	case 5:
		CHECK(happens(w, node, EVENT_OVERRIDE, "operator bob"));
		t->override_us = w->now_us;
		t->override_until_us = w->now_us + w->policy.override_us;
		break;
	case 6:
		CHECK(happens(w, node, EVENT_SILENCE, "operator bob"));
		t->silence_until_us = w->now_us + w->policy.override_us;
		break;
	default:
		(void)breaker_reset(&w->breaker, "operator ann", "looked at it", w->now_us);
		break;
	}
}

static void machine_changes(struct books *w)
{
	struct fleet_node *node = any_node(w);
	size_t i = random_below(&w->random, NODES_MAX);

	if (chance(w, 0.5)) {
		struct truth *t = truth_of(w, node);

		CHECK(happens(w, node, EVENT_REPLACED, WHO_AUTOMATIC));
		t->ours = t->by_person = false;
		t->override_until_us = t->silence_until_us = 0;
		CHECK(!node->findings);
	} else if (!w->truth[i].there) {
		add_node(w, i);
	} else if (w->fleet.n > 1) {
		truth_of(w, node)->there = false;
		fleet_remove(&w->fleet, node);
	}
}

/* The caller starts anew from what it stored and what the cluster shows. */
static void controller_restarts(struct books *w)
{
	struct fleet before = w->fleet;
	size_t i;

	w->fleet = (struct fleet){ 0 };
	for (i = 0; i < before.n; i++) {
		const struct fleet_node *old = before.nodes[i];
		struct fleet_node *node = fleet_need(&w->fleet, old->name, old->known_us);
		uint64_t stamps[PART_CORDONS_MAX];
		size_t n = part_stamps(old->parts[0], stamps), j;

		set_facts(w, node);
		node->record = old->record;
		node->reported_us = old->reported_us;
		node->deep_us = old->deep_us;
		for (j = 0; j < n; j++)
			part_count(node->parts[0], stamps[j]);
	}
	fleet_release(&before);
}

static void mode_changes(struct books *w)
{
	w->policy.mode = chance(w, 0.7) ? MODE_ENFORCE : (int)random_below(&w->random, 3);
}

static void step(struct books *w)
{
	static const struct {
		double often;
		void (*happen)(struct books *w);
	} table[] = {
		{ 0.9, time_passes },	{ 0.6, one_goes_bad },	   { 0.02, many_go_bad },
		{ 0.4, gets_well },	{ 0.7, tests_end },	   { 0.4, cluster_changes },
		{ 0.2, person_acts },	{ 0.05, machine_changes }, { 0.01, controller_restarts },
		{ 0.03, mode_changes },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (chance(w, table[i].often))
			table[i].happen(w);
	}
	books_decide(w);
}

static void no_storm_breaks_a_budget_or_lifts_what_is_not_ours(void)
{
	size_t seeds = test_times(200, 40), steps = test_full() ? 2000 : 300, i, j;
	size_t born = 0, granted = 0, refused = 0, released = 0, opened = 0, notices = 0;

	for (i = 0; i < seeds; i++) {
		CLEANUP(world_release) struct books w;

		world_init(&w, i);
		for (j = 0; j < steps; j++)
			step(&w);
		born += w.born;
		granted += w.granted;
		refused += w.refused;
		released += w.released;
		opened += w.opened;
		notices += w.notices;
	}
	CHECK(born > 0 || seeds < 200); /* a few in 200 worlds */
	CHECK(granted > seeds);
	CHECK(refused > seeds);
	CHECK(released > seeds / 4);
	CHECK(opened > seeds / 2);
	CHECK(notices > seeds / 2);
}

static const struct test tests[] = {
	TEST(no_storm_breaks_a_budget_or_lifts_what_is_not_ours),
};

TEST_SUITE(tests);
