/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes as whoever watches was told of them. The watch and the answers to our own
 * writings come over two connections, in any order; both pass here, and only what is
 * newer goes on.
 */
#include <search.h>
#include <stdlib.h>

#include "controller/cluster/kube/cluster_kube_inside.h"
#include "controller/cluster/kube/kube_heart.h"
#include "controller/cluster/kube/kube_node.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

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

const struct cluster_node *kube_seen(const struct cluster_kube *k, const char *name)
{
	return find(k, name);
}

static void seen_free(void *p)
{
	cluster_node_release(p);
	free(p);
}

void kube_seen_release(struct cluster_kube *k)
{
	tdestroy(k->seen, seen_free);
	k->seen = NULL;
}

/*
 * Opaque to clients by the book, and a count of all changes in every server there has been
 * (KEP-5504 makes it the rule).
 */
bool kube_version_before(const char *a, const char *b)
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

bool kube_seen_same(const struct cluster_node *told, const struct cluster_node *now)
{
	/* A young one is hands off, too, and nothing on it says so. */
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
	kube_hearts_gone(k->hearts, name);
	if (k->watcher)
		k->watcher->gone(k->watcher->context, name);
}

static void on_node(void *context, const struct cluster_node *node)
{
	struct cluster_kube *k = context;
	struct cluster_node *n = find(k, node->name);

	if (n && !streq(n->uid, node->uid) && !kube_version_before(node->version, n->version)) {
		on_gone(k, node->name); /* another node by the name, and nobody said so */
		n = NULL;
	}
	if (!n)
		n = add(k, node);
	else if (!kube_version_before(node->version, n->version))
		replace(n, node);
	/* A list has to name it, even where it is older than our writing. */
	tell(k, n);
}

static void on_synced(void *context)
{
	struct cluster_kube *k = context;

	k->whole = true;
	kube_seen_whole(k);
}

void kube_seen_whole(struct cluster_kube *k)
{
	if (!k->whole || !k->watcher || !k->options.leads(k->options.context))
		return;
	k->whole = false;
	k->watcher->synced(k->watcher->context);
}

void kube_seen_fresh(struct cluster_kube *k, const json_t *raw)
{
	struct cluster_node node = { 0 }, *n;
	struct err err = ERR_INIT;

	if (kube_node_read(raw, k->cluster.names, &node, &err) < 0) {
		log_warning("what was answered is no node: %s", err.msg);
		return;
	}
	n = find(k, node.name);
	/* Gone meanwhile, or another one by now: the watch knows better. */
	if (n && streq(n->uid, node.uid) && kube_version_before(n->version, node.version)) {
		replace(n, &node);
		tell(k, n);
	}
	cluster_node_release(&node);
}

void kube_seen_newer(struct cluster_kube *k, const struct cluster_node *node)
{
	struct cluster_node *n = find(k, node->name);
	CLEANUP(freep) char *hands_off = n ? xstrdup(n->hands_off) : NULL;

	if (!n)
		return;
	replace(n, node);
	if (!n->hands_off) /* a young one is left alone, and nothing on it says so */
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
