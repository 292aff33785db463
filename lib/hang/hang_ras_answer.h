/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer of NCCL's RAS subsystem, as given: communicators, their ranks, and how many collectives
 * of each function each rank has launched. hang_ras_json.h and hang_ras_text.h read it; hang_ras.h
 * adds it to a case. Pure memory.
 *
 * Layouts: NVIDIA/nccl, src/ras/client_support.cc of v2.24.3-1 to v2.30.7-1 (facts read there).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	HANG_RAS_ANSWER_MAX = 4 * 1024 * 1024, /* bytes */
	HANG_RAS_COMMS_MAX = 8192,
	HANG_RAS_MEMBERS_MAX = 128 * 1024, /* ranks of all communicators together */
	HANG_RAS_FUNCTIONS = 5,
	HANG_RAS_HOST_SIZE = 48, /* an address as text: RAS has no host names */
	HANG_RAS_ID_SIZE = 64,
	HANG_RAS_VERSION_SIZE = 32,
};

/* Functions in NCCL's counting order, and as flight recorders name them. */
extern const char *const hang_ras_functions[HANG_RAS_FUNCTIONS];  /* "Broadcast" "Reduce" ... */
extern const char *const hang_ras_operations[HANG_RAS_FUNCTIONS]; /* "broadcast" "reduce" ... */

enum hang_ras_state {
	HANG_RAS_RUNNING,
	HANG_RAS_UNREADY, /* its communicator is being created or destroyed, or has failed */
	HANG_RAS_LEFT,	  /* its process answers but does not have the communicator (any more) */
	HANG_RAS_UNRESPONSIVE, /* its process did not answer */
	HANG_RAS_DEAD,	       /* RAS can no longer reach its process */
};

struct hang_ras_member {
	uint32_t rank;			    /* in the communicator */
	uint8_t state;			    /* enum hang_ras_state */
	bool counted;			    /* `counts` were given */
	bool unclear;			    /* ... but not all of them */
	bool failed;			    /* NCCL reports an error for it, after its creation */
	char host[HANG_RAS_HOST_SIZE];	    /* "" if not given */
	int64_t pid;			    /* in its own PID namespace; HANG_UNKNOWN */
	int64_t gpu;			    /* NVML index; HANG_UNKNOWN */
	int64_t counts[HANG_RAS_FUNCTIONS]; /* in text: 0 if all ranks have the same */
};

struct hang_ras_comm {
	char id[HANG_RAS_ID_SIZE]; /* same on all ranks: "0xHASH:0xHOST:0xPID", in text "0xHASH" */
	size_t size;
	struct hang_ras_member *members; /* owned; [n], in any order, each rank at most once */
	size_t n, alloc;
	uint32_t *places; /* owned; [size] 1 + index of the member; 0: none */
};

struct hang_ras_answer {
	char version[HANG_RAS_VERSION_SIZE]; /* "2.28.9", without a suffix */
	struct hang_ras_comm *comms;	     /* owned */
	size_t n_comms, comms_alloc, n_members, sizes;
	size_t n_unnamed;  /* in text: communicators that are counted but not named */
	unsigned timeouts; /* parts of the query that were not answered in time */
	bool text;	   /* the older form: counts only where ranks differ */
	bool mended;	   /* it lacked the commas that 2.28.7 to 2.28.9 omit */
};
struct err;

/* Zeroed: an answer without communicators. */
void hang_ras_answer_release(struct hang_ras_answer *a);

/*
 * Adds a communicator. -E2BIG past HANG_RAS_COMMS_MAX, HANG_RANKS_MAX ranks, or HANG_MEMBERS_MAX in
 * all; -EINVAL for a size of 0; -ENOMEM. Valid until the next call.
 */
int hang_ras_answer_comm(struct hang_ras_answer *a, const char *id, uint64_t size,
			 struct hang_ras_comm **ret, struct err *err);

/*
 * The member with this rank, created empty if new. -EINVAL: the communicator has no such rank;
 * -E2BIG past HANG_RAS_MEMBERS_MAX. Valid until the next call.
 */
int hang_ras_answer_member(struct hang_ras_answer *a, struct hang_ras_comm *comm, int64_t rank,
			   struct hang_ras_member **ret, struct err *err);
