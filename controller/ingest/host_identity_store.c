/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/ingest/host_identity_store.h"

#include <stdlib.h>

#include "controller/fleet/hosts.h"
#include "controller/fleet/report_clock.h"
#include "controller/ingest/host_identity.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"

static const char check_two[] = "host.identity", check_replaced[] = "host.replaced";

static bool has_incident(const json_t *incidents, const char *check)
{
	size_t i;

	for (i = 0; i < json_array_size(incidents); i++) {
		const json_t *at = json_object_get(json_array_get(incidents, i), "check");

		if (streq(json_string_value(at), check))
			return true;
	}
	return false;
}

int host_identity_learn(struct store *store, struct host *host, struct err *err)
{
	CLEANUP(json_freep) json_t *node = NULL;
	CLEANUP(json_freep) json_t *open = NULL;
	bool there = false;
	int r;

	if (host->known)
		return 0;
	r = store_has_node(store, host->node, &there, err);
	if (r < 0 || !there)
		return r;
	r = store_node(store, host->node, 0, &node, err);
	if (r == 0)
		r = store_open_incidents(store, host->node, &open, err);
	if (r == 0)
		host_identity_recall(host, node, has_incident(open, check_two));
	return r;
}

static int put(struct store *store, const struct host *host, const char *check,
	       const char *sentence, uint64_t at_us, struct err *err)
{
	const struct store_incident incident = {
		.node = host->node,
		.check = check,
		.subject = host->node,
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_OBSERVE],
		.sentence = sentence,
	};

	return store_put_incident(store, &incident, at_us, err);
}

static int tell_two(struct store *store, struct host *host, uint64_t at_us, struct err *err)
{
	CLEANUP(freep) char *sentence = host_identity_two_sentence(host);

	host->told = true;
	return put(store, host, check_two, sentence, at_us, err);
}

static int tell_replaced(struct store *store, const struct host *host, uint64_t at_us,
			 struct err *err)
{
	CLEANUP(freep) char *sentence = host_identity_replaced_sentence(host);
	int r = store_begin_anew(store, host->node, at_us, err);

	if (r == 0)
		r = put(store, host, check_replaced, sentence, at_us, err);
	return r == 0 ? store_close_incident(store, host->node, check_replaced, at_us, err) : r;
}

int host_identity_tell(struct store *store, struct host *host, int identity,
		       const struct report_clock *arrival, struct err *err)
{
	const bool over = host->told && arrival->fresh && identity != HOST_IDENTITY_TWO;
	int r = 0;

	if (identity == HOST_IDENTITY_TWO)
		return tell_two(store, host, arrival->measured_us, err);
	if (identity == HOST_IDENTITY_REPLACED)
		r = tell_replaced(store, host, arrival->measured_us, err);
	if (r == 0 && over) {
		host->told = false;
		r = store_close_incident(store, host->node, check_two, arrival->measured_us, err);
	}
	return r;
}
