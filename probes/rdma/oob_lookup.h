/* SPDX-License-Identifier: Apache-2.0 */
/* Where "HOST:PORT" is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { OOB_HOST_SIZE = 256, OOB_PORT_SIZE = 32 };

struct addrinfo;
struct err;
struct sockaddr;

/* Has it that form, with a port from 0 to 65535? Nobody is asked. -EINVAL. */
int oob_lookup_check(const char *address, struct err *err);

/*
 * The addresses of `address`, "HOST:PORT" or "[ADDRESS]:PORT", to be listened on (`passive`) or
 * dialled; freeaddrinfo() them. -EINVAL: no such form, or no such name; -EHOSTUNREACH: the
 * resolver failed; -ETIMEDOUT: it did not answer by the monotonic `deadline_us`. A number is
 * looked up nowhere.
 */
int oob_lookup(const char *address, bool passive, uint64_t deadline_us, struct addrinfo **ret,
	       struct err *err);

/*
 * Is the HOST of "HOST:PORT" a name for which this host found an address that nobody else
 * reaches? Debian has a host's own name at 127.0.1.1 in /etc/hosts (Debian Reference, 5.1.1), where
 * the others, who look it up elsewhere, do not find it. Who writes an address or localhost means
 * it. Pure.
 */
bool oob_lookup_only_own(const char *address, const struct sockaddr *found);
