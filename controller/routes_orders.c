/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call that an agent holds open: its orders come down it, and while it is
 * there the host is alive. There are no orders yet: it ends with 204.
 */
#include <errno.h>
#include <stdlib.h>

#include "controller/api.h"
#include "controller/ingest.h"
#include "controller/routes.h"
#include "controller/service.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/xalloc.h"

enum { WAIT_DEFAULT_S = 30, WAIT_MAX_S = 300 };

#define WAIT_ACCURACY_US (100 * USEC_PER_MSEC)

/* One held call. */
struct hold {
	struct service *service;
	struct call *call;
	sd_event_source *timer;
	char *node;
};

static void end(struct hold *hold, bool gone)
{
	struct call *call = hold->call;

	live_end(&hold->service->live, hold->node, gone, clock_mono_us());
	if (gone && !hold->service->closing)
		log_info("agent gone node=%s", hold->node);
	(void)sd_event_source_disable_unref(hold->timer);
	free(hold->node);
	free(hold);
	call_reply_empty(call, 204);
}

static int on_time(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source;
	(void)now_us;
	end(context, false);
	return 0;
}

static void on_gone(void *context, struct call *call)
{
	(void)context;
	end(call_data(call), true);
}

static bool wait_of(struct call *call, uint64_t *ret_us)
{
	const char *text = call_argument(call, "wait");
	char *end_of = NULL;
	unsigned long value = WAIT_DEFAULT_S;

	if (text) {
		errno = 0;
		value = strtoul(text, &end_of, 10);
		if (errno || end_of == text || *end_of || text[0] == '-' || value > WAIT_MAX_S) {
			call_refuse(call, 400, "wait: want seconds, 0 to %d", WAIT_MAX_S);
			return false;
		}
	}
	*ret_us = value * USEC_PER_SEC;
	return true;
}

void get_orders(void *context, struct call *call)
{
	struct service *s = context;
	const struct identity *who = call_identity(call);
	const char *node = call_segment(call);
	uint64_t wait_us = 0;
	struct hold *hold;

	if (!node_name_ok(node)) {
		call_refuse(call, 404, "'%.80s' is no name of a host", node);
		return;
	}
	if (who->role != ROLE_ADMIN && (who->role != ROLE_NODE || !streq(who->node, node))) {
		call_refuse(call, 403, "this token may not take the orders of '%s'", node);
		return;
	}
	if (!wait_of(call, &wait_us))
		return;
	if (wait_us == 0 || s->live.n >= s->settings->nodes_max) {
		call_reply_empty(call, 204);
		return;
	}
	hold = xcalloc(1, sizeof(*hold));
	*hold = (struct hold){ s, call, NULL, xstrdup(node) };
	live_begin(&s->live, node);
	call_hold(call, on_gone, hold);
	if (sd_event_add_time_relative(s->loop, &hold->timer, CLOCK_MONOTONIC, wait_us,
				       WAIT_ACCURACY_US, on_time, hold) < 0)
		end(hold, false);
}
