/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An out-of-band connection between probes on two hosts, over TCP. Both sides know one token, and
 * every wait has a deadline. oob_wire.h describes the protocol.
 *
 *	oob_listen -> oob_accept    oob_dial
 *	oob_send, oob_receive -> oob_close
 *
 * Errors name the other side. -ECONNRESET: it closed the connection; -ETIMEDOUT: no answer;
 * -EACCES: different token; -EPROTO: not this protocol; -EPROTONOSUPPORT: another version;
 * -EBADMSG: altered in transit; -EMSGSIZE: too long. All deadlines are monotonic microseconds.
 */
#pragma once

#include <stdint.h>

#include "probes/rdma/oob_wire.h"

enum { OOB_NAME_SIZE = 600, OOB_TOKEN_MAX = 4096, OOB_TOKEN_FILE_MAX = 64 * 1024 };

struct addrinfo;

struct oob {
	int fd;			  /* -1: none */
	char name[OOB_NAME_SIZE]; /* the other side, for people */
	unsigned char send_key[SHA256_SIZE], receive_key[SHA256_SIZE];
	uint64_t sent, received; /* frames so far */
};

/*
 * Read the token, which is the first line of the file. The caller frees it. -EINVAL if there is no
 * token, or if the file has lines other than those of a permit (probes/all_reduce/reduce_permit.h).
 */
int oob_token_read(const char *path, char **ret_token, struct err *err);

/*
 * Listen on "ADDRESS:PORT" ("[::1]:0"; port 0 is any free one). `ret_bound` is the address in use;
 * the caller closes the descriptor. -EINVAL for an invalid address, -ETIMEDOUT for a name that does
 * not resolve by the deadline. If a name resolves to an address that only this host can reach
 * (oob_lookup_only_own()), listens on all addresses of this host.
 */
int oob_listen(const char *address, uint64_t deadline_us, char ret_bound[static OOB_NAME_SIZE],
	       int *ret_fd, struct err *err);

/*
 * Wait for a connection that knows the token. Others are refused and logged, and the wait goes on.
 * -ETIMEDOUT says what became of the last one; -EMFILE and similar if this host cannot accept
 * connections.
 */
int oob_accept(int listen_fd, const char *token, uint64_t deadline_us, struct oob *ret,
	       struct err *err);

/* Connect to any address of "HOST:PORT", and retry while nobody listens there yet. */
int oob_dial(const char *address, const char *token, uint64_t deadline_us, struct oob *ret,
	     struct err *err);

/*
 * Connect to the first address that answers. Each is tried in turn for an equal part of the time,
 * as one may be of a family that the other side does not listen on, or lead nowhere. -ECONNREFUSED
 * if any host answered, otherwise the errno of the last address.
 */
int oob_connect(const struct addrinfo *found, uint64_t deadline_us, int *ret_fd);

/* Run the handshake over a connected socket. Takes ownership of `fd` and closes it on failure. */
int oob_begin(int fd, const char *name, bool dials, const char *token, uint64_t deadline_us,
	      struct oob *ret, struct err *err);

int oob_send(struct oob *o, const char *body, size_t length, uint64_t deadline_us, struct err *err);

/* Receive the next frame. It is NUL-terminated; the caller frees it. */
int oob_receive(struct oob *o, uint64_t deadline_us, char **ret_body, size_t *ret_length,
		struct err *err);

void oob_close(struct oob *o);
