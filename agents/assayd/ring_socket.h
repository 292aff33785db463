/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $RUN/jobs/ring.sock, where the plug-in in a job's process passes its rings (ring_layout.h). The
 * directory holds nothing else, so that pods can mount it. Anybody may connect.
 *
 * A connection is one exchange: a ring_hello with one descriptor, a ring_welcome, close. Limits
 * on strangers (ring_rules.h): connections open at once, their duration, and the rate per user;
 * and at most ACCEPTS_MAX accepts per iteration of the loop.
 */
#pragma once

#include <sys/types.h>

#include "agents/assayd/ring_rules.h"
#include "lib/base/macro.h"

struct ring_socket;
struct sd_event;

/* The client, according to the kernel. */
struct ring_peer {
	pid_t pid;
	uid_t uid;
	int pidfd;	   /* borrowed; bound to this process, or -1 */
	uint64_t since_us; /* monotonic: when it connected */
};

struct ring_socket_options {
	/*
	 * Accept the descriptor (the socket keeps it), and return the descriptor of a control
	 * page, which the socket then owns. `ret_control_fd` is NULL for a ring that has its page
	 * from another assayd. Any result but RING_TAKEN refuses the ring.
	 */
	enum ring_refusal (*take)(void *context, const struct ring_peer *peer, int fd,
				  int *ret_control_fd);
	/* The outcome of a connection; `peer` is zero if unknown. */
	void (*ended)(void *context, enum ring_refusal why, const struct ring_peer *peer);
	void *context;
};

/* Listen. NULL, with a line in the log, on failure. */
struct ring_socket *ring_socket_new(struct sd_event *event,
				    const struct ring_socket_options *options);
void ring_socket_free(struct ring_socket *socket);
