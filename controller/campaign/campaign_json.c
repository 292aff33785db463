/* SPDX-License-Identifier: Apache-2.0 */
/* A campaign as the API shows it, and the orders of its groups. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/campaign/campaign_inside.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

/* --- orders --- */

static const struct campaign_group *group_to_tell(const struct campaign *c, size_t host,
						  uint64_t mono_us, size_t *ret_seat)
{
	size_t i;

	for (i = 0; i < c->n_groups; i++) {
		const struct campaign_group *g = &c->groups[i];
		const size_t seat = g->phase == GROUP_RUNNING ? campaign_seat(g, host) : SIZE_MAX;
		const struct campaign_side *side = seat == SIZE_MAX ? NULL : &g->sides[seat];

		if (!side || side->answered || g->resumed ||
		    mono_us - g->since_us >= c->timeout_us ||
		    (side->told_us && mono_us - side->told_us < CAMPAIGN_AGAIN_US))
			continue;
		*ret_seat = seat;
		return g;
	}
	return NULL;
}

static const struct campaign_group *to_tell(const struct campaign *c, const char *node,
					    uint64_t mono_us, size_t *ret_seat)
{
	const size_t host = c->state == CAMPAIGN_RUNNING ? campaign_find(c, node) : SIZE_MAX;

	return host == SIZE_MAX ? NULL : group_to_tell(c, host, mono_us, ret_seat);
}

bool campaign_has_order(const struct campaign *c, const char *node, uint64_t mono_us)
{
	size_t seat;

	return to_tell(c, node, mono_us, &seat) != NULL;
}

static json_t *addresses(const struct campaign *c, const struct campaign_group *g)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < g->n; i++)
		(void)json_array_append_new(list, json_string(c->hosts[g->members[i]].address));
	return list;
}

json_t *campaign_order(struct campaign *c, const char *node, const struct campaign_moment *now)
{
	size_t seat = 0;
	const struct campaign_group *g = to_tell(c, node, now->mono_us, &seat);
	char id[CAMPAIGN_ID_SIZE], stamp[CLOCK_STAMP_SIZE], deadline[CLOCK_STAMP_SIZE];
	json_t *peers;

	if (!g)
		return NULL;
	g->sides[seat].told_us = now->mono_us;
	campaign_order_id(c, g, id);
	clock_stamp(now->real_us, stamp);
	clock_stamp(now->real_us + c->timeout_us - (now->mono_us - g->since_us), deadline);
	peers = addresses(c, g);
	/* Whoever did not pass its own tests is gone, and in no group. */
	return json_pack("{s:s, s:s, s:s, s:s, s:O, s:o, s:i, s:s}", "id", id, "kind",
			 campaign_kind_names[c->kind], "now", stamp, "deadline", deadline, "peers",
			 peers, "passed", peers, "rank", (int)seat, "token", g->token);
}

/* --- what is shown --- */

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *stamp_or_null(uint64_t us)
{
	char text[CLOCK_STAMP_SIZE];

	if (!us)
		return json_null();
	clock_stamp(us, text);
	return json_string(text);
}

static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *host_json(const struct campaign_host *host)
{
	json_t *leaves = json_array();
	size_t n = PAIRING_RAILS_MAX, rail;

	while (n > 1 && streq(host->leaf[n - 1], host->leaf[0]))
		n--; /* the same one for all */
	for (rail = 0; rail < n; rail++)
		(void)json_array_append_new(leaves, text_or_null(host->leaf[rail]));
	return json_pack("{s:s, s:s, s:o, s:b, s:o}", "node", host->name, "address", host->address,
			 "switches", leaves, "gone", host->state == PAIRING_GONE, "why",
			 text_or_null(host->why));
}

static const char *state_of(const struct campaign_group *g)
{
	return g->phase == GROUP_OVER ? campaign_outcome_names[g->outcome]
				      : campaign_phase_names[g->phase];
}

static json_t *rails_json(const struct campaign_group *g)
{
	json_t *rails = json_array();
	size_t n = PAIRING_RAILS_MAX, rail;

	while (n > 0 && !(g->rails[n - 1] > 0))
		n--;
	for (rail = 0; rail < n; rail++)
		(void)json_array_append_new(rails, g->rails[rail] > 0 ? json_real(g->rails[rail])
								      : json_null());
	return rails;
}

static json_t *group_json(const struct campaign *c, const struct campaign_group *g)
{
	const bool measured = g->phase == GROUP_OVER && g->outcome == PAIRING_MEASURED;
	json_t *nodes = json_array();
	size_t i;

	for (i = 0; i < g->n; i++)
		(void)json_array_append_new(nodes, json_string(c->hosts[g->members[i]].name));
	return json_pack("{s:o, s:s, s:o, s:b, s:o, s:o, s:o}", "nodes", nodes, "state",
			 state_of(g), "rail", g->rail < 0 ? json_null() : json_integer(g->rail),
			 "cross", g->cross, "value", number_or_null(measured ? g->least : NAN),
			 "rails", rails_json(g), "why", text_or_null(g->words));
}

static json_t *rounds_json(const struct campaign *c)
{
	json_t *rounds = json_array();
	size_t i;

	for (i = 0; i < c->n_groups; i++) {
		const struct campaign_group *g = &c->groups[i];

		while (json_array_size(rounds) < g->round)
			(void)json_array_append_new(
				rounds, json_pack("{s:i, s:[]}", "round",
						  (int)json_array_size(rounds) + 1, "groups"));
		(void)json_array_append_new(
			json_object_get(json_array_get(rounds, g->round - 1), "groups"),
			group_json(c, g));
	}
	return rounds;
}

static const char *const blame_kinds[] = {
	[PAIRING_BLAME_NODE] = "node",	   [PAIRING_BLAME_LINK] = "link",
	[PAIRING_BLAME_UPLINK] = "uplink", [PAIRING_BLAME_LEAF] = "switch",
	[PAIRING_UNDECIDED] = "undecided",
};

static json_t *blame_json(const struct campaign *c, const struct pairing_blame *b)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:s}", "kind", blame_kinds[b->kind],
			 "node", text_or_null(b->node < c->n_hosts ? c->hosts[b->node].name : NULL),
			 "rail", b->rail < 0 ? json_null() : json_integer(b->rail), "switch",
			 text_or_null(b->leaf), "ratio", number_or_null(b->ratio), "partners",
			 (int)b->n_partners, "sentence", b->words);
}

json_t *campaign_json(const struct campaign *c)
{
	CLEANUP(freep) char *id = xasprintf("%" PRId64, c->id);
	json_t *hosts = json_array(), *blames = json_array();
	size_t i;

	for (i = 0; i < c->n_hosts; i++)
		(void)json_array_append_new(hosts, host_json(&c->hosts[i]));
	for (i = 0; i < c->n_blames; i++)
		(void)json_array_append_new(blames, blame_json(c, &c->blames[i]));
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:s, s:o, s:o, "
		"s:o, s:o}",
		"id", id, "state", campaign_state_names[c->state], "kind",
		campaign_kind_names[c->kind], "plan", campaign_plan_names[c->plan], "domain",
		text_or_null(c->domain), "check", campaign_check(c), "reason", c->reason, "who",
		c->who, "started", stamp_or_null(c->started_us), "ended",
		stamp_or_null(c->ended_us), "rounds_made", (int)c->rounds, "rounds_max",
		(int)c->rounds_max, "resumed", (int)c->resumed, "unit", "B/s", "nodes", hosts,
		"rounds", rounds_json(c), "blames", blames, "sentence", text_or_null(c->sentence));
}
