/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line between two probes of two hosts beside the fabric: TCP, both sides
 * know one token, every wait has a deadline. What is said is in oob_wire.h.
 *
 *	oob_listen -> oob_accept		oob_dial
 *	oob_send, oob_receive -> oob_close
 *
 * Errors name the other side. -ECONNRESET: it went away; -ETIMEDOUT: it did not
 * answer; -EACCES: another token; -EPROTO, -EPROTONOSUPPORT, -EBADMSG,
 * -EMSGSIZE: what it sent is not of this probe, of another version, changed on
 * the way, too long. All deadlines are monotonic microseconds.
 */
#pragma once

#include <stdint.h>

#include "probes/rdma/oob_wire.h"

enum { OOB_NAME_SIZE = 600, OOB_TOKEN_MAX = 4096, OOB_TOKEN_FILE_MAX = 64 * 1024 };

struct addrinfo;

struct oob {
	int fd;			  /* -1: none */
	char name[OOB_NAME_SIZE]; /* of the other side, for people */
	unsigned char send_key[SHA256_SIZE], receive_key[SHA256_SIZE];
	uint64_t sent, received; /* frames so far */
};

/*
 * The token of a file, its first line: new memory. -EINVAL when it holds none, or lines
 * other than those of hosts that passed (probes/all_reduce/reduce_permit.h).
 */
int oob_token_read(const char *path, char **ret_token, struct err *err);

/*
 * Listen on "ADDRESS:PORT" ("[::1]:0"; port 0 is any free one); `ret_bound` is
 * where. Close the descriptor. -EINVAL for what is no address, -ETIMEDOUT for a name that is
 * not found by the deadline. A name that leads to this host alone (oob_lookup_only_own()) is
 * listened on at all its addresses.
 */
int oob_listen(const char *address, uint64_t deadline_us, char ret_bound[static OOB_NAME_SIZE],
	       int *ret_fd, struct err *err);

/*
 * Wait for one that knows the token; others are refused, with a line in the log,
 * and the wait goes on. -ETIMEDOUT with what became of the last; -EMFILE and the like when
 * this host can take no connection.
 */
int oob_accept(int listen_fd, const char *token, uint64_t deadline_us, struct oob *ret,
	       struct err *err);

/* Connect to "HOST:PORT", any address of it, again while nobody listens there yet. */
int oob_dial(const char *address, const char *token, uint64_t deadline_us, struct oob *ret,
	     struct err *err);

/*
 * Connect to the first of these addresses that answers, each in turn with an equal part of the
 * time: one of them may be of a family that the other side does not listen on, or lead nowhere.
 * -ECONNREFUSED when any host was there, else the errno of the last.
 */
int oob_connect(const struct addrinfo *found, uint64_t deadline_us, int *ret_fd);

/* Greet over a connected socket, which is taken over (and closed on failure). */
int oob_begin(int fd, const char *name, bool dials, const char *token, uint64_t deadline_us,
	      struct oob *ret, struct err *err);

int oob_send(struct oob *o, const char *body, size_t length, uint64_t deadline_us, struct err *err);

/* The next frame, NUL-terminated, new memory. */
int oob_receive(struct oob *o, uint64_t deadline_us, char **ret_body, size_t *ret_length,
		struct err *err);

void oob_close(struct oob *o);
