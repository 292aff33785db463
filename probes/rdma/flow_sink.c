/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/flow_sink.h"

#include <errno.h>

#include "lib/base/err.h"

/* Post up to a batch of receives with one call. */
static int post(struct flow_sink *s, size_t queue, unsigned n, struct err *err)
{
	struct rdma_receive receives[RDMA_BATCH_MAX];
	unsigned i;
	int r;

	for (i = 0; i < n; i++) {
		receives[i] = (struct rdma_receive){
			.id = queue,
			.local = (char *)s->target.at + s->at,
			.lkey = s->target.lkey,
			.length = s->size,
		};
		s->at = s->at + 2 * s->size > s->target.bytes ? 0 : s->at + s->size;
	}
	r = s->engine->ops->receive(s->queues[queue], receives, n, err);
	if (r == 0)
		s->owed[queue] -= n;
	return r;
}

static int post_owed(struct flow_sink *s, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < s->n_queues; i++) {
		while (r == 0 && s->owed[i] > 0)
			r = post(s, i, MIN(s->owed[i], (unsigned)RDMA_BATCH_MAX), err);
	}
	return r;
}

static int take(struct flow_sink *s, const struct rdma_done *done, struct err *err)
{
	if (done->status != RDMA_OK || !done->received || done->id >= s->n_queues)
		return err_set(err, EIO, "a receive failed (status %u)", done->raw);
	s->owed[done->id]++;
	s->received++;
	return 0;
}

/* Collect all completed receives; a batch that is not full was the last. */
static int take_all(struct flow_sink *s, struct err *err)
{
	struct rdma_done done[RDMA_BATCH_MAX];
	int n = RDMA_BATCH_MAX, r = 0, i;

	while (r == 0 && n == RDMA_BATCH_MAX) {
		n = s->engine->ops->poll(s->queues[0], done, RDMA_BATCH_MAX, err);
		for (i = 0; r == 0 && i < n; i++)
			r = take(s, &done[i], err);
	}
	return n < 0 ? n : r;
}

int sink_turn(struct flow_sink *s, struct err *err)
{
	size_t i;
	int r = 0;

	if (s->ready)
		r = take_all(s, err);
	for (i = 0; !s->ready && i < s->n_queues; i++)
		s->owed[i] = s->depth;
	s->ready = true;
	return r == 0 ? post_owed(s, err) : r;
}
