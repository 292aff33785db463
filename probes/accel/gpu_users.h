/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that may have a GPU without being a job, as data that people
 * write: policies/gpu-users.yaml. Every other compute process makes it busy.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;

enum {
	GPU_USERS_MAX = 64,
	GPU_USER_COMM_MAX = 15, /* bytes of /proc/PID/comm: TASK_COMM_LEN less its NUL */
};

struct gpu_user {
	char *command;
	int clients; /* 1: it works for others, who are users themselves */
	char *note, *source;
};

struct gpu_users {
	struct gpu_user *rows; /* owned */
	size_t n;
};

/*
 * Read gpu-users.yaml of the policy directory; without the file nobody is
 * allowed. -EINVAL with "FILE: path.to.key: what".
 */
int gpu_users_load(struct gpu_users *ret, struct err *err);

/* Take a document; `file` is for the sentence. -EINVAL. */
int gpu_users_take(const json_t *doc, const char *file, struct gpu_users *ret, struct err *err);

void gpu_users_release(struct gpu_users *users);

/* The row of a process by its /proc/PID/comm, or NULL. */
const struct gpu_user *gpu_users_find(const struct gpu_users *users, const char *comm);
