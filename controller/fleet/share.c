/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/share.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"

TAILQ_HEAD(share_list, share_entry);

struct share_host {
	char *node;
	struct share_list list; /* oldest first */
	size_t n;
	bool told; /* logged that its share is used up */
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct share_host *)a)->node, ((const struct share_host *)b)->node);
}

static struct share_host *need(struct shares *s, const char *node)
{
	struct share_host *host = xcalloc(1, sizeof(*host));
	struct share_host **found;

	host->node = xstrdup(node);
	TAILQ_INIT(&host->list);
	found = tsearch(host, &s->tree, compare);
	if (!found)
		abort(); /* out of memory */
	if (*found != host) {
		free(host->node);
		free(host);
	}
	return *found;
}

static void host_free(void *p)
{
	struct share_host *host = p;

	free(host->node);
	free(host);
}

void share_enter(struct shares *s, struct share_entry *share, void *entry, const char *node)
{
	struct share_host *host = share->host;

	if (host && streq(host->node, node)) {
		TAILQ_REMOVE(&host->list, share, link);
	} else {
		share_leave(s, share);
		host = share->host = need(s, node);
		host->n++;
	}
	share->entry = entry;
	TAILQ_INSERT_TAIL(&host->list, share, link);
}

void share_leave(struct shares *s, struct share_entry *share)
{
	struct share_host *host = TAKE(share->host);

	if (!host)
		return;
	TAILQ_REMOVE(&host->list, share, link);
	if (--host->n > 0)
		return;
	(void)tdelete(host, &s->tree, compare);
	host_free(host);
}

size_t share_count(const struct share_entry *share)
{
	return share->host ? share->host->n : 0;
}

void *share_excess(struct shares *s, const struct share_entry *share, size_t max)
{
	struct share_host *host = share->host;

	if (!host || host->n <= max)
		return NULL;
	if (!host->told && !s->crowded) {
		host->told = true;
		s->crowded = xstrdup(host->node);
	}
	return TAILQ_FIRST(&host->list)->entry;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct share_rank *x = a, *y = b;

	if (x->hosts != y->hosts)
		return x->hosts < y->hosts ? -1 : 1;
	if (x->crowd != y->crowd)
		return x->crowd > y->crowd ? -1 : 1;
	return (x->used > y->used) - (x->used < y->used);
}

void share_rank(struct share_rank *ranks, size_t n)
{
	if (n > 0)
		qsort(ranks, n, sizeof(*ranks), compare_ranks);
}

void shares_release(struct shares *s)
{
	tdestroy(s->tree, host_free);
	free(s->crowded);
	*s = (struct shares){ 0 };
}
