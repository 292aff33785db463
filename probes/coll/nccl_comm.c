/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators that do not block: made, watched and ended with a deadline. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/err.h"
#include "probes/coll/nccl_group.h"

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
	/* Its first line: where in NCCL it was is not for everybody. */
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
	for (i = 0; i < g->coll.n; i++) {
		struct nccl_rank *rank = &g->ranks[i];
		unsigned state = NCCL_OK, result = g->call.async_error(rank->comm, &state);

		if (result != NCCL_OK)
			state = result;
		if (state == NCCL_IN_PROGRESS)
			pending++;
		if (state == NCCL_OK || state == NCCL_IN_PROGRESS)
			continue;
		/* Who only hears of a fault elsewhere is not at fault. */
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

static int wait_ready(struct nccl_group *g, uint64_t deadline_us, struct err *err)
{
	int rank, r = nccl_comms_ready(g, &rank, err);

	while (r == 0 && g->ops->now_us(g->accel) < deadline_us) {
		nccl_pause(g, deadline_us, NCCL_POLL_US);
		r = nccl_comms_ready(g, &rank, err);
	}
	return r;
}

/* "gpu:GPU-a, gpu:GPU-b": whose communicators are not ready. */
static void name_pending(struct nccl_group *g, char *ret, size_t size)
{
	size_t used = 0;
	unsigned i;

	ret[0] = '\0';
	for (i = 0; i < g->coll.n && used < size; i++) {
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
	nccl_id id = { { 0 } };
	unsigned result;
	unsigned i;
	int r = nccl_check(g, first, g->call.get_id(&id), "cannot begin", err);

	if (r == 0)
		r = nccl_check(g, first, g->call.group_start(), "cannot begin a group", err);
	if (r < 0)
		return r;
	for (i = 0; r == 0 && i < g->coll.n; i++) {
		struct nccl_rank *rank = &g->ranks[i];

		r = g->ops->device_enter(g->accel, i, err);
		if (r == 0)
			r = nccl_check(
				g, rank,
				g->call.init_rank(&rank->comm, (int)g->coll.n, id, (int)i, config),
				"cannot make its communicator", err);
	}
	result = g->call.group_end();
	return r < 0 ? r : nccl_check(g, first, result, "cannot make communicators", err);
}

int nccl_comms_open(struct nccl_group *g, uint64_t deadline_us, struct err *err)
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
		r = wait_ready(g, deadline_us, err);
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

	for (i = 0; i < g->coll.n && !failed; i++)
		failed = !g->ranks[i].comm;
	if (failed) {
		nccl_comms_abort(g);
		return;
	}
	failed = g->call.group_start() != NCCL_OK;
	for (i = 0; i < g->coll.n && !failed; i++)
		failed = nccl_check(g, &g->ranks[i], g->call.finalize(g->ranks[i].comm), "", NULL) <
			 0;
	if (!failed)
		failed = nccl_check(g, &g->ranks[0], g->call.group_end(), "", NULL) < 0;
	if (failed || wait_ready(g, deadline_us, NULL) != 1) {
		nccl_comms_abort(g);
		return;
	}
	for (i = 0; i < g->coll.n; i++) {
		(void)g->call.destroy(g->ranks[i].comm);
		g->ranks[i].comm = NULL;
	}
}
