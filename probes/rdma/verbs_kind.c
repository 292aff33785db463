/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/verbs_kind.h"

#include <errno.h>

/* What the kernel returns for a queue pair type that the driver does not support. */
static bool is_refusal(int code)
{
	return code == EOPNOTSUPP || code == ENOSYS || code == EINVAL || code == EPROTONOSUPPORT;
}

/* With one request only, so that no device limit can be the reason for a refusal. */
static bool takes_connection(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(pd, &init);
	if (qp)
		(void)ibv_destroy_qp(qp);
	return qp || !is_refusal(errno);
}

bool verbs_kind_connects(struct ibv_context *context)
{
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	bool connects = true;

	if (context->device->transport_type != IBV_TRANSPORT_IB)
		return false;
	pd = ibv_alloc_pd(context);
	cq = pd ? ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
	if (cq) {
		connects = takes_connection(pd, cq);
		(void)ibv_destroy_cq(cq);
	}
	if (pd)
		(void)ibv_dealloc_pd(pd);
	return connects;
}
