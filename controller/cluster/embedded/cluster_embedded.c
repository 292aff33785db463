/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/embedded/cluster_embedded.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>

#include "controller/cluster/cluster.h"
#include "controller/store/store_cluster.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Retry interval after a failure. */
#define AGAIN_US USEC_PER_SEC

struct node {
	struct cluster_node c; /* `version` is filled in when shown */
	uint64_t version;
	char *condition;
};

/* A call that waits for the commit, or a change to be reported after it. */
struct pending {
	struct cluster_call call;
	enum cluster_result result;
	const char *words; /* static */
	char *node;	   /* NULL: the ledger */
	bool changed;	   /* report it to the watcher */
	bool list;
	void (*each)(void *context, const struct cluster_node *node);
	uint64_t version; /* of the ledger */
	char *text;
};

struct embedded {
	struct cluster cluster; /* first */
	struct cluster_embedded_options options;
	struct cluster_names names;
	const struct cluster_watcher *watcher;
	void *tree; /* struct node, by name */
	struct pending *pending;
	size_t n_pending;
	bool sync;   /* everything has to be reported to the watcher */
	bool broken; /* a write to the store failed: the store's state counts, not ours */
};

extern const struct cluster_ops embedded_ops;

static struct embedded *embedded_of(struct cluster *c);
static struct node *embedded_find(const struct embedded *e, const char *name);
/* The node for the outside. Borrowed until the next call. */
static const struct cluster_node *embedded_show(struct node *n);
/* Store it in the open transaction, with its version incremented. */
static int embedded_keep(struct embedded *e, struct node *n, struct err *err);
/* Answer the call after the next commit. Returns NULL if too many wait; it was answered then. */
static struct pending *embedded_wait(struct embedded *e, const struct cluster_call *call,
				     const char *node);
/* Answer the call with the result of a change, and why it failed. `words` is static. */
static void embedded_conclude(struct embedded *e, const struct cluster_call *call, const char *node,
			      enum cluster_result result, const char *words);
static void embedded_close(struct cluster *c);

/* Operations of the embedded cluster. */

static uint64_t now_us(const struct embedded *e)
{
	return e->options.now_us(e->options.context);
}

/* --- operations --- */

/* The node of a change; NULL: the call was answered. */
static struct node *node_for(struct embedded *e, const struct cluster_change *change,
			     const struct cluster_call *call)
{
	struct node *n = embedded_find(e, change->node);

	if (!n)
		embedded_conclude(e, call, change->node, CLUSTER_GONE, "there is no such node");
	else if (change->version && !streq(change->version, embedded_show(n)->version)) {
		embedded_conclude(e, call, change->node, CLUSTER_CONFLICT,
				  "the node changed in the meantime");
		n = NULL;
	}
	return n;
}

/* Store the change, or answer that this failed. */
static void finish(struct embedded *e, struct node *n, const struct cluster_change *change,
		   const struct cluster_call *call)
{
	int r = change->dry_run ? 0 : embedded_keep(e, n, NULL);

	embedded_conclude(e, call, change->node, r < 0 ? CLUSTER_AGAIN : CLUSTER_DONE,
			  r < 0 ? "the store could not be written" : "");
}

static void embedded_cordon(struct cluster *c, const struct cluster_change *change,
			    const struct cluster_mark *mark, const struct cluster_call *call)
{
	struct embedded *e = embedded_of(c);
	struct node *n = node_for(e, change, call);

	if (!n)
		return;
	if (n->c.mark && !streq(n->c.mark->action, mark->action)) {
		embedded_conclude(e, call, change->node, CLUSTER_NOT_OURS,
				  "another action has already cordoned it");
		return;
	}
	if (!n->c.mark && !change->dry_run) {
		n->c.mark = cluster_mark_copy(mark);
		n->c.mark->pre = n->c.unschedulable;
		n->c.unschedulable = true;
	}
	finish(e, n, change, call);
}

static void embedded_uncordon(struct cluster *c, const struct cluster_change *change,
			      uint64_t override_us, const struct cluster_call *call)
{
	struct embedded *e = embedded_of(c);
	struct node *n = node_for(e, change, call);

	if (!n)
		return;
	if (!n->c.mark && n->c.unschedulable) {
		embedded_conclude(e, call, change->node, CLUSTER_NOT_OURS,
				  "someone else cordoned it");
		return;
	}
	if (!change->dry_run) {
		if (n->c.mark && !n->c.mark->pre && !change->keep_cordon)
			n->c.unschedulable = false;
		cluster_mark_free(TAKE(n->c.mark));
		if (override_us)
			n->c.override_us = override_us;
	}
	finish(e, n, change, call);
}

static void embedded_annotate(struct cluster *c, const struct cluster_change *change,
			      uint64_t override_us, const struct cluster_call *call)
{
	struct embedded *e = embedded_of(c);
	struct node *n = node_for(e, change, call);

	if (!n)
		return;
	if (!change->dry_run)
		n->c.override_us = override_us;
	finish(e, n, change, call);
}

static void embedded_condition(struct cluster *c, const struct cluster_condition *condition,
			       const struct cluster_call *call)
{
	static const char *const status[] = { "Unknown", "False", "True" };
	const struct cluster_change change = { .node = condition->node };
	struct embedded *e = embedded_of(c);
	struct node *n = node_for(e, &change, call);
	CLEANUP(json_freep) json_t *value = NULL;

	if (!n)
		return;
	value = json_pack("{s:s, s:s, s:s}", "status", status[condition->healthy + 1], "reason",
			  condition->reason, "message", condition->message);
	free(n->condition);
	n->condition = json_line(value);
	finish(e, n, &change, call);
}

static void embedded_event(struct cluster *c, const struct cluster_event *event)
{
	struct embedded *e = embedded_of(c);

	(void)store_add_event(e->options.store, event->job ? event->job : event->node,
			      event->warning, event->reason, event->message, now_us(e), NULL);
	e->options.touch(e->options.context);
}

static void embedded_hold(struct cluster *c, const struct cluster_change *change, uint64_t until_us,
			  const char *by, const struct cluster_call *call)
{
	struct embedded *e = embedded_of(c);
	struct node *n = node_for(e, change, call);

	if (!n)
		return;
	if (n->c.hold_us && !streq(n->c.hold_by, by)) {
		embedded_conclude(e, call, change->node, CLUSTER_NOT_OURS,
				  "it is held for another test or action");
		return;
	}
	if (!change->dry_run) {
		free(n->c.hold_by);
		n->c.hold_us = until_us;
		n->c.hold_by = until_us ? xstrdup(by) : NULL;
	}
	finish(e, n, change, call);
}

/* Nothing runs in the embedded cluster, so there is nothing left. */
static void embedded_evict(struct cluster *c, const struct cluster_change *change,
			   const struct cluster_call *call)
{
	struct embedded *e = embedded_of(c);

	if (node_for(e, change, call))
		embedded_conclude(e, call, change->node, CLUSTER_DONE, "");
}

static void embedded_list(struct cluster *c,
			  void (*each)(void *context, const struct cluster_node *node),
			  const struct cluster_call *call)
{
	struct pending *p = embedded_wait(embedded_of(c), call, NULL);

	if (p) {
		p->list = true;
		p->each = each;
	}
}

static int embedded_watch(struct cluster *c, const struct cluster_watcher *watcher,
			  struct err *err UNUSED)
{
	struct embedded *e = embedded_of(c);

	e->watcher = watcher;
	e->sync = true;
	e->options.touch(e->options.context);
	return 0;
}

static void embedded_ledger_read(struct cluster *c, const struct cluster_call *call)
{
	struct embedded *e = embedded_of(c);
	struct pending *p = embedded_wait(e, call, NULL);
	int r;

	if (!p)
		return;
	r = store_ledger(e->options.store, &p->version, &p->text, NULL);
	p->result = r == 0 ? CLUSTER_DONE : r == -ENOENT ? CLUSTER_GONE : CLUSTER_AGAIN;
	p->words = r == 0 ? "" : "there is no ledger";
}

static void embedded_ledger_write(struct cluster *c, const char *version, const char *text,
				  const struct cluster_call *call)
{
	struct embedded *e = embedded_of(c);
	struct pending *p = embedded_wait(e, call, NULL);
	uint64_t before = version ? strtoull(version, NULL, 10) : 0;
	int r;

	if (!p)
		return;
	r = store_put_ledger(e->options.store, before, text, NULL);
	p->version = before + 1;
	p->result = r == 0 ? CLUSTER_DONE : r == -ESTALE ? CLUSTER_CONFLICT : CLUSTER_AGAIN;
	p->words = r == 0 ? "" : "the ledger could not be written";
}

const struct cluster_ops embedded_ops = {
	.name = "embedded",
	.cordon_only = "no scheduler learns of it: jobs are kept away only where `assay admit` "
		       "runs before they start",
	.close = embedded_close,
	.list = embedded_list,
	.watch = embedded_watch,
	.cordon = embedded_cordon,
	.uncordon = embedded_uncordon,
	.annotate = embedded_annotate,
	.condition = embedded_condition,
	.event = embedded_event,
	.hold = embedded_hold,
	.evict = embedded_evict,
	.ledger_read = embedded_ledger_read,
	.ledger_write = embedded_ledger_write,
};

/* Pending answers; beyond that callers have to retry. */
enum { PENDING_MAX = 8192 };

static struct embedded *embedded_of(struct cluster *c)
{
	return (struct embedded *)c;
}

/* --- nodes --- */

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->c.name, ((const struct node *)b)->c.name);
}

static struct node *embedded_find(const struct embedded *e, const char *name)
{
	CLEANUP(freep) char *copy = xstrdup(name);
	struct node key = { .c.name = copy };
	struct node **found = tfind(&key, &e->tree, compare);

	return found ? *found : NULL;
}

static void embedded_node_free(void *p)
{
	struct node *n = p;

	cluster_node_release(&n->c);
	free(n->condition);
	free(n);
}

static void set_labels(const struct embedded *e, struct node *n)
{
	json_decref(n->c.labels);
	n->c.labels = e->options.labels ? e->options.labels(e->options.context, n->c.name) : NULL;
	n->c.managed = !streq(cluster_node_label(&n->c, e->names.managed), "false");
}

static struct node *node_add(struct embedded *e, const char *name, const char *uid)
{
	struct node *n = xcalloc(1, sizeof(*n));

	n->c = (struct cluster_node){ .name = xstrdup(name), .uid = xstrdup(uid), .ready = true };
	set_labels(e, n);
	if (!tsearch(n, &e->tree, compare))
		abort(); /* out of memory */
	return n;
}

static const struct cluster_node *embedded_show(struct node *n)
{
	free(n->c.version);
	n->c.version = xasprintf("%" PRIu64, n->version);
	return &n->c;
}

static char *hold_text(const struct cluster_node *n)
{
	CLEANUP(json_freep) json_t *hold = NULL;

	if (!n->hold_us)
		return NULL;
	hold = json_pack("{s:I, s:s?}", "until_us", (json_int_t)n->hold_us, "by", n->hold_by);
	return json_line(hold);
}

static int embedded_keep(struct embedded *e, struct node *n, struct err *err)
{
	CLEANUP(json_freep) json_t *mark = n->c.mark ? cluster_mark_encode(n->c.mark) : NULL;
	CLEANUP(freep) char *text = mark ? json_line(mark) : NULL;
	CLEANUP(freep) char *hold = hold_text(&n->c);
	const struct store_cluster_node row = {
		.node = n->c.name,
		.uid = n->c.uid,
		.version = ++n->version,
		.unschedulable = n->c.unschedulable,
		.override_us = n->c.override_us,
		.mark = text,
		.hold = hold,
		.condition = n->condition,
	};

	int r = store_put_cluster_node(e->options.store, &row, err);

	e->broken |= r < 0;
	return r;
}

static json_t *parse(const char *text)
{
	return text ? json_loads(text, 0, NULL) : NULL;
}

static void load_one(void *context, const struct store_cluster_node *row)
{
	struct embedded *e = context;
	CLEANUP(json_freep) json_t *mark = parse(row->mark);
	CLEANUP(json_freep) json_t *hold = parse(row->hold);
	struct node *n = node_add(e, row->node, row->uid);

	n->version = row->version;
	n->c.unschedulable = row->unschedulable;
	n->c.override_us = row->override_us;
	n->c.mark = cluster_mark_decode(mark);
	n->c.hold_us = (uint64_t)json_integer_value(json_object_get(hold, "until_us"));
	n->c.hold_by = xstrdup(json_string_value(json_object_get(hold, "by")));
	n->condition = xstrdup(row->condition);
}

static int load(struct embedded *e, struct err *err)
{
	tdestroy(e->tree, embedded_node_free);
	e->tree = NULL;
	return store_cluster_nodes(e->options.store, load_one, e, err);
}

/* --- answers --- */

static void pending_release(struct pending *p)
{
	free(p->node);
	free(p->text);
}

static struct pending *embedded_wait(struct embedded *e, const struct cluster_call *call,
				     const char *node)
{
	struct pending *p;

	if (e->n_pending == PENDING_MAX) {
		cluster_answer(call,
			       &(struct cluster_answer){ .result = CLUSTER_AGAIN,
							 .words = "too many requests are waiting",
							 .retry_us = AGAIN_US });
		return NULL;
	}
	e->pending = xrealloc(e->pending, e->n_pending + 1, sizeof(*e->pending));
	p = &e->pending[e->n_pending++];
	*p = (struct pending){ .call = *call, .words = "", .node = xstrdup(node) };
	e->options.touch(e->options.context);
	return p;
}

static void embedded_conclude(struct embedded *e, const struct cluster_call *call, const char *node,
			      enum cluster_result result, const char *words)
{
	struct pending *p = embedded_wait(e, call, node);

	if (!p)
		return;
	p->result = result;
	p->words = words;
	p->changed = result == CLUSTER_DONE;
}

static void list_all(const struct embedded *e,
		     void (*each)(void *context, const struct cluster_node *node), void *context);

static void tell(struct embedded *e, const struct pending *p, bool failed)
{
	struct node *n = p->node ? embedded_find(e, p->node) : NULL;
	CLEANUP(freep) char *version = xasprintf("%" PRIu64, p->version);
	struct cluster_answer answer = {
		.result = p->result,
		.words = p->words,
		.node = n ? embedded_show(n) : NULL,
		.version = version,
		.text = p->text,
	};

	if (failed) {
		answer.result = CLUSTER_AGAIN;
		answer.words = "the store could not be written";
		answer.retry_us = AGAIN_US;
	} else if (p->list) {
		list_all(e, p->each, p->call.context);
	} else if (p->changed && e->watcher && n) {
		e->watcher->node(e->watcher->context, embedded_show(n));
	} else if (p->changed && e->watcher && p->node) {
		e->watcher->gone(e->watcher->context, p->node);
	}
	cluster_answer(&p->call, &answer);
}

struct listing {
	void (*each)(void *context, const struct cluster_node *node);
	void *context;
};

static void list_one(const void *at, VISIT visit, void *context)
{
	const struct listing *listing = context;

	if (visit == preorder || visit == leaf)
		listing->each(listing->context, embedded_show(*(struct node *const *)at));
}

static void list_all(const struct embedded *e,
		     void (*each)(void *context, const struct cluster_node *node), void *context)
{
	struct listing listing = { each, context };

	twalk_r(e->tree, list_one, &listing);
}

void cluster_embedded_committed(struct cluster *c, bool failed)
{
	struct embedded *e = embedded_of(c);
	struct pending *pending = e->pending;
	size_t n = e->n_pending, i;

	e->pending = NULL;
	e->n_pending = 0;
	if (failed || e->broken) {
		(void)load(e, NULL); /* a store that cannot be read fails the next commit, too */
		e->sync = true;
		e->broken = false;
	}
	if (e->sync && e->watcher) {
		list_all(e, e->watcher->node, e->watcher->context);
		e->watcher->synced(e->watcher->context);
		e->sync = false;
	}
	for (i = 0; i < n; i++) {
		tell(e, &pending[i], failed);
		pending_release(&pending[i]);
	}
	free(pending);
}

static void embedded_close(struct cluster *c)
{
	struct embedded *e = embedded_of(c);
	struct pending *pending = TAKE(e->pending);
	size_t n = e->n_pending, i;

	e->watcher = NULL;
	e->n_pending = 0;
	for (i = 0; i < n; i++) {
		tell(e, &pending[i], true);
		pending_release(&pending[i]);
	}
	free(pending);
	free(e->pending);
	tdestroy(e->tree, embedded_node_free);
	free(e);
}

/* --- joining and leaving --- */

int cluster_embedded_open(const struct cluster_embedded_options *options,
			  struct cluster **ret_cluster, struct err *err)
{
	CLEANUP(cluster_closep) struct cluster *c = NULL;
	struct embedded *e = xcalloc(1, sizeof(*e));
	int r;

	e->cluster.ops = &embedded_ops;
	e->options = *options;
	e->names = cluster_names_of(options->prefix);
	e->cluster.names = &e->names;
	c = &e->cluster;
	r = load(e, err);
	if (r < 0)
		return r;
	*ret_cluster = TAKE(c);
	return 0;
}

int cluster_embedded_join(struct cluster *c, const char *node, struct err *err)
{
	struct embedded *e = embedded_of(c);
	struct node *n = embedded_find(e, node);
	CLEANUP(freep) char *uid = NULL;
	int r;

	if (n)
		return 0;
	uid = xasprintf("%016" PRIx64 "%016" PRIx64, random_u64(), random_u64());
	n = node_add(e, node, uid);
	r = embedded_keep(e, n, err);
	embedded_conclude(e, &(struct cluster_call){ 0 }, node, CLUSTER_DONE, "");
	return r;
}

int cluster_embedded_leave(struct cluster *c, const char *node, struct err *err)
{
	struct embedded *e = embedded_of(c);
	struct node *n = embedded_find(e, node);

	if (!n)
		return 0;
	(void)tdelete(n, &e->tree, compare);
	embedded_node_free(n);
	embedded_conclude(e, &(struct cluster_call){ 0 }, node, CLUSTER_DONE, "");
	return store_drop_cluster_node(e->options.store, node, err);
}

void cluster_embedded_relabel(struct cluster *c, const char *node)
{
	struct embedded *e = embedded_of(c);
	struct node *n = embedded_find(e, node);

	if (!n)
		return;
	set_labels(e, n);
	embedded_conclude(e, &(struct cluster_call){ 0 }, node, CLUSTER_DONE, "");
}

int cluster_embedded_touch(struct cluster *c, const char *node, bool unschedulable, struct err *err)
{
	struct embedded *e = embedded_of(c);
	struct node *n = embedded_find(e, node);

	if (!n)
		return err_set(err, ENOENT, "there is no node '%.80s'", node);
	n->c.unschedulable = unschedulable;
	embedded_conclude(e, &(struct cluster_call){ 0 }, node, CLUSTER_DONE, "");
	return embedded_keep(e, n, err);
}
