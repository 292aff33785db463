/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/campaign/campaign_hosts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/controller.h"
#include "controller/store/store.h"
#include "controller/store/store_places.h"
#include "controller/store/store_topology.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

/* Labels that name the leaf switch of a node: of Topograph 1.0 and later, and of older ones. */
static const char *const usual_labels[] = { "fabric.topograph.run/tier-0",
					    "network.topology.nvidia.com/leaf" };

/* Checks that need other hosts: failing one does not keep a host from being tried again. */
static const char *const shared_checks[] = { "all_reduce.", "rnic_pair.", "rnic.flapping" };

static const char *keep(struct campaign_party *p, const char *text)
{
	return text ? pool_text(&p->pool, text, strlen(text)) : NULL;
}

/* --- switches --- */

struct switches {
	const char *of[PAIRING_RAILS_MAX]; /* in the pool of the party */
};

static bool by_file(struct service *s, const char *node, struct switches *ret)
{
	return rail_map_switches(&s->rail_map, node, ret->of);
}

static const char *label_of(struct service *s, const char *node, const char *key)
{
	return json_string_value(json_object_get(actor_labels(s->act, node), key));
}

static bool by_label(struct service *s, const char *node, struct switches *ret)
{
	const char *own = s->settings->collectives.label;
	const char *name = own ? label_of(s, node, own) : NULL;
	size_t i, rail;

	for (i = 0; !own && !name && i < ARRAY_SIZE(usual_labels); i++)
		name = label_of(s, node, usual_labels[i]);
	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++)
		ret->of[rail] = name;
	return name != NULL;
}

static int by_lldp(struct service *s, const json_t *node, struct pool *pool, struct switches *ret,
		   struct err *err)
{
	const char *digest = json_string_value(json_object_get(node, "topology"));

	*ret = (struct switches){ { NULL } };
	return store_switches(s->store, digest, pool, ret->of, err);
}

static int find_switches(struct service *s, const json_t *node, struct campaign_party *p,
			 struct campaign_guest *guest, struct err *err)
{
	struct switches found = { { NULL } };
	size_t rail;
	int r = 0;

	if (!by_file(s, guest->name, &found) && !by_label(s, guest->name, &found))
		r = by_lldp(s, node, &p->pool, &found, err);
	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++)
		guest->leaf[rail] = keep(p, found.of[rail]);
	return r < 0 ? r : 0;
}

/* --- may it take part? --- */

static bool is_shared(const char *check)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(shared_checks) && !starts_with(check, shared_checks[i]))
		i++;
	return i < ARRAY_SIZE(shared_checks);
}

/* Returns which of its own tests the host failed, or NULL. The caller frees it. */
static char *failed_alone(const struct verdict *runs, int n)
{
	int i;
	size_t j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < runs[i].n_items; j++) {
			const struct verdict_item *item = &runs[i].items[j];

			if (item->level == VERDICT_FAIL && !is_shared(item->check))
				return xasprintf("it has not passed its own tests: %s: %s",
						 item->check,
						 item->sentence ? item->sentence : item->subject);
		}
	}
	return NULL;
}

static bool was_tested(const struct verdict *runs, int n)
{
	int i = 0;

	while (i < n && !profile_is_active(runs[i].profile))
		i++;
	return i < n;
}

/*
 * Returns why the host may not take part, or NULL: it has to pass its own tests before it runs
 * collectives. The caller frees it.
 */
static char *why_not(struct service *s, const json_t *node)
{
	const char *name = json_string_value(json_object_get(node, "node"));
	CLEANUP(pool_release) struct pool pool = { 0 };
	struct verdict runs[STORE_RUNS_MAX];
	struct err err = ERR_INIT;
	char *why;
	int n, i;

	if (json_is_true(json_object_get(node, "stale")))
		return xstrdup("it stopped reporting");
	if (json_is_true(json_object_get(node, "unverified")))
		return xstrdup("it has joined but not yet passed a quick or full run");
	n = store_runs(s->store, name, &pool, runs, &err);
	if (n < 0)
		return xasprintf("its last runs cannot be read: %s", err.msg);
	why = failed_alone(runs, n);
	if (!why && !was_tested(runs, n))
		why = xstrdup("it has not passed its own tests: it has no quick or full run");
	for (i = 0; i < n; i++)
		verdict_release(&runs[i]);
	return why;
}

/* Returns the address at which other hosts reach it, without a port, or NULL. Borrowed. */
static const char *address_of(struct service *s, const char *node)
{
	const char *of_cluster = actor_address(s->act, node);

	switch (s->settings->collectives.address) {
	case COLLECTIVES_BY_FILE:
		return rail_map_address(&s->rail_map, node);
	case COLLECTIVES_BY_CLUSTER:
		return of_cluster ? of_cluster : node;
	default:
		return node;
	}
}

static int add(struct service *s, const json_t *node, struct campaign_party *p, struct err *err)
{
	const char *name = json_string_value(json_object_get(node, "node"));
	CLEANUP(freep) char *why = NULL;
	CLEANUP(freep) char *address = NULL;
	struct campaign_guest *guest;
	const char *host;
	int r;

	if (p->n == CAMPAIGN_HOSTS_MAX)
		return err_set(err, E2BIG, "more than %d hosts in one campaign", CAMPAIGN_HOSTS_MAX);
	guest = &p->guests[p->n++];
	*guest = (struct campaign_guest){ .name = keep(p, name) };
	r = find_switches(s, node, p, guest, err);
	if (r < 0)
		return r;
	host = address_of(s, name);
	address = xasprintf("%s:%u", host ? host : name, (unsigned)s->settings->collectives.port);
	guest->address = keep(p, address);
	why = host ? why_not(s, node) : xstrdup("the neighbors file has no address for this host");
	if (why)
		guest->state = PAIRING_GONE;
	guest->why = keep(p, why);
	return 0;
}

/* --- which hosts --- */

static bool is_there(const struct campaign_party *p, const char *name)
{
	size_t i = 0;

	while (i < p->n && !streq(p->guests[i].name, name))
		i++;
	return i < p->n;
}

static int find_named(struct service *s, const json_t *nodes, struct campaign_party *p,
		      struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < json_array_size(nodes); i++) {
		const char *name = json_string_value(json_array_get(nodes, i));
		CLEANUP(json_freep) json_t *node = NULL;

		if (is_there(p, name))
			continue;
		r = store_node(s->store, name, clock_real_us(), &node, err);
		if (r == 0)
			r = add(s, node, p, err);
	}
	return r;
}

struct seeking {
	struct service *s;
	const char *domain;
	json_t *names; /* found; at most CAMPAIGN_HOSTS_MAX + 1 */
};

static bool is_one(const struct switches *found, const char *domain)
{
	size_t rail = 0;

	while (rail < PAIRING_RAILS_MAX && !streq(found->of[rail], domain))
		rail++;
	return rail < PAIRING_RAILS_MAX;
}

/*
 * Returns true if the host is below that switch or in that domain of the policy. `heard`: its RNICs
 * received the switch's LLDP.
 */
static bool is_in(const struct seeking *seek, const char *name, bool heard)
{
	const char *label = seek->s->rules.policy.domain_label;
	struct switches found = { { NULL } };

	if (label && streq(label_of(seek->s, name, label), seek->domain))
		return true;
	if (by_file(seek->s, name, &found) || by_label(seek->s, name, &found))
		return is_one(&found, seek->domain);
	return heard;
}

static void look_at(void *context, const char *node, bool heard)
{
	struct seeking *seek = context;

	if (json_array_size(seek->names) <= CAMPAIGN_HOSTS_MAX && is_in(seek, node, heard))
		(void)json_array_append_new(seek->names, json_string(node));
}

static int find_domain(struct service *s, const char *domain, struct campaign_party *p,
		       struct err *err)
{
	CLEANUP(json_freep) json_t *names = json_array();
	struct seeking seek = { s, domain, names };
	bool unheard = false;
	int r = store_unheard(s->store, &unheard, err);

	if (r == 0 && unheard)
		return err_set(err, EBUSY,
			       "the switches of hosts are still being read after an upgrade: try "
			       "again in a minute, or name the hosts");
	if (r == 0)
		r = store_each_place(s->store, domain, look_at, &seek, err);
	if (r == 0 && json_array_size(names) == 0)
		return err_set(err, ENOENT,
			       "no host is in a domain, or below a switch, named '%.80s': name the "
			       "hosts, or see collectives in controller.yaml",
			       domain);
	return r < 0 ? r : find_named(s, names, p, err);
}

char *campaign_party_place(struct service *s, const char *node)
{
	const char *label = s->rules.policy.domain_label;
	const char *domain = label ? label_of(s, node, label) : NULL;
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(pool_release) struct pool pool = { 0 };
	struct switches found = { { NULL } };

	if (!by_file(s, node, &found) && !by_label(s, node, &found) &&
	    store_node(s->store, node, clock_real_us(), &value, NULL) == 0)
		(void)by_lldp(s, value, &pool, &found, NULL);
	return xstrdup(found.of[0] ? found.of[0] : domain);
}

int campaign_party_find(struct service *s, const char *domain, const json_t *nodes,
			struct campaign_party *ret, struct err *err)
{
	ret->n = 0;
	ret->pool = (struct pool){ 0 };
	return nodes ? find_named(s, nodes, ret, err) : find_domain(s, domain, ret, err);
}

static bool shares_switch(const struct campaign_host *host, const struct campaign_guest *guest)
{
	size_t rail;

	for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
		if (host->leaf[rail] && streq(host->leaf[rail], guest->leaf[rail]))
			return true;
	}
	return false;
}

int campaign_party_apart(const struct campaign_party *party, const struct campaign *c,
			 struct err *err)
{
	size_t i, j;

	for (i = 0; c->state == CAMPAIGN_RUNNING && i < c->n_hosts; i++) {
		for (j = 0; j < party->n; j++) {
			const struct campaign_guest *guest = &party->guests[j];

			if (streq(c->hosts[i].name, guest->name))
				return err_set(err, EBUSY, "%s is taking part in campaign %" PRId64,
					       guest->name, c->id);
			if (shares_switch(&c->hosts[i], guest))
				return err_set(err, EBUSY,
					       "%s is below a switch at which campaign %" PRId64
					       " measures",
					       guest->name, c->id);
		}
	}
	return 0;
}

void campaign_party_release(struct campaign_party *p)
{
	pool_release(&p->pool);
	p->n = 0;
}
