/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_traits.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/policy/decide_alike.h"
#include "lib/policy/decide_inside.h"
#include "lib/policy/decide_notices.h"
#include "lib/policy/fleet_jobs.h"

/* There are many jobs, and small ones: some have a smaller share of bad hosts by chance. */
enum { JOB_SHARE = 50 };

bool decide_traits_has(const struct fleet_node *node, const struct finding *finding, int kind,
		       int trait)
{
	size_t i = 0;

	if (kind == NOTICE_JOB)
		return fleet_jobs_has(node, trait, finding);
	while (i < node->n_settings && node->settings[i] != trait)
		i++;
	return i < node->n_settings;
}

void decide_traits_count(const struct fleet_node *node, const struct finding *finding, int kind,
			 size_t *counts_of)
{
	size_t i;

	for (i = 0; kind == NOTICE_JOB && i < node->n_ran; i++)
		counts_of[node->ran[i].job] += fleet_jobs_has(node, node->ran[i].job, finding);
	for (i = 0; kind != NOTICE_JOB && i < node->n_settings; i++)
		counts_of[node->settings[i]]++;
}

/*
 * The trait in the key of a notice about the candidate's SKU and check; NULL: it is about others.
 */
static const char *trait_in(const struct notice *notice, const struct candidate *c, const char *sku)
{
	const size_t of_sku = strlen(sku), of_check = strlen(c->finding->check);
	const char *key = notice->key;

	if (strncmp(key, sku, of_sku) != 0 || key[of_sku] != ' ')
		return NULL;
	key += of_sku + 1;
	return strncmp(key, c->finding->check, of_check) == 0 && key[of_check] == ' '
		       ? key + of_check + 1
		       : NULL;
}

/* The kind of notice that explains it; 0: none. */
static int explained_by(const struct deciding *d, const struct candidate *c)
{
	const struct fleet *f = d->fleet;
	const char *sku = names_text(&f->skus, c->node->sku);
	size_t i;

	for (i = 0; i < f->n_notices; i++) {
		const int kind = f->notices[i].kind;
		const char *text = kind == NOTICE_SETTING || kind == NOTICE_JOB
					   ? trait_in(&f->notices[i], c, sku ? sku : "-")
					   : NULL;
		const int trait = names_find(kind == NOTICE_JOB ? &f->jobs : &f->settings, text);

		if (text && trait != NAME_NONE &&
		    decide_traits_has(c->node, c->finding, kind, trait))
			return kind;
	}
	return 0;
}

void decide_traits_explain(struct deciding *d)
{
	size_t i;

	for (i = 0; i < d->out->n_candidates; i++) {
		struct candidate *c = &d->out->candidates[i];

		c->explained = explained_by(d, c);
	}
}

/* ---- what only hosts with one setting, or of one job, have --------------------- */

struct trait_search {
	const struct alike *group;
	int kind; /* enum notice_kind */
	const struct names *names;
	size_t *bad, *of; /* hosts by trait; owned */
	size_t hosts;	  /* of the group */
	size_t all;	  /* of the SKU */
	const bool *wide; /* domains that are bad as a whole: ignored */
};

static void trait_search_release(struct trait_search *s)
{
	free(s->bad);
	free(s->of);
}

/* What its domain has as a whole needs no other cause. */
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
		if (!decide_alike_counts(c, false) || c->node == last || is_elsewhere(s, c->node) ||
		    (c->explained && c->explained != s->kind))
			continue;
		last = c->node;
		s->hosts++;
		decide_traits_count(c->node, c->finding, s->kind, s->bad);
	}
}

/* Hardly any host without it is bad, and it is not just the SKU. */
static bool is_rare_elsewhere(const struct trait_search *s, size_t trait)
{
	const size_t bad = s->bad[trait], of = s->of[trait], others = s->hosts - bad;

	return of * 2 <= s->all && others * of * ALIKE_OTHERS <= bad * (s->all - of);
}

/* Many of those that have it are bad, and hardly any of the others. */
static bool explains(const struct trait_search *s, size_t trait)
{
	const size_t share = s->kind == NOTICE_JOB ? JOB_SHARE : ALIKE_SHARE;

	return s->bad[trait] >= ALIKE_MIN && s->bad[trait] * 100 >= s->of[trait] * share &&
	       is_rare_elsewhere(s, trait);
}

/*
 * True if its neighbors without it are well. When a rack goes bad, it first looks like one of its
 * jobs: the neighbors show which it is.
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

		if (!decide_alike_counts(c, false) || c->node == last ||
		    c->node->domain == NAME_NONE || !near[c->node->domain] ||
		    decide_traits_has(c->node, NULL, s->kind, (int)trait))
			continue;
		last = c->node;
		bad++;
	}
	return bad * s->of[trait] * ALIKE_OTHERS <= s->bad[trait] * MAX(of, (size_t)1);
}

static struct notice *find_trait_notice(const struct deciding *d, const struct trait_search *s,
					size_t trait, char **ret_key)
{
	const struct candidate *c = &d->out->candidates[s->group->first];
	const char *sku = names_text(&d->fleet->skus, c->node->sku);

	*ret_key = xasprintf("%s %s %s", sku ? sku : "-", c->finding->check,
			     names_text(s->names, (int)trait));
	return decide_notices_find(d->fleet, s->kind, *ret_key);
}

static void tell_trait(struct deciding *d, const struct trait_search *s, size_t trait,
		       const char *key)
{
	struct notice *notice = decide_notices_need(d, s->kind, key, s->bad[trait]);
	const struct candidate *example = NULL;
	const char *sku;
	size_t i;

	for (i = s->group->first; i < s->group->end; i++) {
		struct candidate *c = &d->out->candidates[i];

		if (!decide_traits_has(c->node, c->finding, s->kind, (int)trait))
			continue;
		if (!example && decide_alike_counts(c, false))
			example = c;
		c->finding->shared = c->told = true;
	}
	if (!example)
		return;
	sku = names_text(&d->fleet->skus, example->node->sku);
	decide_notices_say(
		notice, s->bad[trait], s->of[trait],
		xasprintf(
			"%s: %zu of %zu hosts %s %s have a problem in %s, and %zu "
			"of %zu others, such "
			"as %s; so many are unlikely to be faulty: check what they have in common",
			sku ? sku : "all", s->bad[trait], s->of[trait],
			s->kind == NOTICE_JOB ? "of job" : "with", names_text(s->names, (int)trait),
			example->finding->check, s->hosts - s->bad[trait], s->all - s->of[trait],
			example->finding->sentence ? example->finding->sentence
						   : example->node->name));
}

/*
 * Fewer than half of a job's hosts are newly bad, but four times as many as elsewhere: the others
 * run their tests within breaker.alike.per, which decides whether it is the job. A host that is
 * tested at once would be cordoned for it before that.
 */
static void gather_jobs(struct deciding *d, const struct trait_search *s)
{
	CLEANUP(freep) size_t *newly = xcalloc(s->names->n + 1, sizeof(*newly));
	const struct fleet_node *last = NULL;
	size_t i, t;

	for (i = s->group->first; i < s->group->end; i++) {
		const struct candidate *c = &d->out->candidates[i];

		if (!decide_alike_counts(c, false) || !decide_alike_fresh(d, c) ||
		    c->node == last || c->explained)
			continue;
		last = c->node;
		decide_traits_count(c->node, c->finding, s->kind, newly);
	}
	for (t = 0; t < s->names->n; t++) {
		if (newly[t] < ALIKE_MIN || !is_rare_elsewhere(s, t) || !is_not_the_place(d, s, t))
			continue;
		for (i = s->group->first; i < s->group->end; i++) {
			struct candidate *c = &d->out->candidates[i];

			c->gathers |= !c->born && decide_alike_fresh(d, c) &&
				      decide_traits_has(c->node, c->finding, s->kind, (int)t);
		}
	}
}

/* The one that explains most; an existing notice stands while half of the hosts are bad. */
static void judge_traits_of(struct deciding *d, const struct alike *g, int kind, const bool *wide)
{
	const struct names *names = kind == NOTICE_JOB ? &d->fleet->jobs : &d->fleet->settings;
	CLEANUP(trait_search_release)
	struct trait_search s = { .group = g, .kind = kind, .names = names, .wide = wide };
	size_t best = 0, best_bad = 0, i;

	count_hosts(d, &s);
	for (i = 0; i < names->n; i++) {
		CLEANUP(freep) char *key = NULL;
		const struct notice *notice;

		if (s.bad[i] < ALIKE_MIN)
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

void decide_traits_judge(struct deciding *d, const bool *wide)
{
	struct alike g;
	size_t i;

	for (i = 0; i < d->out->n_candidates; i = g.end) {
		g = decide_alike_at(d, i, false, NULL);
		if (g.fatal || g.reached == 0 || g.hosts < ALIKE_MIN)
			continue;
		judge_traits_of(d, &g, NOTICE_SETTING, wide);
		g = decide_alike_at(d, i, false, NULL);
		if (g.hosts >= ALIKE_MIN)
			judge_traits_of(d, &g, NOTICE_JOB, wide);
	}
}
