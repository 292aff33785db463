/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections instead of the library, which would leave peers in the backlog at its limit.
 * A peer for whom there is no room is told at once: over plain TCP by 503 with Retry-After, with
 * TLS by closing the connection, as a handshake is the most expensive part.
 */
#pragma once

#include <sys/socket.h>

struct api;
struct err;
struct sockaddr;

/* api_accept.c: listen, and pass connections to the library. */
int api_accept_open(struct api *api, char **ret_address, struct err *err);
/* Pass a new connection to the library and count it for its peer, or refuse it. */
void api_accept_take(struct api *api, int fd, const struct sockaddr *address, socklen_t length);
void api_accept_again(struct api *api); /* resume after a pause */
void api_accept_close(struct api *api);
