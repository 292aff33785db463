/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may connect. We accept, and not the library: past its limit it would
 * leave peers in the backlog without a word. A peer for whom there is no room
 * learns it at once: over plain TCP 503 with Retry-After, where TLS is spoken
 * by the end of the connection, as a handshake costs more than all else.
 */
#pragma once

#include <sys/socket.h>

struct api;
struct err;
struct sockaddr;

/* Of api_accept.c: listen, and give each connection to the library. */
int api_accept_open(struct api *api, char **ret_address, struct err *err);
/* A connection that has come in is the library's now, and counts for its peer; or it is refused. */
void api_accept_take(struct api *api, int fd, const struct sockaddr *address, socklen_t length);
void api_accept_again(struct api *api); /* after it had to pause */
void api_accept_close(struct api *api);
