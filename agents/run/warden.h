/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warden: a process of ours, forked for one probe, that starts it, waits for
 * it until its deadline, kills whatever is left of it and reports. It is a
 * child subreaper and leads a session of its own, so no descendant of the
 * probe can get away from it (agents/run/descent.h), and no key of a terminal
 * reaches it.
 *
 * The runner holds one end of a socket. The warden kills the probe as soon as
 * that end is shut (warden_stop) or gone with its runner, so a runner that is
 * killed leaves nothing behind. The probe in turn is killed with its warden.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "agents/run/descent.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"

struct err;

/* How long it may take to kill everything; what lives longer waits in the kernel for ever. */
#define WARDEN_KILL_US (2 * USEC_PER_SEC)

struct warden_spec {
	const char *path;
	char *const *argv; /* with argv[0] */
	char *const *envp;
	uint64_t deadline_us; /* monotonic: killed then */
	int out_fd, err_fd;   /* become its stdout and stderr; borrowed */
	int keep_fd;	      /* kept open until the probe is gone (the lock), or -1; borrowed */
};

/* The runner's side of it. */
struct warden {
	pid_t pid; /* 0: none */
	int fd;	   /* readable: it is done (or died); -1: none */
};

struct warden_report {
	int start_errno; /* could not be started: why; else 0 */
	int status;	 /* wait status of the probe, when it was started */
	bool timed_out;	 /* killed at the deadline */
	bool stopped;	 /* killed by warden_stop(), or because its runner was gone */
	bool lost;	 /* the warden itself died: nothing else here is known */
	pid_t left;	 /* a process that cannot be killed, or 0 */
	char left_state;
	char left_name[DESCENT_NAME_SIZE];
	uint64_t cpu_us;   /* of the probe and its descendants */
	uint64_t peak_kib; /* of the largest of them, resident */
};

/* Fork the warden. -EAGAIN, -EMFILE, -ENOMEM when that cannot be done. */
int warden_start(const struct warden_spec *spec, struct warden *ret, struct err *err);

/* Have the probe killed now; the report follows. */
void warden_stop(const struct warden *warden);

/*
 * Kill the warden itself, which did not keep its time; `fd` becomes readable.
 * The probe dies with it, its descendants may not.
 */
void warden_kill(const struct warden *warden);

/* Its `fd` was readable: take its report, reap it and let go of both. */
void warden_finish(struct warden *warden, struct warden_report *ret);
