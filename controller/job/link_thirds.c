/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/link_thirds.h"

#include "controller/actions/actor.h"
#include "controller/controller.h"
#include "controller/job/job_advice.h"
#include "controller/job/pair_record.h"
#include "controller/store/store_placements.h"
#include "lib/json/json.h"
#include "lib/policy/fleet.h"
#include "lib/policy/pair_rungs.h"

/* Hosts of the job, which cannot be third hosts: those that had ranks within a day. */
enum { OWN_MAX = 4096 };

static const char *name_at(const json_t *names, size_t i)
{
	return json_string_value(json_array_get(names, i));
}

static bool is_near(const struct link_pairs_of *w, const json_t *ends, const struct fleet_node *node)
{
	size_t i;

	for (i = 0; i < json_array_size(ends) && node->domain != NAME_NONE; i++) {
		const struct fleet_node *end = fleet_find(w->in->fleet, name_at(ends, i));

		if (end && end->domain == node->domain)
			return true;
	}
	return false;
}

/* Hosts of the job, and all in this record. New reference. */
static int find_own(const struct link_pairs_of *w, json_t **ret)
{
	const uint64_t times[2] = { w->in->now_us,
				    w->in->now_us - MIN(w->in->now_us, USEC_PER_DAY) };
	CLEANUP(json_freep) json_t *own = NULL;
	size_t i;
	int r = store_job_hosts(w->in->store, w->in->job, times, OWN_MAX, &own, w->err);

	if (r < 0)
		return r;
	for (i = 0; i < w->inv->n_hosts; i++)
		(void)json_array_append_new(own, json_string(w->inv->hosts[i].name));
	*ret = TAKE(own);
	return 0;
}

/* Add those in racks of the ends, or the others. */
static int add_thirds(const struct link_pairs_of *w, const json_t *ends, const json_t *own,
		      bool near, json_t *thirds)
{ /* lint: allow parameters: the ends, excluded hosts, which of the rest, and the result */
	const struct fleet_node *first = fleet_find(w->in->fleet, name_at(ends, 0));
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && first && i < w->in->fleet->n; i++) {
		const struct fleet_node *node = w->in->fleet->nodes[i];
		bool spare = false;

		if (json_array_size(thirds) == PAIR_RUNGS_THIRDS_MAX)
			break;
		if (first->sku == NAME_NONE || node->sku != first->sku ||
		    is_near(w, ends, node) != near || json_has_text(own, node->name))
			continue;
		r = job_advice_is_spare(w->in, node, &spare, w->err);
		if (r == 0 && spare)
			(void)json_array_append_new(thirds, json_string(node->name));
	}
	return r;
}

/* An end cleared by pairs is a good third, too, while it is free. */
static void add_good_ends(const struct link_pairs_of *w, const json_t *entry, const json_t *run,
			  json_t *thirds)
{
	const json_t *ends = json_object_get(entry, "ends");
	size_t i;

	for (i = 0; i < json_array_size(ends); i++) {
		const char *host = name_at(ends, i);
		const int said = pair_record_end(entry, host);

		if (json_array_size(thirds) < PAIR_RUNGS_THIRDS_MAX && !json_has_text(run, host) &&
		    (said == END_GOOD || said == END_BETWEEN) && !actor_in_use(w->s->act, host))
			(void)json_array_append_new(thirds, json_string(host));
	}
}

int link_thirds_find(const struct link_pairs_of *w, const json_t *entry, const json_t *run,
		     json_t **ret, bool *ret_asked)
{
	const size_t asked = json_array_size(w->in->asked);
	CLEANUP(json_freep) json_t *thirds = json_array();
	CLEANUP(json_freep) json_t *own = NULL;
	int r = find_own(w, &own);

	if (r == 0)
		r = add_thirds(w, run, own, true, thirds);
	if (r == 0)
		r = add_thirds(w, run, own, false, thirds);
	if (r < 0)
		return r;
	add_good_ends(w, entry, run, thirds);
	*ret_asked = json_array_size(w->in->asked) > asked;
	*ret = TAKE(thirds);
	return 0;
}
