/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A supervisor is a process forked for one probe: it starts the probe, waits for it until its
 * deadline, kills whatever is left of it and reports. It is a child subreaper and a session
 * leader, so no descendant of the probe can escape it (agents/run/process_tree.h), and it gets no
 * signals from the terminal.
 *
 * The runner holds one end of a socket. The supervisor kills the probe as soon as that end is
 * shut down (supervisor_stop) or closed by the runner's death, so a killed runner leaves nothing
 * behind. If the supervisor dies, the probe is killed too.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "agents/run/process_tree.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"

struct err;

/* Time limit for killing everything; whatever survives it is stuck in the kernel. */
#define SUPERVISOR_KILL_US (2 * USEC_PER_SEC)

struct supervisor_spec {
	const char *path;
	char *const *argv; /* including argv[0] */
	char *const *envp;
	uint64_t deadline_us; /* monotonic: when the probe is killed */
	int out_fd, err_fd;   /* become its stdout and stderr; borrowed */
	int keep_fd;	      /* kept open until the probe is gone (the lock), or -1; borrowed */
};

/* The runner's handle. */
struct supervisor {
	pid_t pid; /* 0: none */
	int fd;	   /* readable: it has ended; -1: none */
};

struct supervisor_report {
	int start_errno; /* why it could not be started, else 0 */
	int status;	 /* wait status of the probe, if it was started */
	bool timed_out;	 /* killed at the deadline */
	bool stopped;	 /* killed by supervisor_stop(), or because its runner died */
	bool lost;	 /* the supervisor itself died: no other field is valid */
	pid_t left;	 /* a process that could not be killed, or 0 */
	char left_state;
	char left_name[PROCESS_TREE_NAME_SIZE];
	uint64_t cpu_us;   /* of the probe and its descendants */
	uint64_t peak_kib; /* resident, of the largest of them */
};

/* Fork the supervisor. -EAGAIN, -EMFILE or -ENOMEM on failure. */
int supervisor_start(const struct supervisor_spec *spec, struct supervisor *ret, struct err *err);

/* Ask it to kill the probe now; the report follows. */
void supervisor_stop(const struct supervisor *supervisor);

/*
 * Kill a supervisor that missed its deadline; `fd` becomes readable. The probe dies with it, but
 * its descendants may survive.
 */
void supervisor_kill(const struct supervisor *supervisor);

/* `fd` was readable: read the report, reap the process and close the descriptor. */
void supervisor_finish(struct supervisor *supervisor, struct supervisor_report *ret);
