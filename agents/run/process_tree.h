/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descendants of this process, and their end. Only for a process that is a
 * child subreaper and leads a session of its own, and whose children all
 * belong to one probe: then every process the probe starts, whatever group or
 * session it flees to, is our child once its parents are dead, and having no
 * child left means that nothing of the probe is left.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

enum { PROCESS_TREE_NAME_SIZE = 17 }; /* the kernel's TASK_COMM_LEN is 16 */

struct process_tree {
	pid_t main;	/* the probe itself */
	bool main_gone; /* it was reaped, `status` is its wait status */
	int status;
	pid_t left;	 /* one that would not die, or 0 */
	char left_state; /* of that one: 'D' waits in the kernel for a device */
	char left_name[PROCESS_TREE_NAME_SIZE];
};

/* Reap all children that are dead. True while there are others. */
bool process_tree_reap(struct process_tree *d);

/*
 * SIGKILL every descendant until none is left. `signal_fd` is a signalfd of
 * SIGCHLD (blocked). 0, or -EBUSY when one still lives at the monotonic
 * `deadline_us`: it is named in `d`.
 */
int process_tree_end(struct process_tree *d, int signal_fd, uint64_t deadline_us);
