/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/cluster_kube.h"

#include <jansson.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_condition.h"
#include "controller/cluster/kube/kube_drain.h"
#include "controller/cluster/kube/kube_event.h"
#include "controller/cluster/kube/kube_ledger.h"
#include "controller/cluster/kube/kube_list.h"
#include "controller/cluster/kube/kube_node.h"
#include "controller/cluster/kube/kube_path.h"
#include "controller/cluster/kube/kube_placement.h"
#include "controller/cluster/kube/kube_watch.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct cluster_kube {
	struct cluster cluster; /* first */
	struct cluster_kube_options options;
	const struct cluster_watcher *watcher; /* or NULL */
	struct cluster_watcher own;	       /* ours, called first */
	struct kube_watch *watch;
	struct kube_lists lists;
	bool whole; /* the list is complete, but not reported so yet */
	void *seen; /* tree of the nodes as last reported, by name */
	struct kube_drains *drains;
	struct kube_placements placements;
	struct kube_events *events;
	struct kube_conditions *conditions;
	struct kube_op *first, **last; /* changes, running ones first */
	size_t n_ops, running;
	bool closing;
};

static inline struct cluster_kube *kube_of(struct cluster *c)
{
	return (struct cluster_kube *)c;
}

/* Why nothing may be changed now, or NULL. */
static inline const char *kube_stopped(const struct cluster_kube *k)
{
	return k->options.stopped(k->options.context);
}

extern const struct cluster_watcher kube_own_watcher; /* its context is set by us */

/* Report the list as complete, once it is and we lead. */
static void kube_seen_whole(struct cluster_kube *k);

/*
 * Nodes as last reported to the watcher. The watch and the answers to our own writes arrive on two
 * connections in any order; both pass through here, and only newer states are passed on.
 */

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct cluster_node *)a)->name,
		      ((const struct cluster_node *)b)->name);
}

static struct cluster_node *find(const struct cluster_kube *k, const char *name)
{
	CLEANUP(freep) char *copy = xstrdup(name);
	const struct cluster_node key = { .name = copy };
	struct cluster_node **found = tfind(&key, &k->seen, compare);

	return found ? *found : NULL;
}

static const struct cluster_node *kube_seen(const struct cluster_kube *k, const char *name)
{
	return find(k, name);
}

static void seen_free(void *p)
{
	cluster_node_release(p);
	free(p);
}

static void kube_seen_release(struct cluster_kube *k)
{
	tdestroy(k->seen, seen_free);
	k->seen = NULL;
}

/*
 * Officially opaque to clients, but a counter of changes in every server so far (KEP-5504 makes
 * that the rule).
 */
static bool kube_version_before(const char *a, const char *b)
{
	const size_t n_a = strlen(a), n_b = strlen(b);

	if (n_a == 0 || n_b == 0 || strspn(a, "0123456789") != n_a ||
	    strspn(b, "0123456789") != n_b || a[0] == '0' || b[0] == '0')
		return false;
	return n_a != n_b ? n_a < n_b : strcmp(a, b) < 0;
}

static bool same_mark(const struct cluster_mark *a, const struct cluster_mark *b)
{
	if (!a || !b)
		return a == b;
	return a->pre == b->pre && a->at_us == b->at_us && streq(a->action, b->action);
}

/* Nothing relevant to decisions differs in `now`. */
static bool kube_seen_same(const struct cluster_node *told, const struct cluster_node *now)
{
	/* A young node is hands-off, too, without a mark on the node. */
	return (told->hands_off || !now->hands_off) && streq(told->uid, now->uid) &&
	       told->unschedulable == now->unschedulable && told->managed == now->managed &&
	       told->override_us == now->override_us && told->hold_us == now->hold_us &&
	       streq(told->hold_by, now->hold_by) && same_mark(told->mark, now->mark) &&
	       told->unverified == now->unverified && streq(told->boot, now->boot) &&
	       streq(told->address, now->address) && json_equal(told->labels, now->labels);
}

static void tell(const struct cluster_kube *k, const struct cluster_node *node)
{
	if (k->watcher)
		k->watcher->node(k->watcher->context, node);
}

static struct cluster_node *add(struct cluster_kube *k, const struct cluster_node *node)
{
	struct cluster_node *n = xcalloc(1, sizeof(*n));

	*n = cluster_node_copy(node);
	if (!tsearch(n, &k->seen, compare))
		abort(); /* out of memory */
	return n;
}

static void replace(struct cluster_node *n, const struct cluster_node *node)
{
	struct cluster_node fresh = cluster_node_copy(node);

	cluster_node_release(n);
	*n = fresh;
}

static void on_gone(void *context, const char *name)
{
	struct cluster_kube *k = context;
	struct cluster_node *n = find(k, name);

	if (n) {
		(void)tdelete(n, &k->seen, compare);
		seen_free(n);
	}
	kube_conditions_gone(k->conditions, name);
	if (k->watcher)
		k->watcher->gone(k->watcher->context, name);
}

static void on_node(void *context, const struct cluster_node *node)
{
	struct cluster_kube *k = context;
	struct cluster_node *n = find(k, node->name);

	if (n && !streq(n->uid, node->uid) && !kube_version_before(node->version, n->version)) {
		on_gone(k, node->name); /* another node of that name, without a deletion seen */
		n = NULL;
	}
	if (!n)
		n = add(k, node);
	else if (!kube_version_before(node->version, n->version))
		replace(n, node);
	/* It has to be in the list, even if older than our write. */
	tell(k, n);
}

static void on_synced(void *context)
{
	struct cluster_kube *k = context;

	k->whole = true;
	kube_seen_whole(k);
}

static void kube_seen_whole(struct cluster_kube *k)
{
	if (!k->whole || !k->watcher || !k->options.leads(k->options.context))
		return;
	k->whole = false;
	k->watcher->synced(k->watcher->context);
}

/* A node as found or left by one of our requests; newer states from the watch stay. */
static void kube_seen_fresh(struct cluster_kube *k, const json_t *raw)
{
	struct cluster_node node = { 0 }, *n;
	struct err err = ERR_INIT;

	if (kube_node_read(raw, k->cluster.names, &node, &err) < 0) {
		log_warning("the answer is not a Node: %s", err.msg);
		return;
	}
	n = find(k, node.name);
	/* Deleted or replaced meanwhile: the watch knows better. */
	if (n && streq(n->uid, node.uid) && kube_version_before(n->version, node.version)) {
		replace(n, &node);
		tell(k, n);
	}
	cluster_node_release(&node);
}

/* A newer state of a node that was reported. */
static void kube_seen_newer(struct cluster_kube *k, const struct cluster_node *node)
{
	struct cluster_node *n = find(k, node->name);
	CLEANUP(freep) char *hands_off = n ? xstrdup(n->hands_off) : NULL;

	if (!n)
		return;
	replace(n, node);
	if (!n->hands_off) /* young nodes are left alone, without a mark on the node */
		n->hands_off = TAKE(hands_off);
	tell(k, n);
}

static void on_stale(void *context, const char *words)
{
	const struct cluster_kube *k = context;

	if (k->watcher)
		k->watcher->stale(k->watcher->context, words);
}

const struct cluster_watcher kube_own_watcher = {
	.node = on_node, .gone = on_gone, .synced = on_synced, .stale = on_stale
};

/*
 * Which nodes are out of service now? A watch reports changes with a delay, and one that lags or
 * hangs reports nothing without being noticed. So before the budget is used the server itself is
 * asked, without a cache, for cordoned nodes, of which there are few in a fleet of any size.
 */

#define CORDONED "spec.unschedulable=true"
#define RETRY_US USEC_PER_SEC

struct confirm {
	struct cluster_kube *k;
	struct cluster_call call;
	bool behind; /* the view differs in a way that this cannot fix */
};

static void on_cordoned(void *context, const struct cluster_node *node)
{
	struct confirm *confirm = context;
	struct cluster_kube *k = confirm->k;
	const struct cluster_node *told = kube_seen(k, node->name);

	if (!node->unschedulable)
		return;
	if (!told || !streq(told->uid, node->uid))
		confirm->behind = true; /* the watch or a list will report it soon */
	else if (kube_version_before(told->version, node->version))
		kube_seen_newer(k, node);
	else if (!told->unschedulable && !kube_version_before(node->version, told->version))
		confirm->behind = true;
}

static void on_done(void *context, const struct cluster_answer *answer)
{
	CLEANUP(freep) struct confirm *confirm = context;
	static const struct cluster_answer behind = {
		.result = CLUSTER_AGAIN,
		.words = "the watch has not yet reported nodes that are out of service",
		.retry_us = RETRY_US,
	};
	const bool done = answer->result == CLUSTER_DONE;

	cluster_answer(&confirm->call, done && confirm->behind ? &behind : answer);
}

static void kube_confirm(struct cluster *c, const struct cluster_call *call)
{
	struct cluster_kube *k = kube_of(c);
	struct confirm *confirm = xcalloc(1, sizeof(*confirm));
	const struct kube_chosen chosen = { k->options.selector, CORDONED };

	*confirm = (struct confirm){ k, *call, false };
	kube_list(&k->lists, k->options.kube, &chosen, on_cordoned,
		  &(struct cluster_call){ on_done, confirm });
}

/* Changes of a node: read, decide, write; and what to do if an answer is lost. */

#define RETRY_US USEC_PER_SEC

/* A requested change. */
struct kube_op {
	struct kube_op *next;
	struct cluster_kube *k;
	struct cluster_call call;
	struct kube_plan (*plan)(const struct kube_op *op, const struct kube_subject *s);
	char *node, *version; /* `version` NULL: any */
	struct cluster_mark *mark;
	uint64_t until_us;
	char *by;
	bool dry_run, keep_cordon, running;
	char *lost; /* a write was sent, and failed in this way without an answer */
	struct kube_request *request;
};

static struct kube_plan plan_cordon(const struct kube_op *op, const struct kube_subject *s)
{
	return kube_plan_cordon(s, op->mark);
}

static struct kube_plan plan_uncordon(const struct kube_op *op, const struct kube_subject *s)
{
	return kube_plan_uncordon(s, op->until_us, op->keep_cordon);
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

/* --- list of changes --- */

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

/* Answer the caller and end it. */
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

/* --- one change --- */

static void look(struct kube_op *op);

/* Is it unknown whether it was done: no complete answer, or a server error? */
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
	/* The ID connects our log with the server's audit log. */
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

/* Is the node as it was when decided on, in all relevant members? */
static bool is_as_decided(const struct kube_op *op, const struct cluster_node *node)
{
	const struct cluster_node *told = kube_seen(op->k, op->node);

	return !op->version || streq(op->version, node->version) ||
	       (told && streq(op->version, told->version) && kube_seen_same(told, node));
}

/* Decide on the node just read. */
static void decide(struct kube_op *op, const json_t *raw, const struct cluster_node *node)
{
	const struct kube_subject subject = { raw, node, &op->k->options.taint,
					      op->k->cluster.names };
	const char *stopped = kube_stopped(op->k);
	const bool as_decided = is_as_decided(op, node);
	struct kube_plan plan = op->plan(op, &subject);
	CLEANUP(json_freep) json_t *patch = plan.patch;

	if (!as_decided || plan.result != CLUSTER_DONE)
		kube_seen_fresh(op->k, raw); /* for the next decision */
	if (plan.result == CLUSTER_DONE && !patch)
		conclude(op, &(struct cluster_answer){
				     .result = CLUSTER_DONE, .words = "", .node = node });
	else if (op->lost)
		say(op, CLUSTER_AGAIN, op->lost);
	else if (!as_decided)
		say(op, CLUSTER_CONFLICT, "the node changed in the meantime");
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
		say(op, CLUSTER_GONE, err.msg); /* no node can have such a name */
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
		op = k->first; /* it may have been freed, and others with it */
	}
}

/* Answers pending calls with CLUSTER_AGAIN. */
static void kube_ops_end(struct cluster_kube *k)
{
	while (k->first)
		say(k->first, CLUSTER_AGAIN, "the controller is stopping");
}

/* --- operations --- */

/* Start a prepared change, or answer it if there is no room. */
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
		say(op, CLUSTER_AGAIN, "too many requests are waiting");
	else
		start_waiting(k);
}

static void kube_cordon(struct cluster *c, const struct cluster_change *change,
			const struct cluster_mark *mark, const struct cluster_call *call)
{
	op_begin(c, change, call,
		 &(struct kube_op){ .plan = plan_cordon, .mark = cluster_mark_copy(mark) });
}

static void kube_uncordon(struct cluster *c, const struct cluster_change *change,
			  uint64_t override_us, const struct cluster_call *call)
{
	op_begin(c, change, call,
		 &(struct kube_op){ .plan = plan_uncordon,
				    .until_us = override_us,
				    .keep_cordon = change->keep_cordon });
}

static void kube_annotate(struct cluster *c, const struct cluster_change *change,
			  uint64_t override_us, const struct cluster_call *call)
{
	op_begin(c, change, call,
		 &(struct kube_op){ .plan = plan_override, .until_us = override_us });
}

static void kube_hold(struct cluster *c, const struct cluster_change *change, uint64_t until_us,
		      const char *by, const struct cluster_call *call)
{
	op_begin(c, change, call,
		 &(struct kube_op){ .plan = plan_hold, .until_us = until_us, .by = xstrdup(by) });
}

static void kube_verified(struct cluster *c, const struct cluster_change *change,
			  const struct cluster_call *call)
{
	op_begin(c, change, call, &(struct kube_op){ .plan = plan_verified });
}

static const char *stopped(void *context)
{
	return kube_stopped(context);
}

static void noted(void *context, const json_t *raw)
{
	kube_seen_fresh(context, raw);
}

/* --- the table --- */

static void list(struct cluster *c, void (*node)(void *context, const struct cluster_node *node),
		 const struct cluster_call *call)
{
	struct cluster_kube *k = kube_of(c);

	const struct kube_chosen chosen = { k->options.selector, NULL };

	kube_list(&k->lists, k->options.kube, &chosen, node, call);
}

static int watch(struct cluster *c, const struct cluster_watcher *watcher, struct err *err)
{
	struct cluster_kube *k = kube_of(c);
	const struct kube_watch_options options = { .loop = k->options.loop,
						    .kube = k->options.kube,
						    .selector = k->options.selector,
						    .young_us = k->options.young_us,
						    .mono_us = k->options.mono_us,
						    .real_us = k->options.real_us };

	kube_watch_free(TAKE(k->watch));
	kube_seen_release(k);
	k->whole = false;
	k->watcher = watcher;
	return kube_watch_new(&options, &k->own, &k->watch, err);
}

static void condition(struct cluster *c, const struct cluster_condition *condition,
		      const struct cluster_call *call)
{
	kube_conditions_tell(kube_of(c)->conditions, condition, call);
}

static void event(struct cluster *c, const struct cluster_event *event)
{
	struct cluster_kube *k = kube_of(c);
	const struct cluster_node *node = event->job ? NULL : kube_seen(k, event->node);

	kube_events_tell(k->events, event, node ? node->uid : NULL);
}

static void evict(struct cluster *c, const struct cluster_change *change,
		  const struct cluster_call *call)
{
	kube_drain(kube_of(c)->drains, change, call);
}

static void jobs(struct cluster *c, const char *node, const struct cluster_call *call)
{
	kube_drain_jobs(kube_of(c)->drains, node, call);
}

static void placement(struct cluster *c, const char *job, const struct cluster_call *call)
{
	kube_placement(&kube_of(c)->placements, job, call);
}

static void ledger_read(struct cluster *c, const struct cluster_call *call)
{
	kube_ledger_read(kube_of(c)->options.ledger, call);
}

static void ledger_write(struct cluster *c, const char *version, const char *text,
			 const struct cluster_call *call)
{
	kube_ledger_write(kube_of(c)->options.ledger, version, text, call);
}

static const char *why_stopped(struct cluster *c)
{
	return kube_stopped(kube_of(c));
}

static void end(struct cluster *c)
{
	struct cluster_kube *k = kube_of(c);

	k->closing = true;
	k->watcher = NULL;
	kube_watch_free(k->watch);
	kube_ops_end(k);
	kube_lists_close(&k->lists);
	kube_drains_free(k->drains);
	kube_placements_close(&k->placements);
	kube_conditions_free(k->conditions);
	kube_events_free(k->events);
	kube_seen_release(k);
	free(k);
}

static const struct cluster_ops kube_ops = {
	.name = "kubernetes",
	.conditions = true,
	.close = end,
	.list = list,
	.watch = watch,
	.confirm = kube_confirm,
	.cordon = kube_cordon,
	.uncordon = kube_uncordon,
	.annotate = kube_annotate,
	.condition = condition,
	.event = event,
	.hold = kube_hold,
	.verified = kube_verified,
	.evict = evict,
	.jobs = jobs,
	.placement = placement,
	.ledger_read = ledger_read,
	.ledger_write = ledger_write,
	.stopped = why_stopped,
};

void cluster_kube_tick(struct cluster *c)
{
	struct cluster_kube *k = kube_of(c);

	if (!k->options.loop && k->watch)
		kube_watch_tick(k->watch);
	kube_seen_whole(k);
	kube_conditions_tick(k->conditions);
	kube_events_tick(k->events);
}

struct cluster *cluster_kube_new(const struct cluster_kube_options *options)
{
	struct cluster_kube *k = xcalloc(1, sizeof(*k));
	const struct kube_drains_options drains = {
		.kube = options->kube,
		.jobs = options->jobs,
		.mono_us = options->mono_us,
		.stopped = stopped,
		.context = k,
	};
	const struct kube_events_options events = { options->kube, options->mono_us,
						    options->real_us, stopped, k };
	const struct kube_conditions_options conditions = {
		options->kube, options->mono_us, options->real_us, stopped, noted, k
	};

	k->cluster.ops = &kube_ops;
	k->cluster.names = kube_names(options->kube);
	k->options = *options;
	k->last = &k->first;
	k->own = kube_own_watcher;
	k->own.context = k;
	k->drains = kube_drains_new(&drains);
	k->placements = (struct kube_placements){ .kube = options->kube, .jobs = options->jobs };
	k->events = kube_events_new(&events);
	k->conditions = kube_conditions_new(&conditions);
	return &k->cluster;
}
