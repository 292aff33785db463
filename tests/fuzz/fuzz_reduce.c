/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the ranks of an all-reduce. */
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/all_reduce/reduce_message.h"
#include "probes/rdma/options.h"
#include "tests/fuzz/fuzz.h"

static void check_bounds(const struct reduce_message *m)
{
	size_t i;

	FUZZ_CHECK(m->kind >= 0 && m->kind < REDUCE_KINDS);
	FUZZ_CHECK(m->suspect <= REDUCE_NOBODY && m->rank < COLL_RANKS_MAX);
	FUZZ_CHECK(m->bytes <= COLL_BYTES_MAX && m->ops <= REDUCE_OPS_MAX);
	FUZZ_CHECK(m->size <= RDMA_SIZE_MAX && m->qps <= FLOW_QUEUES_MAX);
	FUZZ_CHECK(m->rates.n <= COLL_RANKS_MAX && m->late.n <= COLL_RANKS_MAX);
	FUZZ_CHECK(m->again.n <= COLL_RANKS_MAX);
	for (i = 0; i < m->again.n; i++)
		FUZZ_CHECK((double)(uint64_t)m->again.v[i] <= m->again.v[i]);
	if (m->kind == REDUCE_OFFER || m->kind == REDUCE_JOIN)
		FUZZ_CHECK(m->offer.before.n <= FLOW_QUEUES_MAX &&
			   m->offer.next.n <= FLOW_QUEUES_MAX);
	if (m->kind == REDUCE_PLAN)
		FUZZ_CHECK(m->size >= 1 && m->qps >= 1 && m->nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *bytes = fuzz_bytes(data, size);
	CLEANUP(freep) char *line = NULL;
	CLEANUP(freep) char *again = NULL;
	struct reduce_message m, read;
	struct err err = ERR_INIT;
	int r = reduce_message_decode(bytes, size, &m, &err);

	if (r < 0) {
		fuzz_refused(r, &err);
		return 0;
	}
	check_bounds(&m);
	line = reduce_message_encode(&m);
	FUZZ_CHECK(reduce_message_decode(line, strlen(line), &read, NULL) == 0);
	again = reduce_message_encode(&read);
	FUZZ_CHECK(streq(line, again));
	reduce_message_release(&read);
	reduce_message_release(&m);
	return 0;
}
