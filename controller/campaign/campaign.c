/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds and their groups. */
#include "controller/campaign/campaign.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/campaign/campaign_inside.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"

/* --- what the pairing is told --- */

/* As many as any host has a switch for, or any group has measured. */
static size_t rails_of(const struct campaign *c)
{
	size_t n = 1, i, rail;

	for (i = 0; i < c->n_hosts; i++) {
		/* The same switch for all of them tells nothing of how many there are. */
		for (rail = 1; rail < PAIRING_RAILS_MAX; rail++) {
			if (c->hosts[i].leaf[rail] &&
			    !streq(c->hosts[i].leaf[rail], c->hosts[i].leaf[0]))
				n = MAX(n, rail + 1);
		}
	}
	for (i = 0; i < c->n_groups; i++) {
		for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
			if (c->groups[i].rails[rail] > 0)
				n = MAX(n, rail + 1);
		}
	}
	return n;
}

static struct pairing_result result_of(const struct campaign_group *g, size_t n_rails)
{
	struct pairing_result r = {
		.members = g->members,
		.n = g->n,
		.rail = g->rail,
		.outcome = g->outcome,
		/* All rails at once go as fast as the slowest of them lets them. */
		.value = g->rail < 0 ? g->least * (double)n_rails : g->least,
	};

	if (g->rail < 0)
		memcpy(r.rails, g->rails, sizeof(r.rails));
	return r;
}

void campaign_view_init(struct campaign_view *v, const struct campaign *c)
{
	const size_t n_rails = rails_of(c);
	size_t i, rail;

	v->nodes = xcalloc(c->n_hosts + 1, sizeof(*v->nodes));
	v->results = xcalloc(c->n_groups + 1, sizeof(*v->results));
	v->problem = (struct pairing_problem){ .nodes = v->nodes,
					       .n_nodes = c->n_hosts,
					       .n_rails = n_rails,
					       .results = v->results,
					       .rounds_made = c->rounds,
					       .plan = (enum pairing_plan)c->plan,
					       .seed = c->seed };
	for (i = 0; i < c->n_hosts; i++) {
		v->nodes[i].name = c->hosts[i].name;
		v->nodes[i].state = c->hosts[i].state;
		for (rail = 0; rail < n_rails; rail++)
			v->nodes[i].leaf[rail] = c->hosts[i].leaf[rail];
	}
	for (i = 0; i < c->n_groups; i++) {
		if (c->groups[i].phase == GROUP_OVER)
			v->results[v->problem.n_results++] = result_of(&c->groups[i], n_rails);
	}
}

void campaign_view_release(struct campaign_view *v)
{
	free(v->nodes);
	free(v->results);
}

/* --- rounds --- */

static void add_group(struct campaign *c, const struct pairing_round *round,
		      const struct pairing_group *from, uint64_t mono_us)
{
	struct campaign_group *g;
	size_t i;

	c->groups = xrealloc(c->groups, c->n_groups + 1, sizeof(*c->groups));
	g = &c->groups[c->n_groups++];
	*g = (struct campaign_group){
		.round = (unsigned)c->rounds,
		.sides = xcalloc(from->n, sizeof(*g->sides)),
		.members = xcalloc(from->n, sizeof(*g->members)),
		.n = from->n,
		.rail = from->rail,
		.cross = from->cross,
		.since_us = mono_us,
	};
	for (i = 0; i < from->n; i++)
		g->sides[i].host = g->members[i] = round->seats[from->first + i];
}

static void finish(struct campaign *c, const struct campaign_moment *now)
{
	c->state = CAMPAIGN_DONE;
	c->ended_us = now->real_us;
	free(c->sentence);
	c->sentence = campaign_sentence(c);
}

/* The next round, or the end. */
static void step(struct campaign *c, const struct campaign_moment *now)
{
	CLEANUP(freep) struct pairing_step *next = xcalloc(1, sizeof(*next));
	CLEANUP(campaign_view_release) struct campaign_view view;
	struct err err = ERR_INIT;
	size_t i;

	campaign_view_init(&view, c);
	if (pairing_step(&view.problem, next, &err) < 0) {
		campaign_abandon(c, err.msg, now->real_us);
		return;
	}
	c->rounds_max = next->rounds_max;
	c->n_blames = next->n_blames;
	memcpy(c->blames, next->blames, sizeof(c->blames));
	if (next->done || next->next.n_groups == 0) {
		finish(c, now);
		return;
	}
	c->rounds++;
	for (i = 0; i < next->next.n_groups; i++)
		add_group(c, &next->next, &next->next.groups[i], now->mono_us);
}

static bool is_answered(const struct campaign_group *g)
{
	size_t i = 0;

	while (i < g->n && g->sides[i].answered)
		i++;
	return i == g->n;
}

uint64_t campaign_patience_us(const struct campaign *c)
{
	return c->timeout_us + MIN(c->timeout_us, CAMPAIGN_LATE_US);
}

/* Not all of it came over a restart: as if it had never begun, under another name. */
static void run_anew(struct campaign_group *g, uint64_t mono_us)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		free(g->sides[i].words);
		g->sides[i] = (struct campaign_side){ .host = g->members[i] };
	}
	g->phase = GROUP_WAITING;
	g->resumed = false;
	g->attempt++;
	g->since_us = mono_us;
}

static bool settle_due(struct campaign *c, uint64_t mono_us)
{
	const uint64_t patience_us = campaign_patience_us(c);
	bool any = false;
	size_t i;

	for (i = 0; i < c->n_groups; i++) {
		struct campaign_group *g = &c->groups[i];

		if (g->phase != GROUP_RUNNING ||
		    (!is_answered(g) && mono_us - g->since_us < patience_us))
			continue;
		if (g->resumed && !is_answered(g))
			run_anew(g, mono_us);
		else
			campaign_settle(c, g);
		any = true;
	}
	return any;
}

/* The first member that cannot be asked; SIZE_MAX: all can. */
static size_t who_is_away(const struct campaign *c, const struct campaign_group *g,
			  const struct campaign_around *around, const char **ret_why)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		const struct campaign_host *host = &c->hosts[g->members[i]];

		*ret_why = host->state == PAIRING_GONE ? host->why
						       : around->away(around->context, host->name);
		if (*ret_why)
			return g->members[i];
	}
	return SIZE_MAX;
}

/* It will not run: one of them cannot be asked. */
static void give_up(struct campaign *c, struct campaign_group *g, size_t who, const char *why)
{
	g->phase = GROUP_OVER;
	g->outcome = PAIRING_NOT_RUN;
	g->words = xasprintf("%s: %s", c->hosts[who].name, why);
	campaign_drop(&c->hosts[who], why);
}

/* True when it began, or never will. */
static bool start(struct campaign *c, struct campaign_group *g, const struct campaign_moment *now,
		  const struct campaign_around *around)
{
	const bool patient = now->mono_us - g->since_us < MIN(c->timeout_us, CAMPAIGN_GRACE_US) ||
			     (c->returned_us && now->mono_us - c->returned_us < CAMPAIGN_RETURN_US);
	const char *why = NULL;
	size_t who = who_is_away(c, g, around, &why);
	struct err err = ERR_INIT;

	if (who != SIZE_MAX && c->hosts[who].state != PAIRING_GONE && patient)
		return false;
	if (who != SIZE_MAX) {
		give_up(c, g, who, why);
		return true;
	}
	if (around->token(around->context, g->token, &err) < 0) {
		if (!patient)
			campaign_abandon(c, err.msg, now->real_us);
		return !patient;
	}
	g->phase = GROUP_RUNNING;
	g->since_us = now->mono_us;
	return true;
}

static size_t count_under_test(const struct campaign *c)
{
	size_t n = 0, i;

	for (i = 0; i < c->n_groups; i++)
		n += c->groups[i].phase == GROUP_RUNNING ? c->groups[i].n : 0;
	return n;
}

static bool start_waiting(struct campaign *c, const struct campaign_moment *now,
			  const struct campaign_around *around)
{
	size_t busy = count_under_test(c), i;
	bool any = false;

	for (i = 0; c->state == CAMPAIGN_RUNNING && i < c->n_groups; i++) {
		struct campaign_group *g = &c->groups[i];

		if (g->phase != GROUP_WAITING || (busy > 0 && busy + g->n > c->at_once))
			continue;
		any |= start(c, g, now, around);
		busy += g->phase == GROUP_RUNNING ? g->n : 0;
	}
	return any;
}

static bool is_round_open(const struct campaign *c)
{
	size_t i = 0;

	while (i < c->n_groups && c->groups[i].phase == GROUP_OVER)
		i++;
	return i < c->n_groups;
}

void campaign_hold_back(struct campaign *c, uint64_t mono_us)
{
	c->returned_us = mono_us;
}

bool campaign_advance(struct campaign *c, const struct campaign_moment *now,
		      const struct campaign_around *around)
{
	bool any = false;

	/* Rounds are bounded, and each turn ends a round or waits for one. */
	while (c->state == CAMPAIGN_RUNNING) {
		any |= settle_due(c, now->mono_us);
		any |= start_waiting(c, now, around);
		if (is_round_open(c))
			break;
		step(c, now);
		any = true;
	}
	return any;
}

/* --- reports --- */

bool campaign_report(struct campaign *c, const char *order, const struct report *report)
{
	const size_t host = campaign_find(c, report->node);
	char id[CAMPAIGN_ID_SIZE];
	size_t i, seat;

	if (c->state != CAMPAIGN_RUNNING || host == SIZE_MAX)
		return false;
	for (i = 0; i < c->n_groups; i++) {
		struct campaign_group *g = &c->groups[i];

		seat = g->phase == GROUP_RUNNING ? campaign_seat(g, host) : SIZE_MAX;
		if (seat == SIZE_MAX || g->sides[seat].answered || !g->sides[seat].told_us)
			continue;
		campaign_order_id(c, g, id);
		if (!streq(id, order))
			continue;
		campaign_side_read(&g->sides[seat], campaign_check(c), report);
		return true;
	}
	return false;
}
