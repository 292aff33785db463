/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else uses an RDMA device: connected queue pairs of other processes, as
 * `rdma resource show qp` lists them (RDMA netlink, include/uapi/rdma/
 * rdma_netlink.h). Those of the kernel (NFS, Lustre, NVMe-oF) do not count, nor
 * datagram ones, which services of the subnet keep open, nor those that are
 * not connected.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum { USERS_COMMAND_SIZE = 32, USERS_DEVICE_SIZE = 64 };

struct rdma_users {
	unsigned queues; /* of others */
	long pid;	 /* of one of them; 0: none, or none that we can see */
	char command[USERS_COMMAND_SIZE];
};

/*
 * Ask the kernel about `device`. A kernel that does not tell is -EOPNOTSUPP or
 * another negative errno: nobody is then known to use it.
 */
int rdma_users_read(const char *device, struct rdma_users *ret, struct err *err);

/*
 * Read answers of the kernel, one netlink message after the other. Pure.
 * devices: add to `ret_index` the index of `device`. queues: count those that
 * are not of `own_pid` into `ret`. Both return 1 when the answer is complete,
 * 0 when more is to come, and a negative errno that the kernel gave, -EBADMSG
 * for what is no netlink.
 */
int users_parse_devices(const void *data, size_t size, const char *device, uint32_t *ret_index,
			bool *ret_found);
int users_parse_queues(const void *data, size_t size, long own_pid, struct rdma_users *ret);
