/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/script.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/actor_driver/draw.h"
#include "tests/actor_driver/driver_seam.h"
#include "tests/actor_driver/field.h"
#include "tests/actor_driver/host.h"
#include "tests/actor_driver/life.h"
#include "tests/actor_driver/trace.h"

enum { RACE_ONE_IN = 6 };
enum { MANY = 5 }; /* hosts of a storm, and of a request for many */

static struct node *node_of(struct driver *d, const struct event *e)
{
	return &d->nodes[e->node];
}

/* --- hosts --- */

static void do_fault(struct driver *d, const struct event *e)
{
	node_of(d, e)->faults[e->arg % FAULTS] = true;
	host_report(d, e->node);
}

static void do_cure(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	memset(n->faults, 0, sizeof(n->faults));
	host_report(d, e->node);
}

static void do_storm(struct driver *d, const struct event *e)
{
	unsigned i;

	for (i = 0; i < MANY; i++) {
		const unsigned node = (e->node + i * (1 + e->arg % 3)) % d->n_nodes;

		d->nodes[node].faults[e->arg % 2] = true;
		host_report(d, node);
	}
}

static void do_report(struct driver *d, const struct event *e)
{
	host_report(d, e->node);
}

static void do_replace(struct driver *d, const struct event *e)
{
	host_replace(d, e->node);
}

static void do_silent(struct driver *d, const struct event *e)
{
	unsigned i;

	for (i = 0; i < d->n_nodes; i += 1 + e->arg % 3)
		d->nodes[i].silent_until_us = d->now_us + e->for_us;
}

static void do_deaf(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	*(e->arg % 2 ? &n->deaf_until_us : &n->busy_until_us) = d->now_us + e->for_us;
}

/* --- requests of people --- */

/* The controller that gets people's requests: the running one that was started last. */
static struct controller *asked(struct driver *d)
{
	struct controller *c = NULL;
	unsigned i;

	for (i = 0; i < d->n_controllers; i++) {
		if (d->controllers[i].seam && !d->controllers[i].fenced &&
		    (!c || d->controllers[i].started_us > c->started_us))
			c = &d->controllers[i];
	}
	return c;
}

static void ask(struct driver *d, enum seam_order order, unsigned node, uint64_t until_us)
{
	struct controller *c = asked(d);

	if (!c)
		return;
	seam_ask(c, order, d->nodes[node].name, until_us);
	life_touch(c);
}

static void do_with_others(struct driver *d, const struct event *e)
{
	struct controller *c = asked(d);
	const unsigned partner = (e->node + 1 + e->arg % (d->n_nodes - 1)) % d->n_nodes;

	if (!c)
		return;
	node_of(d, e)->faults[4] = e->arg % 3 > 0;
	seam_with_others(c, node_of(d, e)->name, d->nodes[partner].name, e->arg % 3 > 0);
	life_touch(c);
}

static void do_ask_cordon(struct driver *d, const struct event *e)
{
	ask(d, SEAM_CORDON, e->node, 0);
}

static void do_ask_glass(struct driver *d, const struct event *e)
{
	ask(d, SEAM_GLASS, e->node, 0);
}

static void do_ask_many(struct driver *d, const struct event *e)
{
	unsigned i;

	for (i = 0; i < MANY; i++)
		ask(d, SEAM_CORDON, (e->node + i) % d->n_nodes, 0);
}

static void do_ask_uncordon(struct driver *d, const struct event *e)
{
	node_of(d, e)->freed_us = d->now_us;
	ask(d, SEAM_UNCORDON, e->node, 0);
}

static void do_ask_hold(struct driver *d, const struct event *e)
{
	ask(d, SEAM_HOLD, e->node, d->now_us + USEC_PER_MIN);
}

static void do_ask_override(struct driver *d, const struct event *e)
{
	ask(d, SEAM_OVERRIDE, e->node, e->arg % 4 ? d->now_us + e->for_us : 0);
}

static void do_ask_silence(struct driver *d, const struct event *e)
{
	ask(d, SEAM_SILENCE, e->node, e->arg % 4 ? d->now_us + e->for_us : 0);
}

static void do_ask_repair_done(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	n->repaired_us = d->now_us;
	memset(n->faults, 0, sizeof(n->faults));
	ask(d, SEAM_REPAIR_DONE, e->node, 0);
}

static void do_ask_reset(struct driver *d, const struct event *e)
{
	ask(d, SEAM_RESET, e->node, 0);
}

static void do_leave(struct driver *d, const struct event *e UNUSED)
{
	struct controller *c = asked(d);

	if (c)
		seam_leave(c);
}

/* --- people and programs at the cluster --- */

static void do_hand_cordon(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	if (n->c.unschedulable)
		return;
	/* If it was lifted and set again before any watch reported it, it is still our cordon. */
	n->theirs = !n->c.mark || n->shown_lifted;
	n->shown_lifted = false;
	n->c.unschedulable = true;
	n->out_us = d->now_us;
	field_changed(d, e->node);
}

void script_race(struct driver *d, unsigned node, unsigned nth)
{
	const uint64_t drawn = draw(d->seed, "race", node, nth);
	const struct event e = { .kind = SCRIPT_HAND_RACE,
				 .node = (unsigned)(draw_mix(drawn) % d->n_nodes) };

	if (d->ended || drawn % RACE_ONE_IN > 0 || e.node == node)
		return;
	trace_world(d, "%s %s", event_name(e.kind), d->nodes[e.node].name);
	d->tally->events[e.kind]++;
	do_hand_cordon(d, &e);
}

static void do_hand_uncordon(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	n->c.unschedulable = n->theirs = false;
	n->freed_us = n->in_us = d->now_us;
	field_changed(d, e->node);
}

static void do_hand_unmark(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	cluster_mark_free(TAKE(n->c.mark));
	n->theirs = n->c.unschedulable;
	n->freed_us = d->now_us;
	field_changed(d, e->node);
}

static void do_hand_override(struct driver *d, const struct event *e)
{
	node_of(d, e)->c.override_us = d->now_us + e->for_us;
	field_changed(d, e->node);
}

static void do_hand_unhold(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	n->c.hold_us = 0;
	n->in_us = d->now_us;
	free(TAKE(n->c.hold_by));
	field_changed(d, e->node);
}

static void begin_while(struct driver *d, const struct event *e, enum whiles which)
{
	node_of(d, e)->until_us[which] = d->now_us + e->for_us;
	field_changed(d, e->node);
}

static void do_hands_off(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	if (n->c.hands_off)
		return;
	n->c.hands_off = xstrdup("another owner is removing it");
	n->c.leaving = e->arg % 2;
	n->out_us = d->now_us;
	begin_while(d, e, WHILE_HANDS_OFF);
}

static void do_opt_out(struct driver *d, const struct event *e)
{
	node_of(d, e)->c.managed = false;
	begin_while(d, e, WHILE_OPTED_OUT);
}

static void do_not_ready(struct driver *d, const struct event *e)
{
	node_of(d, e)->c.ready = false;
	node_of(d, e)->out_us = d->now_us;
	begin_while(d, e, WHILE_NOT_READY);
}

static void do_gone(struct driver *d, const struct event *e)
{
	node_of(d, e)->exists = false;
	node_of(d, e)->gone_us = d->now_us;
	begin_while(d, e, WHILE_GONE);
}

static void do_unverified(struct driver *d, const struct event *e)
{
	struct node *n = node_of(d, e);

	n->c.unverified = d->kube;
	n->c.since_us = d->now_us;
	field_changed(d, e->node);
}

static void do_jobs(struct driver *d, const struct event *e)
{
	static const char *const jobs[] = { "train-a", "train-b", "train-c" };
	struct node *n = node_of(d, e);

	n->n_jobs = e->arg % 3 > 0 && d->kube;
	n->jobs[0] = jobs[e->arg % ARRAY_SIZE(jobs)];
	n->evicted = 0;
}

/* --- the cluster, and others --- */

static void do_cut(struct driver *d, const struct event *e)
{
	if (!d->kube) /* an embedded cluster never lags */
		return;
	d->cut_until_us = d->now_us + e->for_us;
	field_cut(d);
}

static void do_stop(struct driver *d, const struct event *e)
{
	d->stop_until_us = d->now_us + e->for_us;
}

static void do_trouble(struct driver *d, const struct event *e)
{
	static const enum cluster_result results[] = { CLUSTER_AGAIN, CLUSTER_CONFLICT,
						       CLUSTER_REFUSED };

	d->trouble = results[e->arg % ARRAY_SIZE(results)];
	d->trouble_nodes = e->arg / 16 % 2;
	/* Some last longer than the actor retries. */
	d->trouble_until_us = d->now_us + (e->arg % 4 ? 1 : 8) * e->for_us;
}

static void do_ledger_gone(struct driver *d, const struct event *e UNUSED)
{
	free(TAKE(d->ledger));
	d->ledger_lost_us = d->now_us;
}

static void do_ledger_touched(struct driver *d, const struct event *e UNUSED)
{
	d->ledger_version++;
}

static void do_policy(struct driver *d, const struct event *e UNUSED)
{
	d->policy = !d->policy;
	d->policy_us = d->now_us;
}

static void do_wrong_file(struct driver *d, const struct event *e UNUSED)
{
	d->wrong_file = true;
}

static void do_commit_fails(struct driver *d, const struct event *e UNUSED)
{
	d->commit_fails = true;
}

static void do_restart(struct driver *d, const struct event *e)
{
	struct controller *c = &d->controllers[e->arg % d->n_controllers];

	if (c->seam)
		c->kill = true;
}

static void (*const does[SCRIPT_KINDS])(struct driver *d, const struct event *e) = {
	[SCRIPT_FAULT] = do_fault,
	[SCRIPT_CURE] = do_cure,
	[SCRIPT_STORM] = do_storm,
	[SCRIPT_REPORT] = do_report,
	[SCRIPT_REPLACE_HOST] = do_replace,
	[SCRIPT_SILENT] = do_silent,
	[SCRIPT_DEAF] = do_deaf,
	[SCRIPT_WITH_OTHERS] = do_with_others,
	[SCRIPT_ASK_CORDON] = do_ask_cordon,
	[SCRIPT_ASK_GLASS] = do_ask_glass,
	[SCRIPT_ASK_MANY] = do_ask_many,
	[SCRIPT_ASK_UNCORDON] = do_ask_uncordon,
	[SCRIPT_ASK_HOLD] = do_ask_hold,
	[SCRIPT_ASK_OVERRIDE] = do_ask_override,
	[SCRIPT_ASK_SILENCE] = do_ask_silence,
	[SCRIPT_ASK_REPAIR_DONE] = do_ask_repair_done,
	[SCRIPT_ASK_RESET] = do_ask_reset,
	[SCRIPT_LEAVE] = do_leave,
	[SCRIPT_HAND_CORDON] = do_hand_cordon,
	[SCRIPT_HAND_RACE] = do_hand_cordon,
	[SCRIPT_HAND_UNCORDON] = do_hand_uncordon,
	[SCRIPT_HAND_UNMARK] = do_hand_unmark,
	[SCRIPT_HAND_OVERRIDE] = do_hand_override,
	[SCRIPT_HAND_UNHOLD] = do_hand_unhold,
	[SCRIPT_HANDS_OFF] = do_hands_off,
	[SCRIPT_OPT_OUT] = do_opt_out,
	[SCRIPT_NOT_READY] = do_not_ready,
	[SCRIPT_GONE] = do_gone,
	[SCRIPT_UNVERIFIED] = do_unverified,
	[SCRIPT_JOBS] = do_jobs,
	[SCRIPT_CUT] = do_cut,
	[SCRIPT_STOP] = do_stop,
	[SCRIPT_TROUBLE] = do_trouble,
	[SCRIPT_LEDGER_GONE] = do_ledger_gone,
	[SCRIPT_LEDGER_TOUCHED] = do_ledger_touched,
	[SCRIPT_POLICY] = do_policy,
	[SCRIPT_WRONG_FILE] = do_wrong_file,
	[SCRIPT_COMMIT_FAILS] = do_commit_fails,
	[SCRIPT_RESTART] = do_restart,
};

static void happen(struct driver *d, const struct event *e)
{
	unsigned i;

	d->stirred_us = d->now_us;
	trace_world(d, "%s %s %u", event_name(e->kind), node_of(d, e)->name, e->arg);
	d->tally->events[e->kind]++;
	does[e->kind](d, e);
	for (i = 0; e->arg % 12 == 0 && i < d->n_controllers; i++)
		life_point(&d->controllers[i], POINT_BETWEEN, e->node);
}

/* --- ends --- */

/* The node comes back with another uid. */
static void come_back(struct node *n)
{
	n->exists = true;
	n->incarnation++;
	free(n->c.uid);
	n->c.uid = xasprintf("uid-%s-%u", n->name, n->incarnation);
	cluster_mark_free(TAKE(n->c.mark));
	free(TAKE(n->c.hold_by));
	n->c.hold_us = n->c.override_us = 0;
	n->c.unschedulable = n->theirs = false;
}

static void end_while(struct driver *d, unsigned node, enum whiles which)
{
	static const char *const names[] = { "hands-off", "opt-out", "not-ready", "absence" };
	struct node *n = &d->nodes[node];

	trace_world(d, "%s of %s ends", names[which], n->name);
	n->until_us[which] = 0;
	n->in_us = d->now_us;
	switch (which) {
	case WHILE_HANDS_OFF:
		free(TAKE(n->c.hands_off));
		n->c.leaving = false;
		break;
	case WHILE_OPTED_OUT:
		n->c.managed = true;
		break;
	case WHILE_NOT_READY:
		n->c.ready = true;
		break;
	case WHILE_GONE:
		come_back(n);
		break;
	case WHILES:
		break;
	}
	field_changed(d, node);
}

/* Returns when the next temporary condition ends. */
static uint64_t first_end(const struct driver *d, unsigned *ret_node, unsigned *ret_which)
{
	uint64_t first_us = UINT64_MAX;
	unsigned i, j;

	for (i = 0; i < d->n_nodes; i++) {
		for (j = 0; j < WHILES; j++) {
			const uint64_t at_us = d->nodes[i].until_us[j];

			if (at_us == 0 || at_us >= first_us)
				continue;
			first_us = at_us;
			*ret_node = i;
			*ret_which = j;
		}
	}
	return first_us;
}

uint64_t script_due(const struct driver *d)
{
	unsigned node, which;
	uint64_t due_us = first_end(d, &node, &which);

	if (d->script_at < d->n_script)
		due_us = MIN(due_us, d->script[d->script_at].at_us);
	if (d->cut_until_us > d->mended_us)
		due_us = MIN(due_us, d->cut_until_us);
	return due_us;
}

void script_go_on(struct driver *d)
{
	unsigned node = 0, which = 0;

	if (d->cut_until_us > d->mended_us && d->cut_until_us <= d->now_us) {
		d->mended_us = d->cut_until_us;
		field_mend(d);
	} else if (first_end(d, &node, &which) <= d->now_us) {
		end_while(d, node, (enum whiles)which);
	} else {
		happen(d, &d->script[d->script_at++]);
	}
}

void script_calm(struct driver *d)
{
	unsigned i, j;

	d->stirred_us = d->now_us;
	d->cut_until_us = MIN(d->cut_until_us, d->now_us);
	d->stop_until_us = d->trouble_until_us = 0;
	d->commit_fails = d->wrong_file = false;
	for (i = 0; i < d->n_nodes; i++) {
		struct node *n = &d->nodes[i];

		for (j = 0; j < WHILES; j++) {
			if (n->until_us[j])
				end_while(d, i, (enum whiles)j);
		}
		memset(n->faults, 0, sizeof(n->faults));
		n->silent_until_us = n->deaf_until_us = n->busy_until_us = 0;
		n->report_us = MIN(n->report_us, d->now_us + i * USEC_PER_SEC);
	}
}
