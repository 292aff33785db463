/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/deny.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/policy/policy.h"

static int compare(const struct denial *d, const char *signature, const char *node)
{
	int order = strcmp(d->signature, signature);

	return order != 0 ? order : strcmp(d->node, node);
}

/* The position of the pair, or where it belongs. */
static size_t place_of(const struct denials *d, const char *signature, const char *node)
{
	size_t low = 0, high = d->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(&d->items[mid], signature, node) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void forget_old(struct denials *d, uint64_t now_us, uint64_t per_us)
{
	size_t i, n = 0;

	for (i = 0; i < d->n; i++) {
		if (d->items[i].at_us > now_us || now_us - d->items[i].at_us < per_us) {
			d->items[n++] = d->items[i];
			continue;
		}
		free(d->items[i].signature);
		free(d->items[i].node);
	}
	d->n = n;
}

static void put(struct denials *d, size_t at, const char *signature, const char *node,
		uint64_t now_us)
{
	if (d->n == d->room) {
		d->room = MAX(d->room * 2, (size_t)16);
		d->items = xrealloc(d->items, d->room, sizeof(*d->items));
	}
	memmove(&d->items[at + 1], &d->items[at], (d->n - at) * sizeof(*d->items));
	d->items[at] = (struct denial){ xstrdup(signature), xstrdup(node), now_us };
	d->n++;
}

static uint64_t limit_of(const struct policy *p, size_t nodes)
{
	return MAX((uint64_t)(p->deny_percent * (double)nodes / 100), p->deny_nodes);
}

static uint64_t count(const struct denials *d, const char *signature)
{
	size_t i = place_of(d, signature, "");
	uint64_t n = 0;

	for (; i < d->n && streq(d->items[i].signature, signature); i++)
		n++;
	return n;
}

void deny_ask(struct denials *d, const struct policy *policy, size_t nodes,
	      const struct deny_question *question, uint64_t now_us, struct deny_answer *ret)
{
	const char *node = question->node, *signature = question->signature;
	char per[CLOCK_DURATION_SIZE];
	size_t at;

	forget_old(d, now_us, policy->deny_per_us);
	at = place_of(d, signature, node);
	*ret = (struct deny_answer){ .limit = limit_of(policy, nodes), .used = count(d, signature) };
	if (at < d->n && compare(&d->items[at], signature, node) == 0) {
		d->items[at].at_us = now_us;
		ret->denied = true;
		return;
	}
	if (ret->used < ret->limit && d->n < DENIALS_MAX) {
		put(d, at, signature, node, now_us);
		ret->used++;
		ret->denied = true;
		return;
	}
	duration_format(policy->deny_per_us, per);
	ret->alarm = true;
	(void)snprintf(
		ret->sentence, sizeof(ret->sentence),
		"%s already keeps jobs off %llu nodes, and budget.deny allows %llu in %s: %s is "
		"let through as degraded; check what they have in common (the SKU file, a "
		"driver), or raise budget.deny",
		signature, (unsigned long long)ret->used, (unsigned long long)ret->limit, per, node);
}

void denials_release(struct denials *d)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		free(d->items[i].signature);
		free(d->items[i].node);
	}
	free(d->items);
	*d = (struct denials){ 0 };
}
