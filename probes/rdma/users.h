/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else uses an RDMA device: connected queue pairs of other processes, as listed by `rdma
 * resource show qp` (RDMA netlink, include/uapi/rdma/rdma_netlink.h). Queue pairs of the kernel
 * (NFS, Lustre, NVMe-oF) do not count, nor datagram ones, which subnet services keep open, nor
 * unconnected ones.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum { USERS_COMMAND_SIZE = 32, USERS_DEVICE_SIZE = 64 };

struct rdma_users {
	unsigned queues; /* of other processes */
	long pid;	 /* one owner; 0: none, or none visible to us */
	char command[USERS_COMMAND_SIZE];
};

/*
 * Ask the kernel about `device`. -EOPNOTSUPP or another negative errno if it cannot tell; the
 * device is then not known to be used by anybody.
 */
int rdma_users_read(const char *device, struct rdma_users *ret, struct err *err);

/*
 * Parse a part of the kernel's answer, one or more netlink messages. Pure. users_parse_devices()
 * sets `ret_index` to the index of `device`; users_parse_queues() adds queues that are not of
 * `own_pid` to `ret`. Both return 1 when the answer is complete, 0 if more is to come, the negative
 * errno that the kernel sent, or -EBADMSG for malformed netlink.
 */
int users_parse_devices(const void *data, size_t size, const char *device, uint32_t *ret_index,
			bool *ret_found);
int users_parse_queues(const void *data, size_t size, long own_pid, struct rdma_users *ret);
