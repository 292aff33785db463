/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/host.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/store/pack.h"
#include "controller/store/store.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "tests/actor_driver/draw.h"
#include "tests/actor_driver/driver_seam.h"
#include "tests/actor_driver/life.h"
#include "tests/actor_driver/trace.h"
#include "tests/unit/reports.h"

#define POLL_US (100 * USEC_PER_MSEC)

enum { ROWS_MAX = 64 };

static void need(int r, const struct err *err)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "actor-driver: store: %s\n", err->msg);
	abort();
}

/* --- findings, as controller/fleet/findings.h would make them --- */

static char *subject_of(const struct fault_kind *f, const struct node *n)
{
	char *text = xstrdup(f->subject), *at = strstr(text, "%s");
	char *subject;

	if (!at)
		return text;
	*at = '\0';
	subject = xasprintf("%s%s%s", text, n->name, at + 2);
	free(text);
	return subject;
}

static void put_incident(struct controller *c, const struct node *n, const struct store_window *row)
{
	const struct policy_subject subject = { .check = row->check };
	const struct policy_rule *rule = policy_match(life_policy(c), &subject);
	const struct store_incident incident = {
		.node = n->name,
		.check = row->check,
		.subject = row->subject,
		.rule = rule ? rule->name : NULL,
		.action = policy_action_names[rule ? rule->action : ACTION_OBSERVE],
		.sentence = row->sentence,
		.level = VERDICT_FAIL,
		.fatal = row->severity == SEVERITY_FATAL,
		.since_us = row->since_us,
	};
	struct err err = ERR_INIT;

	need(store_put_incident(c->store, &incident, c->driver->now_us, &err), &err);
}

static void put_bad(struct controller *c, const struct node *n, const struct fault_kind *f,
		    struct store_window *row)
{
	struct err err = ERR_INIT;

	windows_push(&row->windows, true);
	row->k = f->k;
	row->n = f->n;
	row->last_us = c->driver->now_us;
	row->severity = f->severity;
	row->score = f->n > 2 ? 0.8 : NAN;
	free(row->code);
	row->code = xstrdup(f->code);
	free(row->sentence);
	row->sentence = xasprintf("%s is bad", row->subject);
	need(store_put_window(c->store, n->name, row, &err), &err);
	if (windows_reached(&row->windows, row->k, row->n))
		put_incident(c, n, row);
}

static void put_good(struct controller *c, const struct node *n, struct store_window *row)
{
	struct err err = ERR_INIT;

	windows_push(&row->windows, false);
	if (windows_good(&row->windows) < row->n) {
		need(store_put_window(c->store, n->name, row, &err), &err);
		return;
	}
	need(store_drop_window(c->store, n->name, row, &err), &err);
	need(store_close_incident(c->store, n->name, row->check, c->driver->now_us, &err), &err);
}

static void put_findings(struct controller *c, const struct node *n)
{
	struct store_window *rows = NULL;
	struct err err = ERR_INIT;
	int n_rows = store_windows(c->store, n->name, &rows, ROWS_MAX, &err), j;
	size_t i;

	need(n_rows, &err);
	for (i = 0; i < FAULTS; i++) {
		const struct fault_kind *f = &fault_kinds[i];
		CLEANUP(freep) char *subject = subject_of(f, n);
		struct store_window fresh = { .since_us = c->driver->now_us }, *row = NULL;

		for (j = 0; j < n_rows && !row; j++)
			row = streq(rows[j].check, f->check) ? &rows[j] : NULL;
		if (!row && !n->faults[i])
			continue;
		if (!row) {
			fresh.check = xstrdup(f->check);
			fresh.subject = xstrdup(subject);
		}
		if (n->faults[i])
			put_bad(c, n, f, row ? row : &fresh);
		else if (row)
			put_good(c, n, row);
		if (!row)
			store_window_release(&fresh);
	}
	for (j = 0; j < n_rows; j++)
		store_window_release(&rows[j]);
	free(rows);
}

/* --- reports --- */

static struct report make_report(struct driver *d, const struct node *n, const char *order)
{
	struct report r = report_make();
	size_t i;

	free(r.node);
	free(r.profile);
	free(r.boot_id);
	r.node = xstrdup(n->name);
	r.boot_id = xstrdup(n->c.boot);
	r.profile = xstrdup(order ? "full" : "quick");
	r.sku = xstrdup("hgx");
	r.seq = ++d->seq;
	r.order = order ? json_pack("{s:s, s:s}", "id", order, "kind", "deep") : NULL;
	for (i = 0; i < FAULTS; i++) {
		const struct fault_kind *f = &fault_kinds[i];
		CLEANUP(freep) char *subject = subject_of(f, n);
		struct sample *s;

		if ((!n->faults[i] && !order) || (order && d->now_us < n->busy_until_us))
			continue;
		s = report_put(&r, f->check, subject, 1);
		s->ok = n->faults[i] ? TRI_NO : TRI_YES;
		s->severity = n->faults[i] ? f->severity : SEVERITY_INFO;
	}
	return r;
}

static void bring(struct controller *c, unsigned node, const char *order)
{
	struct driver *d = c->driver;
	struct node *n = &d->nodes[node];
	struct packed body = { PACK_PLAIN, "{}", 2 };
	struct report r = make_report(d, n, order);
	struct store_report row = { .report = &r, .body = &body, .seen_us = d->now_us };
	struct err err = ERR_INIT;

	row.verdict = row.merged = judged(&r, NULL);
	need(store_add(c->store, &row, &err), &err);
	put_findings(c, n);
	seam_report(c, &r, n->replaced);
	report_release(&r);
	judged_done();
	life_touch(c);
	if (order)
		life_point(c, POINT_ANSWERED, node);
	else
		host_wake(c, node);
}

void host_report(struct driver *d, unsigned node)
{
	unsigned i;

	for (i = 0; i < d->n_controllers; i++) {
		if (d->controllers[i].seam)
			bring(&d->controllers[i], node, NULL);
	}
}

void host_replace(struct driver *d, unsigned node)
{
	struct err err = ERR_INIT;
	unsigned i;

	memset(d->nodes[node].faults, 0, sizeof(d->nodes[node].faults));
	d->nodes[node].replaced++;
	for (i = 0; i < d->n_controllers; i++) {
		if (d->controllers[i].seam)
			need(store_begin_anew(d->controllers[i].store, d->nodes[node].name,
					      d->now_us, &err),
			     &err);
	}
	host_report(d, node);
}

/* --- orders --- */

static struct plan *plan(struct driver *d, enum plan_kind kind, unsigned node, unsigned controller)
{
	size_t i = 0;

	while (i < PLANS_MAX && d->plans[i].kind != PLAN_NONE)
		i++;
	if (i == PLANS_MAX)
		abort(); /* PLANS_MAX is exceeded */
	d->plans[i] = (struct plan){ .kind = kind, .node = node, .controller = controller };
	return &d->plans[i];
}

void host_wake(struct controller *c, unsigned node)
{
	struct driver *d = c->driver;
	size_t i;

	for (i = 0; i < PLANS_MAX; i++) {
		if (d->plans[i].kind == PLAN_POLL && d->plans[i].node == node &&
		    d->plans[i].controller == c->number)
			return;
	}
	plan(d, PLAN_POLL, node, c->number)->at_us = d->now_us + POLL_US;
}

static uint64_t takes_us(struct driver *d, unsigned node)
{
	return USEC_PER_SEC + draw(d->seed, "test", node, d->answers[node]++) % (90 * USEC_PER_SEC);
}

static const char *action_of(const struct controller *c, const char *order)
{
	const char *number = strrchr(order, '-');

	return trace_action(c, number ? number + 1 : order);
}

static void poll_orders(struct controller *c, unsigned node)
{
	struct driver *d = c->driver;
	struct node *n = &d->nodes[node];
	CLEANUP(freep) char *order = NULL;
	struct plan *p;

	if (d->now_us < n->silent_until_us)
		return;
	order = seam_order(c, n->name);
	if (!order)
		return;
	trace_line(c, "order %s for %s", n->name, action_of(c, order));
	life_point(c, POINT_ORDERED, node);
	if (d->now_us < n->deaf_until_us)
		return;
	p = plan(d, PLAN_ANSWER, node, c->number);
	p->at_us = d->now_us + takes_us(d, node);
	(void)snprintf(p->order, sizeof(p->order), "%s", order);
}

void host_pairs(struct controller *c)
{
	const char *node, *partner;

	while (seam_wants_others(c, &node, &partner)) {
		const unsigned number = driver_node(c->driver, node);
		struct plan *p = plan(c->driver, PLAN_PAIR, number, c->number);

		trace_line(c, "order %s with %s", node, partner);
		p->at_us = c->driver->now_us + takes_us(c->driver, number);
		(void)snprintf(p->order, sizeof(p->order), "%s", partner);
	}
}

static bool is_good(const struct node *n)
{
	size_t i;

	for (i = 0; i < FAULTS; i++) {
		/* An info finding is no reason for a cordon. */
		if (n->faults[i] && fault_kinds[i].severity != SEVERITY_INFO)
			return false;
	}
	return true;
}

static void answer(struct controller *c, const struct plan *p)
{
	struct driver *d = c->driver;
	struct node *n = &d->nodes[p->node];

	if (d->now_us < n->silent_until_us)
		return;
	trace_line(c, "answer %s for %s", n->name, action_of(c, p->order));
	if (is_good(n) && d->now_us >= n->busy_until_us)
		n->passed_us = d->now_us;
	bring(c, p->node, p->order);
}

static void answer_pair(struct controller *c, const struct plan *p)
{
	const struct node *n = &c->driver->nodes[p->node];
	const bool bad = n->faults[4];

	trace_line(c, "answer %s with %s %s", n->name, p->order, bad ? "bad" : "good");
	seam_with_others(c, n->name, p->order, bad);
	seam_tested_with_others(c, n->name, !bad);
	life_touch(c);
}

/* --- due plans --- */

static struct plan *first_plan(const struct driver *d)
{
	const struct plan *first = NULL;
	size_t i;

	for (i = 0; i < PLANS_MAX; i++) {
		const struct plan *p = &d->plans[i];

		if (p->kind == PLAN_NONE)
			continue;
		if (!first || p->at_us < first->at_us ||
		    (p->at_us == first->at_us &&
		     (p->node < first->node ||
		      (p->node == first->node && p->controller < first->controller))))
			first = p;
	}
	return (struct plan *)(uintptr_t)first;
}

static unsigned first_host(const struct driver *d)
{
	unsigned first = 0, i;

	for (i = 1; i < d->n_nodes; i++) {
		if (d->nodes[i].report_us < d->nodes[first].report_us)
			first = i;
	}
	return first;
}

uint64_t host_due(const struct driver *d)
{
	const struct plan *p = first_plan(d);

	return MIN(d->nodes[first_host(d)].report_us, p ? p->at_us : UINT64_MAX);
}

static void carry_out(struct driver *d, struct plan *p)
{
	const struct plan taken = *p;
	struct controller *c = &d->controllers[taken.controller];

	p->kind = PLAN_NONE;
	if (!c->seam)
		return;
	if (taken.kind == PLAN_POLL)
		poll_orders(c, taken.node);
	else if (taken.kind == PLAN_ANSWER)
		answer(c, &taken);
	else
		answer_pair(c, &taken);
}

void host_go_on(struct driver *d)
{
	const unsigned host = first_host(d);
	struct plan *p = first_plan(d);

	if (p && p->at_us <= d->now_us) {
		carry_out(d, p);
	} else if (d->nodes[host].report_us <= d->now_us) {
		d->nodes[host].report_us += d->report_every_us;
		if (d->nodes[host].silent_until_us <= d->now_us)
			host_report(d, host);
	}
}
