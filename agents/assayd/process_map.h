/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of which jobs run here: the processes that hold a GPU open, with the rank in their
 * environment (process_env.h). Apart from that only a process's start time and control group,
 * which has the uid of its pod, are read.
 *
 * A descriptor is held while a process is read, and processes are told apart by PID and start
 * time, so that a reused PID is never mistaken for its predecessor.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "agents/assayd/process_env.h"
#include "lib/base/macro.h"

enum {
	PROCESS_MAP_MAX = 64, /* per host; forks of a rank count as one */
	PROCESS_POD_SIZE = 37,
};

struct process_entry {
	struct process_env env;
	char pod[PROCESS_POD_SIZE]; /* uid of its pod, or "" */
	pid_t pid;		    /* not sent */
	uint64_t start_ticks;	    /* since boot, from /proc/PID/stat */
	double age_s;
	uid_t uid; /* it runs as; not sent */
};

/*
 * List the processes that hold a GPU of the sysroot's /dev open and state their rank and their
 * job or pod, in a stable order. Returns how many.
 */
size_t process_map_read(struct process_entry ret[static PROCESS_MAP_MAX]);

/* Read one process. -ESRCH: it has ended meanwhile; -EACCES and the like. */
int process_map_entry(pid_t pid, struct process_entry *ret);

/*
 * Read one process if process_map_read() would list it or it is a fork of one. -ENOENT: it states
 * no rank of a job, or holds no GPU; other errors as process_map_entry().
 */
int process_map_of(pid_t pid, struct process_entry *ret);

/*
 * Find the uid of a pod in the text of /proc/PID/cgroup, from either kubelet cgroup driver; "" if
 * none.
 */
void process_map_pod(const char *cgroup, char ret_pod[static PROCESS_POD_SIZE]);

/*
 * "processes" of assay-processes/1 (docs/formats.md), new reference. Without `ages` the result is
 * equal as long as nothing has changed.
 */
json_t *process_map_encode(const struct process_entry *entries, size_t n, bool ages);
