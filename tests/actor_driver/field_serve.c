/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/field_serve.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/actor_driver/check.h"
#include "tests/actor_driver/draw.h"
#include "tests/actor_driver/field.h"
#include "tests/actor_driver/life.h"
#include "tests/actor_driver/trace.h"

/* Out of a thousand requests in normal operation. */
enum { LOST = 12, UNTOLD = 24, REFUSED = 28, CHANGED = 43, IN_TROUBLE = 800, ALL = 1000 };

#define RETRY_US USEC_PER_SEC
enum { HOLDERS_TEXT_MAX = 8192 };
enum { NEVER = 5 }; /* drain rounds until a node's pods are gone; NEVER: they stay */

static bool is_change(enum op op)
{
	return op <= OP_EVICT;
}

/* --- changes of a node --- */

static bool is_conflict(const struct request *r, const struct node *n)
{
	return r->version && strtoull(r->version, NULL, 10) != n->version;
}

/*
 * Is the node already as the change would make it? Then nothing is written and nothing conflicts, so
 * a repeat after a lost answer succeeds. The real cluster checks this first (cluster_kube_change.c).
 */
static bool is_made(const struct request *r, const struct node *n)
{
	switch (r->op) {
	case OP_CORDON:
		return n->c.mark && streq(n->c.mark->action, r->mark->action) &&
		       n->c.mark->epoch == r->mark->epoch;
	case OP_UNCORDON:
		return !n->c.mark && !n->c.unschedulable &&
		       (!r->until_us || n->c.override_us == r->until_us);
	case OP_ANNOTATE:
		return n->c.override_us == r->until_us;
	case OP_HOLD:
		return n->c.hold_us == r->until_us && (!r->until_us || streq(n->c.hold_by, r->by));
	case OP_VERIFIED:
		return !n->c.unverified;
	default:
		return false;
	}
}

static enum cluster_result do_cordon(struct driver *d, const struct request *r, struct node *n)
{
	if (n->c.mark)
		return CLUSTER_NOT_OURS;
	if (is_conflict(r, n))
		return CLUSTER_CONFLICT;
	if (r->dry_run || d->mutant == MUTANT_LOST)
		return CLUSTER_DONE;
	check_done(&d->controllers[r->controller], r);
	n->c.mark = cluster_mark_copy(r->mark);
	n->c.mark->pre = n->c.unschedulable;
	n->c.unschedulable = true;
	n->marked_us = d->now_us;
	return CLUSTER_DONE;
}

static enum cluster_result do_uncordon(struct driver *d, const struct request *r, struct node *n)
{
	if (!n->c.mark && n->c.unschedulable)
		return CLUSTER_NOT_OURS;
	if (is_conflict(r, n))
		return CLUSTER_CONFLICT;
	if (r->dry_run)
		return CLUSTER_DONE;
	if (n->c.mark)
		check_done(&d->controllers[r->controller], r);
	if (n->c.mark && ((!n->c.mark->pre && !r->keep_cordon) || d->mutant == MUTANT_LIFT))
		n->c.unschedulable = false;
	cluster_mark_free(TAKE(n->c.mark));
	if (r->until_us)
		n->c.override_us = r->until_us;
	return CLUSTER_DONE;
}

static enum cluster_result do_annotate(struct driver *d, const struct request *r, struct node *n)
{
	if (is_conflict(r, n))
		return CLUSTER_CONFLICT;
	if (r->dry_run)
		return CLUSTER_DONE;
	check_done(&d->controllers[r->controller], r);
	n->c.override_us = r->until_us;
	return CLUSTER_DONE;
}

static enum cluster_result do_hold(struct driver *d, const struct request *r, struct node *n)
{
	if (n->c.hold_us && !streq(n->c.hold_by, r->by))
		return CLUSTER_NOT_OURS;
	if (is_conflict(r, n))
		return CLUSTER_CONFLICT;
	if (r->dry_run)
		return CLUSTER_DONE;
	check_done(&d->controllers[r->controller], r);
	free(n->c.hold_by);
	n->c.hold_us = r->until_us;
	n->c.hold_by = r->until_us ? xstrdup(r->by) : NULL;
	return CLUSTER_DONE;
}

static enum cluster_result do_verified(struct driver *d, const struct request *r, struct node *n)
{
	if (is_conflict(r, n))
		return CLUSTER_CONFLICT;
	if (r->dry_run)
		return CLUSTER_DONE;
	check_done(&d->controllers[r->controller], r);
	n->c.unverified = false;
	return CLUSTER_DONE;
}

/* The pods take some rounds to leave, and sometimes never do. */
static enum cluster_result do_evict(struct driver *d, const struct request *r, struct node *n)
{
	const uint64_t rounds = draw(d->seed, "rounds", r->node, n->version) % NEVER;

	check_done(&d->controllers[r->controller], r);
	if (r->only_ask || n->n_jobs == 0)
		return CLUSTER_DONE;
	if (d->now_us < r->until_us || n->evicted++ < rounds || (rounds == NEVER - 1 && !d->ended))
		return CLUSTER_AGAIN;
	n->n_jobs = n->evicted = 0;
	return CLUSTER_DONE;
}

static enum cluster_result (*const changes[])(struct driver *d, const struct request *r,
					      struct node *n) = {
	[OP_CORDON] = do_cordon, [OP_UNCORDON] = do_uncordon, [OP_ANNOTATE] = do_annotate,
	[OP_HOLD] = do_hold,	 [OP_VERIFIED] = do_verified, [OP_EVICT] = do_evict,
};

static enum cluster_result change(struct driver *d, const struct request *r)
{
	struct node *n = r->node < NODES_MAX ? &d->nodes[r->node] : NULL;
	enum cluster_result result;

	if (!n || !n->exists)
		return CLUSTER_GONE;
	if (is_made(r, n))
		return CLUSTER_DONE;
	result = changes[r->op](d, r, n);
	if (result == CLUSTER_DONE && !r->dry_run && r->op != OP_EVICT) {
		field_changed(d, r->node);
		life_point(&d->controllers[r->controller], POINT_APPLIED, r->node);
	}
	return result;
}

/* --- the ledger --- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *holder_text(const json_t *holder)
{
	return xasprintf("%s:%s%s", json_string_value(json_object_get(holder, "node")),
			 json_string_value(json_object_get(holder, "kind")),
			 json_is_true(json_object_get(holder, "done")) ? "" : ":reserved");
}

/* Returns the holders as text, sorted; and the first reserved node, NODES_MAX: none. */
static char *holders_text(struct driver *d, const json_t *holders, unsigned *ret_reserved)
{
	struct strbuf sb = STRBUF_INIT(HOLDERS_TEXT_MAX);
	char *texts[2 * NODES_MAX] = { NULL }, *all;
	size_t n = MIN(json_array_size(holders), ARRAY_SIZE(texts)), i;

	*ret_reserved = NODES_MAX;
	for (i = 0; i < n; i++)
		texts[i] = holder_text(json_array_get(holders, i));
	qsort(texts, n, sizeof(texts[0]), by_text);
	for (i = 0; i < n; i++) {
		(void)strbuf_printf(&sb, " %s", texts[i]);
		if (strstr(texts[i], ":reserved"))
			*ret_reserved = MIN(*ret_reserved, driver_node(d, texts[i]));
		free(texts[i]);
	}
	all = xstrdup(strbuf_text(&sb));
	strbuf_release(&sb);
	return all;
}

static void note_ledger(struct driver *d, const struct request *r)
{
	struct controller *c = &d->controllers[r->controller];
	CLEANUP(json_freep) json_t *ledger = json_loads(r->text, 0, NULL);
	const json_t *breaker = json_object_get(ledger, "breaker");
	unsigned reserved;
	CLEANUP(freep)
	char *holders = holders_text(d, json_object_get(ledger, "holders"), &reserved);
	const bool is_open = json_is_true(json_object_get(breaker, "open"));

	trace_line(c, "ledger epoch %lld cordons %zu breaker %s holders%s",
		   (long long)json_integer_value(json_object_get(ledger, "epoch")),
		   json_array_size(json_object_get(breaker, "cordons_us")),
		   is_open ? json_string_value(json_object_get(breaker, "sentence")) : "closed",
		   holders);
	d->tally->breakers += is_open;
	if (r->orphan)
		return;
	if (c->starts > c->taken) {
		c->taken = c->starts;
		life_point(c, POINT_TAKEN_OVER, NODES_MAX);
	} else {
		life_point(c, reserved < NODES_MAX ? POINT_RESERVED : POINT_LEDGER_DONE, reserved);
	}
}

static enum cluster_result write_ledger(struct driver *d, const struct request *r)
{
	if ((r->version ? strtoull(r->version, NULL, 10) : 0) != (d->ledger ? d->ledger_version : 0))
		return CLUSTER_CONFLICT;
	free(d->ledger);
	d->ledger = xstrdup(r->text);
	d->ledger_version++;
	note_ledger(d, r);
	return CLUSTER_DONE;
}

/* --- all requests --- */

/* field_answer() reports the nodes out of service before the answer. */
static enum cluster_result confirm(struct driver *d, const struct request *r)
{
	struct controller *c = &d->controllers[r->controller];

	if (d->now_us < d->cut_until_us)
		return CLUSTER_AGAIN;
	c->confirmed_us = d->now_us;
	life_point(c, POINT_CONFIRMED, NODES_MAX);
	return CLUSTER_DONE;
}

static enum cluster_result serve(struct driver *d, struct request *r)
{
	switch (r->op) {
	case OP_CONDITION:
	case OP_JOBS:
		return r->node < NODES_MAX && d->nodes[r->node].exists ? CLUSTER_DONE
								       : CLUSTER_GONE;
	case OP_CONFIRM:
		return confirm(d, r);
	case OP_READ:
		r->text = xstrdup(d->ledger);
		return d->ledger ? CLUSTER_DONE : CLUSTER_GONE;
	case OP_WRITE:
		return write_ledger(d, r);
	case OP_LIST:
	case OP_WATCH:
		return CLUSTER_DONE;
	default:
		return change(d, r);
	}
}

/* Nothing has to be written, so concurrent changes do not matter. */
static bool is_repeated(const struct driver *d, const struct request *r)
{
	const struct node *n = r->node < NODES_MAX ? &d->nodes[r->node] : NULL;

	return n && n->exists && is_made(r, n);
}

static bool is_in_trouble(const struct driver *d, enum op op)
{
	return d->now_us < d->trouble_until_us && (is_change(op) || !d->trouble_nodes);
}

/* Does the request fail at random? Sets its result. */
static bool goes_wrong(struct driver *d, struct request *r, bool *ret_done)
{
	const uint64_t key = (uint64_t)r->op << 16 | r->controller << 8 | r->node;
	const uint64_t drawn = draw(d->seed, "wrong", key, r->nth) % ALL;

	*ret_done = false;
	if (d->ended)
		return false;
	if (is_in_trouble(d, r->op) && (d->trouble_nodes || drawn < IN_TROUBLE)) {
		r->result = d->trouble;
		*ret_done = d->trouble == CLUSTER_AGAIN &&
			    drawn % 2; /* done, but the answer is lost */
		return d->trouble != CLUSTER_CONFLICT || r->op == OP_WRITE ||
		       (is_change(r->op) && !is_repeated(d, r));
	}
	if (drawn >= CHANGED)
		return false;
	if (drawn >= REFUSED) { /* a concurrent change just before */
		if (r->node < NODES_MAX)
			field_changed(d, r->node);
		return false;
	}
	*ret_done = drawn >= LOST && drawn < UNTOLD;
	r->result = drawn >= UNTOLD ? CLUSTER_REFUSED : CLUSTER_AGAIN;
	return true;
}

static unsigned count_out(const struct driver *d)
{
	unsigned out = 0, i;

	for (i = 0; i < d->n_nodes; i++)
		out += field_is_out(&d->nodes[i]);
	return out;
}

static void note(struct driver *d, const struct request *r, bool wrong)
{
	struct controller *c = &d->controllers[r->controller];
	const char *node = r->node < NODES_MAX ? d->nodes[r->node].name : "-";
	CLEANUP(freep) char *text = r->op == OP_CONDITION ? trace_text(c, r->by) : NULL;
	CLEANUP(freep) char *more = NULL;

	if (r->op == OP_CORDON)
		more = xasprintf(" for %s by %s epoch %" PRIu64 ", %u out: %s",
				 trace_action(c, r->mark->action), r->mark->by, r->mark->epoch,
				 count_out(d), r->mark->reason);
	else if (r->op == OP_CONDITION)
		more = xasprintf(" %d %s", r->healthy, text);
	else if (is_change(r->op))
		more = xasprintf(" until %.3f%s, %u out", trace_time(r->until_us),
				 r->only_ask ? " only asked" : "", count_out(d));
	trace_line(c, "cluster %s %s%s%s %s%s%s", op_names[r->op], node,
		   r->orphan ? " of the dead" : "", r->dry_run ? " dry-run" : "",
		   cluster_result_names[r->result], wrong ? " (in trouble)" : "", more ? more : "");
	d->tally->results[r->op][r->result]++;
}

void field_serve(struct driver *d, struct request *r)
{
	bool done, wrong = goes_wrong(d, r, &done);
	enum cluster_result said = r->result;

	if (wrong && done)
		(void)serve(d, r);
	else if (!wrong)
		said = serve(d, r);
	r->result = said;
	if (r->op == OP_READ || r->op == OP_WRITE) {
		free(r->version);
		r->version = xasprintf("%" PRIu64, d->ledger_version);
	}
	note(d, r, wrong);
}

static const char *words_of(const struct request *r)
{
	static const char *const words[] = {
		[CLUSTER_DONE] = "",
		[CLUSTER_CONFLICT] = "the node changed in the meantime",
		[CLUSTER_NOT_OURS] = "it is another's",
		[CLUSTER_GONE] = "there is no such thing",
		[CLUSTER_REFUSED] = "the cluster forbids it",
		[CLUSTER_AGAIN] = "the cluster could not",
	};

	return words[r->result];
}

/* A client has seen what it wrote, or what it was told to read again. */
static void show_before(struct controller *c, const struct request *r)
{
	struct driver *d = c->driver;
	unsigned i;

	if (!c->synced)
		return;
	if (is_change(r->op) && r->node < NODES_MAX && !r->dry_run &&
	    (r->result == CLUSTER_DONE || r->result == CLUSTER_CONFLICT))
		field_show(c, r->node);
	for (i = 0; r->op == OP_CONFIRM && r->result == CLUSTER_DONE && i < d->n_nodes; i++) {
		if (field_is_out(&d->nodes[i]))
			field_show(c, i);
	}
}

void field_answer(struct controller *c, const struct request *r)
{
	struct driver *d = c->driver;
	struct node *n = r->node < NODES_MAX && d->nodes[r->node].exists ? &d->nodes[r->node]
									 : NULL;
	struct cluster_answer answer = {
		.result = r->result,
		.words = words_of(r),
		.retry_us = r->result == CLUSTER_AGAIN ? RETRY_US : 0,
		.version = r->version,
		.text = r->text,
	};
	unsigned i;

	show_before(c, r);
	if (n && is_change(r->op)) {
		free(n->c.version);
		n->c.version = xasprintf("%" PRIu64, n->version);
		answer.node = &n->c;
	}
	if (n && r->op == OP_JOBS) {
		answer.jobs = n->jobs;
		answer.n_jobs = n->n_jobs;
	}
	for (i = 0; r->each && i < d->n_nodes; i++) {
		if (d->nodes[i].exists)
			r->each(r->call.context, &d->nodes[i].c);
	}
	cluster_answer(&r->call, &answer);
	if (r->op == OP_WRITE && r->result == CLUSTER_DONE)
		life_point(c, POINT_RESERVED_KNOWN, NODES_MAX);
	else if (is_change(r->op) && r->result == CLUSTER_DONE)
		life_point(c, POINT_APPLIED_KNOWN, r->node);
}
