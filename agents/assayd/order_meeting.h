/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a `pair` or `allreduce` order that says which hosts meet for the test. Every string
 * in it becomes an argument or a line in a file of ours, so its length and character set are
 * limited. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	ORDER_PEERS_MAX = 64, /* hosts: COLL_RANKS_MAX of probes/coll/coll.h */
	ORDER_HOST_MAX = 253, /* bytes of a name: RFC 1035, 2.3.4, without the last dot */
	ORDER_PEER_MAX = ORDER_HOST_MAX + 6, /* bytes of HOST:PORT */
	ORDER_TOKEN_MIN = 32,
	ORDER_TOKEN_MAX = 128,
};

enum order_memory { ORDER_HOST_MEMORY, ORDER_GPU_MEMORY };
enum order_engine { ORDER_VERBS, ORDER_NCCL };
/* "host" "gpu", "verbs" "nccl": values of --memory and --engine of the probes. NULL-terminated. */
extern const char *const order_memory_names[];
extern const char *const order_engine_names[];

struct order_meeting {
	char **peers;  /* HOST:PORT by rank, without repeats; the first one listens. Owned */
	char **passed; /* HOST:PORT of the hosts whose own tests passed; owned, never NULL */
	uint64_t rank; /* of this host in `peers` */
	char *token;   /* secret shared by all peers; owned */
	int memory;    /* enum order_memory: where the data is */
	int engine;    /* enum order_engine: what moves it */
};

/*
 * Returns the port of "HOST:PORT", "1.2.3.4:PORT" or "[ADDRESS]:PORT", or 0 for any other text.
 * Does not resolve HOST: it consists of letters, digits, '.', '-' and '_'.
 */
unsigned order_peer_port(const char *peer);

/*
 * Decodes it from the order `v`. A pair has two hosts, whatever their own tests said (one of them
 * is a suspect); in an all-reduce every peer must be in `passed`. Returns -EINVAL with the place in
 * `err`, which never contains the token.
 */
int order_meeting_decode(const struct jval *v, bool is_pair, struct order_meeting *ret,
			 struct err *err);
/* Returns a deep copy. */
struct order_meeting order_meeting_copy(const struct order_meeting *m);
void order_meeting_release(struct order_meeting *m);
