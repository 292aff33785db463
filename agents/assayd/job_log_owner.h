/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose log a file is: that of the pod whose uid is in its path, else of the user who owns it, if
 * that user has a rank here. Root (the kubelet) owns the logs of all pods, so root's ownership
 * never assigns a file to a rank in a pod. Pure.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "agents/assayd/process_map.h"
#include "lib/base/macro.h"

struct job_log_owner {
	uid_t uid;		    /* 0 for a pod */
	char pod[PROCESS_POD_SIZE]; /* "": not a pod but a user */
};

/*
 * Find the owner of the file at `path`, which belongs to `uid`. False, with `ret` unchanged, if
 * it belongs to nobody with a rank here.
 */
bool job_log_owner_find(const struct process_entry *entries, size_t n, const char *path, uid_t uid,
			struct job_log_owner *ret);

/* Are these the logs of a rank that runs as `uid` in `pod` ("": none)? */
bool job_log_owner_has(const struct job_log_owner *owner, uid_t uid, const char *pod);
