/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL's RAS subsystem answered, as it said it: communicators, their ranks, and how many
 * collectives of each function each rank has launched. hang_ras_json.h and hang_ras_text.h read
 * it; hang_ras.h makes a case of it. Pure memory.
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
	HANG_RAS_HOST_SIZE = 48, /* an address as text: RAS knows no names of hosts */
	HANG_RAS_ID_SIZE = 64,
	HANG_RAS_VERSION_SIZE = 32,
};

/* Functions in the order in which NCCL counts them, and as flight recorders name them. */
extern const char *const hang_ras_functions[HANG_RAS_FUNCTIONS];  /* "Broadcast" "Reduce" ... */
extern const char *const hang_ras_operations[HANG_RAS_FUNCTIONS]; /* "broadcast" "reduce" ... */

enum hang_ras_state {
	HANG_RAS_RUNNING,
	HANG_RAS_UNREADY,      /* its communicator is being made or taken down, or has failed */
	HANG_RAS_LEFT,	       /* its process answers and has no such communicator (any more) */
	HANG_RAS_UNRESPONSIVE, /* its process did not answer */
	HANG_RAS_DEAD,	       /* RAS can no longer reach its process */
};

struct hang_ras_member {
	uint32_t rank;			    /* in the communicator */
	uint8_t state;			    /* enum hang_ras_state */
	bool counted;			    /* `counts` were said */
	bool unclear;			    /* ... and not all of them */
	bool failed;			    /* NCCL reports an error for it that came later */
	char host[HANG_RAS_HOST_SIZE];	    /* "" where nobody said */
	int64_t pid;			    /* as the process itself knows it; HANG_UNKNOWN */
	int64_t gpu;			    /* by NVML; HANG_UNKNOWN */
	int64_t counts[HANG_RAS_FUNCTIONS]; /* of text: 0 where all ranks have the same */
};

struct hang_ras_comm {
	char id[HANG_RAS_ID_SIZE]; /* the same on all ranks: "0xHASH:0xHOST:0xPID", of text "0xHASH" */
	size_t size;
	struct hang_ras_member *members; /* owned; [n], in any order, each rank at most once */
	size_t n, alloc;
	uint32_t *places; /* owned; [size] place among the members, from 1; 0: none */
};

struct hang_ras_answer {
	char version[HANG_RAS_VERSION_SIZE]; /* "2.28.9", what stands behind it cut */
	struct hang_ras_comm *comms;	     /* owned */
	size_t n_comms, comms_alloc, n_members, sizes;
	size_t n_unnamed;  /* of text: communicators that it counts and says nothing of */
	unsigned timeouts; /* legs of the question that were not answered in time */
	bool text;	   /* the older form: counts only where ranks differ */
	bool mended;	   /* it lacked the commas that 2.28.7 to 2.28.9 leave out */
};
struct err;

/* Zeroes are an answer without communicators. */
void hang_ras_answer_release(struct hang_ras_answer *a);

/* Another communicator. -E2BIG past HANG_RAS_COMMS_MAX, HANG_RANKS_MAX ranks, or
 * HANG_MEMBERS_MAX of all together; -EINVAL for none; -ENOMEM. Until the next call. */
int hang_ras_answer_comm(struct hang_ras_answer *a, const char *id, uint64_t size,
			 struct hang_ras_comm **ret, struct err *err);

/*
 * The member of this rank, made with nothing said if it is new. -EINVAL: the communicator has no
 * such rank; -E2BIG past HANG_RAS_MEMBERS_MAX. Until the next call.
 */
int hang_ras_answer_member(struct hang_ras_answer *a, struct hang_ras_comm *comm, int64_t rank,
			   struct hang_ras_member **ret, struct err *err);
