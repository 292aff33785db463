/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that may use a GPU without being a job, as data that people maintain:
 * policies/gpu-users.yaml. Any other compute process makes the GPU busy.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;

enum {
	GPU_USERS_MAX = 64,
	GPU_USER_COMM_MAX = 15, /* length of /proc/PID/comm: TASK_COMM_LEN - 1 */
};

struct gpu_user {
	char *command;
	int clients; /* 1: it works for others, which are users themselves */
	char *note, *source;
};

struct gpu_users {
	struct gpu_user *rows; /* owned */
	size_t n;
};

/*
 * Load gpu-users.yaml from the policy directory. Without the file, no process is allowed. -EINVAL
 * with "FILE: path.to.key: what".
 */
int gpu_users_load(struct gpu_users *ret, struct err *err);

/* Decode a document; `file` is for messages. -EINVAL. */
int gpu_users_take(const json_t *doc, const char *file, struct gpu_users *ret, struct err *err);

void gpu_users_release(struct gpu_users *users);

/* The row for a process by its /proc/PID/comm, or NULL. */
const struct gpu_user *gpu_users_find(const struct gpu_users *users, const char *comm);
