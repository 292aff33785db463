/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several controllers at once, each with its own store, on one cluster and without leader election:
 * their requests are delayed, lost, or executed without a response, and they are killed. They never
 * take more hosts out of service than the budget allows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/cluster.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/act_world.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum {
	TWINS = 3,
	ORDERS_MAX = 256,
	BUDGET = 4, /* 20 % of the nodes */
	STEPS = 1500,
};

#define KEEP_US USEC_PER_MIN
/* A request is executed within this time, or never: KUBE_WRITE_TIMEOUT_S. */
#define REQUEST_US (5 * USEC_PER_SEC)

/* A request to the cluster. */
enum order_kind { NO_ORDER, ORDER_OTHER, ORDER_SYNC, ORDER_CORDON, ORDER_READ, ORDER_WRITE };

struct order {
	int kind, result; /* enum order_kind; its result */
	bool served;	  /* executed, but not answered */
	bool orphan;	  /* its sender was killed */
	uint64_t sent_us;
	char *node, *version, *text;
	struct cluster_mark *mark;
	struct cluster_call call;
};

struct field;

struct twin {
	struct cluster cluster; /* first */
	struct field *field;
	struct world world;
	const struct cluster_watcher *watcher;
	struct order orders[ORDERS_MAX];
	uint64_t seen[WORLD_NODES]; /* the version of each node that it has seen */
};

/* The state of the cluster. */
struct field {
	struct random random;
	struct cluster_node nodes[WORLD_NODES];
	uint64_t versions[WORLD_NODES];
	uint64_t ledger_version;
	char *ledger;
	struct twin twins[TWINS];
	unsigned most, kills, fenced;
	uint64_t now_us;
};

static size_t below(struct field *f, size_t n)
{
	return random_below(&f->random, n);
}

static struct cluster_node *node_of(struct field *f, const char *name, size_t *ret_i)
{
	*ret_i = (size_t)strtoul(name + 1, NULL, 10);
	return &f->nodes[*ret_i];
}

/* --- requests --- */

static struct order *add(struct cluster *c, int kind, const struct cluster_call *call)
{
	struct twin *t = (struct twin *)c;
	size_t i;

	for (i = 0; i < ORDERS_MAX; i++) {
		if (t->orders[i].kind != NO_ORDER)
			continue;
		t->orders[i] = (struct order){ .kind = kind,
					       .call = *call,
					       .result = CLUSTER_DONE,
					       .sent_us = t->field->now_us };
		return &t->orders[i];
	}
	abort(); /* more requests at once than expected */
}

static void order_release(struct order *o)
{
	free(o->node);
	free(o->version);
	free(o->text);
	cluster_mark_free(o->mark);
	*o = (struct order){ 0 };
}

static void on_cordon(struct cluster *c, const struct cluster_change *change,
		      const struct cluster_mark *mark, const struct cluster_call *call)
{
	struct order *o = add(c, ORDER_CORDON, call);

	o->node = xstrdup(change->node);
	o->version = xstrdup(change->version);
	o->mark = cluster_mark_copy(mark);
}

static void on_uncordon(struct cluster *c, const struct cluster_change *change UNUSED,
			uint64_t override_us UNUSED, const struct cluster_call *call)
{
	(void)add(c, ORDER_OTHER, call);
}

static void on_hold(struct cluster *c, const struct cluster_change *change UNUSED,
		    uint64_t until_us UNUSED, const char *by UNUSED, const struct cluster_call *call)
{
	(void)add(c, ORDER_OTHER, call);
}

static void on_condition(struct cluster *c, const struct cluster_condition *condition UNUSED,
			 const struct cluster_call *call)
{
	(void)add(c, ORDER_OTHER, call);
}

static void on_event(struct cluster *c UNUSED, const struct cluster_event *event UNUSED)
{
}

static void on_read(struct cluster *c, const struct cluster_call *call)
{
	(void)add(c, ORDER_READ, call);
}

static void on_write(struct cluster *c, const char *version, const char *text,
		     const struct cluster_call *call)
{
	struct order *o = add(c, ORDER_WRITE, call);

	o->version = xstrdup(version);
	o->text = xstrdup(text);
}

static int on_watch(struct cluster *c, const struct cluster_watcher *watcher, struct err *err UNUSED)
{
	((struct twin *)c)->watcher = watcher;
	(void)add(c, ORDER_SYNC, &(struct cluster_call){ 0 });
	return 0;
}

/* Killed: requests already sent may still be executed. */
static void on_close(struct cluster *c)
{
	struct twin *t = (struct twin *)c;
	size_t i;

	t->watcher = NULL;
	for (i = 0; i < ORDERS_MAX; i++) {
		struct order *o = &t->orders[i];

		if (o->kind == NO_ORDER)
			continue;
		cluster_answer(&o->call, &(struct cluster_answer){ .result = CLUSTER_AGAIN,
								   .words = "closed" });
		o->orphan = true;
		o->call = (struct cluster_call){ 0 };
	}
}

static const struct cluster_ops twin_ops = {
	.name = "twin",
	.close = on_close,
	.watch = on_watch,
	.cordon = on_cordon,
	.uncordon = on_uncordon,
	.annotate = on_uncordon,
	.condition = on_condition,
	.event = on_event,
	.hold = on_hold,
	.ledger_read = on_read,
	.ledger_write = on_write,
};

static struct cluster *make(void *context)
{
	struct twin *t = context;

	t->cluster.ops = &twin_ops;
	t->cluster.names = &cluster_names_usual;
	return &t->cluster;
}

/* --- results --- */

static void show(struct twin *t, size_t i)
{
	struct cluster_node node = t->field->nodes[i];
	CLEANUP(freep)
	char *version = xasprintf("%llu", (unsigned long long)t->field->versions[i]);

	node.version = version;
	t->seen[i] = t->field->versions[i];
	if (t->watcher)
		t->watcher->node(t->watcher->context, &node);
}

static int serve_cordon(struct field *f, const struct order *o)
{
	size_t i;
	struct cluster_node *node = node_of(f, o->node, &i);

	if (node->mark)
		return streq(node->mark->action, o->mark->action) &&
				       node->mark->epoch == o->mark->epoch
			       ? CLUSTER_DONE
			       : CLUSTER_NOT_OURS;
	if (o->version && strtoull(o->version, NULL, 10) != f->versions[i])
		return CLUSTER_CONFLICT;
	node->mark = cluster_mark_copy(o->mark);
	node->unschedulable = true;
	f->versions[i]++;
	return CLUSTER_DONE;
}

static int serve_write(struct field *f, const struct order *o)
{
	if ((o->version ? strtoull(o->version, NULL, 10) : 0) != f->ledger_version)
		return CLUSTER_CONFLICT;
	free(f->ledger);
	f->ledger = xstrdup(o->text);
	f->ledger_version++;
	return CLUSTER_DONE;
}

static void serve(struct twin *t, struct order *o)
{
	struct field *f = t->field;
	const bool late = f->now_us - o->sent_us > REQUEST_US;
	const bool lost = late || below(f, 100) < 4;

	o->served = true;
	if (lost)
		o->result = CLUSTER_AGAIN;
	else if (o->kind == ORDER_CORDON)
		o->result = serve_cordon(f, o);
	else if (o->kind == ORDER_WRITE)
		o->result = serve_write(f, o);
	else if (o->kind == ORDER_READ)
		o->result = f->ledger ? CLUSTER_DONE : CLUSTER_GONE;
	/* It is unknown for now whether the node was changed. */
	if (o->kind == ORDER_CORDON && below(f, 100) < 10)
		o->result = CLUSTER_AGAIN;
	if (o->kind == ORDER_READ || o->kind == ORDER_WRITE) {
		free(o->version);
		o->version = xasprintf("%llu", (unsigned long long)f->ledger_version);
	}
	if (o->kind == ORDER_READ)
		o->text = xstrdup(f->ledger);
}

static void deliver(struct twin *t, struct order *o)
{
	struct order taken = *o;
	const struct cluster_answer answer = { .result = (enum cluster_result)taken.result,
					       .words = "as it went",
					       .version = taken.version,
					       .text = taken.text };
	size_t i;

	*o = (struct order){ 0 };
	if (taken.kind == ORDER_SYNC && t->watcher && !taken.orphan) {
		for (i = 0; i < WORLD_NODES; i++)
			show(t, i);
		t->watcher->synced(t->watcher->context);
	} else if (taken.kind == ORDER_CORDON && taken.result == CLUSTER_DONE && !taken.orphan) {
		(void)node_of(t->field, taken.node, &i);
		show(t, i); /* a client has seen its own writes */
	}
	cluster_answer(&taken.call, &answer);
	order_release(&taken);
}

/* --- all controllers --- */

static void go_on(struct field *f)
{
	struct twin *t = &f->twins[below(f, TWINS)];
	struct order *o = &t->orders[below(f, 8)];
	const size_t i = below(f, WORLD_NODES);

	if (o->kind != NO_ORDER && !o->served)
		serve(t, o);
	else if (o->kind != NO_ORDER)
		deliver(t, o);
	else if (t->seen[i] && t->seen[i] != f->versions[i] && t->watcher)
		show(t, i);
	else
		(void)world_run(&t->world, 1);
	/* Sometimes another client changes a node. */
	if (below(f, 200) == 0)
		f->versions[i]++;
	if (below(f, 150) == 0) {
		memset(t->seen, 0, sizeof(t->seen));
		world_kill(&t->world);
		f->kills++;
	}
}

static unsigned out_of_service(const struct field *f)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < WORLD_NODES; i++)
		n += f->nodes[i].unschedulable;
	return n;
}

static void begin(struct field *f, uint64_t seed)
{
	unsigned i, k;

	*f = (struct field){ .random = random_seeded(seed), .now_us = 1000 * USEC_PER_DAY };
	for (i = 0; i < WORLD_NODES; i++) {
		f->nodes[i] = (struct cluster_node){ .name = xasprintf("n%u", i),
						     .uid = xasprintf("uid-%u", i),
						     .ready = true,
						     .managed = true };
		f->versions[i] = 1;
	}
	for (k = 0; k < TWINS; k++) {
		struct twin *t = &f->twins[k];
		const struct world_outside outside = { make, t, KEEP_US };
		CLEANUP(freep)
		char *name = xasprintf("twin-%llu-%u.db", (unsigned long long)seed, k);

		t->field = f;
		world_open_in(&t->world, name, &outside);
		for (i = 0; i < WORLD_NODES; i++)
			world_report(&t->world, f->nodes[i].name,
				     (i + k) % 3 == 0); /* others each */
	}
}

static void end(struct field *f)
{
	size_t i, k;

	for (k = 0; k < TWINS; k++) {
		f->fenced += actor_counts(f->twins[k].world.act).fenced;
		world_close(&f->twins[k].world);
		for (i = 0; i < ORDERS_MAX; i++)
			order_release(&f->twins[k].orders[i]);
	}
	for (i = 0; i < WORLD_NODES; i++)
		cluster_node_release(&f->nodes[i]);
	free(f->ledger);
}

static void the_budget_holds_whoever_acts(void)
{
	const unsigned fields = test_full() ? 2000 : 25;
	unsigned most = 0, kills = 0, full = 0, i, step, k;

	for (i = 0; i < fields; i++) {
		struct field *f = xcalloc(1, sizeof(*f));

		begin(f, i + 1);
		for (step = 0; step < STEPS; step++) {
			f->now_us += below(f, 100 * USEC_PER_MSEC);
			for (k = 0; k < TWINS; k++)
				f->twins[k].world.now_us = f->now_us;
			go_on(f);
			f->most = MAX(f->most, out_of_service(f));
		}
		most = MAX(most, f->most);
		full += f->most == BUDGET;
		kills += f->kills;
		end(f);
		free(f);
	}
	(void)printf("%u fields, %u kills, at most %u out of service, all of the budget in %u\n",
		     fields, kills, most, full);
	CHECK(most <= BUDGET);
	CHECK(full * 2 > fields); /* and it is used */
	CHECK(kills > fields);
}

static const struct test tests[] = { TEST(the_budget_holds_whoever_acts) };

TEST_SUITE(tests);
