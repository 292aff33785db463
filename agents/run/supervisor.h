/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A supervisor: a process of ours, forked for one probe, that starts it, waits for
 * it until its deadline, kills whatever is left of it and reports. It is a
 * child subreaper and leads a session of its own, so no descendant of the
 * probe can get away from it (agents/run/process_tree.h), and no key of a terminal
 * reaches it.
 *
 * The runner holds one end of a socket. The supervisor kills the probe as soon as
 * that end is shut (supervisor_stop) or gone with its runner, so a runner that is
 * killed leaves nothing behind. The probe in turn is killed with its supervisor.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "agents/run/process_tree.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"

struct err;

/* How long it may take to kill everything; what lives longer waits in the kernel for ever. */
#define SUPERVISOR_KILL_US (2 * USEC_PER_SEC)

struct supervisor_spec {
	const char *path;
	char *const *argv; /* with argv[0] */
	char *const *envp;
	uint64_t deadline_us; /* monotonic: killed then */
	int out_fd, err_fd;   /* become its stdout and stderr; borrowed */
	int keep_fd;	      /* kept open until the probe is gone (the lock), or -1; borrowed */
};

/* The runner's side of it. */
struct supervisor {
	pid_t pid; /* 0: none */
	int fd;	   /* readable: it is done (or died); -1: none */
};

struct supervisor_report {
	int start_errno; /* could not be started: why; else 0 */
	int status;	 /* wait status of the probe, when it was started */
	bool timed_out;	 /* killed at the deadline */
	bool stopped;	 /* killed by supervisor_stop(), or because its runner was gone */
	bool lost;	 /* the supervisor itself died: nothing else here is known */
	pid_t left;	 /* a process that cannot be killed, or 0 */
	char left_state;
	char left_name[PROCESS_TREE_NAME_SIZE];
	uint64_t cpu_us;   /* of the probe and its descendants */
	uint64_t peak_kib; /* of the largest of them, resident */
};

/* Fork the supervisor. -EAGAIN, -EMFILE, -ENOMEM when that cannot be done. */
int supervisor_start(const struct supervisor_spec *spec, struct supervisor *ret, struct err *err);

/* Have the probe killed now; the report follows. */
void supervisor_stop(const struct supervisor *supervisor);

/*
 * Kill the supervisor itself, which did not keep its time; `fd` becomes readable.
 * The probe dies with it, its descendants may not.
 */
void supervisor_kill(const struct supervisor *supervisor);

/* Its `fd` was readable: take its report, reap it and let go of both. */
void supervisor_finish(struct supervisor *supervisor, struct supervisor_report *ret);
