/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/check.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/actor_driver/driver_seam.h"
#include "tests/actor_driver/field.h"
#include "tests/actor_driver/life.h"
#include "tests/actor_driver/trace.h"

/* Tolerance at the edges of time windows. */
#define EDGE_US (2 * USEC_PER_SEC)
/* How often the actor compares the ledger with the nodes. */
#define RACKS_US (11 * USEC_PER_MIN)

/* --- recorded before sent --- */

static const struct row *open_row(const struct controller *c, unsigned node, int kind)
{
	size_t i;

	for (i = c->n_rows; i-- > 0;) {
		const struct row *row = &c->rows[i];

		if (row->node == node && row->kind == kind && !row->over)
			return row;
	}
	return NULL;
}

void check_sent(struct controller *c, const struct request *r)
{
	const int kind = seam_kind_of((int)r->op, r->until_us > 0);

	if (!r->dry_run && kind >= 0 && !open_row(c, r->node, kind))
		trace_violation(
			c->driver, "%s of %s is asked for and no commit has it", op_names[r->op],
			r->node < NODES_MAX ? c->driver->nodes[r->node].name : "a stranger");
}

/* --- budgets --- */

static const char *rack_of(const struct node *n)
{
	return json_string_value(json_object_get(n->c.labels, "rack"));
}

/* Cordons of people who bypass the budgets, and of others, count, but may come too late to know. */
static bool came_late(const struct node *n, uint64_t since_us)
{
	return n->out_us >= since_us || (n->c.mark && n->marked_us >= since_us && n->glass);
}

struct counted {
	unsigned nodes, out, rack;
};

/* Counts what others did up to `since_us`, and what we did up to now. */
static struct counted count(const struct driver *d, const struct node *one, uint64_t since_us)
{
	struct counted counted = { 0 };
	unsigned i;

	for (i = 0; i < d->n_nodes; i++) {
		const struct node *n = &d->nodes[i];

		if ((!n->exists && n->gone_us < since_us) || n->c.outside)
			continue;
		counted.nodes++;
		if (!field_is_out(n) || came_late(n, since_us) || n == one)
			continue;
		counted.out++;
		counted.rack += streq(rack_of(n), rack_of(one));
	}
	return counted;
}

static unsigned total_of(const struct policy *p, unsigned nodes)
{
	unsigned total = (unsigned)(p->total_percent * nodes / 100);

	if (p->total_percent > 0)
		total = MAX(total, 1U);
	return p->total_nodes ? MIN(total, (unsigned)p->total_nodes) : total;
}

static bool allows(const struct policy *p, const struct counted *counted)
{
	return counted->out < total_of(p, counted->nodes) &&
	       (!p->domain_label || counted->rack < p->domain_max);
}

/*
 * After a reload of the policy with a new domain label, the actor learns a node's domain only when
 * the cluster reports the node, or when it compares the ledger with the nodes.
 */
static bool knows_racks(const struct driver *d)
{
	return d->policy_us == 0 || d->policies[!d->policy].domain_label ||
	       d->now_us - d->policy_us > RACKS_US;
}

static void check_budgets(struct controller *c, const struct request *r, const struct row *row)
{
	struct driver *d = c->driver;
	const struct node *n = &d->nodes[r->node];
	/* The actor cannot know later changes, nor those that the watch had not reported by then. */
	const bool looked = d->kube && c->confirmed_us > row->decided_us;
	const uint64_t told_us = row->decided_us - d->lag_us;
	struct counted counted = count(d, n, looked ? c->confirmed_us : told_us);
	const struct policy *now = &d->policies[d->policy], *before = &d->policies[!d->policy];

	/* A node that is already out, or takes no jobs, uses no budget. */
	if (row->glass || n->c.outside || field_is_out(n) || n->in_us >= told_us)
		return;
	if (!knows_racks(d))
		counted.rack = 0;
	/* Both policies count if it was reloaded since. */
	if (allows(now, &counted) || (d->policy_us >= row->decided_us && allows(before, &counted)))
		return;
	trace_violation(d, "%s of %s: %u of %u nodes were out at %.3f, %u of its rack",
			op_names[r->op], n->name, counted.out, counted.nodes,
			trace_time(looked ? c->confirmed_us : told_us), counted.rack);
}

/* Checks the rate of automatic cordons in the policy's window, by decision time. */
static void check_rate(struct driver *d, const struct row *row)
{
	const struct policy *p = &d->policies[d->policy];
	uint64_t from_us = row->decided_us - MIN(p->rate_per_us, row->decided_us) + EDGE_US,
		 used = 0;
	size_t i;

	for (i = 0; i < d->n_cordons; i++)
		used += d->cordons_us[i] > from_us && d->cordons_us[i] <= row->decided_us;
	d->cordons_us = xrealloc(d->cordons_us, d->n_cordons + 1, sizeof(*d->cordons_us));
	d->cordons_us[d->n_cordons++] = row->decided_us;
	/* If the ledger was lost, so were the past cordons. */
	if (used < p->rate_cordons || d->ledger_lost_us || d->policy_us > from_us)
		return;
	trace_violation(d, "%s is the automatic cordon %llu of its window", row->name,
			(unsigned long long)used + 1);
}

/* --- permissions --- */

/* Automation may end automatic cordons, and those a person declared repaired, after a passed test. */
static void check_release(struct controller *c, const struct request *r)
{
	struct driver *d = c->driver;
	const struct node *n = &d->nodes[r->node];

	if (r->until_us) { /* ordered by a person, here or at the cluster */
		if (n->freed_us < n->marked_us)
			trace_violation(d, "%s is given back, and nobody asked", n->name);
		return;
	}
	if (n->passed_us < n->marked_us)
		trace_violation(d, "%s is given back without a test", n->name);
	if (!streq(n->c.mark->by, "assay") && n->repaired_us < n->marked_us)
		trace_violation(d, "%s is given back, and a person had taken it out", n->name);
}

void check_done(struct controller *c, const struct request *r)
{
	struct driver *d = c->driver;
	struct node *n = &d->nodes[r->node];
	const int kind = seam_kind_of((int)r->op, r->until_us > 0);
	const struct row *row = kind >= 0 ? open_row(c, r->node, kind) : NULL;

	if (r->op == OP_UNCORDON)
		check_release(c, r);
	if (!row || r->orphan)
		return;
	if (r->op == OP_CORDON || (r->op == OP_HOLD && r->until_us))
		check_budgets(c, r, row);
	if (r->op != OP_CORDON)
		return;
	n->glass = row->glass;
	if (row->automatic)
		check_rate(d, row);
}

/* --- the end --- */

static void check_rows(struct controller *c)
{
	const struct driver *d = c->driver;
	const uint64_t longest_us =
		MAX(d->policies[0].retest_timeout_us, d->policies[1].retest_timeout_us) +
		USEC_PER_MIN;
	size_t i;

	for (i = 0; i < c->n_rows; i++) {
		const struct row *row = &c->rows[i];

		if (row->over ||
		    (seam_is_test(row->kind) && row->decided_us + longest_us > d->now_us))
			continue;
		trace_violation(c->driver, "%s %s has not ended", row->name, seam_kind(row->kind));
	}
}

static void check_node(struct controller *c, const struct node *n)
{
	CLEANUP(freep) char *known = seam_node(c, n->name);
	CLEANUP(freep) char *shown = trace_text(c, known ? known : "unknown");
	const int holds = seam_holds(c, n->name);

	trace_line(c, "end %s version %llu%s%s%s%s: %s", n->name, (unsigned long long)n->version,
		   n->c.unschedulable ? " unschedulable" : "", n->c.mark ? " marked" : "",
		   n->c.hold_us ? " held" : "", n->c.unverified ? " unverified" : "", shown);
	if (holds < 0)
		trace_violation(c->driver, "%s is not known in the end", n->name);
	else if (holds != (n->c.mark != NULL))
		trace_violation(c->driver, "%s is %s, and its record says another thing", n->name,
				n->c.mark ? "marked" : "not marked");
	if (n->theirs && !n->c.unschedulable)
		trace_violation(c->driver, "somebody's cordon of %s was lifted", n->name);
}

void check_end(struct driver *d)
{
	struct controller *c = &d->controllers[0];
	unsigned i;

	if (!c->seam) {
		trace_violation(d, "no controller is left");
		return;
	}
	check_rows(c);
	for (i = 0; i < d->n_nodes; i++) {
		if (d->nodes[i].exists)
			check_node(c, &d->nodes[i]);
	}
	free(TAKE(d->cordons_us));
}
