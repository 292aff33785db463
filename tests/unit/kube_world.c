/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/kube_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static uint64_t now_us;

static uint64_t mono_us(void)
{
	return now_us;
}

static uint64_t real_us(void)
{
	return now_us + 1000 * USEC_PER_DAY;
}

static unsigned number_of(const char *name)
{
	unsigned n = (unsigned)strtoul(name + strlen("gpu-"), NULL, 10);

	return MIN(n, (unsigned)FAKE_NODES - 1);
}

static void on_node(void *context, const struct cluster_node *node)
{
	struct world *w = context;
	struct cluster_node *mine = &w->nodes[number_of(node->name)];

	/* Another node of the same name is reported only after the old one was reported gone. */
	if (mine->name) {
		CHECK_STR(mine->uid, node->uid);
		CHECK(strtoull(node->version, NULL, 10) >= strtoull(mine->version, NULL, 10));
	}
	cluster_node_release(mine);
	*mine = cluster_node_copy(node);
	w->told++;
	w->since_sync |= 1U << number_of(node->name);
}

static void on_gone(void *context, const char *name)
{
	struct world *w = context;
	struct cluster_node *mine = &w->nodes[number_of(name)];

	CHECK(mine->name);
	cluster_node_release(mine);
	w->gone++;
}

static void on_synced(void *context)
{
	struct world *w = context;
	unsigned i;

	for (i = 0; i < FAKE_NODES; i++) /* a node missing from a list would count as gone */
		CHECK(!w->nodes[i].name || w->since_sync & 1U << i);
	w->since_sync = 0;
	w->synced++;
}

static void on_stale(void *context, const char *words)
{
	struct world *w = context;

	CHECK(!streq(words, w->stale));
	free(w->stale);
	w->stale = xstrdup(words);
	w->stales++;
}

void world_forget(struct world *w)
{
	unsigned i;

	for (i = 0; i < FAKE_NODES; i++)
		cluster_node_release(&w->nodes[i]);
	free(TAKE(w->stale));
	w->since_sync = 0;
}

void world_begin(struct world *w)
{
	const struct kube_watch_options options = { .kube = &w->kube,
						    .selector = "pool=gpu",
						    .young_us = w->young_us,
						    .mono_us = mono_us,
						    .real_us = real_us };

	CHECK_EQ(kube_watch_new(&options, &w->watcher, &w->watch, NULL), 0);
}

void world_open(struct world *w, unsigned nodes)
{
	unsigned i;

	*w = (struct world){ .watcher = { on_node, on_gone, on_synced, on_stale, w } };
	now_us = USEC_PER_HOUR;
	for (i = 0; i < nodes; i++)
		fake_touch(&w->kube, i);
	world_begin(w);
}

void world_close(struct world *w)
{
	kube_watch_free(w->watch);
	world_forget(w);
	fake_release(&w->kube);
}

void world_later(struct world *w, uint64_t us)
{
	now_us += us;
	kube_watch_tick(w->watch);
}

void world_serve(struct world *w)
{
	unsigned i = 0, answers = 0;
	struct kube_request *request;

	while ((request = fake_request(&w->kube, i)) && answers++ < 1000) {
		if (request->watch && !request->cut && request->at >= w->kube.version)
			i++;
		else
			fake_serve(request);
	}
}

void world_quiet(struct world *w, unsigned seconds)
{
	while (seconds-- > 0) {
		world_later(w, USEC_PER_SEC);
		world_serve(w);
	}
}

void world_check(const struct world *w)
{
	unsigned i;

	for (i = 0; i < FAKE_NODES; i++) {
		const struct fake_node *theirs = &w->kube.nodes[i];
		char uid[32];

		CHECK_EQ(w->nodes[i].name != NULL, theirs->uid != 0);
		if (!w->nodes[i].name || !theirs->uid)
			continue;
		(void)snprintf(uid, sizeof(uid), "u-%u", theirs->uid);
		CHECK_STR(w->nodes[i].uid, uid);
		CHECK_EQ(w->nodes[i].unschedulable, theirs->unschedulable);
		CHECK_EQ(strtoull(w->nodes[i].version, NULL, 10), theirs->version);
	}
}

void world_settle(struct world *w, unsigned nodes)
{
	world_open(w, nodes);
	world_later(w, 0);
	world_serve(w);
	CHECK_EQ(w->synced, 1);
	CHECK(fake_watch(&w->kube));
	CHECK(kube_watch_fresh(w->watch));
	world_check(w);
}
