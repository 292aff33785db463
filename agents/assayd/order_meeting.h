/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that are to meet for a test between them: what an order of the kinds
 * `pair` and `allreduce` has besides. Every text in it becomes an argument or a
 * line of a file of ours, so each is of few characters and bounded. Pure.
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
	char **peers;  /* HOST:PORT by rank, none twice; the first one listens. Owned */
	char **passed; /* of those whose own tests passed; owned, never NULL */
	uint64_t rank; /* of this host among them */
	char *token;   /* that all know; owned */
	int memory;    /* enum order_memory: where the data is */
	int engine;    /* enum order_engine: what moves it */
};

/*
 * The port of "HOST:PORT", "1.2.3.4:PORT" or "[ADDRESS]:PORT"; 0 when the text
 * is none of these. No look-up: a name is letters, digits, '.', '-' and '_'.
 */
unsigned order_peer_port(const char *peer);

/*
 * Decode it from the order `v`. A pair is of two hosts, whatever their own
 * tests said (one of them is suspected); for an all-reduce each of them must be
 * among those that passed. -EINVAL with the place; the token is never in the sentence.
 */
int order_meeting_decode(const struct jval *v, bool is_pair, struct order_meeting *ret,
			 struct err *err);
/* A copy with texts of its own. */
struct order_meeting order_meeting_copy(const struct order_meeting *m);
void order_meeting_release(struct order_meeting *m);
