/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/campaign/campaign_retest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/campaign/campaign_hosts.h"
#include "controller/campaign/campaigning_inside.h"
#include "controller/controller.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/life.h"

/* Who is below a switch is asked of the whole fleet: for one part in so many of the loop's time. */
enum { LOOK_SHARE = 20 };

/* Can it take part now, as far as we know? */
static bool is_free(struct service *s, const struct campaign_guest *guest)
{
	return guest->state != PAIRING_GONE &&
	       live_state(&s->live, guest->name, clock_mono_us()) == LIVE_CONNECTED &&
	       !act_in_use(s->act, guest->name);
}

/* The host, its partner, and others of the place that are free; an array, new reference. */
static json_t *names_of(struct service *s, const struct act_wanted *want)
{
	CLEANUP(campaign_party_release) struct campaign_party party = { .n = 0 };
	CLEANUP(freep) char *place = campaign_party_place(s, want->node);
	json_t *names = json_pack("[s, s]", want->node, want->partner);
	size_t i;

	if (!place || campaign_party_find(s, place, NULL, &party, NULL) < 0)
		return names;
	for (i = 0; i < party.n && json_array_size(names) < CAMPAIGN_RETEST_HOSTS; i++) {
		const struct campaign_guest *guest = &party.guests[i];

		if (!streq(guest->name, want->node) && !streq(guest->name, want->partner) &&
		    is_free(s, guest))
			(void)json_array_append_new(names, json_string(guest->name));
	}
	return names;
}

static int64_t begin(struct service *s, const struct act_wanted *want, struct err *err)
{
	CLEANUP(json_freep) json_t *names = names_of(s, want);
	CLEANUP(freep)
	char *reason = xasprintf("%s of %s: is it so again, with others?", want->check, want->node);
	const struct campaigning_ask ask = {
		.nodes = names,
		.kind = starts_with(want->check, "all_reduce.") ? CAMPAIGN_ALLREDUCE : CAMPAIGN_PAIR,
		.plan = PAIRING_TWO_PASS,
		.reason = reason,
		.who = WHO_AUTOMATIC,
		.tested = want->node,
	};

	if (json_array_size(names) < CAMPAIGN_RETEST_LEAST)
		return err_set(err, EBUSY, "fewer than %d hosts below its switch are free",
			       CAMPAIGN_RETEST_LEAST);
	return campaigning_begin(s, &ask, err);
}

void campaign_retest(struct service *s)
{
	const uint64_t start_us = clock_mono_us();
	struct act_wanted want;
	struct err err = ERR_INIT;
	int64_t id;

	if (start_us < s->campaigns->look_us || !act_wants_others(s->act, &want) ||
	    campaigning_tests(s, want.node))
		return;
	id = begin(s, &want, &err);
	s->campaigns->look_us = start_us + (clock_mono_us() - start_us) * LOOK_SHARE;
	if (id > 0)
		log_info("campaign %" PRId64 " begins: %s of %s is tested with others", id,
			 want.check, want.node);
	else if (want.first)
		log_info("no test with others yet node=%s: %s", want.node, err.msg);
}
