/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/campaign/campaign_keep.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "controller/campaign/campaign.h"
#include "controller/campaign/campaign_side.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/*
 * A campaign in host memory is still written as version 1. An older controller would resume any
 * other campaign in host memory, so those get a version that it refuses.
 */
enum { KEPT_VERSION_HOST = 1, KEPT_VERSION = 2 };

enum { SMALL_MAX = 1 << 20 };

static const char *const state_names[] = { "unknown", "known-good", "suspect", "gone", NULL };

/* --- member types that lib/json does not have --- */

static int whole(const struct jval *v, json_int_t least, json_int_t most, json_int_t *ret,
		 struct err *err)
{
	if (!json_is_integer(v->value) || json_integer_value(v->value) < least ||
	    json_integer_value(v->value) > most)
		return jval_fail(v, err, "expected %lld to %lld", (long long)least, (long long)most);
	*ret = json_integer_value(v->value);
	return 0;
}

static int decode_int(const struct jval *v, void *member, struct err *err)
{
	json_int_t value = 0;
	int r = whole(v, -1, SMALL_MAX, &value, err);

	if (r == 0)
		*(int *)member = (int)value;
	return r;
}

static json_t *encode_int(const void *member)
{
	return json_integer(*(const int *)member);
}

static int decode_size(const struct jval *v, void *member, struct err *err)
{
	json_int_t value = 0;
	int r = whole(v, 0, SMALL_MAX, &value, err);

	if (r == 0)
		*(size_t *)member = (size_t)value;
	return r;
}

static json_t *encode_size(const void *member)
{
	return json_integer((json_int_t)MIN(*(const size_t *)member, (size_t)SMALL_MAX));
}

static int need_rails(const struct jval *v, struct err *err)
{
	int r = jval_need_array(v, err);

	if (r == 0 && json_array_size(v->value) != PAIRING_RAILS_MAX)
		return jval_fail(v, err, "expected one of each of %d rails", PAIRING_RAILS_MAX);
	return r;
}

static int decode_rates(const struct jval *v, void *member, struct err *err)
{
	double *rates = member;
	size_t rail;
	int r = need_rails(v, err);

	for (rail = 0; r == 0 && rail < PAIRING_RAILS_MAX; rail++) {
		const struct jval one = jval_at(v, rail);

		rates[rail] = json_number_value(one.value);
		if (!json_is_number(one.value) || rates[rail] < 0)
			r = jval_fail(&one, err, "expected a rate");
	}
	return r;
}

static json_t *encode_rates(const void *member)
{
	const double *rates = member;
	json_t *list = json_array();
	size_t rail;

	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++)
		(void)json_array_append_new(list, json_real(rates[rail]));
	return list;
}

static int decode_leaves(const struct jval *v, void *member, struct err *err)
{
	char **leaf = member;
	size_t rail;
	int r = need_rails(v, err);

	for (rail = 0; r == 0 && rail < PAIRING_RAILS_MAX; rail++)
		leaf[rail] = xstrdup(json_string_value(json_array_get(v->value, rail)));
	return r;
}

static json_t *encode_leaves(const void *member)
{
	char *const *leaf = member;
	json_t *list = json_array();
	size_t rail;

	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++)
		(void)json_array_append_new(list,
					    leaf[rail] ? json_string(leaf[rail]) : json_null());
	return list;
}

#define CUSTOM(what) .decode = decode_##what, .encode = encode_##what

#define CAMPAIGN(member) offsetof(struct campaign, member)
static const struct jfield campaign_fields[] = {
	{ "kind", J_ENUM, CAMPAIGN(measure.kind), J_REQUIRED, .names = campaign_kind_names },
	/* Absent in version 1, which knew only host memory and verbs. */
	{ "memory", J_ENUM, CAMPAIGN(measure.memory), 0, .names = campaign_memory_names },
	{ "engine", J_ENUM, CAMPAIGN(measure.engine), 0, .names = campaign_engine_names },
	{ "plan", J_ENUM, CAMPAIGN(plan), J_REQUIRED, .names = campaign_plan_names },
	{ "domain", J_STRING, CAMPAIGN(domain), 0 },
	{ "reason", J_STRING, CAMPAIGN(reason), J_REQUIRED },
	{ "who", J_STRING, CAMPAIGN(who), J_REQUIRED },
	{ "rounds", J_CUSTOM, CAMPAIGN(rounds), J_REQUIRED, CUSTOM(size) },
	{ "rounds_max", J_CUSTOM, CAMPAIGN(rounds_max), J_REQUIRED, CUSTOM(size) },
	{ "timeout_us", J_U64, CAMPAIGN(timeout_us), J_REQUIRED, 1, 3600e6 },
	{ "at_once", J_CUSTOM, CAMPAIGN(at_once), J_REQUIRED, CUSTOM(size) },
	{ "seed", J_U64, CAMPAIGN(seed), J_REQUIRED },
	{ "started_us", J_U64, CAMPAIGN(started_us), J_REQUIRED },
	{ "resumed", J_CUSTOM, CAMPAIGN(resumed), J_REQUIRED, CUSTOM(int) },
};

#define HOST(member) offsetof(struct campaign_host, member)
static const struct jfield host_fields[] = {
	{ "name", J_STRING, HOST(name), J_REQUIRED },
	{ "address", J_STRING, HOST(address), J_REQUIRED },
	{ "leaf", J_CUSTOM, HOST(leaf), J_REQUIRED, CUSTOM(leaves) },
	{ "state", J_ENUM, HOST(state), J_REQUIRED, .names = state_names },
	{ "why", J_STRING, HOST(why), 0 },
};

#define GROUP(member) offsetof(struct campaign_group, member)
static const struct jfield group_fields[] = {
	{ "round", J_CUSTOM, GROUP(round), J_REQUIRED, CUSTOM(int) },
	{ "attempt", J_CUSTOM, GROUP(attempt), J_REQUIRED, CUSTOM(int) },
	{ "rail", J_CUSTOM, GROUP(rail), J_REQUIRED, CUSTOM(int) },
	{ "cross", J_BOOL, GROUP(cross), 0 },
	{ "phase", J_ENUM, GROUP(phase), J_REQUIRED, .names = campaign_phase_names },
	{ "outcome", J_ENUM, GROUP(outcome), J_REQUIRED, .names = campaign_outcome_names },
	{ "least", J_REAL, GROUP(least), 0 },
	{ "rails", J_CUSTOM, GROUP(rails), J_REQUIRED, CUSTOM(rates) },
	{ "words", J_STRING, GROUP(words), 0 },
};

#define SIDE(member) offsetof(struct campaign_side, member)
static const struct jfield side_fields[] = {
	{ "host", J_CUSTOM, SIDE(host), J_REQUIRED, CUSTOM(size) },
	{ "answered", J_BOOL, SIDE(answered), 0 },
	{ "outcome", J_ENUM, SIDE(outcome), J_REQUIRED, .names = campaign_outcome_names },
	{ "late", J_BOOL, SIDE(late), 0 },
	{ "unfit", J_BOOL, SIDE(unfit), 0 },
	{ "rails", J_CUSTOM, SIDE(rails), J_REQUIRED, CUSTOM(rates) },
	{ "words", J_STRING, SIDE(words), 0 },
};

/* --- saving --- */

static json_t *keep_group(const struct campaign_group *g, const struct campaign_moment *now)
{
	json_t *group = jval_encode(group_fields, ARRAY_SIZE(group_fields), g);
	json_t *sides = json_array();
	size_t i;

	for (i = 0; i < g->n; i++)
		(void)json_array_append_new(
			sides, jval_encode(side_fields, ARRAY_SIZE(side_fields), &g->sides[i]));
	(void)json_object_set_new(group, "sides", sides);
	/* The token is a secret of its members and not saved, so this order is not sent again. */
	if (g->phase == GROUP_RUNNING)
		(void)json_object_set_new(
			group, "ordered_us",
			json_integer((json_int_t)(now->real_us - (now->mono_us - g->since_us))));
	return group;
}

json_t *campaign_keep(const struct campaign *c, const struct campaign_moment *now)
{
	json_t *kept = jval_encode(campaign_fields, ARRAY_SIZE(campaign_fields), c);
	json_t *hosts = json_array(), *groups = json_array();
	const bool is_plain = c->measure.memory == CAMPAIGN_HOST_MEMORY;
	size_t i;

	for (i = 0; i < c->n_hosts; i++)
		(void)json_array_append_new(
			hosts, jval_encode(host_fields, ARRAY_SIZE(host_fields), &c->hosts[i]));
	for (i = 0; i < c->n_groups; i++)
		(void)json_array_append_new(groups, keep_group(&c->groups[i], now));
	(void)json_object_set_new(kept, "v",
				  json_integer(is_plain ? KEPT_VERSION_HOST : KEPT_VERSION));
	(void)json_object_set_new(kept, "at_us", json_integer((json_int_t)now->real_us));
	(void)json_object_set_new(kept, "hosts", hosts);
	(void)json_object_set_new(kept, "groups", groups);
	return kept;
}

/* --- restoring --- */

static int recall_hosts(const struct jval *v, struct campaign *c, struct err *err)
{
	const size_t n = json_array_size(v->value);
	size_t i;
	int r = jval_need_array(v, err);

	if (r == 0 && (n < 2 || n > CAMPAIGN_HOSTS_MAX))
		return jval_fail(v, err, "expected 2 to %d hosts", CAMPAIGN_HOSTS_MAX);
	c->hosts = xcalloc(n + 1, sizeof(*c->hosts));
	for (i = 0; r == 0 && i < n; i++) {
		const struct jval one = jval_at(v, i);

		c->n_hosts = i + 1;
		r = jval_decode(&one, host_fields, ARRAY_SIZE(host_fields), 0, &c->hosts[i], err);
		if (r == 0 && (!c->hosts[i].name || !c->hosts[i].address))
			r = jval_fail(&one, err, "expected a name and an address");
	}
	return r;
}

static int recall_sides(const struct jval *v, const struct campaign *c, struct campaign_group *g,
			struct err *err)
{
	const size_t n = json_array_size(v->value);
	size_t i;
	int r = jval_need_array(v, err);

	if (r == 0 && (n < 2 || n > CAMPAIGN_HOSTS_MAX))
		return jval_fail(v, err, "expected 2 to %d members", CAMPAIGN_HOSTS_MAX);
	g->sides = xcalloc(n + 1, sizeof(*g->sides));
	g->members = xcalloc(n + 1, sizeof(*g->members));
	for (i = 0; r == 0 && i < n; i++) {
		struct campaign_side *side = &g->sides[i];
		const struct jval one = jval_at(v, i);

		r = jval_decode(&one, side_fields, ARRAY_SIZE(side_fields), 0, side, err);
		if (r == 0 && (side->host >= c->n_hosts || campaign_seat(g, side->host) != SIZE_MAX))
			r = jval_fail(&one, err, "not one of its hosts, or listed twice");
		g->members[i] = side->host;
		g->n = i + 1;
		side->told_us = 1; /* it may have its order: its answer counts */
	}
	return r;
}

/* Returns how long ago the group was ordered, bounded in case the clock was set. */
static uint64_t age_of(const struct jval *group, const struct campaign *c,
		       const struct campaign_moment *now)
{
	const json_int_t at = json_integer_value(json_object_get(group->value, "ordered_us"));
	const uint64_t ordered_us = at > 0 ? (uint64_t)at : now->real_us;

	return ordered_us > now->real_us ? 0
					 : MIN(now->real_us - ordered_us, campaign_patience_us(c));
}

static int recall_group(const struct jval *v, struct campaign *c, const struct campaign_moment *now,
			struct err *err)
{
	struct campaign_group *g = &c->groups[c->n_groups++];
	const struct jval sides = jval_get(v, "sides");
	int r = jval_decode(v, group_fields, ARRAY_SIZE(group_fields), 0, g, err);

	if (r == 0)
		r = recall_sides(&sides, c, g, err);
	if (r == 0 && (g->round < 1 || g->round > c->rounds || g->rail >= PAIRING_RAILS_MAX))
		return jval_fail(v, err, "not one of its rounds or rails");
	g->resumed = g->phase == GROUP_RUNNING;
	g->since_us = now->mono_us - (g->resumed ? age_of(v, c, now) : 0);
	return r;
}

static int recall_groups(const struct jval *v, struct campaign *c,
			 const struct campaign_moment *now, struct err *err)
{
	const size_t n = json_array_size(v->value);
	size_t i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > CAMPAIGN_GROUPS_MAX)
		return jval_fail(v, err, "%zu groups, more than %d", n, CAMPAIGN_GROUPS_MAX);
	c->groups = xcalloc(n + 1, sizeof(*c->groups));
	for (i = 0; r == 0 && i < n; i++) {
		const struct jval one = jval_at(v, i);

		r = recall_group(&one, c, now, err);
	}
	return r;
}

/* Returns -ECANCELED if the campaign is too old, or was resumed too often. */
static int check_age(const struct jval *root, const struct campaign *c,
		     const struct campaign_moment *now, struct err *err)
{
	const json_int_t at = json_integer_value(json_object_get(root->value, "at_us"));
	const uint64_t at_us = at > 0 ? (uint64_t)at : 0;

	if (c->resumed > CAMPAIGN_RESUMES_MAX)
		return err_set(err, ECANCELED, "the controller restarted %d times while it ran",
			       c->resumed);
	if (now->real_us > at_us && now->real_us - at_us > CAMPAIGN_RESUME_WITHIN_US)
		return err_set(err, ECANCELED, "the controller was down for %.0f minutes",
			       (double)(now->real_us - at_us) / (double)USEC_PER_MIN);
	return 0;
}

int campaign_recall(int64_t id, const json_t *kept, const struct campaign_moment *now,
		    struct campaign **ret, struct err *err)
{
	CLEANUP(campaign_freep) struct campaign *c = xcalloc(1, sizeof(*c));
	const struct jval root = jval_root(kept, "its saved state");
	const struct jval hosts = jval_get(&root, "hosts"), groups = jval_get(&root, "groups"),
			  version = jval_get(&root, "v");
	json_int_t v = 0;
	int r = whole(&version, KEPT_VERSION_HOST, KEPT_VERSION, &v, err);

	if (r == 0)
		r = jval_decode(&root, campaign_fields, ARRAY_SIZE(campaign_fields), 0, c, err);
	if (r == 0)
		r = campaign_measure_check(&c->measure, err);
	if (r == 0 && (!c->reason || !c->who))
		r = jval_fail(&root, err, "expected a reason and who asked");
	if (r == 0)
		r = recall_hosts(&hosts, c, err);
	if (r == 0)
		r = recall_groups(&groups, c, now, err);
	if (r < 0)
		return r;
	c->id = id;
	c->resumed++;
	c->returned_us = now->mono_us;
	r = check_age(&root, c, now, err);
	if (r == 0)
		*ret = TAKE(c);
	return r;
}
