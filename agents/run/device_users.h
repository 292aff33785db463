/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes hold a GPU or RDMA device open: detects a job that runs or starts, without any
 * vendor library. Monitoring programs (an allow-list of names), this process and its descendants
 * do not count.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

enum { DEVICE_NODES_MAX = 128, DEVICE_COMMAND_SIZE = 32, DEVICE_NAME_SIZE = 64 };

struct device_user {
	pid_t pid;
	char command[DEVICE_COMMAND_SIZE]; /* from /proc/PID/comm */
	char device[DEVICE_NAME_SIZE];	   /* "/dev/nvidia0" */
};

/*
 * List the device nodes of GPUs (nvidia0.., kfd, dri/renderD*) and RNICs (infiniband/uverbs*)
 * under the sysroot's /dev. The caller frees each path in `ret_paths`. Returns how many, at most
 * DEVICE_NODES_MAX.
 */
size_t device_nodes(char *ret_paths[static DEVICE_NODES_MAX]);

/* Would device_users_each() report this process? */
bool device_users_is(char *const *paths, size_t n, pid_t pid);

/*
 * Call `each` for every process that holds one of `paths` open, under whatever name in a /dev,
 * unless it is allowed, this process or a descendant. In no particular order, until `each`
 * returns false. Open files outside a /dev are not touched.
 */
void device_users_each(char *const *paths, size_t n,
		       bool (*each)(void *context, const struct device_user *user), void *context);

/*
 * Find any process that holds one of `paths` open and is neither allowed nor this process or its
 * descendant. False if there is none, or if no other process's descriptors may be read.
 */
bool device_user_find(char *const *paths, size_t n, struct device_user *ret);
