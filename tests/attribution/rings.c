/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the trace that the hosts of a job derive from its rings, for the jobs of generate.c:
 *
 *	rings INJECTION SEED [dp=N] [pp=N] [mb=N] [tp=N] [steps=N] [lost=PARTS-IN-10000]
 *	      [host=NS] [drift=PARTS-IN-10^9] [together=1] [late=PARTS-IN-1000] [link=NS] [stall=NS]
 *	      [truth=FILE]
 *
 * `host` and `drift` are errors of the hosts' clocks; for `together` see job.h. `late` slows one
 * worker, chosen by the seed; `link` slows the transfers between two; `stall` delays one compute.
 * Writes the parts of all workers to standard output, one after the other, their cost to standard
 * error, and to `truth` the affected worker and its lateness per step against the median replica.
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
	long long host_ns, drift, lost, together, late, link_ns, stall_ns;
	const char *truth;
};

static bool take_number(const char *text, struct sizes *sizes)
{
	const struct {
		const char *name;
		long long *value;
	} numbers[] = { { "host=", &sizes->host_ns },	   { "drift=", &sizes->drift },
			{ "lost=", &sizes->lost },	   { "late=", &sizes->late },
			{ "together=", &sizes->together }, { "link=", &sizes->link_ns },
			{ "stall=", &sizes->stall_ns } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (starts_with(text, numbers[i].name)) {
			*numbers[i].value = strtoll(text + strlen(numbers[i].name), NULL, 10);
			return true;
		}
	}
	if (!starts_with(text, "truth="))
		return false;
	sizes->truth = text + strlen("truth=");
	return true;
}

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
	return take_number(text, sizes);
}

/* Picks a number below `of` by the seed. */
static int pick(const struct job *job, uint64_t what, int of)
{
	return (int)(job_chance(job, 4200 + what, 0, 0, 0) * of);
}

/* Adds the faults of the options to the injection. Returns the worker. */
static int spoil(const struct sizes *sizes, struct job *job)
{
	const int d = pick(job, 1, job->dp), p = pick(job, 2, job->pp);

	job->together = sizes->together != 0;
	if (sizes->late)
		job->slow[job->n_slow++] =
			(struct job_slow){ d, p, 0, job->steps, 1 + (double)sizes->late / 1000 };
	if (sizes->stall_ns)
		job->pauses[job->n_pauses++] = (struct job_pause){
			.step = job->steps / 2, .d = d, .p = p, .mb = 1, .ns = sizes->stall_ns
		};
	if (sizes->link_ns) {
		job->link_d = d;
		job->link_p = pick(job, 2, job->pp - 1);
		job->link_work = pick(job, 3, 2);
		job->link_ns = sizes->link_ns;
	}
	return d + job->dp * p;
}

static int write_truth(const char *path, const struct job *job, const struct ring_world *world,
		       int worker)
{
	const int d = worker % job->dp, p = worker / job->dp;
	const bool back = job->link_work == BACKWARD;
	FILE *out = fopen(path, "we");

	if (!out)
		return -errno;
	fprintf(out, "{\"dp\": %d, \"stage\": %d, \"late_s\": %.9f, \"step\": %d", d, p,
		world->late_s[worker] / (double)world->n_late, job->steps / 2);
	if (job->link_d >= 0)
		fprintf(out, ", \"from\": [%d, %d], \"to\": [%d, %d]", job->link_d,
			job->link_p + back, job->link_d, job->link_p + !back);
	fprintf(out, "}\n");
	return fclose(out) ? -errno : 0;
}

static int write_part(const struct job *job, const struct ring_rank *rank, size_t worker,
		      bool whole, struct err *err)
{
	const int d = (int)worker % job->dp, p = (int)worker / job->dp;
	const struct ring_shape shape = { (unsigned)job->dp, (unsigned)job->pp, (unsigned)job->tp,
					  job_rank(job, d, p) };
	/* The same window for all, because each may have lost different steps. */
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

static int write_all(const struct sizes *sizes, struct job *job, struct err *err)
{
	struct ring_world_options options = { .offset_ns = 3 * MS,
					      .drift = 5e-6,
					      .resolution_ns = 1000,
					      .tensor_ops = 2,
					      .ends_cut = 1,
					      .host_offset_ns = (double)sizes->host_ns,
					      .host_drift = (double)sizes->drift / 1e9,
					      .lost = (double)sizes->lost / 1e4 };
	const int worker = spoil(sizes, job);
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(job, &options);
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < world->n_ranks; i++)
		r = write_part(job, &world->ranks[i], i, sizes->lost == 0, err);
	if (r < 0)
		return err_wrap(err, r, "worker %zu", i - 1);
	if (sizes->truth)
		r = write_truth(sizes->truth, job, world, worker);
	return r < 0 ? err_set(err, -r, "%s cannot be written", sizes->truth) : 0;
}

int main(int argc, char **argv)
{
	const struct injection *injection = argc >= 3 ? injection_find(argv[1]) : NULL;
	CLEANUP(freep) struct sizes *sizes = xcalloc(1, sizeof(*sizes));
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	struct err err = ERR_INIT;
	int at;

	for (at = 3; injection && at < argc; at++) {
		if (!take_option(argv[at], sizes))
			injection = NULL;
	}
	if (!injection) {
		fprintf(stderr, "usage: rings INJECTION SEED [NAME=VALUE]...\n");
		return 2;
	}
	injection_job(injection, &sizes->job, strtoull(argv[2], NULL, 10), job);
	if (write_all(sizes, job, &err) == 0)
		return 0;
	fprintf(stderr, "rings: %s\n", err.msg);
	return 1;
}
