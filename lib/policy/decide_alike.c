/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_alike.h"

#include "lib/judge/verdict.h"
#include "lib/policy/decide_inside.h"

/* Within a domain or SKU: fatal last, then by check and host; suspects last. */
static int by_kind(const struct candidate *x, const struct candidate *y)
{
	int order;

	if (x->fatal != y->fatal)
		return x->fatal - y->fatal;
	order = strcmp(x->finding->check, y->finding->check);
	if (order == 0)
		order = strcmp(x->node->name, y->node->name);
	return order != 0 ? order : x->suspect - y->suspect;
}

int decide_alike_by_domain(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->node->domain != y->node->domain)
		return x->node->domain < y->node->domain ? -1 : 1;
	return by_kind(x, y);
}

int decide_alike_by_sku(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->node->sku != y->node->sku)
		return x->node->sku < y->node->sku ? -1 : 1;
	return by_kind(x, y);
}

bool decide_alike_fresh(const struct deciding *d, const struct candidate *c)
{
	const uint64_t at_us = c->suspect ? c->finding->seen_us : c->finding->reached_us;

	/* A person looked at what was there when closing the breaker. */
	return at_us > d->breaker->reset_us &&
	       !deciding_past(d->now_us, at_us, d->policy->alike_per_us);
}

bool decide_alike_counts(const struct candidate *c, bool domains)
{
	if (c->suspect && windows_bad(&c->finding->windows, 1) == 0)
		return false;
	return !c->born && (domains || !c->finding->shared);
}

static void count(const struct deciding *d, struct alike *g, const struct candidate *c,
		  const bool *wide)
{
	const int domain = c->node->domain;
	const bool fresh = decide_alike_fresh(d, c);

	g->hosts++;
	g->newly += fresh;
	g->own_newly += fresh && !c->explained;
	g->own_fresh += fresh && !c->explained && !c->suspect;
	if (c->suspect)
		return;
	g->reached++;
	g->by_sku_file += c->finding->source == SOURCE_SKU;
	g->fresh += fresh;
	g->outside += fresh && (!wide || domain == NAME_NONE || !wide[domain]);
}

struct alike decide_alike_at(const struct deciding *d, size_t first, bool domains, const bool *wide)
{
	const struct candidate *c = d->out->candidates, *a = &c[first];
	struct alike g = { .first = first, .end = first, .example = first, .fatal = a->fatal };
	const struct fleet_node *last = NULL;

	for (; g.end < d->out->n_candidates; g.end++) {
		const struct candidate *b = &c[g.end];

		if (b->fatal != a->fatal || !streq(b->finding->check, a->finding->check) ||
		    (domains ? b->node->domain != a->node->domain : b->node->sku != a->node->sku))
			break;
		if (!decide_alike_counts(b, domains) || b->node == last)
			continue;
		last = b->node;
		if (g.hosts == 0)
			g.example = g.end;
		count(d, &g, b, wide);
	}
	return g;
}
