/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_lead.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/all_reduce/reduce.h"
#include "probes/all_reduce/reduce_emit.h"
#include "probes/all_reduce/reduce_nccl.h"
#include "probes/all_reduce/reduce_part.h"
#include "probes/all_reduce/reduce_tally.h"

enum { PINGS = 8, TRIAL_OPS = 2, NSEC_PER_USEC = 1000 };

/* Resolving an unreachable address takes seconds. */
#define ANSWER_US (20 * USEC_PER_SEC)
/* Time for the rest of a frame that has begun to arrive. */
#define FRAME_US (5 * USEC_PER_SEC)
/* Divisor of the time left for one request: the windows, and warm-ups and checks as well. */
enum { PARTS = REDUCE_WINDOWS + 6 };

static void blame(struct reduce_session *s, int suspect, const char *format, ...) PRINTF(3, 4);
static void blame(struct reduce_session *s, int suspect, const char *format, ...)
{
	va_list args;

	if (s->why[0])
		return;
	s->suspect = suspect;
	va_start(args, format);
	(void)vsnprintf(s->why, sizeof(s->why), format, args);
	va_end(args);
}

static void lose(struct reduce_session *s, unsigned rank, const struct err *err)
{
	CLEANUP(freep) char *name = reduce_name(s, rank);

	s->peers[rank].gone = true;
	blame(s, (int)rank, "%s: %.300s", name, err->msg);
}

/* Waits until the deadline, but not past the end of this side's time. */
static void hear_from(struct reduce_session *s, unsigned rank, uint64_t deadline_us)
{
	struct reduce_peer *p = &s->peers[rank];
	struct err err = ERR_INIT;
	int r;

	reduce_message_release(&p->answer);
	r = reduce_hear(&p->line, MIN(deadline_us, s->deadline_us), &p->answer, &err);
	if (r < 0)
		lose(s, rank, &err);
	p->answered = r == 0;
}

static void ask(struct reduce_session *s, unsigned rank, const struct reduce_message *m)
{
	struct err err = ERR_INIT;

	s->peers[rank].answered = false;
	if (!s->peers[rank].gone &&
	    reduce_say(&s->peers[rank].line, m, MIN(s->deadline_us, clock_mono_us() + FRAME_US),
		       &err) < 0)
		lose(s, rank, &err);
}

static void ask_all(struct reduce_session *s, const struct reduce_message *m)
{
	unsigned rank;

	for (rank = 1; rank < s->n; rank++)
		ask(s, rank, m);
}

static void not_ready(struct reduce_session *s, unsigned rank, const struct reduce_message *m)
{
	blame(s, (int)rank, "%s", m->why);
	s->busy = m->busy;
}

/*
 * Wait until all have answered with `kind`, or one has failed to or said why it cannot. -ECANCELED.
 */
static int gather(struct reduce_session *s, int kind, uint64_t deadline_us, struct err *err)
{
	unsigned rank;

	for (rank = 1; rank < s->n && !s->why[0]; rank++) {
		struct reduce_peer *p = &s->peers[rank];

		if (!p->answered)
			hear_from(s, rank, deadline_us);
		if (!p->answered)
			continue;
		if (p->answer.kind == REDUCE_READY && p->answer.why[0])
			not_ready(s, rank, &p->answer);
		else if (p->answer.kind != kind)
			blame(s, (int)rank, "rank %u sent an unexpected answer", rank);
	}
	return s->why[0] ? err_set(err, ECANCELED, "%s", s->why) : 0;
}

/* --- messages of the others while this rank is in an operation --- */

static bool look(void *context, int *ret_suspect, char ret_why[static COLL_WHY_SIZE])
{
	struct reduce_session *s = context;
	struct pollfd fds[COLL_RANKS_MAX];
	unsigned rank;

	for (rank = 1; rank < s->n; rank++)
		fds[rank] = (struct pollfd){ .fd = s->peers[rank].answered ? -1
									   : s->peers[rank].line.fd,
					     .events = POLLIN };
	if (poll(fds + 1, s->n - 1, 0) <= 0)
		return false;
	for (rank = 1; rank < s->n; rank++) {
		const struct reduce_message *m = &s->peers[rank].answer;

		if (!fds[rank].revents)
			continue;
		hear_from(s, rank, clock_mono_us() + FRAME_US);
		if (s->peers[rank].answered && m->kind == REDUCE_READY && m->why[0])
			not_ready(s, rank, m);
		if (s->peers[rank].answered && m->kind == REDUCE_DONE && m->state != COLL_DONE)
			blame(s, m->suspect < s->n ? (int)m->suspect : COLL_NOBODY, "%s", m->why);
	}
	*ret_suspect = s->suspect;
	(void)snprintf(ret_why, COLL_WHY_SIZE, "%.*s", COLL_WHY_SIZE - 1, s->why);
	return s->why[0] != '\0';
}

/* Listen to all ranks until a connection breaks or all have answered. */
static void listen_to_all(struct reduce_session *s, uint64_t deadline_us)
{
	while (!s->why[0] && clock_left_us(deadline_us) > 0) {
		struct pollfd fds[COLL_RANKS_MAX];
		unsigned rank, silent = 0;

		for (rank = 1; rank < s->n; rank++) {
			silent += !s->peers[rank].answered;
			fds[rank] = (struct pollfd){ .fd = s->peers[rank].answered
								   ? -1
								   : s->peers[rank].line.fd,
						     .events = POLLIN };
		}
		if (silent == 0 || poll(fds + 1, s->n - 1, clock_left_ms(deadline_us)) <= 0)
			return;
		for (rank = 1; rank < s->n; rank++) {
			if (fds[rank].revents)
				hear_from(s, rank, clock_mono_us() + FRAME_US);
		}
	}
}

/* When time is up, everyone who is alive has reported that. */
static void blame_silent(struct reduce_session *s, const struct reduce_message *own)
{
	bool late = own->state == COLL_LATE;
	unsigned rank;

	for (rank = 1; rank < s->n; rank++)
		late = late ||
		       (s->peers[rank].answered && s->peers[rank].answer.state == COLL_LATE);
	for (rank = 1; late && rank < s->n; rank++) {
		CLEANUP(freep) char *name = reduce_name(s, rank);

		if (!s->peers[rank].answered)
			blame(s, (int)rank, "%s had not answered when time ran out", name);
	}
}

/*
 * Somebody's part failed. A broken connection says more than a dead link or a timeout: the rank
 * that died is at fault, and all others were only waiting for it.
 */
static void find_fault(struct reduce_session *s, const struct reduce_message *own)
{
	const uint64_t deadline_us = MIN(clock_mono_us() + s->grace_us, s->deadline_us);
	char before[PAIR_NOTE_SIZE];
	const int suspect = s->why[0]		  ? s->suspect
			    : own->suspect < s->n ? (int)own->suspect
						  : COLL_NOBODY;
	unsigned rank;

	for (rank = 1; rank < s->n; rank++) {
		if (s->peers[rank].gone)
			return;
	}
	(void)snprintf(before, sizeof(before), "%s", s->why[0] ? s->why : own->why);
	s->why[0] = '\0';
	listen_to_all(s, deadline_us);
	blame_silent(s, own);
	blame(s, suspect, "%s", before);
}

/* The purpose of operations. */
enum { CHECKED, TRIAL, TIMED };

/* Ask all for operations and take part in them; -ECANCELED if not all finished. */
static int go(struct reduce_session *s, uint64_t ops, int what, struct reduce_message *ret,
	      struct err *err)
{
	const struct coll_watch watch = { look, s };
	const uint64_t left_us = clock_left_us(s->deadline_us);
	struct reduce_message m = reduce_message_init(REDUCE_GO);
	unsigned rank;
	int r;

	m.ops = ops;
	m.check = what == CHECKED;
	m.timed = what == TIMED;
	m.within_us = MIN(left_us / 2, s->go_us);
	ask_all(s, &m);
	reduce_go(s, &m, &watch, ret);
	if (ret->state == COLL_DONE && !s->why[0]) {
		r = gather(s, REDUCE_DONE, clock_mono_us() + m.within_us + s->grace_us, err);
		for (rank = 1; r == 0 && rank < s->n; rank++) {
			const struct reduce_message *answer = &s->peers[rank].answer;

			if (answer->state != COLL_DONE)
				blame(s, answer->suspect < s->n ? (int)answer->suspect : (int)rank,
				      "%s", answer->why);
		}
	}
	if (ret->state == COLL_DONE && !s->why[0])
		return 0;
	find_fault(s, ret);
	return err_set(err, ECANCELED, "%s", s->why);
}

/* --- the sequence of a session --- */

/* All must use the same engine; -ECANCELED. */
static int check_engines(struct reduce_session *s, struct err *err)
{
	unsigned rank;

	for (rank = 1; rank < s->n; rank++) {
		const struct reduce_message *hello = &s->peers[rank].answer;

		if (hello->engine != s->engine)
			blame(s, COLL_NOBODY,
			      "%s was started with --engine %s and %s with %s: give all hosts the "
			      "same",
			      s->node, reduce_engine_names[s->engine], hello->node,
			      reduce_engine_names[hello->engine]);
	}
	return s->why[0] ? err_set(err, ECANCELED, "%s", s->why) : 0;
}

static int make_plan(struct reduce_session *s, struct err *err)
{
	CLEANUP(reduce_message_release)
	struct reduce_message plan = reduce_message_init(REDUCE_PLAN);
	unsigned rank;

	if (check_engines(s, err) < 0)
		return -ECANCELED;
	s->nodes = xcalloc(s->n + 1, sizeof(*s->nodes));
	s->nodes[0] = xstrdup(s->node);
	s->rails = s->n_sides;
	for (rank = 1; rank < s->n; rank++) {
		struct reduce_message *hello = &s->peers[rank].answer;

		s->nodes[rank] = xstrdup(hello->node);
		s->rails = MIN(s->rails, hello->rails);
		s->bytes = MIN(s->bytes, hello->bytes);
	}
	s->bytes = s->bytes / (4 * s->n) * (4 * s->n);
	plan.nodes = xcalloc(s->n + 1, sizeof(*plan.nodes));
	for (rank = 0; rank < s->n; rank++)
		plan.nodes[rank] = xstrdup(s->nodes[rank]);
	plan.rails = s->rails;
	plan.bytes = s->bytes;
	plan.size = s->size;
	plan.qps = s->qps;
	plan.engine = s->engine;
	ask_all(s, &plan);
	return 0;
}

/*
 * Read the clock of each other rank half way between asking and hearing, and use the quickest try.
 */
static int compare_clocks(struct reduce_session *s, struct err *err)
{
	const struct reduce_message ping = reduce_message_init(REDUCE_PING);
	struct rdma_engine *engine = s->sides[0].engine;
	unsigned rank, i;

	for (rank = 1; rank < s->n; rank++) {
		struct reduce_peer *p = &s->peers[rank];
		uint64_t best_ns = UINT64_MAX;

		for (i = 0; i < PINGS && !s->why[0]; i++) {
			const uint64_t from_ns = engine->ops->now_ns(engine);
			uint64_t to_ns;

			ask(s, rank, &ping);
			hear_from(s, rank, clock_mono_us() + ANSWER_US);
			to_ns = engine->ops->now_ns(engine);
			if (!p->answered || p->answer.kind != REDUCE_PONG)
				blame(s, (int)rank, "rank %u sent an unexpected answer", rank);
			if (to_ns - from_ns >= best_ns)
				continue;
			best_ns = to_ns - from_ns;
			p->ahead_ns = (int64_t)(p->answer.now_ns - from_ns - best_ns / 2);
		}
	}
	return s->why[0] ? err_set(err, ECANCELED, "%s", s->why) : 0;
}

/* Everyone opens queues, or checks the GPU of the rail; `ret` is rank 0's own answer. */
static int open_rail(struct reduce_session *s, uint64_t rail, struct reduce_message *ret,
		     struct err *err)
{
	struct reduce_message m = reduce_message_init(REDUCE_OPEN);

	m.rail = rail;
	ask_all(s, &m);
	reduce_open(s, rail, ret);
	if (ret->kind == REDUCE_READY && ret->why[0])
		not_ready(s, 0, ret);
	return gather(s, s->engine == REDUCE_NCCL ? REDUCE_READY : REDUCE_OFFER,
		      clock_mono_us() + ANSWER_US, err);
}

/* Everyone connects to the neighbours and becomes ready. */
static int join_ring(struct reduce_session *s, const struct coll_offer *own, struct err *err)
{
	CLEANUP(reduce_message_release)
	struct reduce_message joined = reduce_message_init(REDUCE_BYE);
	struct coll_offer offers[COLL_RANKS_MAX];
	struct reduce_message m = reduce_message_init(REDUCE_JOIN);
	unsigned rank;

	offers[0] = *own;
	for (rank = 1; rank < s->n; rank++)
		offers[rank] = s->peers[rank].answer.offer;
	for (rank = s->n; rank-- > 0;) {
		m.offer.before = offers[(rank + s->n - 1) % s->n].next;
		m.offer.next = offers[(rank + 1) % s->n].before;
		if (rank > 0)
			ask(s, rank, &m);
		else
			reduce_join(s, &m.offer, &joined);
	}
	if (joined.why[0])
		not_ready(s, 0, &joined);
	return gather(s, REDUCE_READY, clock_mono_us() + ANSWER_US, err);
}

/* Everyone joins an NCCL group, which only completes when the last has joined. */
static int unite(struct reduce_session *s, struct err *err)
{
	CLEANUP(reduce_message_release) struct reduce_message m = reduce_message_init(REDUCE_UNITE);
	CLEANUP(reduce_message_release)
	struct reduce_message own = reduce_message_init(REDUCE_READY);
	const struct coll_watch watch = { look, s };
	struct err why = ERR_INIT;
	int r = reduce_nccl_id(&s->nccl, &m.id, &why);

	if (r < 0) {
		blame(s, 0, "%s: %.400s", s->node, why.msg);
		return err_set(err, ECANCELED, "%s", s->why);
	}
	ask_all(s, &m);
	reduce_unite(s, m.id, &watch, &own);
	if (own.why[0])
		not_ready(s, 0, &own);
	return gather(s, REDUCE_READY, clock_mono_us() + ANSWER_US, err);
}

static int connect_rail(struct reduce_session *s, uint64_t rail, struct err *err)
{
	CLEANUP(reduce_message_release) struct reduce_message own = reduce_message_init(REDUCE_BYE);
	int r = open_rail(s, rail, &own, err);

	if (r < 0)
		return r;
	return s->engine == REDUCE_NCCL ? unite(s, err) : join_ring(s, &own.offer, err);
}

/* Each rank judges its own port; the first one with foreign traffic is announced to all. */
static int ask_whose(struct reduce_session *s, struct reduce_tally *t, struct err *err)
{
	CLEANUP(reduce_message_release) struct reduce_message m = reduce_message_init(REDUCE_WHOSE);
	CLEANUP(reduce_message_release)
	struct reduce_message own = reduce_message_init(REDUCE_SEEN);
	unsigned rank;
	int r;

	m.again = (struct jreals){ xcalloc(s->n, sizeof(double)), s->n };
	for (rank = 0; rank < s->n; rank++)
		m.again.v[rank] = (double)t->resends[rank];
	ask_all(s, &m);
	reduce_see(s, &m, &own);
	r = gather(s, REDUCE_SEEN, clock_mono_us() + ANSWER_US, err);
	for (rank = 0; r == 0 && rank < s->n && !t->foreign[0]; rank++) {
		const char *why = rank ? s->peers[rank].answer.why : own.why;

		if (why[0])
			(void)snprintf(t->foreign, sizeof(t->foreign), "%s: %.400s", s->nodes[rank],
				       why);
	}
	return r;
}

static int tell_result(struct reduce_session *s, uint64_t rail, struct reduce_tally *t)
{
	CLEANUP(reduce_message_release) struct reduce_message m = reduce_tally_result(s, rail, t);
	int r;

	ask_all(s, &m);
	r = reduce_emit(s, &m);
	reduce_shut(s);
	return r;
}

/* Check fresh data before and after; measure in between. */
static int run_rail(struct reduce_session *s, uint64_t rail, struct err *err)
{
	CLEANUP(freep) struct reduce_tally *t = xcalloc(1, sizeof(*t));
	struct reduce_message done = reduce_message_init(REDUCE_DONE);
	uint64_t ops = 1, us, window_us;
	int r = connect_rail(s, rail, err), i;

	/* Per rail, because the clocks of two hosts drift apart. */
	if (r == 0)
		r = compare_clocks(s, err);
	if (r == 0)
		r = go(s, 1, CHECKED, &done, err);
	for (i = 0; r == 0 && i <= REDUCE_WINDOWS; i++) {
		reduce_message_release(&done);
		r = go(s, i == 0 ? TRIAL_OPS : ops, i == 0 ? TRIAL : TIMED, &done, err);
		if (r == 0 && i > 0)
			reduce_tally_add(s, &done, t);
		if (r < 0 || i > 0)
			continue;
		us = (done.ended_ns - done.arrived_ns) / NSEC_PER_USEC / TRIAL_OPS + 1;
		window_us = MIN(clock_left_us(s->deadline_us) / (s->rails - rail) / PARTS,
				s->window_us);
		ops = MIN(MAX(window_us / us, UINT64_C(1)), (uint64_t)REDUCE_OPS_MAX);
	}
	reduce_message_release(&done);
	if (r == 0)
		r = go(s, 1, CHECKED, &done, err);
	reduce_message_release(&done);
	if (r == 0)
		r = ask_whose(s, t, err);
	return r == 0 ? tell_result(s, rail, t) : r;
}

/* However it ended, nobody must be left waiting. */
static void say_stop(struct reduce_session *s)
{
	struct reduce_message m = reduce_message_init(REDUCE_STOP);
	const uint64_t deadline_us = clock_mono_us() + FRAME_US;
	unsigned rank;

	m.suspect = s->suspect < 0 ? REDUCE_NOBODY : (uint64_t)s->suspect;
	m.why = s->why;
	m.busy = s->busy;
	for (rank = 1; rank < s->n; rank++) {
		if (!s->peers[rank].gone && s->peers[rank].line.fd >= 0)
			(void)reduce_say(&s->peers[rank].line, &m, deadline_us, NULL);
	}
}

int reduce_lead(struct reduce_session *s, struct err *err)
{
	const struct reduce_message bye = reduce_message_init(REDUCE_BYE);
	uint64_t rail;
	int r = s->why[0] ? err_set(err, ECANCELED, "%s", s->why) : make_plan(s, err);

	for (rail = 0; r == 0 && rail < s->rails; rail++)
		r = run_rail(s, rail, err);
	if (r == 0)
		ask_all(s, &bye);
	else
		say_stop(s);
	return r;
}
