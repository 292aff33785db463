/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a cluster's nodes by others, faults of its server, and our own changes, in any order. */
#include <stdlib.h>

#include "controller/cluster/kube/kube_node.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { ROUNDS = 3000, ROUNDS_FULL = 100000 };

static const char *text_of(const json_t *value, const char *key)
{
	return json_string_value(json_object_get(value, key));
}

/* Whose cordon is on each node, as the server alone knows it. */
struct oracle {
	struct world *w;
	json_t *done;		  /* actions that a writing of ours was applied for */
	json_t *decided;	  /* by action: the uid that it was decided on */
	bool ours[CLUSTER_NODES]; /* the cordon was set by us */
	unsigned wrong, lifted;
};

static size_t index_of(const json_t *node)
{
	const char *name = text_of(json_object_get(node, "metadata"), "name");

	return (size_t)(name[1] - '0');
}

/* A writing of ours is about to be applied. */
static void on_seen(void *context, const json_t *node, const json_t *patch)
{
	struct oracle *o = context;
	const json_t *spec = json_object_get(patch, "spec");
	const json_t *cordoned = json_object_get(json_object_get(node, "spec"), "unschedulable");
	const json_t *annotations =
		json_object_get(json_object_get(patch, "metadata"), "annotations");
	CLEANUP(cluster_mark_freep)
	struct cluster_mark *mark = kube_mark_read(text_of(annotations, cluster_names_usual.cordon));
	const size_t i = index_of(node);

	if (json_is_null(json_object_get(spec, "unschedulable")) && json_is_true(cordoned)) {
		o->wrong += !o->ours[i]; /* another's cordon is lifted */
		o->lifted++;
		o->ours[i] = false;
	}
	if (!mark)
		return;
	o->wrong += json_object_get(o->done, mark->action) != NULL; /* twice */
	o->wrong += !streq(text_of(o->decided, mark->action),
			   text_of(json_object_get(node, "metadata"), "uid"));
	o->wrong += mark->pre != json_is_true(cordoned);
	(void)json_object_set_new(o->done, mark->action, json_true());
	if (!mark->pre)
		o->ours[i] = true;
}

static void other_hand(struct oracle *o, const char *name, size_t what)
{
	struct world *w = o->w;
	const size_t i = (size_t)(name[1] - '0');

	if (!fake_node(&w->kube, name)) {
		fake_add(&w->kube, name);
		o->ours[i] = false;
		return;
	}
	if (what < 3 && !is_cordoned(w, name)) {
		o->ours[i] = false;
		by_hand(w, name, CORDON);
	} else if (what < 6) {
		o->ours[i] = false;
		by_hand(w, name, UNCORDON);
	} else if (what < 9) {
		by_hand(w, name, "{\"metadata\":{\"annotations\":{\"assay.dev/cordon\":null}}}");
	} else if (what < 10) {
		by_hand(w, name, "{\"metadata\":{\"annotations\":{\"assay.dev/cordon\":\"mine\"}}}");
	} else if (what < 11) {
		fake_delete(&w->kube, name);
		o->ours[i] = false;
	} else {
		by_hand(w, name, "{\"status\":{\"phase\":\"beat\"}}");
	}
}

static void our_hand(struct oracle *o, struct random *random, const char *name)
{
	static unsigned actions;
	struct world *w = o->w;
	CLEANUP(freep) char *action = xasprintf("%u", ++actions);
	const json_t *told_of = json_object_get(w->told, name);

	if (!told_of)
		return;
	if (random_below(random, 2)) {
		(void)json_object_set(o->decided, action, json_object_get(told_of, "uid"));
		cordon(w, name, version_of(w, name), action);
	} else {
		uncordon(w, name, version_of(w, name));
	}
}

static void step(struct oracle *o, struct random *random)
{
	char name[] = { 'n', (char)('0' + random_below(random, CLUSTER_NODES)), '\0' };
	struct world *w = o->w;
	size_t n = fake_waiting(&w->kube);
	static const enum fake_fate fates[] = { FAKE_SERVED,   FAKE_SERVED, FAKE_SERVED,
						FAKE_SERVED,   FAKE_LOST,   FAKE_UNANSWERED,
						FAKE_CONFLICT, FAKE_BUSY };

	switch (random_below(random, 16)) {
	case 0:
		other_hand(o, name, random_below(random, 16));
		break;
	case 1:
	case 2:
		our_hand(o, random, name);
		break;
	case 3:
	case 4:
	case 5:
		fake_tell(&w->kube, random_below(random, 4));
		break;
	case 6:
		now_us += random_below(random, USEC_PER_SEC);
		cluster_kube_tick(w->cluster);
		break;
	default:
		if (n > 0)
			fake_answer(&w->kube, random_below(random, n),
				    fates[random_below(random, ARRAY_SIZE(fates))]);
		break;
	}
}

/* In the end whoever watches knows what the server has. */
static void check_told(const struct world *w)
{
	const char *name;
	json_t *node;

	CHECK_EQ(json_object_size(w->told), json_object_size(w->kube.nodes));
	json_object_foreach(w->kube.nodes, name, node)
	{
		const json_t *one = json_object_get(w->told, name);

		CHECK_STR(text_of(one, "uid"), text_of(json_object_get(node, "metadata"), "uid"));
		CHECK_EQ(json_is_true(json_object_get(one, "unschedulable")), is_cordoned(w, name));
	}
}

static void in_any_order_no_other_hand_is_undone(void)
{
	const unsigned rounds = test_full() ? ROUNDS_FULL : ROUNDS;
	struct random random = random_seeded(7);
	unsigned cordons = 0, lifted = 0, seed, i;

	for (seed = 0; seed < 20; seed++) {
		struct world w;
		struct oracle o = { .w = &w, .done = json_object(), .decided = json_object() };

		world_open(&w);
		w.kube.seen = on_seen;
		w.kube.context = &o;
		settle(&w, 2 * USEC_PER_SEC);
		for (i = 0; i < rounds; i++)
			step(&o, &random);
		settle(&w, 2 * USEC_PER_MIN);
		CHECK_EQ(o.wrong, 0);
		check_told(&w);
		cordons += (unsigned)json_object_size(o.done);
		lifted += o.lifted;
		world_close(&w);
		json_decref(o.done);
		json_decref(o.decided);
	}
	CHECK(cordons > rounds / 10 && lifted > rounds / 40); /* it was tried at all */
}

static const struct test tests[] = {
	TEST(in_any_order_no_other_hand_is_undone),
};

static void log_errors(void)
{
	log_init("test_cluster_kube_random", LOG_ERR);
}

TEST_SUITE(tests, .begin = log_errors);
