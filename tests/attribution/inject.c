/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/attribution/inject.h"

/* Returns an integer below n that depends on the seed and the purpose. */
static int pick(const struct job *job, uint64_t what, int n)
{
	return (int)(job_chance(job, 500 + what, 0, 0, 0) * n);
}

static double between(const struct job *job, uint64_t what, double low, double high)
{
	return low + (high - low) * job_chance(job, 600 + what, 0, 0, 0);
}

static void slow_down(struct job *job, int d, int p, double factor)
{
	job->slow[job->n_slow++] = (struct job_slow){ d, p, 0, job->steps, factor };
}

static void nothing(struct job *job)
{
	job->noise = 0.01;
}

static void slow_worker(struct job *job)
{
	slow_down(job, pick(job, 1, job->dp), pick(job, 2, job->pp), between(job, 3, 1.6, 2.5));
}

/* Among few workers, one slow worker shifts the mean that it is compared with. */
static void very_slow_worker(struct job *job)
{
	slow_worker(job);
	job->slow[0].factor += 0.6;
}

static void two_slow(struct job *job)
{
	int d = pick(job, 1, job->dp), p = pick(job, 2, job->pp);
	double factor = between(job, 3, 1.5, 2.2);

	slow_down(job, d, p, factor);
	slow_down(job, (d + 1 + pick(job, 4, job->dp - 1)) % job->dp, (p + 1) % job->pp,
		  factor * between(job, 5, 0.97, 1.03));
}

static void sick_node(struct job *job)
{
	int node = job_node(job, pick(job, 1, job->dp), pick(job, 2, job->pp)), d, p;
	double factor = between(job, 3, 1.4, 2.0);

	for (d = 0; d < job->dp; d++) {
		for (p = 0; p < job->pp; p++) {
			if (job_node(job, d, p) == node)
				slow_down(job, d, p, factor);
		}
	}
}

static void transient(struct job *job)
{
	slow_worker(job);
	job->slow[0].factor = between(job, 6, 2.0, 3.0);
	job->slow[0].from = 1 + pick(job, 7, job->steps / 4);
	job->slow[0].to = job->slow[0].from + job->steps / 2;
}

static void last_stage(struct job *job)
{
	job->last_stage = between(job, 3, 1.5, 1.9);
}

static void worker_and_stage(struct job *job)
{
	job->last_stage = between(job, 3, 1.3, 1.5);
	slow_down(job, pick(job, 1, job->dp), pick(job, 2, job->pp - 1), job->last_stage * 1.7);
}

static void sequences(struct job *job)
{
	job->uneven = true;
}

static void pauses(struct job *job)
{
	int step, i;

	for (step = 0; step < job->steps; step++) {
		for (i = 0; i < 3 && job->n_pauses < JOB_PAUSES_MAX; i++) {
			uint64_t at = (uint64_t)(step * 3 + i);

			job->pauses[job->n_pauses++] = (struct job_pause){
				.step = step,
				.d = pick(job, 1000 + at, job->dp),
				.p = pick(job, 2000 + at, job->pp),
				.mb = pick(job, 3000 + at, job->mb),
				.ns = (int64_t)(job->forward_ns * between(job, 4000 + at, 6, 9)),
			};
		}
	}
}

static void flapping_link(struct job *job)
{
	job->link_d = pick(job, 1, job->dp);
	job->link_p = pick(job, 2, job->pp - 1);
	job->link_work = pick(job, 4, 2); /* one direction: a cable has a fibre for each */
	job->link_ns = (int64_t)(job->forward_ns * between(job, 3, 1.4, 2.2));
}

static void slow_collectives(struct job *job)
{
	job->slow_every = 3;
	job->collective_ns = (int64_t)(job->forward_ns * job->mb * between(job, 3, 2.0, 3.0));
}

static void loading(struct job *job)
{
	job->loading_ns = (int64_t)((job->forward_ns + job->backward_ns) * job->mb *
				    between(job, 3, 0.2, 0.4));
}

static void skew(struct job *job)
{
	int node;

	slow_worker(job);
	for (node = 1; node < JOB_NODES_MAX; node++)
		job->skew_ns[node] = (int64_t)(between(job, 5000 + (uint64_t)node, -5.0, 5.0) * MS);
}

static void missing(struct job *job)
{
	int i;

	slow_worker(job);
	for (i = 0; i < 2; i++)
		job->lost[job->n_lost++] = (struct job_op){
			.step = (2 + 3 * i) % job->steps,
			.d = pick(job, 8 + (uint64_t)i, job->dp),
			.p = pick(job, 10 + (uint64_t)i, job->pp),
			.type = JOB_COMPUTE + pick(job, 12 + (uint64_t)i, 2),
			.seq = pick(job, 14 + (uint64_t)i, job->mb),
		};
}

const struct injection injections[] = {
	{ "none", "none", nothing, .dp = 0 },
	{ "slow-worker", "worker", slow_worker },
	{ "slow-worker-vpp", "worker", slow_worker, .pp = 4, .mb = 8, .vpp = 2 },
	{ "clean-vpp", "none", nothing, .pp = 4, .mb = 8, .vpp = 2 },
	{ "two-slow", "worker", two_slow, .dp = 4, .pp = 4 },
	{ "sick-node", "node", sick_node, .dp = 8, .pp = 4 },
	{ "transient", "worker", transient },
	{ "last-stage", "stage", last_stage, .dp = 4, .pp = 4 },
	{ "worker-and-stage", "worker", worker_and_stage, .dp = 4, .pp = 4 },
	{ "sequences", "seqlen", sequences, .dp = 4 },
	{ "pauses", "gc", pauses, .dp = 4, .pp = 4, .mb = 8, .steps = 12 },
	{ "flapping-link", "link", flapping_link, .beside = true, .dp = 4, .pp = 4 },
	{ "slow-collectives", "comm", slow_collectives, .dp = 4 },
	{ "loading", "rejected", loading },
	{ "skew", "worker", skew, .dp = 4, .pp = 4 },
	{ "missing", "worker", missing, .steps = 12 },
	{ "one-stage", "worker", slow_worker, .dp = 8, .pp = 1 },
	{ "one-replica", "worker", very_slow_worker, .dp = 1, .pp = 8 },
};
const int n_injections = ARRAY_SIZE(injections);

const struct injection *injection_find(const char *name)
{
	int i;

	for (i = 0; i < n_injections; i++) {
		if (streq(injections[i].name, name))
			return &injections[i];
	}
	return NULL;
}

static int first_of(int a, int b, int c)
{
	return a ? a : b ? b : c;
}

void injection_job(const struct injection *injection, const struct job *sizes, uint64_t seed,
		   struct job *ret_job)
{
	static const int dps[] = { 2, 4, 8 }, pps[] = { 2, 4, 8 }, mbs[] = { 8, 12, 16 };
	struct job *job = ret_job;

	*job = (struct job){ .seed = seed, .last_stage = 1, .noise = 0.02, .link_d = -1 };
	job->dp = first_of(sizes->dp, injection->dp, dps[pick(job, 900, 3)]);
	job->pp = first_of(sizes->pp, injection->pp, pps[pick(job, 901, 3)]);
	job->mb = first_of(sizes->mb, injection->mb, mbs[pick(job, 902, 3)]);
	job->vpp = first_of(sizes->vpp, injection->vpp, 1);
	job->tp = first_of(sizes->tp, 2, 0);
	job->steps = first_of(sizes->steps, injection->steps, 10);
	job->first_step = 20 + pick(job, 903, 50);
	job->step_gap = 1 + pick(job, 904, 4);
	job->forward_ns = between(job, 905, 20, 40) * MS / job->vpp;
	job->backward_ns = 2 * job->forward_ns;
	job->transfer_ns = between(job, 906, 0.3, 0.6) * MS;
	injection->put(job);
}

static void print_workers(const struct job *job, FILE *out)
{
	int i, p;

	fprintf(out, "\"workers\":[");
	for (i = 0; i < job->n_slow; i++)
		fprintf(out, "%s[%d,%d]", i ? "," : "", job->slow[i].d, job->slow[i].p);
	for (p = job->link_p; job->link_d >= 0 && p <= job->link_p + 1; p++)
		fprintf(out, "%s[%d,%d]", p > job->link_p ? "," : "", job->link_d, p);
	fprintf(out, "]");
}

void injection_truth(const struct injection *injection, const struct job *job, FILE *out)
{
	int i;

	fprintf(out, "{\"injection\":\"%s\",\"label\":\"%s\",\"primary\":%s,", injection->name,
		injection->label, injection->beside ? "false" : "true");
	print_workers(job, out);
	if (job->n_slow)
		fprintf(out, ",\"node\":\"n%03d\"", job_node(job, job->slow[0].d, job->slow[0].p));
	if (job->last_stage > 1)
		fprintf(out, ",\"stage\":%d", job->pp - 1);
	fprintf(out, ",\"dropped\":[");
	for (i = 0; i < job->n_lost; i++)
		fprintf(out, "%s%d", i ? "," : "",
			job->first_step + job->lost[i].step * job->step_gap);
	fprintf(out, "],\"skewed\":%s,\"seed\":%llu}\n", job->skew_ns[1] ? "true" : "false",
		(unsigned long long)job->seed);
}
