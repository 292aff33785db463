/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_vote.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_cause.h"
#include "probes/gemm/gemm_data.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_vote_words.h"

enum {
	AGAIN_RUNS = 3,
	SURE_MIN = 2,		       /* agreeing devices needed to be sure about another one */
	PIECE_BYTES = 4 * 1024 * 1024, /* downloaded and compared at once */
};

static struct gemm_job *job_of(const struct gemm_booth *b, unsigned i)
{
	return b->jobs ? &b->jobs[i] : &gemm_booth_device(b, i)->job;
}

/* --- one run --- */

/* Overwrite the result first, so that a missing write does not pass as the previous result. */
static int start(const struct gemm_booth *b, unsigned i, struct err *err)
{
	struct gemm_device *d = gemm_booth_device(b, i);
	const struct accel_ops *ops = d->plan->ops;
	struct gemm_job *job = job_of(b, i);
	struct accel_at from = { &job->x, 0 }, to = { &job->out, 0 };
	int r = ops->copy(d->stream, to, from, MIN(job->x.size, b->bytes), err);

	return r < 0 ? r : ops->gemm_run(job->gemm, d->stream, &job->x, &job->y, &job->out, err);
}

static uint64_t bits_at(const unsigned char *from, size_t size)
{
	uint64_t bits = 0;

	memcpy(&bits, from, size);
	return bits;
}

/* Record how the piece at `offset` differs from the first result. */
static void note_differences(const struct gemm_booth *b, size_t offset, size_t bytes,
			     struct gemm_version *v)
{
	size_t size = accel_dtype_size(b->shape.out), i;
	const unsigned char *first = (const unsigned char *)b->first + offset;

	for (i = 0; i < bytes / size; i++) {
		uint64_t at = offset / size + i, bits = bits_at(b->piece + i * size, size), state;

		if (bits == bits_at(first + i * size, size))
			continue;
		if (v->count++ == 0) {
			v->at = at;
			v->is = gemm_value(b->shape.out, b->piece, i);
			v->was = gemm_value(b->shape.out, first, i);
		}
		state = v->hash ^ at << 16 ^ bits;
		v->hash = gemm_random(&state);
	}
}

static int fetch(struct gemm_booth *b, unsigned i, struct gemm_version *v, struct err *err)
{
	const struct accel_ops *ops = b->run->plan->ops;
	const struct gemm_job *job = job_of(b, i);
	size_t offset, bytes;
	int r = 0;

	if (b->versions.n == 0)
		return ops->download(b->first, &job->out, 0, b->bytes, err);
	for (offset = 0; r == 0 && offset < b->bytes; offset += bytes) {
		bytes = MIN(b->bytes - offset, (size_t)PIECE_BYTES);
		r = ops->download(b->piece, &job->out, offset, bytes, err);
		if (r == 0 && memcmp(b->piece, (const char *)b->first + offset, bytes) != 0)
			note_differences(b, offset, bytes, v);
	}
	return r;
}

static int finish(struct gemm_booth *b, unsigned i, struct err *err)
{
	struct gemm_device *d = gemm_booth_device(b, i);
	struct gemm_voter *voter = &b->voters[i];
	struct gemm_version v = { 0 };
	int r = d->plan->ops->stream_wait(d->stream, d->plan->deadline_us, err);

	if (r == 0)
		r = fetch(b, i, &v, err);
	if (r < 0)
		return err_wrap(err, r, "%s, random product", d->info.subject);
	voter->versions[voter->n_runs++] = gemm_versions_add(&b->versions, &v);
	return 0;
}

static void do_run(struct gemm_booth *b, int (*step)(struct gemm_booth *, unsigned, struct err *))
{
	unsigned i;

	for (i = 0; i < b->n; i++) {
		struct gemm_device *d = gemm_booth_device(b, i);
		struct err err = ERR_INIT;
		int r = gemm_live(d) && job_of(b, i)->gemm ? step(b, i, &err) : 0;

		if (r < 0)
			gemm_fail(d, r, &err);
	}
}

static int start_step(struct gemm_booth *b, unsigned i, struct err *err)
{
	return start(b, i, err);
}

/* Repeat as often as time allows, at least once. Returns false if out of memory. */
static bool hear(struct gemm_booth *b, unsigned runs, uint64_t end_us)
{
	const struct gemm_plan *plan = b->run->plan;
	uint64_t now_us = plan->ops->now_us(plan->accel), longest_us = 0;
	unsigned i;

	b->first = malloc(b->bytes);
	b->piece = malloc(MIN(b->bytes, (size_t)PIECE_BYTES));
	if (!b->first || !b->piece)
		return false;
	for (i = 0; i < runs && (i == 0 || now_us + longest_us < end_us); i++) {
		uint64_t before_us = now_us;

		do_run(b, start_step);
		do_run(b, finish);
		now_us = plan->ops->now_us(plan->accel);
		longest_us = MAX(longest_us, now_us - before_us);
	}
	return true;
}

static void booth_init(struct gemm_booth *b, const struct gemm_booth *like,
		       const struct accel_gemm_shape *shape)
{
	*b = *like;
	b->shape = *shape;
	b->bytes = gemm_sizes(shape).out;
	b->first = NULL;
	b->piece = NULL;
	b->versions.n = 0;
	b->voters = xcalloc(b->n, sizeof(*b->voters));
}

/* The members belong to the caller. */
static void booth_release(struct gemm_booth *b)
{
	free(b->first);
	free(b->piece);
	free(b->voters);
}

/* --- investigating a difference --- */

static bool damaged(const struct gemm_device *d, const struct accel_region *region,
		    const unsigned char *sent, size_t size)
{
	CLEANUP(freep) unsigned char *back = malloc(MIN(size, (size_t)PIECE_BYTES));
	size_t offset, bytes;

	for (offset = 0; back && offset < size; offset += bytes) {
		bytes = MIN(size - offset, (size_t)PIECE_BYTES);
		if (d->plan->ops->download(back, region, offset, bytes, NULL) < 0)
			return false;
		if (memcmp(back, sent + offset, bytes) != 0)
			return true;
	}
	return false;
}

/* A device whose factors are damaged is wrong, and has no vote on the others. */
static void look_at_inputs(struct gemm_booth *b, struct gemm_vote *votes)
{
	const struct gemm_plan *plan = b->run->plan;
	struct gemm_factors f = { 0 };
	unsigned i;

	if (gemm_factors_init(&plan->shape, plan->seed, &f, NULL) < 0)
		return;
	for (i = 0; i < b->n; i++) {
		struct gemm_device *d = gemm_booth_device(b, i);

		if (b->voters[i].verdict == GEMM_RIGHT || !gemm_live(d))
			continue;
		votes[b->members[i]].input_damaged = damaged(d, &d->job.x, f.x, f.x_size) ||
						     damaged(d, &d->job.y, f.y, f.y_size);
		b->voters[i].silent = votes[b->members[i]].input_damaged;
	}
	gemm_factors_release(&f);
}

/* Upload random factors to all members. Returns false if out of memory. */
static bool send_factors(struct gemm_booth *b, uint64_t seed)
{
	CLEANUP(gemm_factors_release) struct gemm_factors f = { 0 };
	unsigned i;

	if (gemm_factors_init(&b->shape, seed, &f, NULL) < 0)
		return false;
	for (i = 0; i < b->n; i++) {
		struct gemm_device *d = gemm_booth_device(b, i);
		struct err err = ERR_INIT;
		int r = gemm_live(d) && job_of(b, i)->gemm
				? gemm_factors_upload(d, &f, job_of(b, i), &err)
				: 0;

		if (r < 0)
			gemm_fail(d, r, &err);
	}
	return true;
}

/* A device without enough memory does not take part again. */
static void set_up_again(struct gemm_booth *b)
{
	unsigned i;

	for (i = 0; i < b->n; i++) {
		struct gemm_device *d = gemm_booth_device(b, i);

		if (gemm_live(d))
			(void)gemm_job_init(d, &b->shape, &b->jobs[i], NULL);
	}
}

/* Repeat with other memory (the first jobs still hold theirs), another shape and other data. */
static void hear_again(const struct gemm_booth *first, struct gemm_vote *votes)
{
	const struct accel_gemm_shape shape = gemm_other_shape(&first->shape);
	CLEANUP(booth_release) struct gemm_booth b = { 0 };
	unsigned i, right;

	booth_init(&b, first, &shape);
	b.jobs = xcalloc(b.n, sizeof(*b.jobs));
	set_up_again(&b);
	if (send_factors(&b, ~b.run->plan->seed) && hear(&b, AGAIN_RUNS, b.run->plan->deadline_us))
		(void)gemm_ballot(b.voters, b.n, &right);
	for (i = 0; i < b.n; i++) {
		struct gemm_device *d = gemm_booth_device(&b, i);
		int before = first->voters[i].verdict, now = b.voters[i].verdict;

		votes[b.members[i]].again = now == GEMM_WRONG ||
					    (now == GEMM_UNDECIDED && before == GEMM_UNDECIDED);
		/*
		 * A hung stream must be freed first, and with it the engine's claim on this memory.
		 */
		if (d->failed != -ETIMEDOUT)
			gemm_job_release(d, &b.jobs[i]);
	}
	free(b.jobs);
}

static unsigned count(const struct gemm_booth *b, int verdict)
{
	unsigned i, n = 0;

	for (i = 0; i < b->n; i++)
		n += b->voters[i].verdict == verdict && !b->voters[i].silent;
	return n;
}

/*
 * No version is right, and at least half of the devices contradict themselves: the product is not
 * reproducible here, because of its algorithm, and no device is at fault.
 */
static bool is_loose(const struct gemm_booth *b)
{
	unsigned wrong = count(b, GEMM_WRONG);

	return b->right >= b->versions.n && wrong && wrong >= count(b, GEMM_UNDECIDED);
}

static void call_off(struct gemm_booth *b, struct gemm_vote *votes)
{
	unsigned i;

	for (i = 0; i < b->n; i++) {
		struct gemm_vote *vote = &votes[b->members[i]];

		if (b->voters[i].verdict != GEMM_ABSENT)
			vote->note = xasprintf("no vote: random products differ from run to run on "
					       "%u of %u GPUs",
					       count(b, GEMM_WRONG), b->n);
	}
}

static void judge(struct gemm_booth *b, struct gemm_vote *votes)
{
	bool all_right = gemm_ballot(b->voters, b->n, &b->right);
	unsigned i;

	for (i = 0; i < b->n; i++)
		all_right = all_right && b->voters[i].verdict != GEMM_WRONG;
	if (!all_right) {
		look_at_inputs(b, votes);
		(void)gemm_ballot(b->voters, b->n, &b->right);
	}
	if (is_loose(b)) {
		call_off(b, votes);
		return;
	}
	if (!all_right)
		hear_again(b, votes);
	for (i = 0; i < b->n; i++) {
		votes[b->members[i]].sure = count(b, GEMM_RIGHT) >= SURE_MIN &&
					    count(b, GEMM_RIGHT) > count(b, GEMM_WRONG);
		gemm_vote_tell(b, i, &votes[b->members[i]]);
	}
}

/* --- who votes together --- */

static void hold(struct gemm_run *run, unsigned *members, unsigned n, struct gemm_vote *votes)
{
	const struct gemm_plan *plan = run->plan;
	uint64_t end_us = plan->ops->now_us(plan->accel) + plan->vote_us;
	const struct gemm_booth like = { .run = run, .members = members, .n = n };
	CLEANUP(booth_release) struct gemm_booth b = { 0 };

	booth_init(&b, &like, &plan->shape);
	/* Exact products of the same shape have overwritten the factors. */
	if (!plan->check_shape.m && !send_factors(&b, plan->seed))
		return;
	if (hear(&b, GEMM_RUNS_MAX, MIN(end_us, plan->deadline_us)))
		judge(&b, votes);
}

void gemm_vote(struct gemm_run *run, const bool *takes_part, struct gemm_vote *votes)
{
	CLEANUP(freep) bool *heard = xcalloc(run->n, sizeof(*heard));
	CLEANUP(freep) unsigned *members = xcalloc(run->n, sizeof(*members));
	unsigned i, j, n;

	for (i = 0; run->plan->vote_us && i < run->n; i++) {
		for (j = i, n = 0; j < run->n; j++) {
			struct gemm_device *d = &run->devices[j];

			if (heard[j] || !takes_part[j] || !gemm_live(d) || !d->job.gemm ||
			    (n && !gemm_same_kind(&run->devices[members[0]], d)))
				continue;
			members[n++] = j;
			heard[j] = true;
		}
		if (n)
			hold(run, members, n, votes);
	}
}

void gemm_vote_release(struct gemm_vote *vote)
{
	free(vote->words);
	free(vote->note);
	strv_free(vote->with);
	*vote = (struct gemm_vote){ 0 };
}
