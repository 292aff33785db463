/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose log a file is: that of the pod whose uid stands in its path, else of the user who owns it,
 * if that has a rank here. Root, as the kubelet, owns the logs of all pods: a file of root is by
 * its owner of no rank in a pod. Pure.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "agents/assayd/process_map.h"
#include "lib/base/macro.h"

struct job_log_owner {
	uid_t uid;		    /* 0 with a pod */
	char pod[PROCESS_POD_SIZE]; /* "": a user */
};

/* Of the file at `path` of this user. False: of nobody who has a rank here; `ret` is left alone. */
bool job_log_owner_find(const struct process_entry *entries, size_t n, const char *path, uid_t uid,
			struct job_log_owner *ret);

/* Are its logs those of a rank that runs as this user and in this pod ("": in none)? */
bool job_log_owner_has(const struct job_log_owner *owner, uid_t uid, const char *pod);
