/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a host join by itself? An admin makes a join token, which expires within a day and admits a
 * number of hosts with names that match a pattern. A host makes its own token, keeps it, and sends
 * its SHA-256 with the join token; from then on that hash identifies the host.
 *
 * A name already in use by a host (in tokens.yaml, joined, or ever reported) is refused until an
 * admin resets it, so a join token cannot be used to impersonate an existing host. If the same host
 * asks again, as after a lost answer, it gets the same answer.
 *
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;

enum {
	JOIN_HOSTS_DEFAULT = 1,
	JOIN_HOSTS_MAX = 50000,
};

/* Rate limit of refused joins per address: burst, and per second. */
enum { JOIN_REFUSED_BURST = 32, JOIN_ORIGINS_MAX = 4096 };
#define JOIN_REFUSED_RATE 1.0

#define JOIN_TOKEN_PREFIX "assay-join-" /* recognized by secret scanners */
#define JOIN_FOR_DEFAULT_US USEC_PER_HOUR
#define JOIN_FOR_MOST_US USEC_PER_DAY

/* Facts from the store and tokens.yaml. Texts are borrowed. */
struct join_facts {
	const char *node;   /* the requested name */
	const char *sha256; /* of the host's own token */
	uint64_t now_us;

	bool token_known;
	int64_t token;
	const char *names; /* pattern of the join token */
	uint64_t hosts, used, expires_us;
	bool revoked;

	bool listed;		   /* the name is in tokens.yaml */
	bool has_joined;	   /* joined, and not reset since */
	bool was_reset;		   /* an admin allows it to join again */
	const char *joined_sha256; /* if has_joined */
	int64_t joined_token;
	bool sum_taken; /* another name has that hash */
	bool reported;	/* a host of that name has reported before */
};

enum join_answer {
	JOIN_LET_IN,
	JOIN_AGAIN,   /* joined already with this token: no change */
	JOIN_UNKNOWN, /* join token is unknown: 401 */
	JOIN_OVER,    /* join token is no longer valid: 403 */
	JOIN_NAME,    /* join token is not for that name: 403 */
	JOIN_TAKEN,   /* the name is in use: 409 */
};

/* Returns the decision and, for a refusal, a sentence with what to do. */
enum join_answer join_decide(const struct join_facts *facts, struct err *ret_why);

/* Is it 64 lower-case hexadecimal digits? False for NULL. */
bool join_sum_ok(const char *sha256);
