/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $RUN/jobs/ring.sock: where the plug-in in a job's process hands over its rings (ring_layout.h).
 * The directory holds nothing else, so that pods can mount it; anybody may connect.
 *
 * A connection is one question: a ring_hello with one descriptor, a ring_welcome, and it is closed.
 * What a stranger can do with it is bounded (ring_rules.h): how many are open, for how long, how
 * often a user may come; and of all that come, ACCEPTS_MAX in each turn of the loop.
 */
#pragma once

#include <sys/types.h>

#include "agents/assayd/ring_rules.h"
#include "lib/base/macro.h"

struct ring_socket;
struct sd_event;

/* Who connected, by the kernel. */
struct ring_peer {
	pid_t pid;
	uid_t uid;
	int pidfd;	   /* borrowed; of this very process, or -1 */
	uint64_t since_us; /* when it had connected, monotonic */
};

struct ring_socket_options {
	/*
	 * Take the descriptor (it stays the socket's), and hand over that of a control page, which
	 * then is; none is wanted (`ret_control_fd` NULL) of a ring that had its page from another
	 * assayd. Anything but RING_TAKEN refuses it.
	 */
	enum ring_refusal (*take)(void *context, const struct ring_peer *peer, int fd,
				  int *ret_control_fd);
	/* What became of a connection; `peer` of nobody (0) when it is not known. */
	void (*ended)(void *context, enum ring_refusal why, const struct ring_peer *peer);
	void *context;
};

/* Listen; NULL with a line in the log when that cannot be. */
struct ring_socket *ring_socket_new(struct sd_event *event,
				    const struct ring_socket_options *options);
void ring_socket_free(struct ring_socket *socket);
