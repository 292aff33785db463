/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_peer.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "probes/rnic_pair/pair_plan.h"
#include "probes/rnic_pair/pair_step.h"

/* Part of the budget for finding each other. */
#define MEET_SHARE 0.5

static int listen_for_peer(const struct pair_options *o, const char *token, uint64_t deadline_us,
			   struct oob *ret, struct err *err)
{
	char bound[OOB_NAME_SIZE];
	CLEANUP(closep) int fd = -1;
	int r = oob_listen(o->listen, deadline_us, bound, &fd, err);

	if (r < 0)
		return r;
	log_info("listening on %s", bound);
	return oob_accept(fd, token, deadline_us, ret, err);
}

static int meet(const struct pair_options *o, const char *token, uint64_t deadline_us,
		struct oob *ret, struct err *err)
{
	return o->listen ? listen_for_peer(o, token, deadline_us, ret, err)
			 : oob_dial(o->peer, token, deadline_us, ret, err);
}

/* Failures before the other side has said its name are set-up, later ones are aborts. */
static void emit_failure(struct pair_session *s, const struct err *err)
{
	(void)pair_step_emit_rest(s, s->peer.node ? SAMPLE_ABORTED : SAMPLE_SET_UP, err->msg);
}

int pair_peer_run(struct pair_plan *p, const char *token, struct err *err)
{
	struct pair_options *o = p->probe->options;
	struct pair_session s = {
		.probe = p->probe,
		.engine = p->engine,
		.sides = p->sides,
		.n_sides = p->n_sides,
		.options = o,
		.topology = p->has_topology ? &p->topology : NULL,
		.host = &p->host,
		.gpus = &p->gpus,
		.memory_bytes = p->bytes,
		.other = o->peer ? o->peer : "anybody",
		.line = { .fd = -1 },
		.leads = o->peer != NULL,
		.peer = pair_message_init(PAIR_BYE),
		.deadline_us = p->probe->deadline_us,
		.emit = probe_emit,
	};
	uint64_t meet_us = (uint64_t)((double)probe_left_us(p->probe) * MEET_SHARE);
	struct err why = ERR_INIT;
	int r = meet(o, token, clock_mono_us() + meet_us, &s.line, &why);

	if (r == -EINVAL)
		return err_set(err, EINVAL, "%s", why.msg);
	if (r == 0)
		r = pair_session_run(&s, &why);
	if (r < 0) {
		emit_failure(&s, &why);
		(void)err_set(err, EPROTO, "%s", why.msg[0] ? why.msg : "cannot print samples");
		r = -EPROTO;
	}
	pair_lanes_close(&s.lanes);
	oob_close(&s.line);
	pair_message_release(&s.peer);
	return r;
}
