/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cluster_world.h"

#include <stdlib.h>

#include "controller/cluster/kube/kube_node.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

uint64_t now_us = UINT64_C(1767225600) * USEC_PER_SEC;

static uint64_t clock_us(void)
{
	return now_us;
}

static void on_node(void *context, const struct cluster_node *node)
{
	struct world *w = context;
	const json_t *before = json_object_get(w->told, node->name);
	const char *uid = json_string_value(json_object_get(before, "uid"));

	if (streq(uid, node->uid)) /* never back in time */
		CHECK(strtoull(node->version, NULL, 10) >=
		      strtoull(json_string_value(json_object_get(before, "version")), NULL, 10));
	(void)json_object_set_new(w->told, node->name,
				  json_pack("{s:s, s:s, s:b, s:b}", "uid", node->uid, "version",
					    node->version, "marked", node->mark != NULL,
					    "unschedulable", node->unschedulable));
}

static void on_gone(void *context, const char *name)
{
	struct world *w = context;

	w->gone++;
	(void)json_object_del(w->told, name);
}

static void on_synced(void *context)
{
	((struct world *)context)->synced++;
}

static void on_stale(void *context UNUSED, const char *words UNUSED)
{
}

static const char *stopped(void *context)
{
	return ((const struct world *)context)->stopped;
}

static bool leads(void *context)
{
	return ((const struct world *)context)->leads;
}

void world_open(struct world *w)
{
	const struct cluster_kube_options options = { .kube = &w->kube,
						      .mono_us = clock_us,
						      .real_us = clock_us,
						      .leads = leads,
						      .stopped = stopped,
						      .context = w };
	char name[] = "n0";

	*w = (struct world){ .told = json_object(), .leads = true };
	w->watcher = (struct cluster_watcher){ on_node, on_gone, on_synced, on_stale, w };
	fake_init(&w->kube);
	for (; name[1] < '0' + CLUSTER_NODES; name[1]++)
		fake_add(&w->kube, name);
	w->cluster = cluster_kube_new(&options);
	CHECK_EQ(w->cluster->ops->watch(w->cluster, &w->watcher, NULL), 0);
}

void settle(struct world *w, uint64_t us)
{
	const uint64_t end_us = now_us + us;

	while (now_us < end_us) {
		now_us += MIN(USEC_PER_SEC, end_us - now_us);
		cluster_kube_tick(w->cluster);
		fake_run(&w->kube);
		fake_tell(&w->kube, SIZE_MAX);
		fake_run(&w->kube);
	}
}

void world_close(struct world *w)
{
	cluster_close(w->cluster);
	CHECK(w->kube.first == NULL); /* no request is pending */
	fake_release(&w->kube);
	json_decref(w->told);
	free(w->words);
}

static void on_answer(void *context, const struct cluster_answer *answer)
{
	struct world *w = context;

	w->answers++;
	w->result = answer->result;
	free(w->words);
	w->words = xstrdup(answer->words);
	if (answer->result != CLUSTER_DONE)
		CHECK(answer->words[0] != '\0');
}

struct cluster_call call_of(struct world *w)
{
	return (struct cluster_call){ on_answer, w };
}

const char *version_of(const struct world *w, const char *node)
{
	return json_string_value(json_object_get(json_object_get(w->told, node), "version"));
}

void cordon(struct world *w, const char *node, const char *version, const char *action)
{
	const struct cluster_change change = { node, version, false };
	const struct cluster_call call = call_of(w);
	struct cluster_mark mark = { .at_us = now_us, .epoch = 3 };

	mark.by = (char *)(uintptr_t) "assay";
	mark.reason = (char *)(uintptr_t) "xid79";
	mark.action = (char *)(uintptr_t)action;
	w->cluster->ops->cordon(w->cluster, &change, &mark, &call);
}

void uncordon(struct world *w, const char *node, const char *version)
{
	const struct cluster_change change = { node, version, false };
	const struct cluster_call call = call_of(w);

	w->cluster->ops->uncordon(w->cluster, &change, 0, &call);
}

bool is_cordoned(const struct world *w, const char *node)
{
	return json_is_true(json_object_get(json_object_get(fake_node(&w->kube, node), "spec"),
					    "unschedulable"));
}

const char *annotation(const struct world *w, const char *node)
{
	const json_t *metadata = json_object_get(fake_node(&w->kube, node), "metadata");

	return json_string_value(json_object_get(json_object_get(metadata, "annotations"),
						 cluster_names_usual.cordon));
}

void by_hand(struct world *w, const char *node, const char *patch)
{
	fake_patch(&w->kube, node, "kubectl", json_loads(patch, 0, NULL));
}
