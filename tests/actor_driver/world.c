/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/world.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "tests/actor_driver/draw.h"
#include "tests/actor_driver/driver.h"
#include "tests/unit/random.h"

#define SCRIPT_US (70 * USEC_PER_MIN) /* duration of the script */

const char *const point_names[] = {
	[POINT_RECORDED] = "recorded",
	[POINT_RESERVED] = "reserved",
	[POINT_RESERVED_KNOWN] = "reserved-known",
	[POINT_CONFIRMED] = "confirmed",
	[POINT_APPLIED] = "applied",
	[POINT_APPLIED_KNOWN] = "applied-known",
	[POINT_COMPLETED] = "completed",
	[POINT_FAILED] = "failed",
	[POINT_DROPPED] = "dropped",
	[POINT_REFUSED] = "refused",
	[POINT_REHEARSED] = "rehearsed",
	[POINT_ORDERED] = "ordered",
	[POINT_ANSWERED] = "answered",
	[POINT_LEDGER_DONE] = "ledger-done",
	[POINT_LISTED] = "listed",
	[POINT_TAKEN_OVER] = "taken-over",
	[POINT_UNCOMMITTED] = "uncommitted",
	[POINT_BETWEEN] = "between",
	NULL,
};

const char *const mutant_names[] = {
	[MUTANT_NONE] = "none",
	[MUTANT_BUDGET] = "budget",
	[MUTANT_LOST] = "lost",
	[MUTANT_LIFT] = "lift",
	[MUTANT_FORGET] = "forget",
	[MUTANT_DEAF] = "deaf",
	[MUTANT_UNRECORDED] = "unrecorded",
	NULL,
};

/* One per way a finding is handled: fatal, measured, an event, of pairs, info only. */
const struct fault_kind fault_kinds[FAULTS] = {
	{ "rnic.removed", "mlx5_0", NULL, NULL, SEVERITY_FATAL, 1, 1 },
	{ "gpu.xid", "gpu:GPU-%s-1", NULL, "79", SEVERITY_FATAL, 1, 1 },
	{ "gemm.rate", "gpu:GPU-%s-2", NULL, NULL, SEVERITY_FAIL, 2, 3 },
	{ "host.ecc", "dimm:A1", NULL, NULL, SEVERITY_WARN, 1, 2 },
	{ "rnic_pair.write_bw", "mlx5_1", NULL, NULL, SEVERITY_WARN, 2, 3 },
	{ "memory.read_bw", "node:0", NULL, NULL, SEVERITY_INFO, 1, 1 },
};

/* The weight of each event, and its maximum duration. */
static const struct script_row {
	const char *name;
	unsigned weight;
	uint64_t for_us;
} script_rows[SCRIPT_KINDS] = {
	[SCRIPT_FAULT] = { "fault", 26, 0 },
	[SCRIPT_CURE] = { "cure", 12, 0 },
	[SCRIPT_STORM] = { "storm", 2, 0 },
	[SCRIPT_REPORT] = { "report", 2, 0 },
	[SCRIPT_REPLACE_HOST] = { "replace-host", 2, 0 },
	[SCRIPT_SILENT] = { "silent", 1, 25 * USEC_PER_MIN },
	[SCRIPT_DEAF] = { "deaf", 8, 40 * USEC_PER_MIN },
	[SCRIPT_WITH_OTHERS] = { "with-others", 3, 0 },
	[SCRIPT_ASK_CORDON] = { "ask-cordon", 4, 0 },
	[SCRIPT_ASK_GLASS] = { "ask-glass", 1, 0 },
	[SCRIPT_ASK_MANY] = { "ask-many", 1, 0 },
	[SCRIPT_ASK_UNCORDON] = { "ask-uncordon", 5, 0 },
	[SCRIPT_ASK_HOLD] = { "ask-hold", 1, 0 },
	[SCRIPT_ASK_OVERRIDE] = { "ask-override", 2, 20 * USEC_PER_MIN },
	[SCRIPT_ASK_SILENCE] = { "ask-silence", 2, 20 * USEC_PER_MIN },
	[SCRIPT_ASK_REPAIR_DONE] = { "ask-repair-done", 4, 0 },
	[SCRIPT_ASK_RESET] = { "ask-reset", 5, 0 },
	[SCRIPT_LEAVE] = { "leave", 1, 0 },
	[SCRIPT_HAND_CORDON] = { "hand-cordon", 4, 0 },
	[SCRIPT_HAND_RACE] = { "hand-race", 0, 0 }, /* triggered by our actions */
	[SCRIPT_HAND_UNCORDON] = { "hand-uncordon", 4, 0 },
	[SCRIPT_HAND_UNMARK] = { "hand-unmark", 1, 0 },
	[SCRIPT_HAND_OVERRIDE] = { "hand-override", 1, 20 * USEC_PER_MIN },
	[SCRIPT_HAND_UNHOLD] = { "hand-unhold", 1, 0 },
	[SCRIPT_HANDS_OFF] = { "hands-off", 2, 10 * USEC_PER_MIN },
	[SCRIPT_OPT_OUT] = { "opt-out", 1, 10 * USEC_PER_MIN },
	[SCRIPT_NOT_READY] = { "not-ready", 2, 10 * USEC_PER_MIN },
	[SCRIPT_GONE] = { "gone", 2, 5 * USEC_PER_MIN },
	[SCRIPT_UNVERIFIED] = { "unverified", 3, 0 },
	[SCRIPT_JOBS] = { "jobs", 3, 0 },
	[SCRIPT_CUT] = { "cut", 2, 3 * USEC_PER_MIN },
	[SCRIPT_STOP] = { "stop", 1, 3 * USEC_PER_MIN },
	[SCRIPT_TROUBLE] = { "trouble", 6, 2 * USEC_PER_MIN },
	[SCRIPT_LEDGER_GONE] = { "ledger-gone", 1, 0 },
	[SCRIPT_LEDGER_TOUCHED] = { "ledger-touched", 2, 0 },
	[SCRIPT_POLICY] = { "policy", 2, 0 },
	[SCRIPT_WRONG_FILE] = { "wrong-file", 1, 0 },
	[SCRIPT_COMMIT_FAILS] = { "commit-fails", 1, 0 },
	[SCRIPT_RESTART] = { "restart", 2, 0 },
};

const char *event_name(enum event_kind kind)
{
	return script_rows[kind].name;
}

static uint64_t span(struct random *r, uint64_t least_us, uint64_t most_us)
{
	return least_us + random_next(r) % (most_us - least_us + 1);
}

static bool one_in(struct random *r, size_t n)
{
	return random_below(r, n) == 0;
}

/* --- policies --- */

static void add_rule(struct policy *p, const char *check, int action, unsigned k, unsigned n)
{
	p->rules = xrealloc(p->rules, p->n_rules + 1, sizeof(*p->rules));
	p->rules[p->n_rules++] = (struct policy_rule){ .name = xasprintf("rule-%s", check),
						       .check = xstrdup(check),
						       .floor_ratio = NAN,
						       .floor_k = NAN,
						       .k = k,
						       .n = n,
						       .action = action };
}

static void add_rules(struct policy *p, struct random *r)
{
	static const int ways[] = { ACTION_CORDON, ACTION_CORDON, ACTION_CORDON_DRAIN,
				    ACTION_RETEST };
	size_t i;

	for (i = 0; i < FAULTS; i++) {
		const struct fault_kind *f = &fault_kinds[i];
		int action = ways[random_below(r, ARRAY_SIZE(ways))];

		if (f->severity == SEVERITY_INFO)
			action = one_in(r, 2) ? ACTION_ALERT : ACTION_OBSERVE;
		else if (f->severity != SEVERITY_FATAL)
			action = one_in(r, 3) ? ACTION_CORDON : ACTION_RETEST;
		add_rule(p, f->check, action, f->k, f->n);
	}
}

static void draw_times(struct policy *p, struct random *r)
{
	p->retest_times = 1 + random_below(r, 2);
	p->retest_spacing_us = span(r, USEC_PER_MIN, 6 * USEC_PER_MIN);
	p->retest_timeout_us = span(r, 3 * USEC_PER_MIN, 9 * USEC_PER_MIN);
	p->retest_returns = 2 + random_below(r, 2);
	p->hold_ttl_us = span(r, 3 * USEC_PER_MIN, 10 * USEC_PER_MIN);
	p->hold_at_once = 1 + random_below(r, 2);
	p->coverage_max_age_us = one_in(r, 3) ? 20 * USEC_PER_MIN : 0;
	p->override_us = span(r, 10 * USEC_PER_MIN, 40 * USEC_PER_MIN);
	p->startup_lift = !one_in(r, 4);
	p->startup_wait_us = span(r, 2 * USEC_PER_MIN, 10 * USEC_PER_MIN);
	p->startup_max_age_us = 20 * USEC_PER_MIN;
	p->release_delay_us = span(r, USEC_PER_MIN, 6 * USEC_PER_MIN);
	p->release_passes = 1 + random_below(r, 2);
	p->sticky_after = 2 + random_below(r, 3);
	p->sticky_window_us = 3 * USEC_PER_HOUR;
	p->drain_mode = (int)random_below(r, DRAIN_NOW + 1);
	p->drain_grace_us = span(r, 0, 4 * USEC_PER_MIN);
	p->drain_timeout_us = span(r, 2 * USEC_PER_MIN, 10 * USEC_PER_MIN);
	p->drain_spares = random_below(r, 2);
}

static struct policy draw_policy(struct random *r)
{
	struct policy p = policy_init();
	const size_t mode = random_below(r, 10);

	p.mode = mode == 0 ? MODE_OBSERVE : mode == 1 ? MODE_DRY_RUN : MODE_ENFORCE;
	p.total_percent = (double)(15 + random_below(r, 25));
	p.total_nodes = one_in(r, 4) ? 2 + random_below(r, 3) : 0;
	if (!one_in(r, 3))
		p.domain_label = xstrdup("rack");
	p.domain_max = 1 + random_below(r, 2);
	p.per_job = 1 + random_below(r, 2);
	p.rate_cordons = 2 + random_below(r, 6);
	p.rate_per_us = span(r, 5 * USEC_PER_MIN, 20 * USEC_PER_MIN);
	p.manual_cordons = 2 + random_below(r, 5);
	p.deny_nodes = 1 + random_below(r, 4);
	p.breaker_silent_percent = one_in(r, 2) ? 30 : 100;
	p.silent_after_us = span(r, 9 * USEC_PER_MIN, 14 * USEC_PER_MIN);
	p.storm_cordons = one_in(r, 4) ? 3 : 1000;
	p.alike_nodes = 4 + random_below(r, 12);
	p.alike_percent = 10;
	draw_times(&p, r);
	add_rules(&p, r);
	return p;
}

/* --- nodes --- */

static void draw_node(struct driver *d, struct random *r, unsigned i)
{
	struct node *n = &d->nodes[i];

	(void)snprintf(n->name, sizeof(n->name), "n%02u", i % NODES_MAX);
	n->c = (struct cluster_node){
		.name = xstrdup(n->name),
		.uid = xasprintf("uid-%u-0", i),
		.labels = json_pack("{s:o}", "rack", json_sprintf("rack-%u", i / 5)),
		.ready = true,
		.managed = !one_in(r, 15),
		.outside = d->kube && one_in(r, 15),
		.unverified = d->kube && one_in(r, 6),
		.since_us = one_in(r, 3) ? START_US : 0,
		.boot = xstrdup("boot-0"),
	};
	n->exists = true;
	n->version = 1;
	n->report_us = START_US + span(r, 0, USEC_PER_MIN);
	if (d->kube && one_in(r, 2))
		n->jobs[n->n_jobs++] = i / 3 % 2 ? "train-a" : "train-b";
}

/* --- the script --- */

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at_us != y->at_us)
		return x->at_us < y->at_us ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static enum event_kind draw_kind(struct random *r)
{
	unsigned all = 0, at;
	size_t i;

	for (i = 0; i < SCRIPT_KINDS; i++)
		all += script_rows[i].weight;
	at = (unsigned)random_below(r, all);
	for (i = 0; at >= script_rows[i].weight; i++)
		at -= script_rows[i].weight;
	return (enum event_kind)i;
}

/* Most events hit a few hosts, often soon after another event, so that hosts get histories. */
static void draw_script(struct driver *d, struct random *r)
{
	uint64_t at_us = START_US + 2 * USEC_PER_MIN;
	const unsigned hot = (unsigned)random_below(r, d->n_nodes);

	d->n_script = 30 + (unsigned)random_below(r, SCRIPT_MAX - 30);
	while (d->script_at < d->n_script) {
		struct event *e = &d->script[d->script_at++];

		at_us += one_in(r, 3) ? span(r, 0, 2 * USEC_PER_SEC)
				      : span(r, USEC_PER_SEC, 2 * SCRIPT_US / d->n_script);
		*e = (struct event){ .at_us = at_us,
				     .kind = draw_kind(r),
				     .node = (unsigned)random_below(r, d->n_nodes),
				     .arg = (unsigned)random_below(r, 1000) };
		if (!one_in(r, 3))
			e->node = (hot + (unsigned)random_below(r, 5)) % d->n_nodes;
		e->for_us = script_rows[e->kind].for_us;
		if (e->for_us)
			e->for_us = span(r, 10 * USEC_PER_SEC, e->for_us);
	}
	d->script_at = 0;
	qsort(d->script, d->n_script, sizeof(d->script[0]), by_time);
}

void world_make(struct driver *d)
{
	struct random r = random_seeded(d->seed * 2 + 1);
	unsigned i;

	d->now_us = START_US;
	d->hash = DRAW_BASIS;
	d->kube = !one_in(&r, 3);
	d->n_controllers = d->kube && one_in(&r, 2) ? 2 : 1;
	d->n_nodes = 10 + (unsigned)random_below(&r, 15);
	d->report_every_us = span(&r, 6 * USEC_PER_MIN, 8 * USEC_PER_MIN);
	d->latency_us = span(&r, USEC_PER_MSEC, 300 * USEC_PER_MSEC);
	d->lag_us = span(&r, USEC_PER_MSEC, 3 * USEC_PER_SEC);
	d->focus = (enum point)(d->seed % POINTS);
	d->policies[0] = draw_policy(&r);
	d->policies[1] = draw_policy(&r);
	for (i = 0; i < d->n_nodes; i++)
		draw_node(d, &r, i);
	draw_script(d, &r);
}

void world_release(struct driver *d)
{
	unsigned i;

	for (i = 0; i < d->n_nodes; i++)
		cluster_node_release(&d->nodes[i].c);
	policy_release(&d->policies[0]);
	policy_release(&d->policies[1]);
}
