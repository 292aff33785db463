/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_connect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rnic_pair/pair.h"
#include "probes/rnic_pair/pair_apart.h"

enum {
	NSEC_PER_USEC = 1000,
};

/* With less time, the lookup of an unreachable address could outlast the harness's grace. */
#define OPEN_MIN_US (200 * USEC_PER_MSEC)

const unsigned pair_smaller_mtus[] = { 1024, 256, 0 };

/* The outcome of one write. */
struct attempt {
	struct pair_job *job;
	bool going;
	int r;
	struct rdma_done done;
};

static uint64_t now_us(const struct pair_job *job)
{
	return job->from->engine->ops->now_ns(job->from->engine) / NSEC_PER_USEC;
}

/* Both ends are on one host, whose kernel resolves its own addresses without using the wire. */
static void decide_no_way(struct pair_job *job, const struct err *err)
{
	char address[GID_TEXT_SIZE];

	gid_format(&job->to->gid.gid, address);
	pair_decide(&job->verdict, SAMPLE_SET_UP, TRI_UNKNOWN,
		    "%s. No path from %s to %s of %s: for ports of one host set accept_local=1 and "
		    "rp_filter=0 of both interfaces (net.ipv4.conf), and route each address out of "
		    "its own interface (ip rule add from ADDRESS table N)",
		    err->msg, job->from->port->device, address, job->to->port->device);
}

static void decide_unopened(struct pair_job *job, int r, const struct err *err)
{
	if (pair_is_no_way(r))
		decide_no_way(job, err);
	else
		pair_decide(&job->verdict, SAMPLE_SET_UP, TRI_UNKNOWN, "%s", err->msg);
}

int pair_join(struct pair_job *job, const struct pair_want *want, struct err *err)
{
	struct pair_offer of_writer, of_reader;
	int r = pair_lanes_open(&job->writer, job->from, want, err);

	if (r == 0)
		r = pair_lanes_open(&job->reader, job->to, want, err);
	if (r < 0)
		return r;
	job->writer.other = job->to;
	job->reader.other = job->from;
	job->writer.opposite = &job->reader;
	job->reader.opposite = &job->writer;
	pair_lanes_offer(&job->writer, &of_writer);
	pair_lanes_offer(&job->reader, &of_reader);
	r = pair_lanes_connect(&job->writer, &of_reader, err);
	return r < 0 ? r : pair_lanes_connect(&job->reader, &of_writer, err);
}

unsigned pair_job_queues(const struct pair_job *job)
{
	return MIN(pair_side_queues(job->from, 1), pair_side_queues(job->to, 1));
}

void pair_part(struct pair_job *job)
{
	pair_lanes_close(&job->writer);
	pair_lanes_close(&job->reader);
}

static int join_to_try(struct pair_job *job, unsigned mtu, struct err *err)
{
	const struct pair_want want = { .qps = 1,
					.depth = 1,
					.retries = PAIR_TRY_RETRIES,
					.mtu = mtu,
					.least = PAIR_TRY_BYTES };

	return pair_join(job, &want, err);
}

/* If the reverse direction has no route, neither has this one; do not wait for it again. */
static const struct pair_job *failed_way_back(const struct pair_job *jobs, size_t before)
{
	const struct pair_job *job = &jobs[before];
	size_t i;

	for (i = 0; i < before; i++) {
		if (jobs[i].from == job->to && jobs[i].to == job->from &&
		    jobs[i].verdict.state == SAMPLE_SET_UP)
			return &jobs[i];
	}
	return NULL;
}

static bool begin(struct pair_job *jobs, size_t i, uint64_t deadline_us)
{
	struct pair_job *job = &jobs[i];
	const struct pair_side *unusable = job->from->err.code ? job->from : job->to;
	const struct pair_job *back = failed_way_back(jobs, i);
	struct err err = ERR_INIT;
	int r;

	if (unusable->err.code) {
		pair_decide(&job->verdict, pair_side_state(unusable), TRI_UNKNOWN, "%s",
			    unusable->err.msg);
		return false;
	}
	if (back) {
		job->verdict = back->verdict;
		return false;
	}
	if (now_us(job) + OPEN_MIN_US > deadline_us) {
		pair_decide(&job->verdict, SAMPLE_TIMEOUT, TRI_UNKNOWN,
			    "no time left in the budget for this pair");
		return false;
	}
	r = join_to_try(job, job->from->options->mtu, &err);
	if (r < 0)
		decide_unopened(job, r, &err);
	job->verdict.mtu = pair_lanes_mtu(&job->writer);
	return r == 0;
}

/* Write through all attempts that are going, at once, then collect the outcome of each. */
static void write_all(struct attempt *tries, size_t n, bool full, uint64_t deadline_us)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct pair_job *job = tries[i].job;
		struct err err = ERR_INIT;

		if (!tries[i].going)
			continue;
		tries[i].r = pair_lanes_post(&job->writer,
					     full ? job->verdict.mtu : PAIR_SMALL_BYTES, &err);
		if (tries[i].r < 0)
			pair_decide(&job->verdict, SAMPLE_SET_UP, TRI_UNKNOWN, "%s", err.msg);
	}
	for (i = 0; i < n; i++) {
		struct pair_job *job = tries[i].job;
		struct err err = ERR_INIT;

		if (!tries[i].going || tries[i].r < 0)
			continue;
		tries[i].r = pair_lanes_wait(&job->writer,
					     MIN(deadline_us, now_us(job) + PAIR_TRY_US),
					     &tries[i].done, &err);
		if (tries[i].r < 0)
			pair_decide(&job->verdict, SAMPLE_SET_UP, TRI_UNKNOWN, "%s", err.msg);
	}
}

static bool failed(const struct attempt *t)
{
	return t->r == -ETIME || (t->r == 0 && t->done.status != RDMA_OK);
}

/* Retry with smaller packets: if they arrive, something on the path has a smaller MTU. */
static bool arrives_smaller(struct attempt *t, unsigned mtu, uint64_t deadline_us)
{
	struct pair_job *job = t->job;
	struct attempt again = { .job = job, .going = true };
	const unsigned full = job->verdict.mtu;
	struct err err = ERR_INIT;

	pair_part(job);
	if (now_us(job) + OPEN_MIN_US > deadline_us || join_to_try(job, mtu, &err) < 0)
		return false;
	job->verdict.mtu = mtu;
	write_all(&again, 1, true, deadline_us);
	job->verdict.mtu = full;
	if (again.r < 0 || failed(&again))
		return false;
	pair_decide(&job->verdict, SAMPLE_SET_UP, TRI_UNKNOWN,
		    "packets of %u bytes do not get from %s to %s, but those of %u do: something "
		    "between "
		    "them "
		    "has a smaller MTU; set the same MTU on all ports and switches",
		    full, job->from->port->device, job->to->port->device, mtu);
	return true;
}

static void decide_full_lost(struct attempt *t, uint64_t deadline_us)
{
	size_t i;

	for (i = 0; pair_smaller_mtus[i]; i++) {
		if (pair_smaller_mtus[i] < t->job->verdict.mtu &&
		    arrives_smaller(t, pair_smaller_mtus[i], deadline_us))
			return;
	}
	pair_decide_lost(&t->job->verdict, &t->job->writer, t->r, &t->done, PAIR_FULL_WORDS);
}

static void decide_connected(struct pair_job *job)
{
	const struct pair_lanes *w = &job->writer, *r = &job->reader;

	if (w->mtu == r->mtu)
		pair_decide(&job->verdict, SAMPLE_MEASURED, TRI_YES, "packets of %u bytes",
			    job->verdict.mtu);
	else
		pair_decide(&job->verdict, SAMPLE_MEASURED, TRI_YES,
			    "MTUs differ: %s has %u bytes, %s has %u; packets of %u bytes",
			    job->from->port->device, w->mtu, job->to->port->device, r->mtu,
			    job->verdict.mtu);
}

/* After a round of writes: decide which attempts go on. */
static void sort_out(struct attempt *tries, size_t n, bool full, uint64_t deadline_us)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct attempt *t = &tries[i];

		if (!t->going)
			continue;
		if (failed(t) && full)
			decide_full_lost(t, deadline_us);
		else if (failed(t))
			pair_decide_lost(&t->job->verdict, &t->job->writer, t->r, &t->done,
					 PAIR_SMALL_WORDS);
		else if (t->r == 0 && full)
			decide_connected(t->job);
		else if (t->r == 0)
			t->job->verdict.reached = true;
		t->going = t->r == 0 && !failed(t);
	}
}

void pair_connect_all(struct pair_job *jobs, size_t n, uint64_t deadline_us)
{
	CLEANUP(freep) struct attempt *tries = xcalloc(n, sizeof(*tries));
	size_t i;

	for (i = 0; i < n; i++) {
		tries[i].job = &jobs[i];
		tries[i].going = begin(jobs, i, deadline_us);
	}
	write_all(tries, n, false, deadline_us);
	sort_out(tries, n, false, deadline_us);
	write_all(tries, n, true, deadline_us);
	sort_out(tries, n, true, deadline_us);
	/* Naming a pair says that its ports should reach each other. */
	if (n > 0 && !jobs[0].from->options->cells)
		pair_tell_apart(jobs, n);
	for (i = 0; i < n; i++)
		pair_part(&jobs[i]);
}
