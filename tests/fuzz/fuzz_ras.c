/* SPDX-License-Identifier: Apache-2.0 */
/* An answer of NCCL's RAS, JSON or text, with and without a known job. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_ras.h"
#include "tests/fuzz/fuzz.h"

static const char *const hosts[] = { "127.0.0.1", "10.0.0.1" };
static const struct hang_ras_process processes[] = { { 100, 0 }, { 101, 1 } };
static const struct hang_ras_known one_host = {
	.hosts = hosts,
	.n_hosts = ARRAY_SIZE(hosts),
	.processes = processes,
	.n_processes = ARRAY_SIZE(processes),
	.world = HANG_UNKNOWN,
	.only_known = true,
};

/* Each position has a rank named by RAS, within its group; only own ranks if so requested. */
static void check_case(const struct hang_case *c, const struct hang_ras_known *known)
{
	size_t i;

	for (i = 0; i < c->n_positions; i++) {
		const struct hang_position *p = &c->positions[i];

		FUZZ_CHECK(p->rank < c->n_ranks && p->group < c->n_groups);
		FUZZ_CHECK(c->ranks[p->rank].sources == HANG_RAS);
		FUZZ_CHECK(hang_case_place(&c->groups[p->group], p->rank) >= 0);
		FUZZ_CHECK(p->enqueued == HANG_NONE || p->enqueued > 0);
		FUZZ_CHECK(p->completed == HANG_UNKNOWN && p->started == HANG_UNKNOWN);
		FUZZ_CHECK(!known || p->rank <= 1);
	}
	for (i = 0; i < c->n_ops; i++)
		FUZZ_CHECK(c->ops[i].name[0] && c->ops[i].group < c->n_groups);
}

static void read_it(const void *bytes, size_t size, const struct hang_ras_known *known)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	const int r = hang_ras_read(bytes, size, known, &c, &told, &err);

	if (r < 0) {
		FUZZ_CHECK(r == -EINVAL || r == -E2BIG || (r == -ESRCH && known));
		fuzz_refused(r, &err);
		return;
	}
	FUZZ_CHECK(told.strangers == 0 || known);
	check_case(&c, known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) void *bytes = fuzz_bytes(data, size);

	read_it(bytes, size, NULL);
	read_it(bytes, size, &one_host);
	return 0;
}
