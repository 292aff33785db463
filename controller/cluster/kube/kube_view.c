/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_view.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"

struct seen {
	struct cluster_node c;
	uint64_t first_us; /* monotonic: when it was first seen */
	unsigned listed;   /* last list that named it */
	bool young;	   /* reported as young */
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct seen *)a)->c.name, ((const struct seen *)b)->c.name);
}

static struct seen *find(const struct kube_view *view, char *name)
{
	const struct seen key = { .c.name = name };
	struct seen **found = tfind(&key, &view->tree, compare);

	return found ? *found : NULL;
}

static void seen_free(void *p)
{
	struct seen *seen = p;

	cluster_node_release(&seen->c);
	free(seen);
}

void kube_view_release(struct kube_view *view)
{
	tdestroy(view->tree, seen_free);
	free(view->young_words);
	*view = (struct kube_view){ 0 };
}

/* Clocks differ: by its server's time a node is young no longer than we have known it. */
static bool is_young(const struct kube_view *view, const struct seen *seen, struct kube_now now)
{
	return view->young_us > 0 && seen->c.since_us > 0 &&
	       now.real_us < seen->c.since_us + view->young_us &&
	       now.mono_us - seen->first_us < view->young_us;
}

static char *young_words(struct kube_view *view)
{
	char text[CLOCK_DURATION_SIZE];

	if (view->young_words)
		return view->young_words;
	duration_format(view->young_us, text);
	view->young_words = xasprintf("it joined the cluster less than %s ago", text);
	return view->young_words;
}

static void tell(struct kube_view *view, struct seen *seen, struct kube_now now)
{
	const bool young = !seen->c.hands_off && is_young(view, seen, now);
	struct cluster_node shown = seen->c; /* borrows */

	if (young)
		shown.hands_off = young_words(view);
	view->n_young += young;
	view->n_young -= seen->young;
	seen->young = young;
	view->watcher->node(view->watcher->context, &shown);
}

/* Update the largest size of the fleet, for kube_view_doubt(). */
static void count(struct kube_view *view, struct kube_now now)
{
	if (view->n < view->most && now.mono_us - view->most_us < KUBE_VIEW_SHRUNK_US)
		return;
	view->most = view->n;
	view->most_us = now.mono_us;
}

static void drop(struct kube_view *view, struct seen *seen, struct kube_now now)
{
	count(view, now);
	(void)tdelete(seen, &view->tree, compare);
	view->n--;
	view->n_young -= seen->young;
	view->watcher->gone(view->watcher->context, seen->c.name);
	seen_free(seen);
}

/* Insert it without reporting. */
static struct seen *put(struct kube_view *view, struct cluster_node *node, struct kube_now now)
{
	struct seen *seen = find(view, node->name);

	if (seen && !streq(seen->c.uid, node->uid)) {
		drop(view, seen, now);
		seen = NULL;
	}
	if (seen) {
		cluster_node_release(&seen->c);
		seen->c = *node;
	} else {
		seen = xcalloc(1, sizeof(*seen));
		*seen = (struct seen){ .c = *node, .first_us = now.mono_us };
		if (!tsearch(seen, &view->tree, compare))
			abort(); /* out of memory */
		view->n++;
	}
	*node = (struct cluster_node){ 0 };
	seen->listed = view->listing;
	return seen;
}

void kube_view_take(struct kube_view *view, struct cluster_node *node, struct kube_now now)
{
	tell(view, put(view, node, now), now);
	count(view, now);
}

void kube_view_drop(struct kube_view *view, const char *name, const char *uid, struct kube_now now)
{
	CLEANUP(freep) char *copy = xstrdup(name);
	struct seen *seen = find(view, copy);

	if (seen && streq(seen->c.uid, uid))
		drop(view, seen, now);
}

/* --- lists --- */

struct walk {
	struct kube_view *view;
	struct kube_now now;
	struct seen **unlisted; /* room for all */
	size_t n_unlisted;
};

static void find_unlisted(const void *at, VISIT visit, void *context)
{
	struct walk *walk = context;
	struct seen *seen = *(struct seen *const *)at;

	if ((visit == preorder || visit == leaf) && seen->listed != walk->view->listing)
		walk->unlisted[walk->n_unlisted++] = seen;
}

static void tell_one(const void *at, VISIT visit, void *context)
{
	const struct walk *walk = context;

	if (visit == postorder || visit == leaf)
		tell(walk->view, *(struct seen *const *)at, walk->now);
}

static void tell_grown(const void *at, VISIT visit, void *context)
{
	const struct walk *walk = context;
	struct seen *seen = *(struct seen *const *)at;

	if ((visit == postorder || visit == leaf) && seen->young &&
	    !is_young(walk->view, seen, walk->now))
		tell(walk->view, seen, walk->now);
}

void kube_view_list(struct kube_view *view, struct cluster_node *nodes, size_t n,
		    struct kube_now now)
{
	struct walk walk = { .view = view, .now = now };
	size_t i;

	view->listing++;
	for (i = 0; i < n; i++)
		(void)put(view, &nodes[i], now);
	walk.unlisted = xcalloc(view->n + 1, sizeof(*walk.unlisted));
	twalk_r(view->tree, find_unlisted, &walk);
	for (i = 0; i < walk.n_unlisted; i++)
		drop(view, walk.unlisted[i], now);
	free(walk.unlisted);
	count(view, now);
	twalk_r(view->tree, tell_one, &walk);
	view->watcher->synced(view->watcher->context);
}

void kube_view_grow(struct kube_view *view, struct kube_now now)
{
	struct walk walk = { .view = view, .now = now };

	if (view->n_young > 0)
		twalk_r(view->tree, tell_grown, &walk);
}

char *kube_view_doubt(struct kube_view *view, struct kube_now now)
{
	char within[CLOCK_DURATION_SIZE];

	count(view, now);
	if (view->n == 0)
		return xstrdup("the cluster has no nodes");
	if (view->most - view->n < KUBE_VIEW_GONE_LEAST ||
	    view->n * 100 >= view->most * KUBE_VIEW_LEAST_PERCENT)
		return NULL;
	duration_format(KUBE_VIEW_SHRUNK_US, within);
	return xasprintf("%zu of %zu nodes disappeared within %s", view->most - view->n, view->most,
			 within);
}
