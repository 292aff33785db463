/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/field.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/actor_driver/check.h"
#include "tests/actor_driver/draw.h"
#include "tests/actor_driver/field_serve.h"
#include "tests/actor_driver/life.h"
#include "tests/actor_driver/trace.h"

/* Out of a thousand requests in normal operation. */
enum { SLOW = 20, ALL = 1000 };

#define SLOW_LEAST_US (4 * USEC_PER_SEC)
#define SLOW_MOST_US (20 * USEC_PER_SEC)

static const char cut_words[] = "the watch of the nodes is cut";

const char *const op_names[] = {
	[OP_CORDON] = "cordon",	      [OP_UNCORDON] = "uncordon",
	[OP_ANNOTATE] = "annotate",   [OP_HOLD] = "hold",
	[OP_VERIFIED] = "verified",   [OP_EVICT] = "evict",
	[OP_CONDITION] = "condition", [OP_JOBS] = "jobs",
	[OP_CONFIRM] = "confirm",     [OP_READ] = "ledger-read",
	[OP_WRITE] = "ledger-write",  [OP_WATCH] = "watch",
	[OP_LIST] = "list",	      NULL,
};

static struct controller *controller_of(struct cluster *c)
{
	return (struct controller *)c;
}

bool field_is_out(const struct node *n)
{
	return n->exists && !n->c.outside &&
	       (n->c.unschedulable || n->c.leaving || !n->c.ready || n->c.hold_us);
}

static void request_release(struct request *r)
{
	free(r->version);
	free(r->text);
	free(r->by);
	cluster_mark_free(r->mark);
	*r = (struct request){ 0 };
}

void field_release(struct driver *d)
{
	size_t i;

	for (i = 0; i < REQUESTS_MAX; i++)
		request_release(&d->requests[i]);
	free(d->ledger);
}

/* --- requests --- */

/* The times depend on the kind of request and its number. */
static void draw_times(struct driver *d, struct request *r)
{
	const uint64_t key = (uint64_t)r->op << 16 | r->controller << 8 | r->node;
	const uint64_t drawn = draw(d->seed, "latency", key, r->nth);
	uint64_t back_us = 1 + draw_mix(drawn) % d->latency_us;

	if (!d->ended && drawn % ALL < SLOW)
		back_us = SLOW_LEAST_US + draw_mix(drawn + 1) % (SLOW_MOST_US - SLOW_LEAST_US);
	r->serve_us = r->sent_us + 1 + (drawn >> 10) % d->latency_us;
	r->answer_us = r->serve_us + back_us;
}

static struct request *add(struct cluster *cluster, enum op op, const char *node,
			   const struct cluster_call *call)
{
	struct controller *c = controller_of(cluster);
	struct driver *d = c->driver;
	const unsigned number = node ? driver_node(d, node) : NODES_MAX;
	size_t i = 0;

	while (i < REQUESTS_MAX && d->requests[i].used)
		i++;
	if (i == REQUESTS_MAX)
		abort(); /* REQUESTS_MAX is exceeded */
	d->requests[i] = (struct request){ .used = true,
					   .op = op,
					   .controller = c->number,
					   .sent_us = d->now_us,
					   .node = number,
					   .nth = d->counted[c->number][op][number]++,
					   .call = *call };
	draw_times(d, &d->requests[i]);
	return &d->requests[i];
}

static struct request *add_change(struct cluster *cluster, enum op op,
				  const struct cluster_change *change,
				  const struct cluster_call *call)
{
	struct request *r = add(cluster, op, change->node, call);

	r->version = xstrdup(change->version);
	r->dry_run = change->dry_run;
	return r;
}

static void on_cordon(struct cluster *cluster, const struct cluster_change *change,
		      const struct cluster_mark *mark, const struct cluster_call *call)
{
	struct request *r = add_change(cluster, OP_CORDON, change, call);

	r->mark = cluster_mark_copy(mark);
	check_sent(controller_of(cluster), r);
}

static void on_uncordon(struct cluster *cluster, const struct cluster_change *change,
			uint64_t override_us, const struct cluster_call *call)
{
	struct request *r = add_change(cluster, OP_UNCORDON, change, call);

	r->keep_cordon = change->keep_cordon;

	r->until_us = override_us;
	check_sent(controller_of(cluster), r);
}

static void on_annotate(struct cluster *cluster, const struct cluster_change *change,
			uint64_t override_us, const struct cluster_call *call)
{
	struct request *r = add_change(cluster, OP_ANNOTATE, change, call);

	r->until_us = override_us;
	check_sent(controller_of(cluster), r);
}

static void on_hold(struct cluster *cluster, const struct cluster_change *change, uint64_t until_us,
		    const char *by, const struct cluster_call *call)
{
	struct request *r = add_change(cluster, OP_HOLD, change, call);

	r->until_us = until_us;
	r->by = xstrdup(by);
	check_sent(controller_of(cluster), r);
}

static void on_verified(struct cluster *cluster, const struct cluster_change *change,
			const struct cluster_call *call)
{
	check_sent(controller_of(cluster), add_change(cluster, OP_VERIFIED, change, call));
}

static void on_evict(struct cluster *cluster, const struct cluster_change *change,
		     const struct cluster_call *call)
{
	struct request *r = add_change(cluster, OP_EVICT, change, call);

	r->only_ask = change->drain && change->drain->only_ask;
	r->until_us = change->drain ? change->drain->evict_us : 0;
	check_sent(controller_of(cluster), r);
}

static void on_condition(struct cluster *cluster, const struct cluster_condition *condition,
			 const struct cluster_call *call)
{
	struct request *r = add(cluster, OP_CONDITION, condition->node, call);

	r->healthy = condition->healthy;
	r->by = xasprintf("%s: %s", condition->reason, condition->message);
}

static void on_event(struct cluster *cluster, const struct cluster_event *event)
{
	trace_line(controller_of(cluster), "event %s %s%s: %s", event->node, event->reason,
		   event->warning ? " warning" : "", event->message);
}

static void on_jobs(struct cluster *cluster, const char *node, const struct cluster_call *call)
{
	(void)add(cluster, OP_JOBS, node, call);
}

static void on_confirm(struct cluster *cluster, const struct cluster_call *call)
{
	(void)add(cluster, OP_CONFIRM, NULL, call);
}

static void on_read(struct cluster *cluster, const struct cluster_call *call)
{
	(void)add(cluster, OP_READ, NULL, call);
}

static void on_write(struct cluster *cluster, const char *version, const char *text,
		     const struct cluster_call *call)
{
	struct request *r = add(cluster, OP_WRITE, NULL, call);

	r->version = xstrdup(version);
	r->text = xstrdup(text);
}

static void on_list(struct cluster *cluster,
		    void (*each)(void *context, const struct cluster_node *node),
		    const struct cluster_call *call)
{
	add(cluster, OP_LIST, NULL, call)->each = each;
}

static int on_watch(struct cluster *cluster, const struct cluster_watcher *watcher,
		    struct err *err UNUSED)
{
	struct controller *c = controller_of(cluster);
	struct driver *d = c->driver;
	size_t i;

	c->watcher = watcher;
	c->synced = false;
	memset(c->seen, 0, sizeof(c->seen));
	memset(c->show_us, 0, sizeof(c->show_us));
	for (i = 0; i < REQUESTS_MAX; i++) { /* one that began anew */
		if (d->requests[i].used && d->requests[i].op == OP_WATCH &&
		    d->requests[i].controller == c->number)
			request_release(&d->requests[i]);
	}
	(void)add(cluster, OP_WATCH, NULL, &(struct cluster_call){ 0 });
	return 0;
}

static const char *on_stopped(struct cluster *cluster)
{
	const struct driver *d = controller_of(cluster)->driver;

	return d->now_us < d->stop_until_us ? "the kill switch is set" : NULL;
}

/* Killed: pending calls are answered as closed, but requests already sent may still be executed. */
static void on_close(struct cluster *cluster)
{
	struct controller *c = controller_of(cluster);
	struct driver *d = c->driver;
	size_t i;

	c->watcher = NULL;
	c->synced = false;
	for (i = 0; i < REQUESTS_MAX; i++) {
		struct request *r = &d->requests[i];
		const struct cluster_call call = r->call;

		if (!r->used || r->controller != c->number)
			continue;
		r->orphan = true;
		r->call = (struct cluster_call){ 0 };
		if (call.done)
			cluster_answer(&call, &(struct cluster_answer){ .result = CLUSTER_AGAIN,
									.words = "closed" });
		if (r->served || r->op == OP_WATCH ||
		    draw(d->seed, "orphan", r->op, r->nth) % 2 == 0)
			request_release(r);
	}
}

void field_attach(struct controller *c)
{
	struct driver *d = c->driver;

	d->ops = (struct cluster_ops){
		.name = "field",
		.conditions = d->kube,
		.close = on_close,
		.list = on_list,
		.watch = on_watch,
		.confirm = d->kube ? on_confirm : NULL,
		.cordon = on_cordon,
		.uncordon = on_uncordon,
		.annotate = on_annotate,
		.condition = on_condition,
		.event = on_event,
		.hold = on_hold,
		.verified = d->kube ? on_verified : NULL,
		.evict = on_evict,
		.jobs = d->kube ? on_jobs : NULL,
		.ledger_read = on_read,
		.ledger_write = on_write,
		.stopped = d->kube ? on_stopped : NULL,
	};
	c->cluster = (struct cluster){ &d->ops, &cluster_names_usual };
}

/* --- watches --- */

/* The delay until a watch reports a change depends on the node, its version and the watcher. */
void field_changed(struct driver *d, unsigned node)
{
	struct node *n = &d->nodes[node];
	unsigned i;

	n->version++;
	for (i = 0; i < d->n_controllers; i++)
		d->controllers[i].show_us[node] =
			d->now_us + 1 + draw(d->seed, "lag", node << 8 | i, n->version) % d->lag_us;
}

void field_show(struct controller *c, unsigned node)
{
	struct node *n = &c->driver->nodes[node];
	const bool known = c->seen[node] > 0;

	c->show_us[node] = 0;
	if (!c->watcher || (!n->exists && !known) || (n->exists && c->seen[node] == n->version))
		return;
	c->seen[node] = n->exists ? n->version : 0;
	if (!n->exists) {
		c->watcher->gone(c->watcher->context, n->name);
		return;
	}
	free(n->c.version);
	n->c.version = xasprintf("%" PRIu64, n->version);
	n->shown_lifted |= n->c.mark && !n->c.unschedulable;
	c->watcher->node(c->watcher->context, &n->c);
}

static void list_all(struct controller *c)
{
	unsigned i;

	for (i = 0; i < c->driver->n_nodes; i++) {
		if (!c->driver->nodes[i].exists) {
			c->seen[i] = 0; /* missing from the list: gone */
			continue;
		}
		c->seen[i] = 0;
		field_show(c, i);
	}
	c->synced = true;
	c->watcher->synced(c->watcher->context);
}

static void tell_stale(struct controller *c, bool stale)
{
	if (!c->watcher || c->stale == stale)
		return;
	c->stale = stale;
	c->watcher->stale(c->watcher->context, stale ? cut_words : NULL);
}

void field_cut(struct driver *d)
{
	unsigned i;

	for (i = 0; i < d->n_controllers; i++)
		tell_stale(&d->controllers[i], true);
}

void field_mend(struct driver *d)
{
	unsigned i;

	for (i = 0; i < d->n_controllers; i++) {
		struct controller *c = &d->controllers[i];

		if (c->watcher && c->synced)
			list_all(c);
		tell_stale(c, false);
	}
}

/* --- due events --- */

static bool is_cut(const struct driver *d)
{
	return d->now_us < d->cut_until_us;
}

static void deliver_watch(struct controller *c, struct request *r)
{
	struct driver *d = c->driver;

	if (is_cut(d)) {
		c->stale = false; /* after a restart it does not know */
		tell_stale(c, true);
		r->answer_us = d->cut_until_us + 1;
		return;
	}
	request_release(r);
	list_all(c);
	tell_stale(c, false);
	life_point(c, POINT_LISTED, NODES_MAX);
}

static void deliver(struct driver *d, struct request *r)
{
	struct controller *c = &d->controllers[r->controller];
	struct request taken = *r;

	if (taken.orphan || !c->watcher) {
		request_release(r);
	} else if (taken.op == OP_WATCH) {
		deliver_watch(c, r);
	} else {
		*r = (struct request){ 0 };
		field_answer(c, &taken);
		request_release(&taken);
	}
}

static uint64_t due_of(const struct request *r)
{
	return r->served ? r->answer_us : r->serve_us;
}

/* Orders requests due at the same time by their content, not by their place in the list. */
static bool is_before(const struct request *a, const struct request *b)
{
	const uint64_t x[] = { due_of(a), a->served, a->controller, a->op, a->node, a->nth };
	const uint64_t y[] = { due_of(b), b->served, b->controller, b->op, b->node, b->nth };
	size_t i = 0;

	while (i < ARRAY_SIZE(x) && x[i] == y[i])
		i++;
	return i < ARRAY_SIZE(x) && x[i] < y[i];
}

static struct request *first_request(const struct driver *d)
{
	const struct request *first = NULL;
	size_t i;

	for (i = 0; i < REQUESTS_MAX; i++) {
		if (d->requests[i].used && (!first || is_before(&d->requests[i], first)))
			first = &d->requests[i];
	}
	return (struct request *)(uintptr_t)first;
}

/* Returns the controller with the earliest pending watch event, and the node; NULL: none. */
static struct controller *first_news(const struct driver *d, unsigned *ret_node, uint64_t *ret_us)
{
	const struct controller *first = NULL;
	unsigned i, j;

	*ret_us = UINT64_MAX;
	for (i = 0; i < d->n_controllers && !is_cut(d); i++) {
		const struct controller *c = &d->controllers[i];

		for (j = 0; c->synced && j < d->n_nodes; j++) {
			if (c->show_us[j] == 0 || c->show_us[j] >= *ret_us)
				continue;
			first = c;
			*ret_node = j;
			*ret_us = c->show_us[j];
		}
	}
	return (struct controller *)(uintptr_t)first;
}

uint64_t field_due(const struct driver *d)
{
	const struct request *r = first_request(d);
	uint64_t news_us;
	unsigned node;

	(void)first_news(d, &node, &news_us);
	return MIN(news_us, r ? due_of(r) : UINT64_MAX);
}

void field_go_on(struct driver *d)
{
	struct request *r = first_request(d);
	uint64_t news_us;
	unsigned node = 0;
	struct controller *c = first_news(d, &node, &news_us);

	if (c && news_us <= d->now_us) {
		field_show(c, node);
		return;
	}
	if (!r || due_of(r) > d->now_us)
		return;
	if (r->served) {
		deliver(d, r);
		return;
	}
	r->served = true;
	if (r->op != OP_WATCH)
		field_serve(d, r);
}
