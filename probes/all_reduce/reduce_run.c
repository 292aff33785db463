/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_run.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/host.h"
#include "probes/all_reduce/reduce.h"
#include "probes/all_reduce/reduce_emit.h"
#include "probes/all_reduce/reduce_follow.h"
#include "probes/all_reduce/reduce_lead.h"
#include "probes/all_reduce/reduce_meet.h"
#include "probes/all_reduce/reduce_nccl.h"
#include "probes/all_reduce/reduce_part.h"
#include "probes/all_reduce/reduce_permit.h"
#include "probes/rnic_pair/pair_plan.h"

/* Share of the time left for the ranks to find each other. */
#define MEET_SHARE 0.5
/* Part of the budget reserved for reporting that it is over. */
#define RESERVE_US (300 * USEC_PER_MSEC)
#define WINDOW_US (250 * USEC_PER_MSEC)
#define GO_US (20 * USEC_PER_SEC)
#define GRACE_US (3 * USEC_PER_SEC)

void reduce_session_init(struct reduce_session *s)
{
	unsigned i;

	s->suspect = COLL_NOBODY;
	for (i = 0; i < COLL_RANKS_MAX; i++) {
		s->peers[i].line.fd = -1;
		s->peers[i].answer = reduce_message_init(REDUCE_BYE);
	}
}

/*
 * If a host's GPUs cannot take part (no GPU, no dmabuf, no NCCL, confidential computing), no link
 * has failed: with "set-up" a campaign blames no host.
 */
static int state_of_failure(const struct reduce_session *s)
{
	const bool is_gpu = s->sides[0].options->memory == PAIR_MEMORY_GPU;

	if (s->busy)
		return SAMPLE_BUSY;
	return s->nodes && (s->connects || !is_gpu) ? SAMPLE_ABORTED : SAMPLE_SET_UP;
}

int reduce_session_run(struct reduce_session *s, struct err *err)
{
	int r = s->rank == 0 ? reduce_lead(s, err) : reduce_follow(s, err);

	reduce_shut(s);
	if (r < 0)
		(void)reduce_emit_rest(s, state_of_failure(s), s->why[0] ? s->why : err->msg);
	return r;
}

void reduce_session_release(struct reduce_session *s)
{
	unsigned i;

	reduce_shut(s);
	for (i = 0; i < COLL_RANKS_MAX; i++) {
		oob_close(&s->peers[i].line);
		reduce_message_release(&s->peers[i].answer);
	}
	strv_free(s->nodes);
	s->nodes = NULL;
}

/* --- the probe --- */

static int check_options(const struct reduce_options *o, char *const *peers,
			 const struct reduce_permit *permit, struct err *err)
{
	if (o->rank >= strv_len(peers))
		return err_set(err, EINVAL, "--rank %u: --peers has ranks 0 to %zu", o->rank,
			       strv_len(peers) - 1);
	return o->force ? 0 : reduce_permit_check(permit, peers, err);
}

static int run_session(struct reduce_session *s, struct err *err)
{
	const uint64_t meet_us = (uint64_t)((double)clock_left_us(s->deadline_us) * MEET_SHARE);
	int r = reduce_meet(s, clock_mono_us() + meet_us, err);

	if (r == 0)
		return reduce_session_run(s, err);
	if (r != -EINVAL)
		(void)reduce_emit_rest(s, SAMPLE_SET_UP, err->msg);
	return r;
}

void reduce_session_take(struct reduce_session *s, const struct pair_plan *plan)
{
	const struct reduce_options *o = plan->probe->options;

	s->probe = plan->probe;
	s->sides = plan->sides;
	s->n_sides = plan->n_sides;
	s->host = &plan->host;
	s->rank = o->rank;
	s->depth = o->pair.depth;
	s->mtu = o->pair.mtu;
	s->qps = pair_side_queues(plan->sides, plan->n_sides);
	s->size = o->pair.size;
	s->seed = plan->probe->seed;
	s->engine = o->engine;
	/*
	 * From the plan and not from a side, which may have no memory because its GPU is in use or
	 * lost. The verbs ring uses half of it for incoming data.
	 */
	s->bytes = s->engine == REDUCE_NCCL ? plan->bytes : plan->bytes / 2;
	s->deadline_us = plan->probe->deadline_us - RESERVE_US;
}

static int run_on(struct pair_plan *plan, char **peers, const char *token, struct err *err)
{
	CLEANUP(freep) struct reduce_session *s = xcalloc(1, sizeof(*s));
	CLEANUP(freep) char *node = host_name();
	struct err why = ERR_INIT;
	int r;

	reduce_session_take(s, plan);
	s->n = (unsigned)strv_len(peers);
	s->addresses = peers;
	s->token = token;
	s->node = node;
	s->window_us = WINDOW_US;
	s->go_us = GO_US;
	s->grace_us = GRACE_US;
	s->emit = probe_emit;
	reduce_session_init(s);
	/* If NCCL cannot be loaded, no_nccl is sent to the other ranks. */
	if (s->engine == REDUCE_NCCL)
		(void)reduce_nccl_start(plan->sides, plan->n_sides, &s->nccl, &s->no_nccl);
	r = run_session(s, &why);
	reduce_session_release(s);
	if (r == 0)
		return 0;
	/* An error that no option caused must not exit as a usage error, whatever its errno. */
	return err_set(err, EPROTO, "%s", why.msg[0] ? why.msg : "cannot print samples");
}

int reduce_run(struct probe *probe, struct rdma_engine *engine, struct err *err)
{
	const struct reduce_options *o = probe->options;
	CLEANUP(reduce_permit_release) struct reduce_permit permit = { .token = NULL };
	CLEANUP(strv_freep) char **peers = NULL;
	CLEANUP(freep) struct pair_plan *plan = xcalloc(1, sizeof(*plan));
	int r = reduce_peers_parse(o->peers, &peers, err);

	if (r == 0 && reduce_permit_read(o->pair.token_file, &permit, err) < 0)
		r = -EINVAL;
	if (r == 0)
		r = check_options(o, peers, &permit, err);
	if (r < 0)
		return r;
	plan->probe = probe;
	plan->engine = engine;
	r = pair_plan_make(plan, err);
	if (r == 0)
		r = run_on(plan, peers, permit.token, err);
	pair_plan_release(plan);
	return r;
}
