/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds and their groups. */
#include "controller/campaign/campaign.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/campaign/campaign_inside.h"
#include "lib/err.h"
#include "lib/report.h"
#include "lib/xalloc.h"

const char *const campaign_kind_names[] = { "allreduce", "pair", NULL };
const char *const campaign_plan_names[] = { "two-pass", "tournament", "bisect", NULL };
const char *const campaign_state_names[] = { "running", "done", "abandoned", NULL };
const char *const campaign_phase_names[] = { "waiting", "running", "over", NULL };
const char *const campaign_outcome_names[] = { "not-run", "measured", "failed", NULL };

/* --- begin and end --- */

static int check(const struct campaign_ask *ask, struct err *err)
{
	size_t here = 0, i;

	for (i = 0; i < ask->n_hosts; i++)
		here += ask->hosts[i].state != PAIRING_GONE;
	if (ask->n_hosts > CAMPAIGN_HOSTS_MAX)
		return err_set(err, EINVAL, "%zu hosts, more than %d in one campaign", ask->n_hosts,
			       CAMPAIGN_HOSTS_MAX);
	if (ask->plan == PAIRING_BISECT && ask->kind == CAMPAIGN_PAIR)
		return err_set(err, EINVAL, "a pair has two hosts: the plan bisect is not for it");
	if (ask->plan == PAIRING_BISECT && ask->n_hosts > CAMPAIGN_GROUP_MAX)
		return err_set(err, EINVAL, "%zu hosts, more than %d in one collective",
			       ask->n_hosts, CAMPAIGN_GROUP_MAX);
	for (i = 0; here < 2 && i < ask->n_hosts && ask->hosts[i].state != PAIRING_GONE; i++)
		;
	if (here < 2 && i < ask->n_hosts)
		return err_set(err, EINVAL, "fewer than two hosts can take part; %s: %s",
			       ask->hosts[i].name, ask->hosts[i].why);
	if (here < 2)
		return err_set(err, EINVAL, "fewer than two hosts can take part");
	return 0;
}

static void copy_host(struct campaign_host *host, const struct campaign_guest *guest)
{
	size_t rail;

	host->name = xstrdup(guest->name);
	host->address = xstrdup(guest->address);
	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++)
		host->leaf[rail] = xstrdup(guest->leaf[rail]);
	host->state = guest->state;
	host->why = xstrdup(guest->why);
}

int campaign_new(const struct campaign_ask *ask, struct campaign **ret, struct err *err)
{
	struct campaign *c;
	size_t i;
	int r = check(ask, err);

	if (r < 0)
		return r;
	c = xcalloc(1, sizeof(*c));
	*c = (struct campaign){
		.id = ask->id,
		.kind = ask->kind,
		.plan = ask->plan,
		.domain = xstrdup(ask->domain),
		.reason = xstrdup(ask->reason),
		.who = xstrdup(ask->who),
		.hosts = xcalloc(ask->n_hosts, sizeof(*c->hosts)),
		.n_hosts = ask->n_hosts,
		.rounds_max = pairing_rounds_max(ask->n_hosts),
		.timeout_us = ask->timeout_us,
		.at_once = ask->at_once,
		.seed = ask->seed,
		.started_us = ask->started_us,
	};
	for (i = 0; i < ask->n_hosts; i++)
		copy_host(&c->hosts[i], &ask->hosts[i]);
	*ret = c;
	return 0;
}

static void host_release(struct campaign_host *host)
{
	size_t rail;

	free(host->name);
	free(host->address);
	free(host->why);
	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++)
		free(host->leaf[rail]);
}

static void group_release(struct campaign_group *g)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		free(g->sides[i].words);
	free(g->sides);
	free(g->members);
	free(g->words);
}

void campaign_free(struct campaign *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->n_hosts; i++)
		host_release(&c->hosts[i]);
	for (i = 0; i < c->n_groups; i++)
		group_release(&c->groups[i]);
	free(c->hosts);
	free(c->groups);
	free(c->domain);
	free(c->reason);
	free(c->who);
	free(c->sentence);
	free(c);
}

void campaign_abandon(struct campaign *c, const char *why, uint64_t real_us)
{
	c->state = CAMPAIGN_ABANDONED;
	c->ended_us = real_us;
	free(c->sentence);
	c->sentence = xasprintf("abandoned in round %zu: %s", c->rounds, why);
}

size_t campaign_find(const struct campaign *c, const char *node)
{
	size_t i = 0;

	while (i < c->n_hosts && !streq(c->hosts[i].name, node))
		i++;
	return i < c->n_hosts ? i : SIZE_MAX;
}

size_t campaign_seat(const struct campaign_group *g, size_t host)
{
	size_t i = 0;

	while (i < g->n && g->members[i] != host)
		i++;
	return i < g->n ? i : SIZE_MAX;
}

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

static bool settle_due(struct campaign *c, uint64_t mono_us)
{
	const uint64_t patience_us = c->timeout_us + MIN(c->timeout_us, CAMPAIGN_LATE_US);
	bool any = false;
	size_t i;

	for (i = 0; i < c->n_groups; i++) {
		struct campaign_group *g = &c->groups[i];

		if (g->phase != GROUP_RUNNING ||
		    (!is_answered(g) && mono_us - g->since_us < patience_us))
			continue;
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
static bool start(struct campaign *c, struct campaign_group *g, uint64_t mono_us,
		  const struct campaign_around *around)
{
	const uint64_t grace_us = MIN(c->timeout_us, CAMPAIGN_GRACE_US);
	const char *why = NULL;
	size_t who = who_is_away(c, g, around, &why);

	if (who != SIZE_MAX && c->hosts[who].state != PAIRING_GONE &&
	    mono_us - g->since_us < grace_us)
		return false;
	if (who != SIZE_MAX) {
		give_up(c, g, who, why);
		return true;
	}
	around->token(around->context, g->token);
	g->phase = GROUP_RUNNING;
	g->since_us = mono_us;
	return true;
}

static size_t count_under_test(const struct campaign *c)
{
	size_t n = 0, i;

	for (i = 0; i < c->n_groups; i++)
		n += c->groups[i].phase == GROUP_RUNNING ? c->groups[i].n : 0;
	return n;
}

static bool start_waiting(struct campaign *c, uint64_t mono_us, const struct campaign_around *around)
{
	size_t busy = count_under_test(c), i;
	bool any = false;

	for (i = 0; i < c->n_groups; i++) {
		struct campaign_group *g = &c->groups[i];

		if (g->phase != GROUP_WAITING || (busy > 0 && busy + g->n > c->at_once))
			continue;
		any |= start(c, g, mono_us, around);
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

bool campaign_advance(struct campaign *c, const struct campaign_moment *now,
		      const struct campaign_around *around)
{
	bool any = false;

	/* Rounds are bounded, and each turn ends a round or waits for one. */
	while (c->state == CAMPAIGN_RUNNING) {
		any |= settle_due(c, now->mono_us);
		any |= start_waiting(c, now->mono_us, around);
		if (is_round_open(c))
			break;
		step(c, now);
		any = true;
	}
	return any;
}

/* --- reports --- */

void campaign_order_id(const struct campaign *c, const struct campaign_group *g,
		       char ret[static CAMPAIGN_ID_SIZE])
{
	(void)snprintf(ret, CAMPAIGN_ID_SIZE, "campaign-%" PRId64 "-%u-%zu", c->id, g->round,
		       (size_t)(g - c->groups) + 1);
}

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
