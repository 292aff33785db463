/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/attribution/pipeline.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { NOTHING_NS = 1000 }; /* duration of a transfer without a peer */

/* Times of one kind of operation of a stage, by seq_id; -1: not computed yet. */
struct times {
	int64_t *start, *end;
	int next; /* the first without a start */
};

struct stage {
	struct slot *slots;
	int n, next;	/* number of slots, and the next one */
	int64_t done;	/* end of the previous compute */
	int64_t posted; /* when the first backward receive may be posted */
	int first_back; /* index of the first backward slot */
	struct times compute[2], send[2], recv[2];
};

struct pipeline {
	const struct job *job;
	int step, d, n; /* n: computes of one kind of a stage */
	const int64_t *ready;
	struct stage *stages;
	struct slot *order[2]; /* by seq: chunk and micro-batch, the same on all stages */
	int *seq_of[2];	       /* [mc * mb + i] */
};

/* Interleaved: micro-batches go through the chunks in groups of pp. */
static void make_order(struct pipeline *pl)
{
	const struct job *job = pl->job;
	int group = job->vpp > 1 ? job->pp : job->mb, work, k;

	for (work = 0; work < 2; work++) {
		for (k = 0; k < pl->n; k++) {
			int chunk = k / group % job->vpp;
			int mb = k / (group * job->vpp) * group + k % group;

			if (work == BACKWARD)
				chunk = job->vpp - 1 - chunk;
			pl->order[work][k] = (struct slot){ work, chunk, mb, k };
			pl->seq_of[work][chunk * job->mb + mb] = k;
		}
	}
}

/* 1F1B: some forwards to fill the pipeline, then one forward and one backward alternately. */
static void make_schedule(struct pipeline *pl, int p)
{
	const struct job *job = pl->job;
	struct stage *stage = &pl->stages[p];
	int warm = job->pp - 1 - p, f = 0, b = 0;

	if (job->vpp > 1)
		warm = 2 * warm + (job->vpp - 1) * job->pp;
	warm = MIN(warm, pl->n);
	stage->n = 2 * pl->n;
	while (f < warm)
		stage->slots[f] = pl->order[FORWARD][f], f++;
	while (f + b < stage->n) {
		if (f < pl->n) {
			stage->slots[f + b] = pl->order[FORWARD][f];
			f++;
		}
		stage->slots[f + b] = pl->order[BACKWARD][b];
		b++;
	}
	for (stage->first_back = 0; stage->slots[stage->first_back].work == FORWARD;)
		stage->first_back++;
	/* The first backward's receive is posted two computes before it, else at once. */
	stage->posted = stage->first_back >= 2 ? -1 : 0;
}

/* Returns the stage that sends what stage p receives; -1: none. */
static int sender_of(const struct pipeline *pl, int p, int work, int seq, int *ret_seq)
{
	const struct job *job = pl->job;
	const struct slot *slot = &pl->order[work][seq];
	int step = work == FORWARD ? -1 : 1, from = p + step, mc = slot->mc;

	if (from < 0 || from >= job->pp) {
		from = (from + job->pp) % job->pp;
		mc += step;
	}
	if (mc < 0 || mc >= job->vpp || job->pp == 1)
		return -1;
	*ret_seq = pl->seq_of[work][mc * job->mb + slot->mb];
	return from;
}

static bool sends_to_nobody(const struct pipeline *pl, int p, int work, int seq)
{
	int mc = pl->order[work][seq].mc;

	return work == FORWARD ? p == pl->job->pp - 1 && mc == pl->job->vpp - 1 : p == 0 && mc == 0;
}

/* With chunks, a transfer without a peer is also executed; otherwise it does not exist. */
static bool is_there(const struct pipeline *pl, int p, int work, int seq, bool is_send)
{
	int unused;
	bool peer = is_send ? !sends_to_nobody(pl, p, work, seq)
			    : sender_of(pl, p, work, seq, &unused) >= 0;

	return pl->job->pp > 1 && (peer || pl->job->vpp > 1);
}

static int64_t end_before(const struct times *times, int seq)
{
	return seq ? times->end[seq - 1] : 0;
}

static bool advance_compute(struct pipeline *pl, int p)
{
	struct stage *stage = &pl->stages[p];
	const struct slot *slot = &stage->slots[stage->next];
	struct times *compute;
	int64_t start = stage->done;
	int seq;

	if (stage->next == stage->n)
		return false;
	compute = &stage->compute[slot->work];
	seq = slot->seq;
	if (is_there(pl, p, slot->work, seq, false)) {
		if (stage->recv[slot->work].end[seq] < 0)
			return false;
		start = MAX(start, stage->recv[slot->work].end[seq]);
	}
	if (slot->work == FORWARD)
		start = MAX(start, pl->ready[p * pl->job->vpp + slot->mc]);
	if (stage->next == 0 && p == 0)
		start += pl->job->loading_ns;
	compute->start[seq] = start;
	stage->done = compute->end[seq] = start + job_compute_ns(pl->job, pl->step, pl->d, p, slot);
	compute->next = seq + 1;
	if (stage->next == stage->first_back - 2)
		stage->posted = stage->done;
	stage->next++;
	return true;
}

/* A send starts when its compute and the previous send have ended. */
static bool advance_send(struct pipeline *pl, int p, int work)
{
	struct stage *stage = &pl->stages[p];
	struct times *send = &stage->send[work];
	int seq = send->next;
	int64_t before = seq < pl->n ? end_before(send, seq) : -1;

	if (seq == pl->n || stage->compute[work].next <= seq || before < 0)
		return false;
	send->start[seq] = MAX(stage->compute[work].end[seq], before);
	if (sends_to_nobody(pl, p, work, seq))
		send->end[seq] = send->start[seq] + NOTHING_NS;
	send->next++;
	return true;
}

/* A receive is posted when the previous compute and the previous receive have ended. */
static bool advance_recv(struct pipeline *pl, int p, int work)
{
	struct stage *stage = &pl->stages[p];
	struct times *recv = &stage->recv[work];
	int seq = recv->next, unused;
	int64_t before = seq < pl->n ? end_before(recv, seq) : -1;

	if (seq == pl->n || before < 0)
		return false;
	if (seq == 0 && work == BACKWARD) {
		if (stage->posted < 0)
			return false;
		before = MAX(before, stage->posted);
	}
	if (seq > 0) {
		if (stage->compute[work].next < seq)
			return false;
		before = MAX(before, stage->compute[work].end[seq - 1]);
	}
	recv->start[seq] = before;
	if (sender_of(pl, p, work, seq, &unused) < 0)
		recv->end[seq] = before + NOTHING_NS;
	recv->next++;
	return true;
}

/* Runs the oldest transfer into a stage for which both ends are ready. */
static bool advance_transfer(struct pipeline *pl, int p, int work)
{
	struct times *recv = &pl->stages[p].recv[work], *send;
	int seq = recv->next - 1, peer_seq = 0, from;
	int64_t ns;

	if (seq < 0 || recv->end[seq] >= 0)
		return false;
	from = sender_of(pl, p, work, seq, &peer_seq);
	send = &pl->stages[from].send[work];
	if (send->next <= peer_seq)
		return false;
	ns = job_transfer_ns(pl->job, pl->step, pl->d, MIN(p, from), work, seq);
	recv->end[seq] = send->end[peer_seq] = MAX(recv->start[seq], send->start[peer_seq]) + ns;
	return true;
}

static size_t write_ops(struct pipeline *pl, int p, int work, struct job_op *ops)
{
	const struct stage *stage = &pl->stages[p];
	const struct times *kinds[] = { &stage->compute[work], &stage->send[work],
					&stage->recv[work] };
	static const int types[] = { JOB_COMPUTE, JOB_SEND, JOB_RECV };
	size_t n = 0, k;
	int i, seq;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (i = 0, seq = 0; i < pl->n; i++) {
			const struct slot *slot = &pl->order[work][i];

			if (k > 0 && !is_there(pl, p, work, i, k == 1))
				continue;
			ops[n++] = (struct job_op){ pl->step,
						    pl->d,
						    p,
						    types[k] + work,
						    seq++,
						    k ? -1 : slot->mb,
						    k ? -1 : slot->mc,
						    kinds[k]->start[i],
						    kinds[k]->end[i] };
		}
	}
	return n;
}

static int64_t *unknown(int n)
{
	int64_t *values = xcalloc((size_t)n, sizeof(*values));

	memset(values, -1, (size_t)n * sizeof(*values));
	return values;
}

static struct pipeline *pipeline_new(const struct job *job, int step, int d, const int64_t *ready)
{
	struct pipeline *pl = xcalloc(1, sizeof(*pl));
	int p, work, n = job->mb * job->vpp;

	*pl = (struct pipeline){ .job = job, .step = step, .d = d, .n = n, .ready = ready };
	pl->stages = xcalloc((size_t)job->pp, sizeof(*pl->stages));
	for (work = 0; work < 2; work++) {
		pl->order[work] = xcalloc((size_t)n, sizeof(struct slot));
		pl->seq_of[work] = xcalloc((size_t)n, sizeof(int));
	}
	make_order(pl);
	for (p = 0; p < job->pp; p++) {
		struct stage *stage = &pl->stages[p];

		stage->slots = xcalloc((size_t)n * 2, sizeof(*stage->slots));
		for (work = 0; work < 2; work++) {
			stage->compute[work] = (struct times){ unknown(n), unknown(n), 0 };
			stage->send[work] = (struct times){ unknown(n), unknown(n), 0 };
			stage->recv[work] = (struct times){ unknown(n), unknown(n), 0 };
		}
		make_schedule(pl, p);
	}
	return pl;
}

static void times_free(struct times *times)
{
	free(times->start);
	free(times->end);
}

static void pipeline_free(struct pipeline *pl)
{
	int p, work;

	for (p = 0; p < pl->job->pp; p++) {
		free(pl->stages[p].slots);
		for (work = 0; work < 2; work++) {
			times_free(&pl->stages[p].compute[work]);
			times_free(&pl->stages[p].send[work]);
			times_free(&pl->stages[p].recv[work]);
		}
	}
	for (work = 0; work < 2; work++) {
		free(pl->order[work]);
		free(pl->seq_of[work]);
	}
	free(pl->stages);
	free(pl);
}

/* Advances a stage as far as possible. */
static bool advance(struct pipeline *pl, int p)
{
	bool any = false, more = true;
	int work;

	while (more) {
		more = advance_compute(pl, p);
		for (work = 0; work < 2; work++) {
			more |= advance_send(pl, p, work);
			more |= advance_recv(pl, p, work);
			more |= advance_transfer(pl, p, work);
		}
		any |= more;
	}
	return any;
}

size_t pipeline_play(const struct job *job, int step, int d, const int64_t *ready, int64_t *ret_end,
		     struct job_op *ops)
{
	struct pipeline *pl = pipeline_new(job, step, d, ready);
	bool more = true;
	size_t n = 0;
	int p;

	while (more) {
		more = false;
		for (p = 0; p < job->pp; p++)
			more |= advance(pl, p);
	}
	for (p = 0; p < job->pp; p++) {
		if (pl->stages[p].next < pl->stages[p].n)
			abort(); /* the schedule deadlocks */
		ret_end[p] = pl->stages[p].done;
		n += write_ops(pl, p, FORWARD, ops + n);
		n += write_ops(pl, p, BACKWARD, ops + n);
	}
	pipeline_free(pl);
	return n;
}
