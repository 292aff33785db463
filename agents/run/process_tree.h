/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills and reaps the descendants of this process. Only for a process that is a child subreaper
 * and a session leader, and whose children all belong to one probe. Then every process that the
 * probe starts, whatever group or session it moves to, becomes our child once its parents are
 * dead, and having no child left means that nothing of the probe is left.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

enum { PROCESS_TREE_NAME_SIZE = 17 }; /* the kernel's TASK_COMM_LEN is 16 */

struct process_tree {
	pid_t main;	/* the probe itself */
	bool main_gone; /* it was reaped; `status` is its wait status */
	int status;
	pid_t left;	 /* one that could not be killed, or 0 */
	char left_state; /* its state: 'D' waits in the kernel for a device */
	char left_name[PROCESS_TREE_NAME_SIZE];
};

/* Reap all dead children. True while others are left. */
bool process_tree_reap(struct process_tree *d);

/*
 * SIGKILL every descendant until none is left. `signal_fd` is a signalfd for SIGCHLD (blocked).
 * Returns 0, or -EBUSY if one still lives at the monotonic time `deadline_us`; `d` then names it.
 */
int process_tree_end(struct process_tree *d, int signal_fd, uint64_t deadline_us);
