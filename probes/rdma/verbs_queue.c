/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/verbs_queue.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/verbs.h"

enum {
	PSN_MASK = 0xffffff,
	HOP_LIMIT = 64,
	RNR_TIMER = 12, /* 0.64 ms (IBTA 9.7.5.2.8) */
	INLINE_BYTES = 64,
};

static void completions_close(struct verbs_completions *c)
{
	if (!c || --c->users > 0)
		return;
	if (c->cq && c->unacked)
		ibv_ack_cq_events(c->cq, c->unacked);
	if (c->cq)
		(void)ibv_destroy_cq(c->cq);
	if (c->channel)
		(void)ibv_destroy_comp_channel(c->channel);
	free(c);
}

static int open_channel(struct rdma_queue *q, struct err *err)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(q->device->context);

	if (!channel)
		return err_errno(err, errno, "%s: completion channel", q->device->name);
	q->done->channel = channel;
	if (fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_errno(err, errno, "%s: completion channel", q->device->name);
	return 0;
}

static int open_completions(struct rdma_queue *q, struct err *err)
{
	const struct rdma_queue_options *o = &q->options;
	int r = 0;

	if (o->with) {
		q->done = o->with->done;
		q->done->users++;
		return 0;
	}
	q->done = xcalloc(1, sizeof(*q->done));
	q->done->users = 1;
	if (o->events)
		r = open_channel(q, err);
	if (r < 0)
		return r;
	q->done->cq = ibv_create_cq(q->device->context,
				    (int)((o->depth + o->receives) * MAX(1u, o->sharers)), NULL,
				    q->done->channel, 0);
	if (!q->done->cq)
		return verbs_error(err, errno, q->device, "completion queue");
	return 0;
}

static int open_qp(struct rdma_queue *q, struct err *err)
{
	struct ibv_qp_init_attr init = {
		.send_cq = q->done->cq,
		.recv_cq = q->done->cq,
		.cap = { .max_send_wr = q->options.depth,
			 .max_recv_wr = MAX(1u, q->options.receives),
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = INLINE_BYTES },
		.qp_type = IBV_QPT_RC,
	};

	q->qp = ibv_create_qp(q->device->pd, &init);
	return q->qp ? 0 : verbs_error(err, errno, q->device, "queue pair");
}

static int to_init(struct rdma_queue *q, struct err *err)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = (uint8_t)q->options.port,
		.pkey_index = q->pkey_index,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
	};
	int r = ibv_modify_qp(q->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	return r ? err_errno(err, r, "%s: queue pair to INIT", q->device->name) : 0;
}

/* With limited membership a port only reaches full members, and not even itself. */
static int choose_pkey(struct rdma_queue *q, struct err *err)
{
	const int wanted = q->options.pkey_index;
	bool is_limited = false;
	__be16 pkey = 0;
	int i;

	for (i = MAX(wanted, 0); i < q->port.pkey_tbl_len; i++) {
		if (ibv_query_pkey(q->device->context, (uint8_t)q->options.port, i, &pkey) < 0)
			break;
		is_limited = is_limited || pkey != 0;
		if (wanted >= 0 || (be16toh(pkey) & RDMA_PKEY_FULL)) {
			q->pkey_index = (uint16_t)i;
			q->pkey = be16toh(pkey);
			return 0;
		}
	}
	if (wanted >= 0)
		return err_set(err, EINVAL, "%s port %u has no P_Key of index %d", q->device->name,
			       q->options.port, wanted);
	if (is_limited)
		return err_set(err, EACCES, RDMA_PKEY_LIMITED_WORDS, q->device->name,
			       q->options.port);
	/* No P_Key can be queried: use the first, as usual. */
	return 0;
}

static int query(struct rdma_queue *q, struct err *err)
{
	int r = ibv_query_port(q->device->context, (uint8_t)q->options.port, &q->port);

	if (r == 0 && q->options.gid_index >= 0)
		r = ibv_query_gid(q->device->context, (uint8_t)q->options.port,
				  q->options.gid_index, &q->gid)
			    ? errno
			    : 0;
	if (r)
		return err_errno(err, r, "%s port %u", q->device->name, q->options.port);
	q->psn = (uint32_t)random_u64() & PSN_MASK;
	return choose_pkey(q, err);
}

int verbs_queue_open(struct rdma_device *d, const struct rdma_queue_options *options,
		     struct rdma_queue **ret, struct err *err)
{
	struct rdma_queue *q = xcalloc(1, sizeof(*q));
	int r;

	q->device = d;
	q->options = *options;
	r = open_completions(q, err);
	if (r == 0)
		r = open_qp(q, err);
	if (r == 0)
		r = query(q, err);
	if (r == 0)
		r = to_init(q, err);
	if (r < 0) {
		verbs_queue_close(q);
		return r;
	}
	*ret = q;
	return 0;
}

void verbs_queue_close(struct rdma_queue *q)
{
	if (!q)
		return;
	if (q->qp)
		(void)ibv_destroy_qp(q->qp);
	completions_close(q->done);
	free(q);
}

void verbs_queue_end(const struct rdma_queue *q, struct rdma_end *ret)
{
	unsigned mtu = verbs_mtu_bytes(q->port.active_mtu);

	*ret = (struct rdma_end){ .number = q->qp->qp_num, .psn = q->psn, .lid = q->port.lid };
	ret->pkey = q->pkey;
	ret->mtu = q->options.mtu ? MIN(q->options.mtu, mtu) : mtu;
	memcpy(ret->gid, q->gid.raw, sizeof(ret->gid));
}

static int to_ready_to_receive(struct rdma_queue *q, const struct rdma_end *peer, struct err *err)
{
	struct rdma_end own;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.dest_qp_num = peer->number,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = q->device->reads_in,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = { .dlid = peer->lid,
			     .sl = q->options.sl,
			     .port_num = (uint8_t)q->options.port },
	};
	int r;

	verbs_queue_end(q, &own);
	attr.path_mtu = verbs_mtu_of(MIN(own.mtu, peer->mtu));
	if (q->options.gid_index >= 0) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh = (struct ibv_global_route){
			.sgid_index = (uint8_t)q->options.gid_index,
			.hop_limit = HOP_LIMIT,
			.traffic_class = q->options.traffic_class,
		};
		memcpy(attr.ah_attr.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	}
	r = ibv_modify_qp(q->qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (r == 0)
		return 0;
	/* The kernel resolves the address during this state change. */
	return err_errno(err, r, "%s port %u: queue pair to RTR: the other side's address",
			 q->device->name, q->options.port);
}

static int to_ready_to_send(struct rdma_queue *q, struct err *err)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = (uint8_t)q->options.timeout,
		.retry_cnt = (uint8_t)q->options.retries,
		.rnr_retry = (uint8_t)q->options.retries,
		.sq_psn = q->psn,
		.max_rd_atomic = q->device->reads_out,
	};
	int r = ibv_modify_qp(q->qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);

	return r ? err_errno(err, r, "%s port %u: queue pair to RTS", q->device->name,
			     q->options.port)
		 : 0;
}

int verbs_queue_connect(struct rdma_queue *q, const struct rdma_end *peer, struct err *err)
{
	int r = to_ready_to_receive(q, peer, err);

	return r == 0 ? to_ready_to_send(q, err) : r;
}
