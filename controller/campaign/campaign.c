/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds of a campaign and their groups. */
#include "controller/campaign/campaign.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/campaign/campaign_says.h"
#include "controller/campaign/campaign_side.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"

const char *const campaign_plan_names[] = { "two-pass", "tournament", "bisect", "every-two", NULL };
const char *const campaign_state_names[] = { "running", "done", "abandoned", NULL };
const char *const campaign_phase_names[] = { "waiting", "running", "over", NULL };
const char *const campaign_outcome_names[] = { "not-run", "measured", "failed", NULL };

/* --- begin and end --- */

static int check(const struct campaign_ask *ask, struct err *err)
{
	size_t here = 0, i;
	int r = campaign_measure_check(&ask->measure, err);

	if (r < 0)
		return r;
	for (i = 0; i < ask->n_hosts; i++)
		here += ask->hosts[i].state != PAIRING_GONE;
	if (ask->n_hosts > CAMPAIGN_HOSTS_MAX)
		return err_set(err, EINVAL, "%zu hosts: at most %d in one campaign", ask->n_hosts,
			       CAMPAIGN_HOSTS_MAX);
	if (ask->plan == PAIRING_BISECT && ask->measure.kind == CAMPAIGN_PAIR)
		return err_set(err, EINVAL, "plan bisect does not work with pairs");
	if (ask->plan == PAIRING_BISECT && ask->n_hosts > CAMPAIGN_GROUP_MAX)
		return err_set(err, EINVAL, "%zu hosts: at most %d in one collective", ask->n_hosts,
			       CAMPAIGN_GROUP_MAX);
	if (ask->plan == PAIRING_EVERY_TWO && ask->n_hosts > PAIRING_EVERY_TWO_MAX)
		return err_set(err, EINVAL,
			       "%zu hosts: plan every-two takes at most %d: use plan two-pass",
			       ask->n_hosts, PAIRING_EVERY_TWO_MAX);
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
		.measure = ask->measure,
		.plan = ask->plan,
		.domain = xstrdup(ask->domain),
		.reason = xstrdup(ask->reason),
		.who = xstrdup(ask->who),
		.hosts = xcalloc(ask->n_hosts, sizeof(*c->hosts)),
		.n_hosts = ask->n_hosts,
		.rounds_max = ask->rounds_max ? ask->rounds_max
					      : pairing_rounds_of((enum pairing_plan)ask->plan,
								  ask->n_hosts),
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

void campaign_order_id(const struct campaign *c, const struct campaign_group *g,
		       char ret[static CAMPAIGN_ID_SIZE])
{
	const int n = snprintf(ret, CAMPAIGN_ID_SIZE, "campaign-%" PRId64 "-%u-%zu", c->id,
			       g->round, (size_t)(g - c->groups) + 1);

	if (g->attempt > 0 && n > 0 && n < CAMPAIGN_ID_SIZE)
		(void)snprintf(ret + n, CAMPAIGN_ID_SIZE - (size_t)n, "-%u", g->attempt + 1);
}

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
	/* A host that did not pass its own tests is gone, and in no group. */
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:O, s:o, s:i, s:s}", "id", id, "kind",
			 campaign_kind_names[c->measure.kind], "memory",
			 campaign_memory_names[c->measure.memory], "engine",
			 campaign_engine_names[c->measure.engine], "now", stamp, "deadline",
			 deadline, "peers", peers, "passed", peers, "rank", (int)seat, "token",
			 g->token);
}

/* --- JSON for the API --- */

static json_t *host_json(const struct campaign_host *host)
{
	json_t *leaves = json_array();
	size_t n = PAIRING_RAILS_MAX, rail;

	while (n > 1 && streq(host->leaf[n - 1], host->leaf[0]))
		n--; /* the same switch for all rails: list it once */
	for (rail = 0; rail < n; rail++)
		(void)json_array_append_new(leaves, json_text(host->leaf[rail]));
	return json_pack("{s:s, s:s, s:o, s:b, s:o}", "node", host->name, "address", host->address,
			 "switches", leaves, "gone", host->state == PAIRING_GONE, "why",
			 json_text(host->why));
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
			 "cross", g->cross, "value", json_number(measured ? g->least : NAN),
			 "rails", rails_json(g), "why", json_text(g->words));
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
			 "node", json_text(b->node < c->n_hosts ? c->hosts[b->node].name : NULL),
			 "rail", b->rail < 0 ? json_null() : json_integer(b->rail), "switch",
			 json_text(b->leaf), "ratio", json_number(b->ratio), "partners",
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
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:s, "
		"s:o, s:o, s:o, s:o}",
		"id", id, "state", campaign_state_names[c->state], "kind",
		campaign_kind_names[c->measure.kind], "memory",
		campaign_memory_names[c->measure.memory], "engine",
		campaign_engine_names[c->measure.engine], "plan", campaign_plan_names[c->plan],
		"domain", json_text(c->domain), "check", campaign_check(c), "reason", c->reason,
		"who", c->who, "started", json_stamp(c->started_us), "ended",
		json_stamp(c->ended_us), "rounds_made", (int)c->rounds, "rounds_max",
		(int)c->rounds_max, "resumed", (int)c->resumed, "unit", "B/s", "nodes", hosts,
		"rounds", rounds_json(c), "blames", blames, "sentence", json_text(c->sentence));
}

/* --- the view for lib/pairing --- */

/* The highest rail that a host has a switch for or a group has measured, plus 1. */
static size_t rails_of(const struct campaign *c)
{
	size_t n = 1, i, rail;

	for (i = 0; i < c->n_hosts; i++) {
		/* The same switch on all rails does not tell how many rails there are. */
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
		/* With all rails at once, the slowest one limits the others. */
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
					       .rounds_max = c->rounds_max,
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

/* Begins the next round, or ends the campaign. */
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

/* A restart lost part of the group: start over as if it had never begun, under a new id. */
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

/* Returns the first member that cannot be asked, or SIZE_MAX if all can. */
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

/* The group will not run, because host `who` cannot be asked. */
static void give_up(struct campaign *c, struct campaign_group *g, size_t who, const char *why)
{
	g->phase = GROUP_OVER;
	g->outcome = PAIRING_NOT_RUN;
	g->words = xasprintf("%s: %s", c->hosts[who].name, why);
	campaign_drop(&c->hosts[who], why);
}

/* Returns true if the group has started, or never will. */
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

	/* Terminates: each pass ends a round or breaks, and the number of rounds is bounded. */
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
