/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_shared.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/policy/decide_alike.h"
#include "lib/policy/decide_inside.h"
#include "lib/policy/decide_let_go.h"
#include "lib/policy/decide_notices.h"
#include "lib/policy/decide_traits.h"

enum { DOMAINS_ARE_FLEET = 3 }; /* this many domains at once are a matter of the fleet */

static void mark(struct deciding *d, const struct alike *g)
{
	size_t i;

	for (i = g->first; i < g->end; i++)
		d->out->candidates[i].finding->shared = d->out->candidates[i].told = true;
}

/* Nodes by domain number; `domains` false: by SKU number, plus one for those without. */
static size_t *count_nodes(const struct fleet *f, bool domains)
{
	size_t *counts = xcalloc((domains ? f->domains.n : f->skus.n) + 1, sizeof(*counts)), i;

	for (i = 0; i < f->n; i++)
		counts[(domains ? f->nodes[i]->domain : f->nodes[i]->sku) + 1]++;
	return counts;
}

/* This many of `of` hosts that newly have the same are no coincidence. */
static size_t alike_of(const struct deciding *d, size_t of)
{
	return MAX((size_t)(d->policy->alike_percent * (double)of / 100),
		   (size_t)d->policy->alike_nodes);
}

/*
 * A domain becomes bad as a whole if enough of its hosts are bad, some of them only once; or if as
 * many have reached it as would be a shift of the fleet if they were all over it: each host shows
 * it when it runs its next tests. Hosts of a job with a notice do not count: jobs are placed in one
 * domain if it has room, so a slow job would be reported as the domain, and blamed on its hosts
 * elsewhere.
 */
static bool begins_wide(const struct deciding *d, const struct alike *g, size_t of)
{
	if (g->own_fresh >= ALIKE_MIN && g->own_fresh >= alike_of(d, d->fleet->n))
		return true;
	return g->own_fresh > 0 && g->own_newly >= ALIKE_MIN &&
	       g->own_newly * 100 >= of * ALIKE_SHARE;
}

static bool stays_wide(const struct notice *notice, const struct alike *g, size_t of)
{
	return g->hosts >= ALIKE_MIN && (g->hosts * 4 >= of || g->hosts >= notice->ends_below);
}

/* True if the group makes its domain bad as a whole. */
static bool is_wide(const struct deciding *d, const struct alike *g, const size_t *nodes)
{
	int domain = d->out->candidates[g->first].node->domain;
	const struct notice *notice;

	if (domain == NAME_NONE || g->fatal)
		return false;
	notice = decide_notices_find(d->fleet, NOTICE_DOMAIN,
				     names_text(&d->fleet->domains, domain));
	return begins_wide(d, g, nodes[domain + 1]) ||
	       (notice && stays_wide(notice, g, nodes[domain + 1]));
}

/* Finds the domains that are bad as a whole; returns how many. */
static size_t find_wide(const struct deciding *d, const size_t *nodes, bool *ret_wide)
{
	size_t i, n = 0;
	struct alike g;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		int domain = d->out->candidates[i].node->domain;

		g = decide_alike_at(d, i, true, NULL);
		if (!is_wide(d, &g, nodes))
			continue;
		n += !ret_wide[domain];
		ret_wide[domain] = true;
	}
	return n;
}

static bool is_shift(const struct deciding *d, const struct alike *g, size_t of, size_t n_wide)
{
	size_t alike = alike_of(d, of);

	if (of >= REFERENCE_N_MIN && g->reached > 0 && g->hosts * 2 >= of)
		return true;
	return g->outside >= alike || (n_wide >= DOMAINS_ARE_FLEET && g->fresh >= alike);
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t began_us(const struct candidate *c)
{
	return c->suspect ? c->finding->seen_us : c->finding->reached_us;
}

/* When each host of the group was found bad, ascending. New memory. */
static uint64_t *times_of(const struct deciding *d, const struct alike *g, size_t *ret_n)
{
	uint64_t *times = xcalloc(g->hosts + 1, sizeof(*times));
	const struct fleet_node *last = NULL;
	size_t n = 0, i;

	for (i = g->first; i < g->end && n < g->hosts; i++) {
		const struct candidate *c = &d->out->candidates[i];

		if (!decide_alike_counts(c, false) || c->node == last)
			continue;
		last = c->node;
		times[n++] = began_us(c);
	}
	qsort(times, n, sizeof(*times), compare_times);
	*ret_n = n;
	return times;
}

/* How many of the times are within breaker.alike.per of this one. */
static size_t beside(const struct deciding *d, const uint64_t *times, size_t n, uint64_t at_us)
{
	size_t count = 0, i;

	for (i = 0; i < n; i++)
		count += times[i] > at_us ? times[i] - at_us < d->policy->alike_per_us
					  : at_us - times[i] < d->policy->alike_per_us;
	return count;
}

/*
 * If it is half of the fleet, all are marked; if fewer, those that appeared together with enough
 * others. One that was found long before or after them has a fault of its own.
 */
static void mark_fleet(struct deciding *d, const struct alike *g, size_t of)
{
	const size_t alike = alike_of(d, of);
	CLEANUP(freep) uint64_t *times = NULL;
	size_t n = 0, i;

	if (g->hosts * 2 >= of) {
		mark(d, g);
		return;
	}
	times = times_of(d, g, &n);
	for (i = g->first; i < g->end; i++) {
		struct candidate *c = &d->out->candidates[i];

		c->finding->shared |= beside(d, times, n, began_us(c)) >= alike;
	}
}

static void tell_fleet(struct deciding *d, const struct alike *g, size_t of, struct notice *notice)
{
	const struct candidate *c = &d->out->candidates[g->example];
	const char *sku = names_text(&d->fleet->skus, c->node->sku);

	decide_notices_say(
		notice, g->hosts, of,
		xasprintf("%s: %zu of %zu hosts have a problem in %s, such as %s; so many at once "
			  "point to a "
			  "shared cause: check driver, settings, switch and SKU file",
			  sku ? sku : "all", g->hosts, of, c->finding->check,
			  c->finding->sentence ? c->finding->sentence : c->node->name));
	mark_fleet(d, g, of);
}

/* ---- the fleet ---------------------------------------------------------------- */

static void judge_fleet_group(struct deciding *d, const struct alike *g, size_t of, size_t n_wide)
{
	const struct candidate *c = &d->out->candidates[g->first];
	const char *sku = names_text(&d->fleet->skus, c->node->sku);
	CLEANUP(freep) char *key = xasprintf("%s %s", sku ? sku : "-", c->finding->check);
	struct notice *notice = g->fatal ? NULL : decide_notices_find(d->fleet, NOTICE_FLEET, key);
	/* If a file is wrong, it is wrong for half of its fleet. */
	bool by_sku_file = of >= REFERENCE_N_MIN && g->by_sku_file * 2 >= of;

	if (g->hosts == 0)
		return;
	if (notice && g->hosts >= notice->ends_below) {
		tell_fleet(d, g, of, notice);
		return;
	}
	if (!is_shift(d, g, of, n_wide))
		return;
	if (!g->fatal && !by_sku_file) {
		tell_fleet(d, g, of, decide_notices_need(d, NOTICE_FLEET, key, g->hosts));
		return;
	}
	deciding_open(d, by_sku_file ? BREAKER_SKU_FILE : BREAKER_SIGNATURE,
		      deciding_text(d, "%zu of %zu hosts of %.60s have %s%.60s at once: %s",
				    g->hosts, of, sku ? sku : "any SKU", g->fatal ? "a fatal " : "",
				    c->finding->check,
				    by_sku_file ? "check the SKU file"
						: "check what they have in common"));
	if (!g->fatal)
		mark(d, g);
}

static void judge_fleet(struct deciding *d, const bool *wide, size_t n_wide)
{
	CLEANUP(freep) size_t *nodes = count_nodes(d->fleet, false);
	struct alike g;
	size_t i;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		g = decide_alike_at(d, i, false, wide);
		judge_fleet_group(d, &g, nodes[d->out->candidates[i].node->sku + 1], n_wide);
	}
}

static void tell_domain(struct deciding *d, const struct alike *g, size_t of)
{
	const struct candidate *c = &d->out->candidates[g->example];
	const char *name = names_text(&d->fleet->domains, c->node->domain);
	struct notice *notice = decide_notices_need(d, NOTICE_DOMAIN, name, g->hosts);

	if (notice && notice->stands)
		return;
	decide_notices_say(
		notice, g->hosts, of,
		xasprintf(
			"%s %s: %zu of %zu hosts have a problem in %s, such as %s; check what they "
			"have in common (a switch, its links, power, cooling)",
			d->policy->domain_label ? d->policy->domain_label : "domain", name,
			g->hosts, of, c->finding->check,
			c->finding->sentence ? c->finding->sentence : c->node->name));
}

/*
 * What the fleet shares begins no incident of a domain, but one that stands goes on until the
 * domain is healthy: whether it is bad must not depend on what was reported.
 */
static void tell_domains(struct deciding *d, const size_t *nodes, const bool *wide)
{
	struct alike g;
	size_t i;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		const struct candidate *c = &d->out->candidates[i];
		int domain = c->node->domain;
		struct notice *notice;

		g = decide_alike_at(d, i, true, NULL);
		if (domain == NAME_NONE || !wide[domain] || !is_wide(d, &g, nodes))
			continue;
		notice = decide_notices_find(d->fleet, NOTICE_DOMAIN,
					     names_text(&d->fleet->domains, domain));
		if (!d->out->candidates[g.example].finding->shared)
			tell_domain(d, &g, nodes[domain + 1]);
		else if (notice)
			notice->stands = true;
	}
}

/*
 * Findings in a domain with a notice are the domain's, except of checks in which few hosts are bad.
 */
static void mark_domains(struct deciding *d, const size_t *nodes)
{
	struct alike g;
	size_t i;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		int domain = d->out->candidates[i].node->domain;
		const struct notice *notice;

		g = decide_alike_at(d, i, true, NULL);
		if (domain == NAME_NONE || g.fatal)
			continue;
		notice = decide_notices_find(d->fleet, NOTICE_DOMAIN,
					     names_text(&d->fleet->domains, domain));
		if (notice && notice->stands && stays_wide(notice, &g, nodes[domain + 1]))
			mark(d, &g);
	}
}

static void sort(struct deciding *d, int (*order)(const void *, const void *))
{
	qsort(d->out->candidates, d->out->n_candidates, sizeof(struct candidate), order);
}

/*
 * A domain is not bad as a whole yet, but it is no coincidence either: as many of its hosts as
 * breaker.alike.nodes newly have the same, four times as many as elsewhere in the fleet. The others
 * run their tests within breaker.alike.per, which decides: until then nobody is blamed.
 */
static bool gathers(const struct deciding *d, const struct alike *g, size_t of, size_t all,
		    size_t all_of)
{
	const size_t others = all - MIN(all, g->newly), others_of = all_of - MIN(all_of, of);

	return !g->fatal && g->newly >= MAX((size_t)d->policy->alike_nodes, (size_t)ALIKE_MIN) &&
	       others * of * ALIKE_OTHERS <= g->newly * others_of;
}

/* Candidates are sorted by domain: the same check of another domain is elsewhere. */
static size_t count_newly(struct deciding *d, const char *check)
{
	size_t n = 0, i;
	struct alike g;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		g = decide_alike_at(d, i, true, NULL);
		if (!g.fatal && streq(d->out->candidates[i].finding->check, check))
			n += g.newly;
	}
	return n;
}

static void mark_gathering(struct deciding *d, const size_t *nodes)
{
	struct alike g;
	size_t i, j;

	for (i = 0; i < d->out->n_candidates; i++)
		d->out->candidates[i].finding->shared |= d->out->candidates[i].gathers;
	for (i = 0; i < d->out->n_candidates; i = g.end) {
		const struct candidate *c = &d->out->candidates[i];
		const int domain = c->node->domain;

		g = decide_alike_at(d, i, true, NULL);
		if (domain == NAME_NONE || g.newly < ALIKE_MIN ||
		    !gathers(d, &g, nodes[domain + 1], count_newly(d, c->finding->check),
			     d->fleet->n))
			continue;
		for (j = g.first; j < g.end; j++) {
			c = &d->out->candidates[j];
			c->finding->shared |= !c->born && decide_alike_fresh(d, c);
		}
	}
}

/* Suspects are no longer needed. */
static void drop_suspects(struct deciding *d)
{
	struct outcome *out = d->out;
	size_t n = 0, i;

	for (i = 0; i < out->n_candidates; i++) {
		if (!out->candidates[i].suspect)
			out->candidates[n++] = out->candidates[i];
	}
	out->n_candidates = n;
}

void decide_shared(struct deciding *d)
{
	decide_notices_begin(d->fleet);
	if (d->out->n_candidates > 0) {
		CLEANUP(freep) size_t *nodes = count_nodes(d->fleet, true);
		CLEANUP(freep) bool *wide = xcalloc(d->fleet->domains.n + 1, sizeof(*wide));
		size_t n_wide;

		decide_traits_explain(d);
		sort(d, decide_alike_by_domain);
		n_wide = find_wide(d, nodes, wide);
		sort(d, decide_alike_by_sku);
		decide_traits_judge(d, wide);
		judge_fleet(d, wide, n_wide);
		sort(d, decide_alike_by_domain);
		tell_domains(d, nodes, wide);
		mark_domains(d, nodes);
		decide_let_go(d);
		mark_gathering(d, nodes);
		drop_suspects(d);
	}
	decide_notices_end(d);
}
