/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/burns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/burn_queue.h"
#include "controller/controller.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"
#include "lib/report/report.h"

static const char profile[] = "burn";

static const struct fleet_node *node_of(const struct service *s, const char *node)
{
	return s->act ? fleet_find(actor_fleet(s->act), node) : NULL;
}

/* Is it kept out of service now, by us or somebody else, rather than about to be? */
static bool is_out(const struct fleet_node *n)
{
	return n->out & (OUT_OURS | OUT_OTHERS | OUT_HOLD) && !(n->out & OUT_COMING);
}

int burns_check(const struct service *s, const char *node, struct err *err)
{
	const struct fleet_node *n = node_of(s, node);
	const char *why = n ? actor_in_use(s->act, node) : NULL;

	if (!n)
		return err_set(err, ENOENT, "no host '%.80s'", node);
	if (why)
		return err_set(err, EBUSY, "%.80s is not burned: %s", node, why);
	if (!is_out(n))
		return err_set(
			err, EBUSY,
			"%.80s is in service, and only hosts out of service are burned: cordon it "
			"first",
			node);
	return 0;
}

static const char *domain_of(const struct service *s, const char *node)
{
	const struct fleet *fleet = actor_fleet(s->act);
	const struct fleet_node *n = fleet_find(fleet, node);
	const char *domain = n && n->domain != NAME_NONE ? names_text(&fleet->domains, n->domain)
							 : NULL;

	return domain ? domain : "";
}

int burns_ask(struct service *s, const char *node, char **ret_words, struct err *err)
{
	size_t before;
	int r = burns_check(s, node, err);

	if (r == 0)
		r = burn_queue_add(s->burns, node, domain_of(s, node), clock_mono_us(), err);
	if (r < 0)
		return r;
	before = burn_queue_before(s->burns, node);
	*ret_words = before ? xasprintf("%s will burn after %zu other%s of its rack", node, before,
					before == 1 ? "" : "s")
			    : xasprintf("%s is burning now, for six minutes", node);
	controller_wake_orders(s, node);
	return 0;
}

json_t *burns_order(struct service *s, const char *node)
{
	const uint64_t now_us = clock_mono_us(), real_us = clock_real_us();
	char id[BURN_ID_SIZE], now[CLOCK_STAMP_SIZE], until[CLOCK_STAMP_SIZE];
	struct err why = ERR_INIT;

	if (!s->burns || !burn_queue_may(s->burns, node, now_us))
		return NULL;
	if (burns_check(s, node, &why) < 0) {
		log_warning("no burn of %s: %s", node, why.msg);
		burn_queue_drop(s->burns, node);
		return NULL;
	}
	(void)snprintf(id, sizeof(id), "burn-%" PRIu64, real_us);
	burn_queue_begin(s->burns, node, id, now_us);
	log_info("burn ordered node=%s id=%s", node, id);
	clock_stamp(real_us, now);
	clock_stamp(real_us + BURN_ORDER_US, until);
	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", id, "kind", "deep", "now", now,
			 "deadline", until, "profile", profile);
}

void burns_report(struct service *s, const struct report *report)
{
	const char *id = json_string_value(json_object_get(report->order, "id"));

	if (s->burns && id && burn_queue_answered(s->burns, report->node, id))
		log_info("burn answered node=%s id=%s", report->node, id);
}

/* --- the part --- */

static int open_burns(struct service *s, struct err *err UNUSED)
{
	s->burns = xcalloc(1, sizeof(*s->burns));
	return 0;
}

static void tick(struct service *s)
{
	const uint64_t now_us = clock_mono_us();
	CLEANUP(freep) char *next = NULL;
	size_t i;

	if (burn_queue_expire(s->burns, now_us) > 0)
		log_warning("burns that were ordered gave no result in time");
	/* One a second is enough: hosts of a rack begin no closer together, and waking may change
	 * the queue. */
	for (i = 0; i < s->burns->n && !next; i++) {
		if (burn_queue_may(s->burns, s->burns->asks[i].node, now_us))
			next = xstrdup(s->burns->asks[i].node);
	}
	if (next)
		controller_wake_orders(s, next);
}

static void forgotten(struct service *s, const char *node)
{
	if (s->burns)
		burn_queue_drop(s->burns, node);
}

static void close_burns(struct service *s)
{
	if (s->burns)
		burn_queue_release(s->burns);
	free(s->burns);
	s->burns = NULL;
}

const struct controller_part burns_part = {
	.open = open_burns,
	.tick = tick,
	.forgotten = forgotten,
	.close = close_burns,
};
