/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/embedded/cluster_embedded.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>

#include "controller/cluster/embedded/cluster_embedded_inside.h"
#include "controller/store/store_cluster.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Answers that wait for a commit: who gets none asks again. */
enum { PENDING_MAX = 8192 };

struct embedded *embedded_of(struct cluster *c)
{
	return (struct embedded *)c;
}

/* --- nodes --- */

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->c.name, ((const struct node *)b)->c.name);
}

struct node *embedded_find(const struct embedded *e, const char *name)
{
	CLEANUP(freep) char *copy = xstrdup(name);
	struct node key = { .c.name = copy };
	struct node **found = tfind(&key, &e->tree, compare);

	return found ? *found : NULL;
}

void embedded_node_free(void *p)
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

/* The node as others see it. Borrowed until the next call. */
const struct cluster_node *embedded_show(struct node *n)
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

/* Put it into the open transaction, one version on. */
int embedded_keep(struct embedded *e, struct node *n, struct err *err)
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

struct pending *embedded_wait(struct embedded *e, const struct cluster_call *call, const char *node)
{
	struct pending *p;

	if (e->n_pending == PENDING_MAX) {
		cluster_answer(call, &(struct cluster_answer){ .result = CLUSTER_AGAIN,
							       .words = "too much waits already",
							       .retry_us = AGAIN_US });
		return NULL;
	}
	e->pending = xrealloc(e->pending, e->n_pending + 1, sizeof(*e->pending));
	p = &e->pending[e->n_pending++];
	*p = (struct pending){ .call = *call, .words = "", .node = xstrdup(node) };
	e->options.touch(e->options.context);
	return p;
}

/* What came of a change, and what is said when it did not come about. */
void embedded_conclude(struct embedded *e, const struct cluster_call *call, const char *node,
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
		(void)load(e, NULL); /* a store that cannot be read fails the next commit too */
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

void embedded_close(struct cluster *c)
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

/* --- who lives in it --- */

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
