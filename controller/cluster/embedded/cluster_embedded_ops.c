/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded cluster can be asked to do. */
#include <errno.h>
#include <stdlib.h>

#include "controller/cluster/embedded/cluster_embedded_inside.h"
#include "controller/store/store_cluster.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static uint64_t now_us(const struct embedded *e)
{
	return e->options.now_us(e->options.context);
}

/* --- operations --- */

/* The node that a change is about; NULL: the call was answered. */
static struct node *node_for(struct embedded *e, const struct cluster_change *change,
			     const struct cluster_call *call)
{
	struct node *n = embedded_find(e, change->node);

	if (!n)
		embedded_conclude(e, call, change->node, CLUSTER_GONE, "there is no such node");
	else if (change->version && !streq(change->version, embedded_show(n)->version)) {
		embedded_conclude(e, call, change->node, CLUSTER_CONFLICT,
				  "the node was changed meanwhile");
		n = NULL;
	}
	return n;
}

/* Keep what was changed, or say that it could not. */
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
				  "another action has cordoned it");
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
				  "the cordon is another's");
		return;
	}
	if (!change->dry_run) {
		if (n->c.mark && !n->c.mark->pre)
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

	(void)store_add_event(e->options.store, event->node, event->warning, event->reason,
			      event->message, now_us(e), NULL);
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
				  "it is held for something else");
		return;
	}
	if (!change->dry_run) {
		free(n->c.hold_by);
		n->c.hold_us = until_us;
		n->c.hold_by = until_us ? xstrdup(by) : NULL;
	}
	finish(e, n, change, call);
}

/* Nothing runs in the embedded cluster: whoever was there is gone. */
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
	.cordon_only = "no scheduler is told of it: a job is kept away only where `assay admit` is "
		       "asked before it starts",
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
