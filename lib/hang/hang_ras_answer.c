/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_ras_answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"

enum { FIRST = 8 };

/* In the order of ncclFunc_t. */
const char *const hang_ras_functions[HANG_RAS_FUNCTIONS] = {
	"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce",
};
const char *const hang_ras_operations[HANG_RAS_FUNCTIONS] = {
	"broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce",
};

void hang_ras_answer_release(struct hang_ras_answer *a)
{
	size_t i;

	for (i = 0; i < a->n_comms; i++) {
		free(a->comms[i].members);
		free(a->comms[i].places);
	}
	free(a->comms);
	*a = (struct hang_ras_answer){ .comms = NULL };
}

int hang_ras_answer_comm(struct hang_ras_answer *a, const char *id, uint64_t size,
			 struct hang_ras_comm **ret, struct err *err)
{
	uint32_t *places;

	if (size == 0)
		return err_set(err, EINVAL, "a communicator without ranks");
	if (size > HANG_RANKS_MAX)
		return err_set(err, E2BIG, "a communicator of more than %d ranks", HANG_RANKS_MAX);
	if (a->n_comms == HANG_RAS_COMMS_MAX)
		return err_set(err, E2BIG, "more than %d communicators", HANG_RAS_COMMS_MAX);
	if (a->sizes + size > HANG_MEMBERS_MAX)
		return err_set(err, E2BIG, "communicators of more than %d ranks together",
			       HANG_MEMBERS_MAX);
	places = calloc(size, sizeof(*places));
	if (!places)
		return err_set(err, ENOMEM, "no memory for a communicator of %llu ranks",
			       (unsigned long long)size);
	if (a->n_comms == a->comms_alloc) {
		a->comms_alloc = MAX((size_t)FIRST, 2 * a->comms_alloc);
		a->comms = xrealloc(a->comms, a->comms_alloc, sizeof(*a->comms));
	}
	*ret = &a->comms[a->n_comms++];
	**ret = (struct hang_ras_comm){ .size = (size_t)size, .places = places };
	a->sizes += size;
	(void)snprintf((*ret)->id, sizeof((*ret)->id), "%s", id);
	return 0;
}

int hang_ras_answer_member(struct hang_ras_answer *a, struct hang_ras_comm *comm, int64_t rank,
			   struct hang_ras_member **ret, struct err *err)
{
	struct hang_ras_member *found;
	uint32_t *place;

	if (rank < 0 || (uint64_t)rank >= comm->size)
		return err_set(err, EINVAL, "rank %lld of a communicator of %zu", (long long)rank,
			       comm->size);
	place = &comm->places[rank];
	if (*place == 0) {
		if (a->n_members == HANG_RAS_MEMBERS_MAX)
			return err_set(err, E2BIG, "more than %d ranks of communicators",
				       HANG_RAS_MEMBERS_MAX);
		if (comm->n == comm->alloc) {
			comm->alloc = MAX((size_t)FIRST, 2 * comm->alloc);
			comm->members = xrealloc(comm->members, comm->alloc, sizeof(*comm->members));
		}
		a->n_members++;
		found = &comm->members[comm->n++];
		*place = (uint32_t)comm->n;
		*found = (struct hang_ras_member){ .rank = (uint32_t)rank,
						   .pid = HANG_UNKNOWN,
						   .gpu = HANG_UNKNOWN };
	}
	*ret = &comm->members[*place - 1];
	return 0;
}
