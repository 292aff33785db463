/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/token_buckets.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"

struct bucket {
	char *name;
	double left;
	uint64_t at_us;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct bucket *)a)->name, ((const struct bucket *)b)->name);
}

static struct bucket *bucket_of(struct token_buckets *l, const char *name, uint64_t now_us)
{
	struct bucket *fresh = xcalloc(1, sizeof(*fresh));
	struct bucket **found;

	*fresh = (struct bucket){ xstrdup(name), l->burst, now_us };
	found = l->n < l->max ? tsearch(fresh, &l->tree, compare) : tfind(fresh, &l->tree, compare);
	if (found && *found == fresh) {
		l->n++;
		return fresh;
	}
	free(fresh->name);
	free(fresh);
	return found ? *found : NULL;
}

bool token_buckets_take(struct token_buckets *l, const char *name, uint64_t now_us)
{
	struct bucket *b = bucket_of(l, name, now_us);

	if (!b)
		return true;
	if (now_us > b->at_us) {
		b->left += (double)(now_us - b->at_us) / (double)USEC_PER_SEC * l->rate;
		b->at_us = now_us;
	}
	b->left = MIN(b->left, l->burst);
	if (b->left < 1)
		return false;
	b->left -= 1;
	return true;
}

void token_buckets_give(struct token_buckets *l, const char *name)
{
	CLEANUP(freep) char *copy = xstrdup(name);
	struct bucket key = { .name = copy };
	struct bucket **found = tfind(&key, &l->tree, compare);

	if (found)
		(*found)->left = MIN((*found)->left + 1, l->burst);
}

static void bucket_free(void *p)
{
	struct bucket *b = p;

	free(b->name);
	free(b);
}

void token_buckets_release(struct token_buckets *l)
{
	tdestroy(l->tree, bucket_free);
	l->tree = NULL;
	l->n = 0;
}
