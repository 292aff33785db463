/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/act_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/embedded/cluster_embedded.h"
#include "controller/store/pack.h"
#include "controller/store/store.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

enum { STEPS_MAX = 200 }; /* commits until nothing is left to do */

static void touch(void *context)
{
	((struct world *)context)->touched = true;
}

static const char *wrong_file(void *context)
{
	const struct world *w = context;

	return w->wrong_file;
}

static void forgive_file(void *context)
{
	struct world *w = context;

	w->wrong_file = NULL;
}

static void wake(void *context, uint64_t after_us UNUSED)
{
	touch(context);
}

static void look(void *context, const char *node)
{
	struct world *w = context;

	w->looks++;
	if (w->waits && !w->order)
		w->order = actor_order(w->act, node);
}

static uint64_t clock_of(void *context)
{
	return ((struct world *)context)->now_us;
}

static const struct policy *policy_of(void *context)
{
	return &((struct world *)context)->policy;
}

/* All hosts are in one rack. */
static json_t *labels_of(void *context UNUSED, const char *node UNUSED)
{
	return json_pack("{s:s}", "rack", "r0");
}

static void repaired(void *context, const char *node UNUSED)
{
	struct world *w = context;

	w->repaired++;
}

static void start(struct world *w)
{
	struct cluster_embedded_options embedded = {
		.touch = touch, .labels = labels_of, .now_us = clock_of, .context = w
	};
	struct actor_options options = { .commit_wanted = touch,
					 .wake = wake,
					 .orders_changed = look,
					 .wrong_file = wrong_file,
					 .forgive_file = forgive_file,
					 .repaired = repaired,
					 .real_us = clock_of,
					 .mono_us = clock_of,
					 .policy = policy_of,
					 .context = w };
	struct err err = ERR_INIT;

	CHECK_EQ(store_open(w->path, &w->store, &err), 0);
	CHECK_STR(err.msg, "");
	/* A killed process loses no writes; test_store_crash tests power loss. */
	CHECK_EQ(sqlite3_exec(w->store->file, "PRAGMA synchronous = OFF", NULL, NULL, NULL),
		 SQLITE_OK);
	options.store = embedded.store = w->store;
	options.keep_us = w->outside.keep_us;
	if (w->outside.make)
		w->cluster = w->outside.make(w->outside.context);
	else
		CHECK_EQ(cluster_embedded_open(&embedded, &w->cluster, &err), 0);
	options.cluster = w->cluster;
	CHECK_EQ(actor_open(&options, &w->act, &err), 0);
	CHECK_STR(err.msg, "");
}

static void stop(struct world *w)
{
	store_take_back(w->store);
	actor_stop(w->act);
	cluster_close(TAKE(w->cluster));
	actor_close(TAKE(w->act));
	store_take_back(w->store);
	store_close(TAKE(w->store));
}

static void add_rule(struct policy *p)
{
	p->rules = xcalloc(1, sizeof(*p->rules));
	p->n_rules = 1;
	p->rules[0] = (struct policy_rule){ .name = xstrdup("fatal"),
					    .severity = xstrdup("fatal"),
					    .floor_ratio = NAN,
					    .floor_k = NAN,
					    .k = 1,
					    .n = 1,
					    .action = ACTION_CORDON };
}

void world_open(struct world *w, const char *name)
{
	world_open_in(w, name, &(struct world_outside){ 0 });
}

void world_open_in(struct world *w, const char *name, const struct world_outside *outside)
{
	unsigned i;

	*w = (struct world){ .outside = *outside,
			     .path = xasprintf("%s/%s", test_dir(), name),
			     .policy = policy_init(),
			     .now_us = 1000 * USEC_PER_DAY };
	w->policy.mode = MODE_ENFORCE;
	w->policy.total_percent = 20;
	w->policy.rate_cordons = 1000;
	w->policy.storm_cordons = 1000;
	w->policy.alike_nodes = 1000;
	w->policy.sticky_after = 1000;
	w->policy.breaker_silent_percent = 100;
	w->policy.coverage_max_age_us = 0;
	add_rule(&w->policy);
	start(w);
	for (i = 0; i < WORLD_NODES; i++) {
		char node[16];

		(void)snprintf(node, sizeof(node), "n%u", i);
		world_report(w, node, false);
	}
	CHECK(world_run(w, outside->make ? 1 : 0) || outside->make);
}

static void forget_nodes(struct world *w)
{
	while (w->n_nodes > 0)
		cluster_node_release(&w->nodes[--w->n_nodes]);
}

void world_close(struct world *w)
{
	forget_nodes(w);
	json_decref(w->order);
	stop(w);
	policy_release(&w->policy);
	free(w->path);
	judged_done();
}

bool world_run(struct world *w, unsigned commits)
{
	unsigned i;

	for (i = 0; commits == 0 ? i < STEPS_MAX : i < commits; i++) {
		w->touched = false;
		CHECK_EQ(store_commit(w->store, NULL), 0);
		if (!w->outside.make)
			cluster_embedded_committed(w->cluster, false);
		w->now_us += 50 * USEC_PER_MSEC;
		actor_committed(w->act);
		actor_tick(w->act);
		if (!w->touched && !store_dirty(w->store))
			return true;
	}
	return false;
}

void world_kill(struct world *w)
{
	stop(w);
	start(w);
}

void world_wait(struct world *w, uint64_t us)
{
	w->now_us += us;
}

/* Returns the start of its window; now if there is none. */
static uint64_t since_of(struct world *w, const char *node)
{
	struct store_window *rows = NULL;
	int n = store_windows(w->store, node, &rows, 1, NULL);
	const uint64_t since_us = n > 0 ? rows[0].since_us : w->now_us;

	if (n > 0)
		store_window_release(&rows[0]);
	free(rows);
	return since_us;
}

/*
 * Does what findings.c would: writes the window and the incident of a finding. `bits` of the
 * windows, the newest in bit 0; 0: the finding is over.
 */
static void find_bad(struct world *w, const char *node, uint64_t bits)
{
	struct store_window row = { .check = (char *)(uintptr_t) "rnic.removed",
				    .subject = (char *)(uintptr_t) "mlx5_0",
				    .windows = { bits, bits > 1 ? 2 : 1 },
				    .k = 1,
				    .n = bits > 1 ? 2 : 1,
				    .since_us = since_of(w, node),
				    .last_us = w->now_us,
				    .severity = SEVERITY_FATAL,
				    .score = NAN,
				    .sentence = (char *)(uintptr_t) "mlx5_0 is gone" };
	const struct store_incident incident = { .node = node,
						 .check = row.check,
						 .subject = row.subject,
						 .rule = "fatal",
						 .action = "cordon",
						 .sentence = row.sentence,
						 .level = VERDICT_FAIL,
						 .fatal = true,
						 .since_us = row.since_us };

	if (bits) {
		CHECK_EQ(store_put_window(w->store, node, &row, NULL), 0);
		CHECK_EQ(store_put_incident(w->store, &incident, w->now_us, NULL), 0);
	} else {
		CHECK_EQ(store_drop_window(w->store, node, &row, NULL), 0);
		CHECK_EQ(store_close_incident(w->store, node, row.check, w->now_us, NULL), 0);
	}
}

struct said {
	const char *node, *profile, *order;
	bool bad;
	uint64_t found; /* as find_bad() has it */
	unsigned replaced;
};

static void report(struct world *w, const struct said *said)
{
	const double cores[] = { 70, 71, 72, 69 };
	struct packed body = { PACK_PLAIN, "{}", 2 };
	struct report r = report_make();
	struct store_report row = { .report = &r, .body = &body, .seen_us = w->now_us };

	free(r.node);
	free(r.profile);
	r.node = xstrdup(said->node);
	r.profile = xstrdup(said->profile);
	r.seq = ++w->seq;
	r.order = said->order ? json_pack("{s:s, s:s}", "id", said->order, "kind", "deep") : NULL;
	report_put_cores(&r, cores, ARRAY_SIZE(cores));
	if (said->bad || said->order) {
		struct sample *s = report_put(&r, "rnic.removed", "mlx5_0", said->bad);

		s->ok = said->bad ? TRI_NO : TRI_YES;
		s->severity = said->bad ? SEVERITY_FATAL : SEVERITY_INFO;
	}
	row.verdict = row.merged = judged(&r, NULL);
	CHECK_EQ(store_add(w->store, &row, NULL), 0);
	if (!w->outside.make)
		CHECK_EQ(cluster_embedded_join(w->cluster, said->node, NULL), 0);
	find_bad(w, said->node, said->found);
	actor_report(w->act, &r, w->now_us, said->replaced, true, false);
	report_release(&r);
}

void world_report(struct world *w, const char *node, bool bad)
{
	report(w, &(struct said){ .node = node, .profile = "quick", .bad = bad, .found = bad });
}

void world_replace(struct world *w, const char *node)
{
	CHECK_EQ(store_begin_anew(w->store, node, w->now_us, NULL), 0);
	report(w, &(struct said){ .node = node, .profile = "quick", .replaced = ++w->replaced });
}

static bool answer(struct world *w, const char *node, bool bad, uint64_t found)
{
	json_t *order = NULL;

	world_wait(w, 2 * USEC_PER_MIN); /* an order is sent again after a minute */
	order = actor_order(w->act, node);
	if (!order)
		return false;
	report(w, &(struct said){ .node = node,
				  .profile = "full",
				  .order = json_string_value(json_object_get(order, "id")),
				  .bad = bad,
				  .found = found });
	json_decref(order);
	return true;
}

bool world_answer(struct world *w, const char *node, bool good)
{
	return answer(w, node, !good, !good);
}

bool world_answer_weakly(struct world *w, const char *node)
{
	return answer(w, node, true, 2);
}

static void on_said(void *context, const struct actor_reply *said)
{
	*(unsigned *)context = said->status;
}

unsigned world_ask(struct world *w, enum action_kind kind, const struct actor_request *ask)
{
	unsigned status = 0;

	actor_ask(w->act, kind, ask, on_said, &status);
	CHECK(world_run(w, 0));
	CHECK(status != 0);
	return status;
}

static void on_node(void *context, const struct cluster_node *node)
{
	struct world *w = context;

	if (w->n_nodes < WORLD_NODES)
		w->nodes[w->n_nodes++] = cluster_node_copy(node);
}

static void on_listed(void *context UNUSED, const struct cluster_answer *answer UNUSED)
{
}

void world_look(struct world *w)
{
	forget_nodes(w);
	w->cluster->ops->list(w->cluster, on_node, &(struct cluster_call){ on_listed, w });
	CHECK(world_run(w, 0));
}

const struct cluster_node *world_node(struct world *w, const char *node)
{
	size_t i;

	for (i = 0; i < w->n_nodes; i++) {
		if (streq(w->nodes[i].name, node))
			return &w->nodes[i];
	}
	return NULL;
}

long long world_count(struct world *w, const char *sql)
{
	sqlite3_stmt *st = NULL;
	long long value = -1;

	CHECK_EQ(store_commit(w->store, NULL), 0);
	CHECK_EQ(sqlite3_prepare_v2(w->store->file, sql, -1, &st, NULL), SQLITE_OK);
	if (sqlite3_step(st) == SQLITE_ROW)
		value = sqlite3_column_int64(st, 0);
	(void)sqlite3_finalize(st);
	return value;
}
