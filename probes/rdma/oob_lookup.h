/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves "HOST:PORT". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { OOB_HOST_SIZE = 256, OOB_PORT_SIZE = 32 };

struct addrinfo;
struct err;
struct sockaddr;

/* Check the form "HOST:PORT", port 0 to 65535, without resolving it. -EINVAL. */
int oob_lookup_check(const char *address, struct err *err);

/*
 * Resolve `address`, "HOST:PORT" or "[ADDRESS]:PORT", to listen on (`passive`) or to dial. The
 * caller calls freeaddrinfo(). -EINVAL: malformed, or no such name; -EHOSTUNREACH: the resolver
 * failed; -ETIMEDOUT: it did not answer by the monotonic `deadline_us`. A numeric address is never
 * looked up.
 */
int oob_lookup(const char *address, bool passive, uint64_t deadline_us, struct addrinfo **ret,
	       struct err *err);

/*
 * Is the HOST of "HOST:PORT" a name that resolves, on this host, to an address that no other host
 * can reach? Debian maps a host's own name to 127.0.1.1 in /etc/hosts (Debian Reference, 5.1.1),
 * while other hosts resolve it elsewhere. A literal address or localhost is taken as intended.
 * Pure.
 */
bool oob_lookup_only_own(const char *address, const struct sockaddr *found);
