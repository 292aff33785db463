/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer without power, or behind a cut cable, must be noticed in seconds and
 * not in the kernel's minutes: tcp(7), TCP_USER_TIMEOUT and keepalive.
 */
#pragma once

enum {
	TCP_PEER_TIMEOUT_MS = 4000,   /* unanswered for this long: the peer is gone */
	TCP_KEEPALIVE_IDLE_S = 2,     /* quiet for this long: ask whether it lives */
	TCP_KEEPALIVE_INTERVAL_S = 1, /* and ask again */
};

/* Set these on a TCP socket; on any other nothing happens. */
void tcp_watch_peer(int fd);
