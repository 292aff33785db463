/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace that the hosts of a job write from its rings, of the jobs of generate.c:
 *
 *	rings INJECTION SEED [dp=N] [pp=N] [mb=N] [tp=N] [steps=N] [host=NS] [lost=PARTS-IN-10000]
 *
 * The parts of all workers, one behind the other, go to standard output; what they cost to standard
 * error.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_optrace.h"
#include "tests/attribution/inject.h"
#include "tests/attribution/ring_world.h"

enum { WINDOW = 16 };

struct sizes {
	struct job job;
	long long host_ns, lost;
};

static bool take_option(const char *text, struct sizes *sizes)
{
	struct job *job = &sizes->job;
	const struct {
		const char *name;
		int *value;
	} whole[] = { { "dp=", &job->dp },
		      { "pp=", &job->pp },
		      { "mb=", &job->mb },
		      { "tp=", &job->tp },
		      { "steps=", &job->steps } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(whole); i++) {
		if (starts_with(text, whole[i].name)) {
			*whole[i].value = (int)strtol(text + strlen(whole[i].name), NULL, 10);
			return *whole[i].value > 0;
		}
	}
	if (starts_with(text, "host="))
		sizes->host_ns = strtoll(text + 5, NULL, 10);
	else if (starts_with(text, "lost="))
		sizes->lost = strtoll(text + 5, NULL, 10);
	else
		return false;
	return true;
}

static int write_part(const struct job *job, const struct ring_rank *rank, size_t worker,
		      bool whole, struct err *err)
{
	const int d = (int)worker % job->dp, p = (int)worker / job->dp;
	const struct ring_shape shape = { (unsigned)job->dp, (unsigned)job->pp, (unsigned)job->tp,
					  job_rank(job, d, p) };
	/* Where each has lost other steps: the same window of all. */
	const struct ring_optrace_options options = { .job = "rings",
						      .steps = whole ? (unsigned)job->steps - 2
								     : WINDOW,
						      .every = whole ? 0 : WINDOW,
						      .after = -1 };
	struct ring_part part;
	int r = ring_optrace(rank->rings, rank->n, &shape, &options, &part, err);

	if (r < 0)
		return r;
	(void)fwrite(part.text.data, part.text.len, 1, stdout);
	fprintf(stderr,
		"part %u/%u: steps %" PRId64 "-%" PRId64
		", %zu lines for %zu operations, %zu bytes, clock %.1f us\n",
		part.part, part.of, part.step, part.last_step, part.n_lines, part.n_collectives,
		part.text.len, part.clock_us);
	ring_part_release(&part);
	return 0;
}

int main(int argc, char **argv)
{
	const struct injection *injection = argc >= 3 ? injection_find(argv[1]) : NULL;
	CLEANUP(freep) struct sizes *sizes = xcalloc(1, sizeof(*sizes));
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	CLEANUP(ring_world_freep) struct ring_world *world = NULL;
	struct ring_world_options options = {
		.offset_ns = 3 * MS, .drift = 5e-6, .resolution_ns = 1000, .tensor_ops = 2
	};
	struct err err = ERR_INIT;
	size_t i;
	int at, r = 0;

	for (at = 3; injection && at < argc; at++) {
		if (!take_option(argv[at], sizes))
			injection = NULL;
	}
	if (!injection) {
		fprintf(stderr, "usage: rings INJECTION SEED [NAME=VALUE]...\n");
		return 2;
	}
	injection_job(injection, &sizes->job, strtoull(argv[2], NULL, 10), job);
	options.host_offset_ns = (double)sizes->host_ns;
	options.lost = (double)sizes->lost / 1e4;
	world = ring_world_new(job, &options);
	for (i = 0; r == 0 && i < world->n_ranks; i++)
		r = write_part(job, &world->ranks[i], i, sizes->lost == 0, &err);
	if (r < 0)
		fprintf(stderr, "rings: worker %zu: %s\n", i - 1, err.msg);
	return r < 0;
}
