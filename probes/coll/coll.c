/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/coll.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"

enum { NSEC_PER_USEC = 1000 };

/* How often the watch is called. */
#define LOOK_US (10 * USEC_PER_MSEC)

static uint64_t now_us(struct coll *c)
{
	return c->ops->now_ns(c) / NSEC_PER_USEC;
}

/* Returns true if the watch gave up; the operation is then over. */
static bool is_told(struct coll *c, const struct coll_watch *watch)
{
	struct coll_result *result = &c->result;
	int suspect = COLL_NOBODY;
	char why[COLL_WHY_SIZE] = "";

	if (!watch || !watch->look(watch->context, &suspect, why))
		return false;
	result->state = COLL_TOLD;
	result->suspect = suspect;
	(void)snprintf(result->why, sizeof(result->why), "%s", why);
	return true;
}

static void set_late(struct coll_result *result)
{
	result->state = COLL_LATE;
	if (!result->why[0])
		(void)snprintf(result->why, sizeof(result->why),
			       "it had not finished when time ran out");
}

/* Once an operation has begun, a failing engine call is a failure of the operation. */
static void set_failed(struct coll_result *result, const struct err *why)
{
	result->state = COLL_FAILED;
	(void)snprintf(result->why, sizeof(result->why), "%.*s", COLL_WHY_SIZE - 1, why->msg);
}

void coll_repeat(struct coll *c, unsigned times)
{
	c->times = MIN(MAX(times, 1U), (unsigned)COLL_REPEAT_MAX);
}

void coll_only(struct coll *c, const struct coll_move *moves, unsigned n)
{
	c->n_moves = MIN(n, (unsigned)COLL_RANKS_MAX);
	if (c->n_moves)
		memcpy(c->moves, moves, c->n_moves * sizeof(*moves));
}

int coll_run(struct coll *c, const struct coll_op *op, uint64_t deadline_us,
	     const struct coll_watch *watch, struct err *err)
{
	struct coll_result *result = &c->result;
	uint64_t look_us;
	int r;

	*result = (struct coll_result){ .state = COLL_UNDER_WAY, .suspect = COLL_NOBODY };
	r = c->ops->start(c, op, err);
	if (r < 0)
		return r;
	look_us = now_us(c) + LOOK_US;
	while (result->state == COLL_UNDER_WAY) {
		struct err why = ERR_INIT;

		r = c->ops->turn(c, &why);
		if (r == 0 && result->state == COLL_UNDER_WAY)
			r = c->ops->wait(c, MIN(deadline_us, look_us), &why);
		if (r < 0 && r != -ETIME)
			set_failed(result, &why);
		if (result->state != COLL_UNDER_WAY || now_us(c) < look_us)
			continue;
		if (!is_told(c, watch) && now_us(c) >= deadline_us)
			set_late(result);
		look_us = MIN(now_us(c) + LOOK_US, MAX(deadline_us, now_us(c)));
	}
	if (result->state != COLL_DONE)
		c->ops->abort(c);
	return 0;
}
