/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_follow.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/all_reduce/reduce.h"
#include "probes/all_reduce/reduce_emit.h"
#include "probes/all_reduce/reduce_part.h"

/* Time for the rest of a frame that has begun to arrive. */
#define FRAME_US (5 * USEC_PER_SEC)

static struct oob *line_of(struct reduce_session *s)
{
	return &s->peers[0].line;
}

static void set_stopped(struct reduce_session *s, int suspect, const char *why)
{
	s->suspect = suspect;
	(void)snprintf(s->why, sizeof(s->why), "%s", why);
}

static int told_to_stop(struct reduce_session *s, const struct reduce_message *m, struct err *err)
{
	s->busy = m->busy;
	set_stopped(s, m->suspect < s->n ? (int)m->suspect : COLL_NOBODY, m->why);
	return err_set(err, ECANCELED, "%s", s->why);
}

static int lost_leader(struct reduce_session *s, struct err *err)
{
	CLEANUP(freep) char *name = reduce_name(s, 0);
	CLEANUP(freep) char *why = xasprintf("%s: %.300s", name, err->msg);

	set_stopped(s, 0, why);
	return err_set(err, ECONNRESET, "%s", s->why);
}

/* During an operation the only message from rank 0 is that it is over. */
static bool look(void *context, int *ret_suspect, char ret_why[static COLL_WHY_SIZE])
{
	CLEANUP(reduce_message_release) struct reduce_message m = reduce_message_init(REDUCE_BYE);
	struct reduce_session *s = context;
	struct pollfd fd = { .fd = line_of(s)->fd, .events = POLLIN };
	struct err err = ERR_INIT;

	if (poll(&fd, 1, 0) <= 0)
		return false;
	if (reduce_hear(line_of(s), MIN(clock_mono_us() + FRAME_US, s->deadline_us), &m, &err) < 0)
		(void)lost_leader(s, &err);
	else if (m.kind == REDUCE_STOP)
		(void)told_to_stop(s, &m, &err);
	else
		set_stopped(s, 0, "rank 0 sent something else while it should have waited");
	*ret_suspect = s->suspect;
	(void)snprintf(ret_why, COLL_WHY_SIZE, "%.*s", COLL_WHY_SIZE - 1, s->why);
	return true;
}

static int on_plan(struct reduce_session *s, struct reduce_message *m,
		   struct reduce_message *answer, struct err *err)
{
	(void)answer;
	if (strv_len(m->nodes) != s->n || m->rails > s->n_sides || m->bytes % (4 * s->n) != 0)
		return err_set(err, EPROTO, "the plan of rank 0 does not fit this host");
	if (m->engine != s->engine)
		return err_set(err, EPROTO,
			       "rank 0 uses --engine %s and this host %s: give all hosts the same",
			       reduce_engine_names[m->engine], reduce_engine_names[s->engine]);
	strv_free(s->nodes);
	s->nodes = TAKE(m->nodes);
	s->rails = m->rails;
	s->bytes = m->bytes;
	s->size = (uint32_t)m->size;
	s->qps = (unsigned)m->qps;
	return 0;
}

static int on_ping(struct reduce_session *s, struct reduce_message *m,
		   struct reduce_message *answer, struct err *err)
{
	const struct rdma_engine *engine = s->sides[0].engine;

	(void)m;
	(void)err;
	*answer = reduce_message_init(REDUCE_PONG);
	answer->now_ns = engine->ops->now_ns(s->sides[0].engine);
	return 1;
}

static int on_open(struct reduce_session *s, struct reduce_message *m,
		   struct reduce_message *answer, struct err *err)
{
	if (m->rail >= s->rails)
		return err_set(err, EPROTO, "rank 0 asked for a rail that does not exist");
	reduce_open(s, m->rail, answer);
	return 1;
}

static int on_join(struct reduce_session *s, struct reduce_message *m,
		   struct reduce_message *answer, struct err *err)
{
	(void)err;
	reduce_join(s, &m->offer, answer);
	return 1;
}

static int on_unite(struct reduce_session *s, struct reduce_message *m,
		    struct reduce_message *answer, struct err *err)
{
	const struct coll_watch watch = { look, s };

	reduce_unite(s, m->id, &watch, answer);
	return s->why[0] ? err_set(err, ECANCELED, "%s", s->why) : 1;
}

static int on_go(struct reduce_session *s, struct reduce_message *m, struct reduce_message *answer,
		 struct err *err)
{
	const struct coll_watch watch = { look, s };

	reduce_go(s, m, &watch, answer);
	return answer->state == COLL_TOLD ? err_set(err, ECANCELED, "%s", s->why) : 1;
}

static int on_whose(struct reduce_session *s, struct reduce_message *m,
		    struct reduce_message *answer, struct err *err)
{
	if (m->again.n != s->n)
		return err_set(err, EPROTO, "rank 0 named other ranks");
	reduce_see(s, m, answer);
	return 1;
}

static int on_result(struct reduce_session *s, struct reduce_message *m,
		     struct reduce_message *answer, struct err *err)
{
	int r;

	(void)answer;
	if (!s->ring || m->rates.n != s->n || m->late.n != s->n ||
	    m->behind.n != s->n * s->n_windows)
		return err_set(err, EPROTO, "rank 0 sent results that were not measured");
	r = reduce_emit(s, m);
	reduce_shut(s);
	return r;
}

static int on_stop(struct reduce_session *s, struct reduce_message *m,
		   struct reduce_message *answer, struct err *err)
{
	(void)answer;
	return told_to_stop(s, m, err);
}

/* Handlers return 1 if they have sent the answer. */
static int (*const handlers[REDUCE_KINDS])(struct reduce_session *, struct reduce_message *,
					   struct reduce_message *, struct err *) = {
	[REDUCE_PLAN] = on_plan,     [REDUCE_PING] = on_ping, [REDUCE_OPEN] = on_open,
	[REDUCE_JOIN] = on_join,     [REDUCE_GO] = on_go,     [REDUCE_WHOSE] = on_whose,
	[REDUCE_RESULT] = on_result, [REDUCE_STOP] = on_stop, [REDUCE_UNITE] = on_unite,
};

/* Rank 0 no longer accepts answers. Its last message says why. */
static int hear_last_word(struct reduce_session *s, struct err *err)
{
	CLEANUP(reduce_message_release) struct reduce_message m = reduce_message_init(REDUCE_BYE);

	if (reduce_hear(line_of(s), clock_mono_us(), &m, NULL) == 0 && m.kind == REDUCE_STOP)
		return told_to_stop(s, &m, err);
	return lost_leader(s, err);
}

/* Returns 0 to go on, 1 when it is over. */
static int follow_once(struct reduce_session *s, struct err *err)
{
	CLEANUP(reduce_message_release) struct reduce_message m = reduce_message_init(REDUCE_BYE);
	CLEANUP(reduce_message_release)
	struct reduce_message answer = reduce_message_init(REDUCE_BYE);
	int r = reduce_hear(line_of(s), s->deadline_us, &m, err);

	if (r < 0)
		return lost_leader(s, err);
	if (m.kind == REDUCE_BYE)
		return 1;
	if (!handlers[m.kind] || (!s->nodes && m.kind != REDUCE_PLAN && m.kind != REDUCE_STOP))
		return err_set(err, EPROTO, "rank 0 sent an unexpected message");
	r = handlers[m.kind](s, &m, &answer, err);
	if (r <= 0)
		return r;
	r = reduce_say(line_of(s), &answer, s->deadline_us, err);
	return r < 0 ? hear_last_word(s, err) : 0;
}

int reduce_follow(struct reduce_session *s, struct err *err)
{
	CLEANUP(reduce_message_release)
	struct reduce_message hello = reduce_message_init(REDUCE_HELLO);
	int r;

	hello.node = xstrdup(s->node);
	hello.rank = s->rank;
	hello.ranks = s->n;
	hello.rails = s->n_sides;
	hello.bytes = s->bytes;
	hello.engine = s->engine;
	r = reduce_say(line_of(s), &hello, s->deadline_us, err);
	if (r < 0)
		return lost_leader(s, err);
	while (r == 0)
		r = follow_once(s, err);
	return MIN(r, 0);
}
