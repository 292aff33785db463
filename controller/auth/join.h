/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a host join by itself? An admin makes a join token, which ends within a day, lets in a
 * number of hosts, and only names of a pattern. A host makes its own token, keeps it, and sends
 * the SHA-256 of it with the join token; from then on that sum stands for its name.
 *
 * A name that speaks for a host already (one of tokens.yaml, one that joined, one that has ever
 * reported) is refused until an admin resets it: whoever finds a join token can speak for no
 * host that is there. The same host that asks again, as after an answer that was lost, is told
 * the same again.
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

/* Joins that may be refused, of an address: so many at once, and so many a second. */
enum { JOIN_REFUSED_BURST = 32, JOIN_ORIGINS_MAX = 4096 };
#define JOIN_REFUSED_RATE 1.0

#define JOIN_TOKEN_PREFIX "assay-join-" /* so that a scanner for secrets knows one */
#define JOIN_FOR_DEFAULT_US USEC_PER_HOUR
#define JOIN_FOR_MOST_US USEC_PER_DAY

/* What the store and tokens.yaml know about who asks. Texts are borrowed. */
struct join_facts {
	const char *node;   /* the name that is asked for */
	const char *sha256; /* of the host's own token */
	uint64_t now_us;

	bool token_known;
	int64_t token;
	const char *names; /* the token's pattern */
	uint64_t hosts, used, expires_us;
	bool revoked;

	bool listed;		   /* the name is in tokens.yaml */
	bool has_joined;	   /* it joined, and was not reset since */
	bool was_reset;		   /* an admin lets it join again */
	const char *joined_sha256; /* of has_joined */
	int64_t joined_token;
	bool sum_taken; /* another name has that sum */
	bool reported;	/* a host of that name has reported */
};

enum join_answer {
	JOIN_LET_IN,
	JOIN_AGAIN,   /* it is in already, with this very token: nothing changes */
	JOIN_UNKNOWN, /* of the join token: 401 */
	JOIN_OVER,    /* the join token lets nobody in any more: 403 */
	JOIN_NAME,    /* the join token is not for that name: 403 */
	JOIN_TAKEN,   /* the name speaks for a host: 409 */
};

/* One of them, and for a refusal the sentence with what to do. */
enum join_answer join_decide(const struct join_facts *facts, struct err *ret_why);

/* Is it 64 hexadecimal digits in lower case? NULL is not. */
bool join_sum_ok(const char *sha256);
