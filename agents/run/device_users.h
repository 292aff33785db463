/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes hold a GPU or RDMA device open: the sign of a job that is
 * there or arrives, seen without any vendor library. Monitors that only look
 * (an allow-list of names) do not count, nor do we and our descendants.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

enum { DEVICE_NODES_MAX = 128, DEVICE_COMMAND_SIZE = 32, DEVICE_NAME_SIZE = 64 };

struct device_user {
	pid_t pid;
	char command[DEVICE_COMMAND_SIZE]; /* as /proc/PID/comm has it */
	char device[DEVICE_NAME_SIZE];	   /* "/dev/nvidia0" */
};

/*
 * Device nodes of GPUs (nvidia0.., kfd, dri/renderD*) and RNICs
 * (infiniband/uverbs*) under the sysroot's /dev: paths in `ret_paths` (yours to
 * free, each), at most DEVICE_NODES_MAX. Returns how many.
 */
size_t device_nodes(char *ret_paths[static DEVICE_NODES_MAX]);

/* Is this process one that device_users_each() would tell of? */
bool device_users_is(char *const *paths, size_t n, pid_t pid);

/*
 * Call `each` for the processes that hold one of `paths` open, by whatever name that is in a /dev,
 * and are neither allowed nor this process or its descendants, in no order, as long as it returns
 * true. No other file of theirs is asked for anything.
 */
void device_users_each(char *const *paths, size_t n,
		       bool (*each)(void *context, const struct device_user *user), void *context);

/*
 * The first process found that holds one of `paths` open and is neither
 * allowed nor this process or its descendant. False when there is none (or
 * when nobody's descriptors may be read).
 */
bool device_user_find(char *const *paths, size_t n, struct device_user *ret);
