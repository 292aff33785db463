/* SPDX-License-Identifier: Apache-2.0 */
/* How a campaign begins and ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/campaign/campaign_inside.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

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

void campaign_order_id(const struct campaign *c, const struct campaign_group *g,
		       char ret[static CAMPAIGN_ID_SIZE])
{
	const int n = snprintf(ret, CAMPAIGN_ID_SIZE, "campaign-%" PRId64 "-%u-%zu", c->id,
			       g->round, (size_t)(g - c->groups) + 1);

	if (g->attempt > 0 && n > 0 && n < CAMPAIGN_ID_SIZE)
		(void)snprintf(ret + n, CAMPAIGN_ID_SIZE - (size_t)n, "-%u", g->attempt + 1);
}
