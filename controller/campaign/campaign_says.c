/* SPDX-License-Identifier: Apache-2.0 */
/* What a finished campaign says about its hosts, and about the switches and domain they share. */
#include "controller/campaign/campaign_says.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/campaign/campaign_side.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/term.h"

enum { WORDS_MAX = 1024, SUBJECT_SIZE = 16 };

/* The place of hosts whose switch and domain are unknown. */
#define NO_PLACE "no domain"

/* --- which hosts are named --- */

static bool is_certain(const struct pairing_blame *b)
{
	return b->kind != PAIRING_UNDECIDED;
}

static bool is_of_host(const struct pairing_blame *b)
{
	return is_certain(b) && b->kind != PAIRING_BLAME_LEAF;
}

/* Returns true if anything is said against the host, certain or not. */
static bool is_named(const struct campaign *c, size_t host)
{
	size_t i;

	for (i = 0; i < c->n_blames; i++) {
		if (c->blames[i].node == host)
			return true;
	}
	return false;
}

static bool has_leaf(const struct campaign_host *host, const char *leaf)
{
	size_t rail = 0;

	while (rail < PAIRING_RAILS_MAX && !streq(host->leaf[rail], leaf))
		rail++;
	return rail < PAIRING_RAILS_MAX;
}

/* Returns true if a switch above the host, or the whole, is blamed: the host may be the cause. */
static bool is_clouded(const struct campaign *c, size_t host)
{
	size_t i;

	for (i = 0; i < c->n_blames; i++) {
		const struct pairing_blame *b = &c->blames[i];

		if (b->node == SIZE_MAX && (!b->leaf || has_leaf(&c->hosts[host], b->leaf)))
			return true;
	}
	return false;
}

/* --- passes --- */

/* Returns the first other member that nothing is said against, or SIZE_MAX. */
static size_t partner_in(const struct campaign *c, const struct campaign_group *g, size_t host)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (g->members[i] != host && !is_named(c, g->members[i]))
			return g->members[i];
	}
	return SIZE_MAX;
}

static bool ran(const struct campaign_group *g)
{
	return g->phase == GROUP_OVER && g->outcome != PAIRING_NOT_RUN;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Returns the least rate of a good group: the median of the upper half of the hosts' best rates, as
 * fewer than half of them are assumed bad, less the spread between pairs. Taken over hosts and not
 * over groups, because suspects run more often.
 */
static double good_from(const struct campaign *c)
{
	CLEANUP(freep) double *best = xcalloc(c->n_hosts + 1, sizeof(*best));
	size_t n = 0, i, m;

	for (i = 0; i < c->n_groups; i++) {
		const struct campaign_group *g = &c->groups[i];

		for (m = 0; ran(g) && g->outcome == PAIRING_MEASURED && m < g->n; m++)
			best[g->members[m]] = MAX(best[g->members[m]], g->least);
	}
	for (i = 0; i < c->n_hosts; i++) {
		if (best[i] > 0)
			best[n++] = best[i];
	}
	if (n == 0)
		return INFINITY;
	qsort(best, n, sizeof(*best), by_value);
	return best[3 * n / 4] * (1 - PAIRING_SLACK);
}

/*
 * Returns true if the host is known good, or was in a group that reached good_from() and whose
 * members are all unnamed. Not being named is not enough: of two hosts that explain a slow pair
 * equally well, neither is named.
 */
static bool is_good_elsewhere(const struct campaign *c, size_t host)
{
	double least;
	size_t i, m;

	if (c->hosts[host].state == PAIRING_KNOWN_GOOD)
		return true;
	least = good_from(c);
	for (i = 0; i < c->n_groups; i++) {
		const struct campaign_group *g = &c->groups[i];

		if (!ran(g) || g->outcome != PAIRING_MEASURED || g->least < least ||
		    campaign_seat(g, host) == SIZE_MAX)
			continue;
		for (m = 0; m < g->n && !is_named(c, g->members[m]); m++)
			;
		if (m == g->n)
			return true;
	}
	return false;
}

/* "round 2 with gpu-5: 12.1 GB/s". */
static void describe(const struct campaign *c, const struct campaign_group *g, size_t partner,
		     struct strbuf *words)
{
	char rate[NUMBER_SIZE] = "broke off";

	if (g->outcome == PAIRING_MEASURED)
		number_format(g->least, "B/s", rate);
	(void)strbuf_printf(words, "%sround %u with %s%s: %s", words->len ? ", " : "", g->round,
			    c->hosts[partner].name, g->n > 2 ? " and others" : "", rate);
}

static void find_passes(const struct campaign *c, size_t host, struct campaign_says *ret,
			struct strbuf *words)
{
	size_t i;

	for (i = 0; i < c->n_groups && ret->n_passes < CAMPAIGN_PASSES_MAX; i++) {
		const struct campaign_group *g = &c->groups[i];
		size_t partner;

		if (!ran(g) || campaign_seat(g, host) == SIZE_MAX)
			continue;
		partner = partner_in(c, g, host);
		if (partner == SIZE_MAX)
			continue;
		ret->passes[ret->n_passes++] = (struct campaign_pass){
			c->hosts[partner].name,
			is_good_elsewhere(c, partner),
		};
		describe(c, g, partner, words);
	}
}

/* --- hosts --- */

/* Returns the text of a blame without the host's name at its start. */
static const char *without_name(const char *words, const char *name)
{
	const size_t n = strlen(name);

	return starts_with(words, name) && words[n] == ' ' ? words + n + 1 : words;
}

static void tell_bad(const struct campaign *c, const struct pairing_blame *b,
		     void (*each)(void *context, const struct campaign_says *says), void *context)
{
	CLEANUP(strbuf_release) struct strbuf passes = STRBUF_INIT(WORDS_MAX);
	CLEANUP(freep) char *words = NULL;
	char subject[SUBJECT_SIZE] = "fabric";
	struct campaign_says says = { .node = c->hosts[b->node].name,
				      .bad = true,
				      .check = campaign_check(c),
				      .subject = subject,
				      .ratio = b->ratio };

	if (b->rail >= 0)
		(void)snprintf(subject, sizeof(subject), "rail:%d", b->rail);
	find_passes(c, b->node, &says, &passes);
	words = xasprintf("%s: %s", without_name(b->words, says.node), strbuf_text(&passes));
	says.words = words;
	each(context, &says);
}

/* Nothing is said against the host or what is above it, and it was good with another. */
static bool is_clear(const struct campaign *c, size_t host)
{
	return !is_named(c, host) && !is_clouded(c, host) && is_good_elsewhere(c, host) &&
	       c->hosts[host].state != PAIRING_KNOWN_GOOD;
}

void campaign_each(const struct campaign *c,
		   void (*each)(void *context, const struct campaign_says *says), void *context)
{
	size_t i;

	for (i = 0; i < c->n_blames; i++) {
		if (is_of_host(&c->blames[i]) && c->blames[i].node < c->n_hosts)
			tell_bad(c, &c->blames[i], each, context);
	}
	for (i = 0; i < c->n_hosts; i++) {
		struct campaign_says says = { .node = c->hosts[i].name,
					      .check = campaign_check(c),
					      .words = "no group with it was slow",
					      .ratio = NAN };

		if (is_clear(c, i))
			each(context, &says);
	}
}

/* --- the whole --- */

/* What was not measured is no evidence, and no incident. */
static bool is_shared(const struct pairing_blame *b)
{
	if (b->kind == PAIRING_BLAME_LEAF)
		return true;
	return b->kind == PAIRING_UNDECIDED && b->why != PAIRING_WHY_GONE &&
	       b->why != PAIRING_WHY_UNMEASURED;
}

char *campaign_shared(const struct campaign *c)
{
	size_t i;

	for (i = 0; i < c->n_blames; i++) {
		if (is_shared(&c->blames[i]))
			return xasprintf("%s: %s", campaign_place(c), c->blames[i].words);
	}
	return NULL;
}

const char *campaign_place(const struct campaign *c)
{
	size_t i;

	for (i = 0; i < c->n_blames; i++) {
		if (c->blames[i].leaf)
			return c->blames[i].leaf;
	}
	if (c->domain)
		return c->domain;
	return c->n_hosts && c->hosts[0].leaf[0] ? c->hosts[0].leaf[0] : NO_PLACE;
}

/* Returns true if the blame is for a shared fault and concerns `place`. */
static bool is_said_of(const struct campaign *c, const struct pairing_blame *b, const char *place)
{
	if (!is_shared(b))
		return false;
	if (b->leaf)
		return streq(b->leaf, place);
	return b->node >= c->n_hosts || streq(c->domain, place) ||
	       has_leaf(&c->hosts[b->node], place);
}

/* Returns true if nothing is said against `place` and at least two of its hosts were good. */
static bool is_place_clear(const struct campaign *c, const bool *good, const char *place)
{
	size_t n = 0, i;

	for (i = 0; i < c->n_blames; i++) {
		if (is_said_of(c, &c->blames[i], place))
			return false;
	}
	for (i = 0; i < c->n_hosts; i++)
		n += good[i] && (streq(c->domain, place) || streq(NO_PLACE, place) ||
				 has_leaf(&c->hosts[i], place));
	return n >= 2;
}

/* Returns true if an earlier host or rail has this switch, or if it is also the domain. */
static bool is_repeated(const struct campaign *c, size_t host, size_t rail)
{
	const char *leaf = c->hosts[host].leaf[rail];
	size_t i;

	for (i = 0; i < host; i++) {
		if (has_leaf(&c->hosts[i], leaf))
			return true;
	}
	for (i = 0; i < rail && !streq(c->hosts[host].leaf[i], leaf); i++)
		;
	return i < rail || streq(c->domain, leaf);
}

void campaign_each_clear(const struct campaign *c, void (*each)(void *context, const char *place),
			 void *context)
{
	CLEANUP(freep) bool *good = xcalloc(c->n_hosts + 1, sizeof(*good));
	size_t i, rail;

	for (i = 0; i < c->n_hosts; i++)
		good[i] = !is_named(c, i) && is_good_elsewhere(c, i);
	if (c->domain && is_place_clear(c, good, c->domain))
		each(context, c->domain);
	if (streq(campaign_place(c), NO_PLACE) && is_place_clear(c, good, NO_PLACE))
		each(context, NO_PLACE);
	for (i = 0; i < c->n_hosts; i++) {
		for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
			const char *leaf = c->hosts[i].leaf[rail];

			if (leaf && !is_repeated(c, i, rail) && is_place_clear(c, good, leaf))
				each(context, leaf);
		}
	}
}

static size_t count_ran(const struct campaign *c)
{
	size_t n = 0, i;

	for (i = 0; i < c->n_groups; i++)
		n += ran(&c->groups[i]);
	return n;
}

static size_t count_hosts(const struct campaign *c)
{
	size_t n = 0, i;

	for (i = 0; i < c->n_hosts; i++)
		n += c->hosts[i].state != PAIRING_GONE;
	return n;
}

char *campaign_sentence(const struct campaign *c)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);
	const size_t n_ran = count_ran(c);
	size_t i;

	if (n_ran == 0)
		return xstrdup("nothing was measured: no group ran");
	/* The certain blames come first. */
	for (i = 0; i < c->n_blames && (i == 0 || is_certain(&c->blames[i])); i++)
		(void)strbuf_printf(&words, "%s%s", i ? "; " : "", c->blames[i].words);
	if (c->n_blames > i)
		(void)strbuf_printf(&words, "; %zu more undecided", c->n_blames - i);
	if (c->n_blames > 0)
		return xstrdup(strbuf_text(&words));
	return xasprintf("no host is slow: %zu hosts, %zu groups in %zu rounds", count_hosts(c),
			 n_ran, c->rounds);
}
