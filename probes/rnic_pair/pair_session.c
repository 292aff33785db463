/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_session.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/host.h"
#include "probes/rnic_pair/pair_follow.h"
#include "probes/rnic_pair/pair_gpu.h"
#include "probes/rnic_pair/pair_lead.h"
#include "probes/rnic_pair/pair_rails.h"
#include "probes/rnic_pair/pair_step.h"

/* Time for the other side to answer what needs no measurement. */
#define HELLO_US (10 * USEC_PER_SEC)
/* Time for the follower to open its GPUs: the leader waits 20 s for its first answer. */
#define GPU_OPEN_US (15 * USEC_PER_SEC)
/* Part of the budget reserved for ending the session. */
#define RESERVE_US (300 * USEC_PER_MSEC)

static int hello(struct pair_session *s, struct err *err)
{
	CLEANUP(pair_message_release) struct pair_message own = pair_message_init(PAIR_HELLO);
	struct pair_options *o = s->options;
	size_t i;
	int r;

	/* One number for all rails, because this is the only place where the other side gets it. */
	o->qps = pair_side_queues(s->sides, s->n_sides);
	own.node = host_name();
	(void)snprintf(s->node, sizeof(s->node), "%s", own.node);
	own.size = o->size;
	own.qps = o->qps;
	own.depth = o->depth;
	own.mtu = o->mtu;
	own.connect_only = o->connect_only;
	own.memory = o->memory;
	own.budget_us = clock_left_us(s->deadline_us);
	for (i = 0; i < s->n_sides; i++) {
		memcpy(own.rails[i].device, s->sides[i].port->device, RDMA_NAME_SIZE);
		own.rails[i].port = s->sides[i].port->number;
	}
	own.n_rails = s->n_sides;
	r = pair_say(s, &own, err);
	if (r == 0)
		r = pair_hear(s, HELLO_US, &s->peer, err);
	if (r == 0 && s->peer.kind != PAIR_HELLO)
		r = err_set(err, EPROTO, "%s did not begin with a hello", s->line.name);
	return r;
}

/* Log ports without a counterpart on the other host: down there, or with another name. */
static void tell_alone(const struct pair_session *s)
{
	size_t i;

	for (i = s->n_rails; i < s->n_sides; i++)
		log_warning("%s port %u is not measured: %s has no active port of that name",
			    s->sides[i].port->device, s->sides[i].port->number, s->peer.node);
	for (i = s->n_rails; i < s->peer.n_rails; i++)
		log_warning("%s/%s:%u is not measured: this host has no active port of that name",
			    s->peer.node, s->peer.rails[i].device, s->peer.rails[i].port);
}

/* The follower has host memory ready until it is told which memory to use. */
static void change_memory(struct pair_session *s)
{
	const struct pair_memory_want want = {
		.probe = s->probe,
		.topology = s->topology,
		.bytes = s->memory_bytes,
		.open_us = MIN(GPU_OPEN_US, clock_left_us(s->deadline_us) / 2),
	};
	size_t i;

	s->options->memory = PAIR_MEMORY_GPU;
	for (i = 0; i < s->n_sides; i++)
		pair_side_close(&s->sides[i]);
	pair_gpus_take(s->gpus, s->options, &want, s->sides, s->n_sides);
	for (i = 0; i < s->n_sides; i++) {
		/* A port that others use stays busy. */
		if (!s->sides[i].err.code)
			pair_side_open(&s->sides[i], s->host, s->memory_bytes);
	}
}

static void agree(struct pair_session *s)
{
	CLEANUP(freep) char *address = xstrdup(s->line.name);

	(void)snprintf(s->line.name, sizeof(s->line.name), "%s (%s)", s->peer.node, address);
	s->n_rails = pair_rails_match(s->sides, s->n_sides, s->peer.rails, s->peer.n_rails,
				      s->leads, s->rails);
	tell_alone(s);
	s->deadline_us = MIN(s->deadline_us, clock_mono_us() + s->peer.budget_us) - RESERVE_US;
	if (s->leads)
		return;
	s->options->size = (unsigned)s->peer.size;
	s->options->qps = (unsigned)s->peer.qps;
	s->options->depth = (unsigned)s->peer.depth;
	s->options->mtu = (unsigned)s->peer.mtu;
	s->options->connect_only = s->peer.connect_only;
	if (s->peer.memory == PAIR_MEMORY_GPU)
		change_memory(s);
}

int pair_session_run(struct pair_session *s, struct err *err)
{
	int r = hello(s, err);

	if (r < 0)
		return r;
	agree(s);
	if (s->n_rails == 0)
		return err_set(err, ENODEV, "%s has no active RDMA port", s->peer.node);
	r = s->leads ? pair_lead(s, err) : pair_follow(s, err);
	return r < 0 ? r
		     : pair_step_emit_rest(s, SAMPLE_TIMEOUT,
					   "no time left in the budget for this pair");
}
