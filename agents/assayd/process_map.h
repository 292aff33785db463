/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of which jobs run here: the processes that hold a GPU open, and what their
 * environment says of their rank (process_env.h). Nothing else of a process is read but its start
 * and its control group, which has the uid of its pod.
 *
 * A process is held by a descriptor while it is read, so that a number that is used again is never
 * taken for it; told apart from the next with that number by its start.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "agents/assayd/process_env.h"
#include "lib/base/macro.h"

enum {
	PROCESS_MAP_MAX = 64, /* of a host; forks of one rank are one */
	PROCESS_POD_SIZE = 37,
};

struct process_entry {
	struct process_env env;
	char pod[PROCESS_POD_SIZE]; /* uid of its pod, "" for none */
	pid_t pid;		    /* not told */
	uint64_t start_ticks;	    /* since boot, as /proc/PID/stat has it */
	double age_s;
	uid_t uid; /* who it runs as; not told */
};

/*
 * The processes of jobs that hold a GPU of the sysroot's /dev open and say their rank and either
 * their job or their pod, in an order of their own. Returns how many.
 */
size_t process_map_read(struct process_entry ret[static PROCESS_MAP_MAX]);

/* Of one process. -ESRCH: it ended meanwhile; -EACCES and the like. */
int process_map_entry(pid_t pid, struct process_entry *ret);

/*
 * Of one process, if process_map_read() would have it, or a fork of it. -ENOENT: it has no rank of
 * a job, or holds no GPU; as process_map_entry().
 */
int process_map_of(pid_t pid, struct process_entry *ret);

/* The uid of a pod in a text of /proc/PID/cgroup, of either kubelet driver, or "". */
void process_map_pod(const char *cgroup, char ret_pod[static PROCESS_POD_SIZE]);

/* "processes" of assay-processes/1 (docs/formats.md), new reference; without ages what is equal as
 * long as nothing changed. */
json_t *process_map_encode(const struct process_entry *entries, size_t n, bool ages);
