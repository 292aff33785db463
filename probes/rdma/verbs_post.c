/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/verbs_post.h"

#include <errno.h>
#include <poll.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "probes/rdma/verbs.h"

enum {
	UNACKED_MAX = 1024, /* ibv_ack_cq_events() takes a lock, so call it rarely */
	WAIT_MAX = 64,
};

static const enum ibv_wr_opcode opcodes[] = {
	[RDMA_WRITE] = IBV_WR_RDMA_WRITE,
	[RDMA_READ] = IBV_WR_RDMA_READ,
	[RDMA_SEND] = IBV_WR_SEND,
	[RDMA_WRITE_TELL] = IBV_WR_RDMA_WRITE_WITH_IMM,
};

int verbs_post(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err)
{
	struct ibv_send_wr requests[RDMA_BATCH_MAX], *bad = NULL;
	struct ibv_sge parts[RDMA_BATCH_MAX];
	size_t i;
	int r;

	if (n == 0 || n > RDMA_BATCH_MAX)
		return err_set(err, EINVAL, "%zu requests in one batch", n);
	for (i = 0; i < n; i++) {
		const struct rdma_work *w = &work[i];

		parts[i] = (struct ibv_sge){ .addr = (uintptr_t)w->local,
					     .length = w->length,
					     .lkey = w->lkey };
		requests[i] = (struct ibv_send_wr){
			.wr_id = w->id,
			.next = i + 1 < n ? &requests[i + 1] : NULL,
			.sg_list = &parts[i],
			.num_sge = 1,
			.opcode = opcodes[w->opcode],
			.send_flags = (w->signalled ? IBV_SEND_SIGNALED : 0u) |
				      (w->inlined ? IBV_SEND_INLINE : 0u),
			.wr.rdma = { .remote_addr = w->remote, .rkey = w->rkey },
		};
	}
	r = ibv_post_send(q->qp, requests, &bad);
	if (r)
		return err_errno(err, r, "%s: post work", q->device->name);
	q->posted.requests += n;
	for (i = 0; i < n; i++)
		q->posted.bytes += work[i].length;
	return 0;
}

struct rdma_posted verbs_posted(const struct rdma_queue *q)
{
	return q->posted;
}

int verbs_receive(struct rdma_queue *q, const struct rdma_receive *receives, size_t n,
		  struct err *err)
{
	struct ibv_recv_wr requests[RDMA_BATCH_MAX], *bad = NULL;
	struct ibv_sge parts[RDMA_BATCH_MAX];
	size_t i;
	int r;

	if (n == 0 || n > RDMA_BATCH_MAX)
		return err_set(err, EINVAL, "%zu receives in one batch", n);
	for (i = 0; i < n; i++) {
		parts[i] = (struct ibv_sge){ .addr = (uintptr_t)receives[i].local,
					     .length = receives[i].length,
					     .lkey = receives[i].lkey };
		requests[i] = (struct ibv_recv_wr){
			.wr_id = receives[i].id,
			.next = i + 1 < n ? &requests[i + 1] : NULL,
			.sg_list = &parts[i],
			.num_sge = 1,
		};
	}
	r = ibv_post_recv(q->qp, requests, &bad);
	return r ? err_errno(err, r, "%s: post receives", q->device->name) : 0;
}

static int status_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return RDMA_OK;
	case IBV_WC_RETRY_EXC_ERR:
		return RDMA_RETRY_EXCEEDED;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return RDMA_RNR_EXCEEDED;
	case IBV_WC_REM_ACCESS_ERR:
		return RDMA_REMOTE_ACCESS;
	case IBV_WC_REM_INV_REQ_ERR:
		return RDMA_REMOTE_INVALID;
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_REM_ABORT_ERR:
		return RDMA_REMOTE_ERROR;
	case IBV_WC_WR_FLUSH_ERR:
		return RDMA_FLUSHED;
	default:
		return RDMA_LOCAL_ERROR;
	}
}

int verbs_poll(struct rdma_queue *q, struct rdma_done *ret, size_t max, struct err *err)
{
	struct ibv_wc wc[RDMA_BATCH_MAX];
	int n = ibv_poll_cq(q->done->cq, (int)MIN(max, ARRAY_SIZE(wc)), wc), i;

	if (n < 0)
		return err_set(err, EIO, "%s: cannot poll the completion queue", q->device->name);
	for (i = 0; i < n; i++)
		ret[i] = (struct rdma_done){ .id = wc[i].wr_id,
					     .status = status_of(wc[i].status),
					     .raw = wc[i].status,
					     .vendor = wc[i].vendor_err,
					     .received = wc[i].status == IBV_WC_SUCCESS &&
							 (wc[i].opcode & IBV_WC_RECV) };
	return n;
}

static int take_event(struct rdma_queue *q, struct err *err)
{
	struct verbs_completions *done = q->done;
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(done->channel, &cq, &context) != 0)
		return errno == EAGAIN
			       ? 0
			       : err_errno(err, errno, "%s: completion event", q->device->name);
	done->armed = false;
	if (++done->unacked >= UNACKED_MAX) {
		ibv_ack_cq_events(done->cq, done->unacked);
		done->unacked = 0;
	}
	return 0;
}

/* Request an event for the next completion. */
static int arm(struct rdma_queue *q, struct err *err)
{
	if (ibv_req_notify_cq(q->done->cq, 0) != 0)
		return err_set(err, EIO, "%s: no completion events", q->device->name);
	q->done->armed = true;
	return 0;
}

static int arm_all(struct rdma_queue *const *queues, size_t n, uint64_t *ret_new, struct err *err)
{
	size_t i;
	int r = 0;

	*ret_new = 0;
	for (i = 0; r == 0 && i < n; i++) {
		if (queues[i]->done->armed)
			continue;
		r = arm(queues[i], err);
		*ret_new |= UINT64_C(1) << i;
	}
	return r;
}

/*
 * An event is only raised for completions after arming. So a call that arms returns without
 * sleeping, and the caller polls once more.
 */
int verbs_wait_any(struct rdma_queue *const *queues, size_t n, uint64_t deadline_us,
		   uint64_t *ret_ready, struct err *err)
{
	struct pollfd fds[WAIT_MAX];
	size_t i;
	int r = n > WAIT_MAX ? -EINVAL : arm_all(queues, n, ret_ready, err);

	if (r < 0 || *ret_ready)
		return r;
	for (i = 0; i < n; i++)
		fds[i] = (struct pollfd){ .fd = queues[i]->done->channel->fd, .events = POLLIN };
	r = poll(fds, n, clock_left_ms(deadline_us));
	if (r < 0 && errno != EINTR)
		return err_errno(err, errno, "%s: wait for completions", queues[0]->device->name);
	if (r == 0)
		return -ETIME;
	for (i = 0; r > 0 && i < n; i++) {
		if (!fds[i].revents)
			continue;
		*ret_ready |= UINT64_C(1) << i;
		r = take_event(queues[i], err) < 0 ? -EIO : r;
	}
	return MIN(r, 0);
}

int verbs_wait(struct rdma_queue *q, uint64_t deadline_us, struct err *err)
{
	uint64_t ready;

	return verbs_wait_any(&q, 1, deadline_us, &ready, err);
}
