/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a node: read, decide, write; and what is to be thought of a lost answer. */
#include <stdlib.h>

#include "controller/cluster/kube/cluster_kube_inside.h"
#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_node.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define RETRY_US USEC_PER_SEC

/* A change that was asked for. */
struct kube_op {
	struct kube_op *next;
	struct cluster_kube *k;
	struct cluster_call call;
	struct kube_plan (*plan)(const struct kube_op *op, const struct kube_subject *s);
	char *node, *version; /* `version` NULL: whatever it is now */
	struct cluster_mark *mark;
	uint64_t until_us;
	char *by;
	bool dry_run, running;
	char *lost; /* a writing was sent, and this came instead of its answer */
	struct kube_request *request;
};

static struct kube_plan plan_cordon(const struct kube_op *op, const struct kube_subject *s)
{
	return kube_plan_cordon(s, op->mark);
}

static struct kube_plan plan_uncordon(const struct kube_op *op, const struct kube_subject *s)
{
	return kube_plan_uncordon(s, op->until_us);
}

static struct kube_plan plan_override(const struct kube_op *op, const struct kube_subject *s)
{
	return kube_plan_override(s, op->until_us);
}

static struct kube_plan plan_hold(const struct kube_op *op, const struct kube_subject *s)
{
	return kube_plan_hold(s, op->until_us, op->by);
}

static struct kube_plan plan_verified(const struct kube_op *op UNUSED, const struct kube_subject *s)
{
	return kube_plan_verified(s);
}

/* --- the list of them --- */

static void op_free(struct kube_op *op)
{
	kube_cancel(op->request);
	free(op->node);
	free(op->version);
	free(op->by);
	free(op->lost);
	cluster_mark_free(op->mark);
	free(op);
}

static void op_leave(struct kube_op *op)
{
	struct cluster_kube *k = op->k;
	struct kube_op **at = &k->first;

	while (*at != op)
		at = &(*at)->next;
	*at = op->next;
	if (!op->next)
		k->last = at;
	k->n_ops--;
	k->running -= op->running;
}

static void start_waiting(struct cluster_kube *k);

/* The end of it: whoever asked is told. */
static void conclude(struct kube_op *op, const struct cluster_answer *answer)
{
	struct cluster_kube *k = op->k;

	op_leave(op);
	cluster_answer(&op->call, answer);
	op_free(op);
	if (!k->closing)
		start_waiting(k);
}

static void say(struct kube_op *op, enum cluster_result result, const char *words)
{
	conclude(op, &(struct cluster_answer){ .result = result,
					       .words = words,
					       .retry_us = result == CLUSTER_AGAIN ? RETRY_US : 0 });
}

static void pass_on(struct kube_op *op, const struct kube_answer *a)
{
	conclude(op, &(struct cluster_answer){
			     .result = a->result, .words = a->words, .retry_us = a->retry_us });
}

/* --- one of them --- */

static void look(struct kube_op *op);

/* Nobody knows whether it was done: no whole answer came, or the server failed in the middle. */
static bool is_lost(const struct kube_answer *a)
{
	return a->status == 0 || a->status >= 500;
}

static void on_written(void *context, const struct kube_answer *a)
{
	struct kube_op *op = context;
	struct cluster_node node = { 0 };
	struct cluster_answer answer = { .result = CLUSTER_DONE, .words = "" };

	op->request = NULL;
	if (a->result != CLUSTER_DONE && is_lost(a)) {
		op->lost = xstrdup(a->words);
		look(op);
		return;
	}
	/* The number joins our log with the server's audit. */
	log_info("asked to write node=%s status=%u audit=%s", op->node, a->status, a->audit);
	if (a->result != CLUSTER_DONE) {
		pass_on(op, a);
		return;
	}
	if (a->body && !op->dry_run)
		kube_seen_fresh(op->k, a->body);
	if (a->body && kube_node_read(a->body, op->k->cluster.names, &node, NULL) == 0)
		answer.node = &node;
	conclude(op, &answer);
	cluster_node_release(&node);
}

static void write_patch(struct kube_op *op, const json_t *patch)
{
	char path[KUBE_PATH_MAX];
	const struct kube_call call = {
		.method = "PATCH",
		.path = path,
		.content = KUBE_MERGE,
		.body = patch,
		.dry_run = op->dry_run,
		.timeout_us = KUBE_WRITE_TIMEOUT_S * USEC_PER_SEC,
		.done = on_written,
		.context = op,
	};
	struct err err = ERR_INIT;
	int r = kube_path(path, &err, "/api/v1/nodes/%s", op->node);

	if (r == 0)
		r = kube_send(op->k->options.kube, &call, &op->request, &err);
	if (r < 0)
		say(op, CLUSTER_AGAIN, err.msg);
}

/* Is it the node that was decided on, in all that matters? */
static bool is_as_decided(const struct kube_op *op, const struct cluster_node *node)
{
	const struct cluster_node *told = kube_seen(op->k, op->node);

	return !op->version || streq(op->version, node->version) ||
	       (told && streq(op->version, told->version) && kube_seen_same(told, node));
}

/* Of the node as it was read just now. */
static void decide(struct kube_op *op, const json_t *raw, const struct cluster_node *node)
{
	const struct kube_subject subject = { raw, node, &op->k->options.taint,
					      op->k->cluster.names };
	const char *stopped = kube_stopped(op->k);
	const bool as_decided = is_as_decided(op, node);
	struct kube_plan plan = op->plan(op, &subject);
	CLEANUP(json_freep) json_t *patch = plan.patch;

	if (!as_decided || plan.result != CLUSTER_DONE)
		kube_seen_fresh(op->k, raw); /* whoever decides again decides on this */
	if (plan.result == CLUSTER_DONE && !patch)
		conclude(op, &(struct cluster_answer){
				     .result = CLUSTER_DONE, .words = "", .node = node });
	else if (op->lost)
		say(op, CLUSTER_AGAIN, op->lost);
	else if (!as_decided)
		say(op, CLUSTER_CONFLICT, "the node was changed meanwhile");
	else if (plan.result != CLUSTER_DONE)
		say(op, plan.result, plan.words);
	else if (stopped)
		say(op, CLUSTER_AGAIN, stopped);
	else
		write_patch(op, patch);
}

static void on_read(void *context, const struct kube_answer *a)
{
	struct kube_op *op = context;
	struct cluster_node node = { 0 };
	struct err err = ERR_INIT;

	op->request = NULL;
	if (a->result != CLUSTER_DONE) {
		pass_on(op, a);
		return;
	}
	if (kube_node_read(a->body, op->k->cluster.names, &node, &err) < 0 ||
	    !streq(node.name, op->node))
		say(op, CLUSTER_AGAIN,
		    err.msg[0] ? err.msg : "the server answered with another node");
	else
		decide(op, a->body, &node);
	cluster_node_release(&node);
}

static void look(struct kube_op *op)
{
	char path[KUBE_PATH_MAX];
	const struct kube_call call = {
		.method = "GET", .path = path, .done = on_read, .context = op
	};
	struct err err = ERR_INIT;
	int r = kube_path(path, &err, "/api/v1/nodes/%s", op->node);

	if (r < 0)
		say(op, CLUSTER_GONE, err.msg); /* no node has such a name */
	else if (kube_send(op->k->options.kube, &call, &op->request, &err) < 0)
		say(op, CLUSTER_AGAIN, err.msg);
}

static void start_waiting(struct cluster_kube *k)
{
	struct kube_op *op = k->first;

	while (k->running < KUBE_OPS_AT_ONCE && op) {
		if (op->running) {
			op = op->next;
			continue;
		}
		op->running = true;
		k->running++;
		look(op);
		op = k->first; /* it may be gone, and others with it */
	}
}

void kube_ops_end(struct cluster_kube *k)
{
	while (k->first)
		say(k->first, CLUSTER_AGAIN, "the controller ends");
}

/* --- what is asked --- */

/* Begin what was prepared; a change that finds no place is answered. */
static void op_begin(struct cluster *c, const struct cluster_change *change,
		     const struct cluster_call *call, const struct kube_op *what)
{
	struct cluster_kube *k = kube_of(c);
	struct kube_op *op = xcalloc(1, sizeof(*op));

	*op = *what;
	op->k = k;
	op->call = *call;
	op->node = xstrdup(change->node);
	op->version = xstrdup(change->version);
	op->dry_run = change->dry_run;
	*k->last = op;
	k->last = &op->next;
	k->n_ops++;
	if (k->closing || k->n_ops > KUBE_OPS_MAX)
		say(op, CLUSTER_AGAIN, "too much waits already");
	else
		start_waiting(k);
}

void kube_cordon(struct cluster *c, const struct cluster_change *change,
		 const struct cluster_mark *mark, const struct cluster_call *call)
{
	op_begin(c, change, call,
		 &(struct kube_op){ .plan = plan_cordon, .mark = cluster_mark_copy(mark) });
}

void kube_uncordon(struct cluster *c, const struct cluster_change *change, uint64_t override_us,
		   const struct cluster_call *call)
{
	op_begin(c, change, call,
		 &(struct kube_op){ .plan = plan_uncordon, .until_us = override_us });
}

void kube_annotate(struct cluster *c, const struct cluster_change *change, uint64_t override_us,
		   const struct cluster_call *call)
{
	op_begin(c, change, call,
		 &(struct kube_op){ .plan = plan_override, .until_us = override_us });
}

void kube_hold(struct cluster *c, const struct cluster_change *change, uint64_t until_us,
	       const char *by, const struct cluster_call *call)
{
	op_begin(c, change, call,
		 &(struct kube_op){ .plan = plan_hold, .until_us = until_us, .by = xstrdup(by) });
}

void kube_verified(struct cluster *c, const struct cluster_change *change,
		   const struct cluster_call *call)
{
	op_begin(c, change, call, &(struct kube_op){ .plan = plan_verified });
}
