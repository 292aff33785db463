/* SPDX-License-Identifier: Apache-2.0 */
/* Non-blocking communicators: created, watched and aborted with a deadline. */
#include "probes/coll/nccl_comm.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/coll/nccl_load.h"

/*
 * An abort sets a flag that waiting kernels look at, and then frees the resources of the
 * communicator, which waits for its GPU. If that GPU no longer looks at the flag, the call may
 * never return. So each abort runs in a thread of its own, and those that do not return identify
 * the GPUs.
 */

/* On the heap, and not freed while a thread is left: it may still return. */
struct aborts {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned left; /* not returned yet */
	struct abort {
		struct aborts *all;
		unsigned (*call)(struct ncclComm *comm);
		struct ncclComm *comm; /* NULL: returned, or there was none */
		pthread_t thread;
		bool threaded;
	} one[COLL_RANKS_MAX];
};

static void *run(void *argument)
{
	struct abort *one = argument;
	struct aborts *all = one->all;

	(void)one->call(one->comm);
	(void)pthread_mutex_lock(&all->lock);
	one->comm = NULL;
	all->left--;
	(void)pthread_cond_signal(&all->changed);
	(void)pthread_mutex_unlock(&all->lock);
	return NULL;
}

static void begin(struct abort *one)
{
	one->threaded = pthread_create(&one->thread, NULL, run, one) == 0;
	/* Without a thread, the watchdog above us ends a call that hangs. */
	if (!one->threaded)
		(void)run(one);
}

/* Wait until all have returned or time is up. Returns the ranks that have not. */
static uint64_t wait_for(struct aborts *all, uint64_t deadline_us)
{
	const struct timespec at = {
		.tv_sec = (time_t)(deadline_us / USEC_PER_SEC),
		.tv_nsec = (long)(deadline_us % USEC_PER_SEC * 1000),
	};
	uint64_t held = 0;
	bool in_time = true;
	unsigned i;

	(void)pthread_mutex_lock(&all->lock);
	while (all->left > 0 && in_time)
		in_time = pthread_cond_clockwait(&all->changed, &all->lock, CLOCK_MONOTONIC, &at) !=
			  ETIMEDOUT;
	for (i = 0; i < COLL_RANKS_MAX; i++) {
		if (all->one[i].comm)
			held |= COLL_RANK_BIT(i);
	}
	(void)pthread_mutex_unlock(&all->lock);
	return held;
}

/* Returns the ranks whose communicators were not aborted in time. */
static uint64_t abort_all(struct nccl_group *g)
{
	struct aborts *all = xcalloc(1, sizeof(*all));
	uint64_t held;
	unsigned i;

	(void)pthread_mutex_init(&all->lock, NULL);
	(void)pthread_cond_init(&all->changed, NULL);
	for (i = 0; i < g->coll.n_here; i++) {
		all->one[i] = (struct abort){ all, g->call.abort, g->ranks[i].comm };
		all->left += g->ranks[i].comm != NULL;
		g->ranks[i].comm = NULL;
	}
	for (i = 0; i < g->coll.n_here; i++) {
		if (all->one[i].comm)
			begin(&all->one[i]);
	}
	held = wait_for(all, clock_mono_us() + NCCL_ABORT_US);
	for (i = 0; !held && i < g->coll.n_here; i++) {
		if (all->one[i].threaded)
			(void)pthread_join(all->one[i].thread, NULL);
	}
	if (held) {
		accel_leave_at_once();
		return held;
	}
	(void)pthread_cond_destroy(&all->changed);
	(void)pthread_mutex_destroy(&all->lock);
	free(all);
	return 0;
}

void nccl_comms_abort(struct nccl_group *g)
{
	uint64_t deadline_us;
	bool any = false;
	unsigned i;

	for (i = 0; i < g->coll.n_here; i++)
		any |= g->ranks[i].comm != NULL;
	if (!any)
		return;
	g->held = abort_all(g);
	deadline_us = g->ops->now_us(g->accel) + NCCL_DRAIN_US;
	for (i = 0; i < g->coll.n_here; i++) {
		struct nccl_rank *rank = &g->ranks[i];

		if (rank->stream && !(g->held & COLL_RANK_BIT(i)) &&
		    g->ops->stream_wait(rank->stream, deadline_us, NULL) == -ETIMEDOUT)
			g->held |= COLL_RANK_BIT(i);
	}
}

int nccl_check(struct nccl_group *g, const struct nccl_rank *rank, unsigned result,
	       const char *what, struct err *err)
{
	const char *last = NULL;

	if (result == NCCL_OK || result == NCCL_IN_PROGRESS)
		return 0;
	if (g->call.last_error)
		last = g->call.last_error(rank->comm);
	if (!last || !last[0])
		return err_set(err, EPROTO, "%s: %s: %s", rank->subject, what,
			       g->call.error_string(result));
	/* Only its first line: the NCCL call trace is not useful to users. */
	return err_set(err, EPROTO, "%s: %s: %s (%.*s)", rank->subject, what,
		       g->call.error_string(result), (int)strcspn(last, "\n"), last);
}

void nccl_pause(struct nccl_group *g, uint64_t deadline_us, uint64_t pause_us)
{
	uint64_t now_us = g->ops->now_us(g->accel);
	uint64_t left_us = deadline_us > now_us ? deadline_us - now_us : 0;
	struct timespec time = { .tv_nsec = (long)MIN(left_us, pause_us) * 1000 };

	(void)ppoll(NULL, 0, &time, NULL);
}

int nccl_comms_ready(struct nccl_group *g, int *ret_rank, struct err *err)
{
	struct err why = ERR_INIT;
	int pending = 0, failed = COLL_NOBODY;
	unsigned i;

	*ret_rank = COLL_NOBODY;
	for (i = 0; i < g->coll.n_here; i++) {
		struct nccl_rank *rank = &g->ranks[i];
		unsigned state = NCCL_OK, result = g->call.async_error(rank->comm, &state);

		if (result != NCCL_OK)
			state = result;
		if (state == NCCL_IN_PROGRESS)
			pending++;
		if (state == NCCL_OK || state == NCCL_IN_PROGRESS)
			continue;
		/* A communicator that reports a remote error is not at fault itself. */
		if (failed == COLL_NOBODY || (state != NCCL_REMOTE_ERROR && *ret_rank < 0))
			(void)nccl_check(g, rank, state, "its communicator failed", &why);
		failed = (int)i;
		if (state != NCCL_REMOTE_ERROR && *ret_rank < 0)
			*ret_rank = (int)i;
	}
	if (failed != COLL_NOBODY)
		return err_set(err, EPROTO, "%s", why.msg);
	return pending ? 0 : 1;
}

/* -ECANCELED with the reason if the watch gives up. */
static int look_about(const struct coll_watch *watch, struct err *err)
{
	char why[COLL_WHY_SIZE] = "";
	int suspect;

	return watch && watch->look(watch->context, &suspect, why)
		       ? err_set(err, ECANCELED, "%s", why)
		       : 0;
}

static int wait_ready(struct nccl_group *g, uint64_t deadline_us, const struct coll_watch *watch,
		      struct err *err)
{
	int rank, r = nccl_comms_ready(g, &rank, err);

	while (r == 0 && g->ops->now_us(g->accel) < deadline_us) {
		nccl_pause(g, deadline_us, NCCL_POLL_US);
		r = look_about(watch, err);
		if (r == 0)
			r = nccl_comms_ready(g, &rank, err);
	}
	return r;
}

/* "gpu:GPU-a, gpu:GPU-b": GPUs whose communicators are not ready. */
static void name_pending(struct nccl_group *g, char *ret, size_t size)
{
	size_t used = 0;
	unsigned i;

	ret[0] = '\0';
	for (i = 0; i < g->coll.n_here && used < size; i++) {
		unsigned state = NCCL_OK;

		(void)g->call.async_error(g->ranks[i].comm, &state);
		if (state == NCCL_IN_PROGRESS)
			used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? ", " : "",
						 g->ranks[i].subject);
	}
}

static int init_ranks(struct nccl_group *g, nccl_config *config, struct err *err)
{
	struct nccl_rank *first = &g->ranks[0];
	unsigned result;
	unsigned i;
	int r = nccl_check(g, first, g->call.group_start(), "cannot begin a group", err);

	if (r < 0)
		return r;
	for (i = 0; r == 0 && i < g->coll.n_here; i++) {
		struct nccl_rank *rank = &g->ranks[i];

		r = g->ops->device_enter(g->accel, rank->device, err);
		if (r == 0)
			r = nccl_check(g, rank,
				       g->call.init_rank(&rank->comm, (int)g->coll.n, g->id,
							 (int)(g->coll.first + i), config),
				       "cannot create its communicator", err);
	}
	result = g->call.group_end();
	return r < 0 ? r : nccl_check(g, first, result, "cannot make communicators", err);
}

int nccl_comms_open(struct nccl_group *g, uint64_t deadline_us, const struct coll_watch *watch,
		    struct err *err)
{
	nccl_config config = {
		.size = sizeof(config),
		.magic = NCCL_CONFIG_MAGIC,
		.version = NCCL_VERSION_MIN,
		.blocking = 0,
	};
	uint64_t begun_us = g->ops->now_us(g->accel);
	char names[256];
	int r = init_ranks(g, &config, err);

	if (r == 0)
		r = wait_ready(g, deadline_us, watch, err);
	if (r != 0)
		return MIN(r, 0);
	name_pending(g, names, sizeof(names));
	return err_set(err, ETIMEDOUT, "communicators were not ready after %.0f s: those of %s",
		       (double)(g->ops->now_us(g->accel) - begun_us) * 1e-6, names);
}

void nccl_comms_close(struct nccl_group *g)
{
	uint64_t deadline_us = g->ops->now_us(g->accel) + COLL_ABORT_US;
	bool failed = false;
	unsigned i;

	for (i = 0; i < g->coll.n_here && !failed; i++)
		failed = !g->ranks[i].comm;
	if (failed) {
		nccl_comms_abort(g);
		return;
	}
	failed = g->call.group_start() != NCCL_OK;
	for (i = 0; i < g->coll.n_here && !failed; i++)
		failed = nccl_check(g, &g->ranks[i], g->call.finalize(g->ranks[i].comm), "", NULL) <
			 0;
	if (!failed)
		failed = nccl_check(g, &g->ranks[0], g->call.group_end(), "", NULL) < 0;
	if (failed || wait_ready(g, deadline_us, NULL, NULL) != 1) {
		nccl_comms_abort(g);
		return;
	}
	for (i = 0; i < g->coll.n_here; i++) {
		(void)g->call.destroy(g->ranks[i].comm);
		g->ranks[i].comm = NULL;
	}
}

/* One operation on all ranks, put on their streams within one NCCL group call. */

static int put_move(struct nccl_group *g, const struct coll_move *m, struct err *err)
{
	struct nccl_rank *from = &g->ranks[m->from], *to = &g->ranks[m->to];
	uint64_t block = g->op.bytes / g->coll.n;
	size_t count = block / sizeof(float);
	int r;

	r = nccl_check(g, from,
		       g->call.send((const char *)from->out.ptr + m->to * block, count, NCCL_FLOAT32,
				    (int)m->to, from->comm, g->ops->stream_handle(from->stream)),
		       "cannot send", err);
	if (r == 0)
		r = nccl_check(g, to,
			       g->call.receive((char *)to->in.ptr + m->from * block, count,
					       NCCL_FLOAT32, (int)m->from, to->comm,
					       g->ops->stream_handle(to->stream)),
			       "cannot receive", err);
	return r;
}

static int put_moves(struct nccl_group *g, struct err *err)
{
	struct coll_move m;
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < g->coll.n_moves; i++)
		r = put_move(g, &g->coll.moves[i], err);
	if (g->coll.n_moves)
		return r;
	for (m.from = 0; m.from < g->coll.n; m.from++) {
		for (m.to = 0; r == 0 && m.to < g->coll.n; m.to++)
			r = put_move(g, &m, err);
	}
	return r;
}

static unsigned put_rank(struct nccl_group *g, struct nccl_rank *rank)
{
	struct CUstream_st *stream = g->ops->stream_handle(rank->stream);
	size_t count = g->op.bytes / sizeof(float);

	if (g->op.kind == COLL_ALL_REDUCE)
		return g->call.all_reduce(rank->out.ptr, g->apart ? rank->in.ptr : rank->out.ptr,
					  count, NCCL_FLOAT32, NCCL_SUM, rank->comm, stream);
	return g->call.all_to_all(rank->out.ptr, rank->in.ptr, count / g->coll.n, NCCL_FLOAT32,
				  rank->comm, stream);
}

static int put_ranks(struct nccl_group *g, struct err *err)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < g->coll.n_here; i++) {
		r = g->ops->device_enter(g->accel, g->ranks[i].device, err);
		if (r == 0)
			r = nccl_check(g, &g->ranks[i], put_rank(g, &g->ranks[i]),
				       "cannot start the operation", err);
	}
	return r;
}

int nccl_launch(struct nccl_group *g, struct err *err)
{
	bool moves = g->op.kind == COLL_ALL_TO_ALL && (g->coll.n_moves || !g->call.all_to_all);
	struct nccl_rank *first = &g->ranks[0];
	int r = nccl_check(g, first, g->call.group_start(), "cannot begin a group", err);
	unsigned result;

	if (r < 0)
		return r;
	r = moves ? put_moves(g, err) : put_ranks(g, err);
	result = g->call.group_end();
	if (r == 0)
		r = nccl_check(g, first, result, "cannot end a group", err);
	g->launching = result == NCCL_IN_PROGRESS;
	g->left--;
	return r;
}
