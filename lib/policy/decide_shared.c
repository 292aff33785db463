/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many hosts share is no host's fault. Candidates are grouped by (SKU,
 * check), those by setting and job, and by (domain, check); hosts are counted once per group.
 */
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict.h"
#include "lib/policy/decide_inside.h"
#include "lib/policy/decide_let_go.h"
#include "lib/policy/decide_traits.h"

const char *const notice_kind_names[] = {
	[NOTICE_FLEET] = "fleet",
	[NOTICE_DOMAIN] = "domain",
	[NOTICE_SETTING] = "setting",
	[NOTICE_JOB] = "job",
	NULL,
};

enum {
	DOMAIN_MIN = 3, /* hosts of a domain, or with a setting, that are no coincidence */
	OTHERS_MAX = 4, /* hosts without a setting are bad a quarter as often, or it is not that */
	SHARE_PERCENT =
		30, /* ... when they are so many of it, and the others run their tests later */
	DOMAINS_ARE_FLEET = 3, /* so many domains at once are not domains */
	NOTICES_MAX = 1024,    /* what is above is not told; nobody is blamed for it either */
};

/* Candidates [first, end) of one group, after sorting. */
struct group {
	size_t first, end;
	size_t example; /* one that counts */
	size_t hosts;	/* distinct; of parts that were born slow none */
	size_t reached; /* of those, K of N or fatal; the others were bad in their last run */
	size_t fresh;	/* of the reached, newly */
	size_t newly;	/* of all */
	size_t own_fresh, own_newly; /* likewise, but for those that something told explains */
	size_t outside;		     /* of the fresh, not in a domain that is bad as a whole */
	size_t by_sku_file;
	bool fatal;
};

/* Of one domain or SKU: fatal last, by check and host; what is reached speaks for its host. */
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

static int by_domain(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->node->domain != y->node->domain)
		return x->node->domain < y->node->domain ? -1 : 1;
	return by_kind(x, y);
}

static int by_sku(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->node->sku != y->node->sku)
		return x->node->sku < y->node->sku ? -1 : 1;
	return by_kind(x, y);
}

static bool is_fresh(const struct deciding *d, const struct candidate *c)
{
	const uint64_t at_us = c->suspect ? c->finding->seen_us : c->finding->reached_us;

	/* What stood when a person closed the breaker was looked at. */
	return at_us > d->breaker->reset_us &&
	       !deciding_past(d->now_us, at_us, d->policy->alike_per_us);
}

/*
 * Does it count for a group? What a setting or a job explains is not the fleet's besides, and what
 * was good last makes nothing wide, though it belongs to what is.
 */
static bool counts(const struct candidate *c, bool domains)
{
	if (c->suspect && windows_bad(&c->finding->windows, 1) == 0)
		return false;
	return !c->born && (domains || !c->finding->shared);
}

static void count(const struct deciding *d, struct group *g, const struct candidate *c,
		  const bool *wide)
{
	const int domain = c->node->domain;
	const bool fresh = is_fresh(d, c);

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

/* The group that begins at `first`. `wide` marks domains, or is NULL. */
static struct group group_at(const struct deciding *d, size_t first, bool domains, const bool *wide)
{
	const struct candidate *c = d->out->candidates, *a = &c[first];
	struct group g = { .first = first, .end = first, .example = first, .fatal = a->fatal };
	const struct fleet_node *last = NULL;

	for (; g.end < d->out->n_candidates; g.end++) {
		const struct candidate *b = &c[g.end];

		if (b->fatal != a->fatal || !streq(b->finding->check, a->finding->check) ||
		    (domains ? b->node->domain != a->node->domain : b->node->sku != a->node->sku))
			break;
		if (!counts(b, domains) || b->node == last)
			continue;
		last = b->node;
		if (g.hosts == 0)
			g.example = g.end;
		count(d, &g, b, wide);
	}
	return g;
}

static struct notice *find_notice(const struct fleet *f, int kind, const char *key)
{
	size_t i;

	for (i = 0; i < f->n_notices; i++) {
		if (f->notices[i].kind == kind && streq(f->notices[i].key, key))
			return &f->notices[i];
	}
	return NULL;
}

static struct notice *need_notice(struct deciding *d, int kind, const char *key, size_t hosts)
{
	struct fleet *f = d->fleet;
	struct notice *notice = find_notice(f, kind, key);

	if (notice)
		return notice;
	if (f->n_notices == NOTICES_MAX)
		return NULL;
	f->notices = xrealloc(f->notices, f->n_notices + 1, sizeof(*f->notices));
	notice = &f->notices[f->n_notices++];
	*notice = (struct notice){ .kind = kind,
				   .key = xstrdup(key),
				   .since_us = d->now_us,
				   .begun = true,
				   .ends_below = (hosts + 1) / 2 };
	return notice;
}

static void say(struct notice *notice, size_t hosts, size_t of, char *sentence)
{
	if (!notice) {
		free(sentence);
		return;
	}
	free(notice->sentence);
	notice->sentence = sentence;
	notice->hosts = hosts;
	notice->of = of;
	notice->stands = true;
}

static void mark(struct deciding *d, const struct group *g)
{
	size_t i;

	for (i = g->first; i < g->end; i++)
		d->out->candidates[i].finding->shared = d->out->candidates[i].told = true;
}

/* Nodes by domain number; `by_domain` false: by SKU number, plus one for those without. */
static size_t *count_nodes(const struct fleet *f, bool domains)
{
	size_t *counts = xcalloc((domains ? f->domains.n : f->skus.n) + 1, sizeof(*counts)), i;

	for (i = 0; i < f->n; i++)
		counts[(domains ? f->nodes[i]->domain : f->nodes[i]->sku) + 1]++;
	return counts;
}

/* So many of `of` hosts that newly have the same are no coincidence. */
static size_t alike_of(const struct deciding *d, size_t of)
{
	return MAX((size_t)(d->policy->alike_percent * (double)of / 100),
		   (size_t)d->policy->alike_nodes);
}

/*
 * So many of its hosts are, some of them once; or as many have reached it as would be a shift
 * of the fleet, were they all over it: each host tells when it runs its tests next. Those of a job
 * that is told of do not count: jobs are placed in one domain where that has room, and a job that
 * is slow would be told as that, and blamed on its hosts elsewhere.
 */
static bool begins_wide(const struct deciding *d, const struct group *g, size_t of)
{
	if (g->own_fresh >= DOMAIN_MIN && g->own_fresh >= alike_of(d, d->fleet->n))
		return true;
	return g->own_fresh > 0 && g->own_newly >= DOMAIN_MIN &&
	       g->own_newly * 100 >= of * SHARE_PERCENT;
}

static bool stays_wide(const struct notice *notice, const struct group *g, size_t of)
{
	return g->hosts >= DOMAIN_MIN && (g->hosts * 4 >= of || g->hosts >= notice->ends_below);
}

/* Is the group what makes its domain bad as a whole? */
static bool is_wide(const struct deciding *d, const struct group *g, const size_t *nodes)
{
	int domain = d->out->candidates[g->first].node->domain;
	const struct notice *notice;

	if (domain == NAME_NONE || g->fatal)
		return false;
	notice = find_notice(d->fleet, NOTICE_DOMAIN, names_text(&d->fleet->domains, domain));
	return begins_wide(d, g, nodes[domain + 1]) ||
	       (notice && stays_wide(notice, g, nodes[domain + 1]));
}

/* Which domains are bad as a whole; returns how many. */
static size_t find_wide(const struct deciding *d, const size_t *nodes, bool *ret_wide)
{
	size_t i, n = 0;
	struct group g;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		int domain = d->out->candidates[i].node->domain;

		g = group_at(d, i, true, NULL);
		if (!is_wide(d, &g, nodes))
			continue;
		n += !ret_wide[domain];
		ret_wide[domain] = true;
	}
	return n;
}

static bool is_shift(const struct deciding *d, const struct group *g, size_t of, size_t n_wide)
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

/* When each host of the group was found bad, ascending; new memory. */
static uint64_t *times_of(const struct deciding *d, const struct group *g, size_t *ret_n)
{
	uint64_t *times = xcalloc(g->hosts + 1, sizeof(*times));
	const struct fleet_node *last = NULL;
	size_t n = 0, i;

	for (i = g->first; i < g->end && n < g->hosts; i++) {
		const struct candidate *c = &d->out->candidates[i];

		if (!counts(c, false) || c->node == last)
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
 * Half of the fleet: nobody is told apart. Fewer: those that came with so many others. One that was
 * found long before them, or long after, has its own fault.
 */
static void mark_fleet(struct deciding *d, const struct group *g, size_t of)
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

static void tell_fleet(struct deciding *d, const struct group *g, size_t of, struct notice *notice)
{
	const struct candidate *c = &d->out->candidates[g->example];
	const char *sku = names_text(&d->fleet->skus, c->node->sku);

	say(notice, g->hosts, of,
	    xasprintf("%s: %zu of %zu hosts have a problem in %s, such as %s; so many at once "
		      "point to a "
		      "shared cause: check driver, settings, switch and SKU file",
		      sku ? sku : "all", g->hosts, of, c->finding->check,
		      c->finding->sentence ? c->finding->sentence : c->node->name));
	mark_fleet(d, g, of);
}

/* ---- what only those with one setting have, or those of one job ---------------- */

struct trait_search {
	const struct group *group;
	int kind; /* enum notice_kind */
	const struct names *names;
	size_t *bad, *of; /* hosts by trait; owned */
	size_t hosts;	  /* of the group */
	size_t all;	  /* of the SKU */
	const bool *wide; /* domains that are bad as a whole: not looked at */
};

static void trait_search_release(struct trait_search *s)
{
	free(s->bad);
	free(s->of);
}

/* What its domain has as a whole is no other cause. */
static bool is_elsewhere(const struct trait_search *s, const struct fleet_node *node)
{
	return node->domain != NAME_NONE && s->wide[node->domain];
}

static void count_hosts(struct deciding *d, struct trait_search *s)
{
	const struct candidate *c = &d->out->candidates[s->group->first];
	const struct fleet_node *last = NULL;
	size_t i;

	s->bad = xcalloc(s->names->n + 1, sizeof(*s->bad));
	s->of = xcalloc(s->names->n + 1, sizeof(*s->of));
	for (i = 0; i < d->fleet->n; i++) {
		if (d->fleet->nodes[i]->sku != c->node->sku || is_elsewhere(s, d->fleet->nodes[i]))
			continue;
		s->all++;
		decide_traits_count(d->fleet->nodes[i], NULL, s->kind, s->of);
	}
	for (i = s->group->first; i < s->group->end; i++) {
		c = &d->out->candidates[i];
		if (!counts(c, false) || c->node == last || is_elsewhere(s, c->node) ||
		    (c->explained && c->explained != s->kind))
			continue;
		last = c->node;
		s->hosts++;
		decide_traits_count(c->node, c->finding, s->kind, s->bad);
	}
}

/* Hardly any host without it is bad; and it is not just the SKU. */
static bool is_rare_elsewhere(const struct trait_search *s, size_t trait)
{
	const size_t bad = s->bad[trait], of = s->of[trait], others = s->hosts - bad;

	return of * 2 <= s->all && others * of * OTHERS_MAX <= bad * (s->all - of);
}

/* Many of those that have it are bad, and hardly any that has not. */
static bool explains(const struct trait_search *s, size_t trait)
{
	/* There are many jobs, and small ones: fewer of one are bad by chance. */
	const size_t share = s->kind == NOTICE_JOB ? 50 : SHARE_PERCENT;

	return s->bad[trait] >= DOMAIN_MIN && s->bad[trait] * 100 >= s->of[trait] * share &&
	       is_rare_elsewhere(s, trait);
}

/*
 * Are its neighbors without it well? A rack that becomes bad is one of its jobs at first: what is
 * near tells them apart.
 */
static bool is_not_the_place(struct deciding *d, const struct trait_search *s, size_t trait)
{
	const int sku = d->out->candidates[s->group->first].node->sku;
	CLEANUP(freep) bool *near = xcalloc(d->fleet->domains.n + 1, sizeof(*near));
	const struct fleet_node *last = NULL;
	size_t of = 0, bad = 0, i;

	for (i = s->group->first; i < s->group->end; i++) {
		const struct candidate *c = &d->out->candidates[i];

		if (c->node->domain != NAME_NONE &&
		    decide_traits_has(c->node, c->finding, s->kind, (int)trait))
			near[c->node->domain] = true;
	}
	for (i = 0; i < d->fleet->n; i++) {
		const struct fleet_node *node = d->fleet->nodes[i];

		of += node->sku == sku && node->domain != NAME_NONE && near[node->domain] &&
		      !decide_traits_has(node, NULL, s->kind, (int)trait);
	}
	for (i = s->group->first; i < s->group->end; i++) {
		const struct candidate *c = &d->out->candidates[i];

		if (!counts(c, false) || c->node == last || c->node->domain == NAME_NONE ||
		    !near[c->node->domain] || decide_traits_has(c->node, NULL, s->kind, (int)trait))
			continue;
		last = c->node;
		bad++;
	}
	return bad * s->of[trait] * OTHERS_MAX <= s->bad[trait] * MAX(of, (size_t)1);
}

static struct notice *find_trait_notice(const struct deciding *d, const struct trait_search *s,
					size_t trait, char **ret_key)
{
	const struct candidate *c = &d->out->candidates[s->group->first];
	const char *sku = names_text(&d->fleet->skus, c->node->sku);

	*ret_key = xasprintf("%s %s %s", sku ? sku : "-", c->finding->check,
			     names_text(s->names, (int)trait));
	return find_notice(d->fleet, s->kind, *ret_key);
}

static void tell_trait(struct deciding *d, const struct trait_search *s, size_t trait,
		       const char *key)
{
	struct notice *notice = need_notice(d, s->kind, key, s->bad[trait]);
	const struct candidate *example = NULL;
	const char *sku;
	size_t i;

	for (i = s->group->first; i < s->group->end; i++) {
		struct candidate *c = &d->out->candidates[i];

		if (!decide_traits_has(c->node, c->finding, s->kind, (int)trait))
			continue;
		if (!example && counts(c, false))
			example = c;
		c->finding->shared = c->told = true;
	}
	if (!example)
		return;
	sku = names_text(&d->fleet->skus, example->node->sku);
	say(notice, s->bad[trait], s->of[trait],
	    xasprintf("%s: %zu of %zu hosts %s %s have a problem in %s, and %zu "
		      "of %zu others, such "
		      "as %s; so many are unlikely to be faulty: check what they have in common",
		      sku ? sku : "all", s->bad[trait], s->of[trait],
		      s->kind == NOTICE_JOB ? "of job" : "with", names_text(s->names, (int)trait),
		      example->finding->check, s->hosts - s->bad[trait], s->all - s->of[trait],
		      example->finding->sentence ? example->finding->sentence
						 : example->node->name));
}

/*
 * Fewer than half of a job's hosts are bad, newly, and four times as many as elsewhere: the others
 * run their tests within breaker.alike.per, which tells whether it is the job. A host that is
 * tested at once would be cordoned for it before they have.
 */
static void gather_jobs(struct deciding *d, const struct trait_search *s)
{
	CLEANUP(freep) size_t *newly = xcalloc(s->names->n + 1, sizeof(*newly));
	const struct fleet_node *last = NULL;
	size_t i, t;

	for (i = s->group->first; i < s->group->end; i++) {
		const struct candidate *c = &d->out->candidates[i];

		if (!counts(c, false) || !is_fresh(d, c) || c->node == last || c->explained)
			continue;
		last = c->node;
		decide_traits_count(c->node, c->finding, s->kind, newly);
	}
	for (t = 0; t < s->names->n; t++) {
		if (newly[t] < DOMAIN_MIN || !is_rare_elsewhere(s, t) || !is_not_the_place(d, s, t))
			continue;
		for (i = s->group->first; i < s->group->end; i++) {
			struct candidate *c = &d->out->candidates[i];

			c->gathers |= !c->born && is_fresh(d, c) &&
				      decide_traits_has(c->node, c->finding, s->kind, (int)t);
		}
	}
}

/* The one that explains most; of one that was told before the notice stands while half is bad. */
static void judge_traits_of(struct deciding *d, const struct group *g, int kind, const bool *wide)
{
	const struct names *names = kind == NOTICE_JOB ? &d->fleet->jobs : &d->fleet->settings;
	CLEANUP(trait_search_release)
	struct trait_search s = { .group = g, .kind = kind, .names = names, .wide = wide };
	size_t best = 0, best_bad = 0, i;

	count_hosts(d, &s);
	for (i = 0; i < names->n; i++) {
		CLEANUP(freep) char *key = NULL;
		const struct notice *notice;

		if (s.bad[i] < DOMAIN_MIN)
			continue;
		notice = find_trait_notice(d, &s, i, &key);
		if (notice && s.bad[i] >= notice->ends_below) {
			tell_trait(d, &s, i, key);
			return;
		}
		if (s.bad[i] > best_bad && explains(&s, i) && is_not_the_place(d, &s, i)) {
			best = i;
			best_bad = s.bad[i];
		}
	}
	if (best_bad > 0 && g->fresh > 0) {
		CLEANUP(freep) char *key = NULL;

		(void)find_trait_notice(d, &s, best, &key);
		tell_trait(d, &s, best, key);
	} else if (kind == NOTICE_JOB) {
		gather_jobs(d, &s);
	}
}

static void judge_traits(struct deciding *d, const bool *wide)
{
	struct group g;
	size_t i;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		g = group_at(d, i, false, NULL);
		if (g.fatal || g.reached == 0 || g.hosts < DOMAIN_MIN)
			continue;
		judge_traits_of(d, &g, NOTICE_SETTING, wide);
		g = group_at(d, i, false, NULL);
		if (g.hosts >= DOMAIN_MIN)
			judge_traits_of(d, &g, NOTICE_JOB, wide);
	}
}

/* ---- the fleet ---------------------------------------------------------------- */

static void judge_fleet_group(struct deciding *d, const struct group *g, size_t of, size_t n_wide)
{
	const struct candidate *c = &d->out->candidates[g->first];
	const char *sku = names_text(&d->fleet->skus, c->node->sku);
	CLEANUP(freep) char *key = xasprintf("%s %s", sku ? sku : "-", c->finding->check);
	struct notice *notice = g->fatal ? NULL : find_notice(d->fleet, NOTICE_FLEET, key);
	/* A file that is wrong is wrong for half of its fleet. */
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
		tell_fleet(d, g, of, need_notice(d, NOTICE_FLEET, key, g->hosts));
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
	struct group g;
	size_t i;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		g = group_at(d, i, false, wide);
		judge_fleet_group(d, &g, nodes[d->out->candidates[i].node->sku + 1], n_wide);
	}
}

static void tell_domain(struct deciding *d, const struct group *g, size_t of)
{
	const struct candidate *c = &d->out->candidates[g->example];
	const char *name = names_text(&d->fleet->domains, c->node->domain);
	struct notice *notice = need_notice(d, NOTICE_DOMAIN, name, g->hosts);

	if (notice && notice->stands)
		return;
	say(notice, g->hosts, of,
	    xasprintf("%s %s: %zu of %zu hosts have a problem in %s, such as %s; check what they "
		      "have in common (a switch, its links, power, cooling)",
		      d->policy->domain_label ? d->policy->domain_label : "domain", name, g->hosts,
		      of, c->finding->check,
		      c->finding->sentence ? c->finding->sentence : c->node->name));
}

/*
 * What the fleet shares begins no incident of a domain, and one that stands goes on
 * until the domain is well: whether it is bad must not hang on what was told.
 */
static void tell_domains(struct deciding *d, const size_t *nodes, const bool *wide)
{
	struct group g;
	size_t i;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		const struct candidate *c = &d->out->candidates[i];
		int domain = c->node->domain;
		struct notice *notice;

		g = group_at(d, i, true, NULL);
		if (domain == NAME_NONE || !wide[domain] || !is_wide(d, &g, nodes))
			continue;
		notice = find_notice(d->fleet, NOTICE_DOMAIN,
				     names_text(&d->fleet->domains, domain));
		if (!d->out->candidates[g.example].finding->shared)
			tell_domain(d, &g, nodes[domain + 1]);
		else if (notice)
			notice->stands = true;
	}
}

/* What a good part of a domain has that is told of is its. A check that few have is another matter. */
static void mark_domains(struct deciding *d, const size_t *nodes)
{
	struct group g;
	size_t i;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		int domain = d->out->candidates[i].node->domain;
		const struct notice *notice;

		g = group_at(d, i, true, NULL);
		if (domain == NAME_NONE || g.fatal)
			continue;
		notice = find_notice(d->fleet, NOTICE_DOMAIN,
				     names_text(&d->fleet->domains, domain));
		if (notice && notice->stands && stays_wide(notice, &g, nodes[domain + 1]))
			mark(d, &g);
	}
}

/* Ended ones are told once and go at the next call. */
static void begin_notices(struct fleet *f)
{
	size_t i, n = 0;

	for (i = 0; i < f->n_notices; i++) {
		struct notice *notice = &f->notices[i];

		if (notice->ended_us > 0) {
			free(notice->key);
			free(notice->sentence);
			continue;
		}
		notice->begun = notice->stands = false;
		f->notices[n++] = *notice;
	}
	f->n_notices = n;
}

static void end_notices(struct deciding *d)
{
	size_t i;

	for (i = 0; i < d->fleet->n_notices; i++) {
		if (!d->fleet->notices[i].stands)
			d->fleet->notices[i].ended_us = d->now_us;
	}
}

static void sort(struct deciding *d, int (*order)(const void *, const void *))
{
	qsort(d->out->candidates, d->out->n_candidates, sizeof(struct candidate), order);
}

/*
 * Not yet a domain that is bad as a whole, and no coincidence either: so many of it newly have the
 * same as breaker.alike.nodes, four times as many as elsewhere in the fleet. The others run
 * their tests within breaker.alike.per, which tells whose it is: until then nobody is blamed.
 */
static bool gathers(const struct deciding *d, const struct group *g, size_t of, size_t all,
		    size_t all_of)
{
	const size_t others = all - MIN(all, g->newly), others_of = all_of - MIN(all_of, of);

	return !g->fatal && g->newly >= MAX((size_t)d->policy->alike_nodes, (size_t)DOMAIN_MIN) &&
	       others * of * OTHERS_MAX <= g->newly * others_of;
}

/* Candidates are in order of their domains: the same check of another domain is elsewhere. */
static size_t count_newly(struct deciding *d, const char *check)
{
	size_t n = 0, i;
	struct group g;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		g = group_at(d, i, true, NULL);
		if (!g.fatal && streq(d->out->candidates[i].finding->check, check))
			n += g.newly;
	}
	return n;
}

static void mark_gathering(struct deciding *d, const size_t *nodes)
{
	struct group g;
	size_t i, j;

	for (i = 0; i < d->out->n_candidates; i++)
		d->out->candidates[i].finding->shared |= d->out->candidates[i].gathers;
	for (i = 0; i < d->out->n_candidates; i = g.end) {
		const struct candidate *c = &d->out->candidates[i];
		const int domain = c->node->domain;

		g = group_at(d, i, true, NULL);
		if (domain == NAME_NONE || g.newly < DOMAIN_MIN ||
		    !gathers(d, &g, nodes[domain + 1], count_newly(d, c->finding->check),
			     d->fleet->n))
			continue;
		for (j = g.first; j < g.end; j++) {
			c = &d->out->candidates[j];
			c->finding->shared |= !c->born && is_fresh(d, c);
		}
	}
}

/* They have told what they know. */
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
	begin_notices(d->fleet);
	if (d->out->n_candidates > 0) {
		CLEANUP(freep) size_t *nodes = count_nodes(d->fleet, true);
		CLEANUP(freep) bool *wide = xcalloc(d->fleet->domains.n + 1, sizeof(*wide));
		size_t n_wide;

		decide_traits_explain(d);
		sort(d, by_domain);
		n_wide = find_wide(d, nodes, wide);
		sort(d, by_sku);
		judge_traits(d, wide);
		judge_fleet(d, wide, n_wide);
		sort(d, by_domain);
		tell_domains(d, nodes, wide);
		mark_domains(d, nodes);
		decide_let_go(d);
		mark_gathering(d, nodes);
		drop_suspects(d);
	}
	end_notices(d);
}
