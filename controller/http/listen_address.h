/* SPDX-License-Identifier: Apache-2.0 */
/* The address to listen on, from the settings: 127.0.0.1:9470, [::1]:9470. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

struct err;

struct listen_address {
	struct sockaddr_storage storage;
	socklen_t length;
};

/*
 * Parses "ADDR:PORT" or "[ADDR]:PORT": a numeric address and a port from 0 (any) to 65535. -EINVAL
 * with a sentence for anything else.
 */
int listen_address_read(const char *text, struct listen_address *ret, struct err *err);

/* Is it reachable from this host only? */
bool listen_address_is_loopback(const struct listen_address *address);
