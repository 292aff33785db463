/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer without power, or behind a cut cable, must be noticed in seconds instead of the kernel's
 * minutes: tcp(7), TCP_USER_TIMEOUT and keepalive.
 */
#pragma once

enum {
	TCP_PEER_TIMEOUT_MS = 4000,   /* unacknowledged for this long: the peer is gone */
	TCP_KEEPALIVE_IDLE_S = 2,     /* idle for this long: probe it */
	TCP_KEEPALIVE_INTERVAL_S = 1, /* then probe again */
};

/* Sets these options on a TCP socket; does nothing for other sockets. */
void tcp_watch_peer(int fd);
