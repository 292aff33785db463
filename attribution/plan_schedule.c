/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/plan_schedule.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/pipe_schedule.h"
#include "lib/remedy/standby.h"

enum { MICROBATCHES_MAX = 65536, LIST_MAX = PIPE_SCHEDULE_STAGES_MAX };

static const struct plan_args_range seconds = { 1e-9, 1e9 };
static const struct plan_args_range none_or_more = { 0, 1e18 };

/* The lists of a query. */
struct lists {
	struct plan_args_reals forward, backward, weight, transfer, activation, room;
};

static void lists_release(struct lists *lists)
{
	free(lists->forward.v);
	free(lists->backward.v);
	free(lists->weight.v);
	free(lists->transfer.v);
	free(lists->activation.v);
	free(lists->room.v);
}

/* A list of `n`, or none. */
static int read_list(struct plan_args *args, const char *symbol, struct plan_args_range range,
		     size_t n, struct plan_args_reals *list, struct err *err)
{
	struct jval v = plan_args_get(args, symbol);
	int r;

	if (!v.value)
		return 0;
	r = plan_args_reals_of(&v, range, LIST_MAX, list, err);
	if (r == 0 && list->n != n)
		r = jval_fail(&v, err, "%zu values: expected %zu", list->n, n);
	return r;
}

static int read_kind(struct plan_args *args, enum pipe_schedule_kind *ret_kind, struct err *err)
{
	struct jval v = plan_args_get(args, "kind");
	int kind;

	if (!v.value)
		return 0;
	if (!json_is_string(v.value))
		return jval_fail(&v, err, "expected a text, not %s", jval_type_name(&v));
	kind = pipe_schedule_kind(json_string_value(v.value));
	if (kind < 0)
		return jval_fail(&v, err, "'%.40s' is not one of 1f1b, interleaved, zb-h1",
				 json_string_value(v.value));
	*ret_kind = (enum pipe_schedule_kind)kind;
	return 0;
}

/* F, B and W by virtual stage; their number gives the stages. */
static int read_times(struct plan_args *args, struct pipe_schedule_wish *wish, struct lists *lists,
		      struct err *err)
{
	const struct plan_args_range chunks = { 1, PIPE_SCHEDULE_CHUNKS_MAX };
	struct jval v = plan_args_get(args, "W");
	int r = plan_args_reals(args, "F", seconds, LIST_MAX, &lists->forward, err);

	if (r == 0)
		r = read_list(args, "B", seconds, lists->forward.n, &lists->backward, err);
	if (r == 0 && !lists->backward.v)
		r = err_set(err, EINVAL, "%s: B: expected a list, not nothing", args->line.file);
	if (r == 0)
		r = read_list(args, "W", seconds, lists->forward.n, &lists->weight, err);
	if (r == 0 && (wish->kind == PIPE_SCHEDULE_ZB_H1) != (lists->weight.v != NULL))
		r = jval_fail(&v, err,
			      "only zb-h1 has separate times for the backward of the weights");
	if (r == 0 && plan_args_has(args, "v"))
		r = plan_args_count(args, "v", chunks, &wish->chunks, err);
	if (r == 0 && lists->forward.n % wish->chunks > 0)
		r = err_set(err, EINVAL, "%s: F: %zu values do not make %zu chunks per stage",
			    args->line.file, lists->forward.n, wish->chunks);
	wish->stages = lists->forward.n / wish->chunks;
	return r;
}

static int read_rest(struct plan_args *args, struct pipe_schedule_wish *wish, struct lists *lists,
		     struct err *err)
{
	const struct plan_args_range microbatches = { 1, MICROBATCHES_MAX }, part = { 0, 1 };
	size_t n = lists->forward.n;
	int r = plan_args_count(args, "m", microbatches, &wish->microbatches, err);

	if (r == 0)
		r = read_list(args, "transfer", none_or_more, n - 1, &lists->transfer, err);
	if (r == 0)
		r = read_list(args, "activation", none_or_more, n, &lists->activation, err);
	if (r == 0)
		r = read_list(args, "room", none_or_more, wish->stages, &lists->room, err);
	if (r == 0 && plan_args_has(args, "kept"))
		r = plan_args_real(args, "kept", part, &wish->kept, err);
	wish->forward = lists->forward.v;
	wish->backward = lists->backward.v;
	wish->weight = lists->weight.v;
	wish->transfer = lists->transfer.v;
	wish->activation = lists->activation.v;
	wish->room = lists->room.v;
	return r;
}

int plan_schedule(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(lists_release) struct lists lists = { 0 };
	CLEANUP(pipe_schedule_release) struct pipe_schedule schedule = { 0 };
	struct pipe_schedule_wish wish = { .chunks = 1 };
	int r = read_kind(args, &wish.kind, err);

	if (r == 0)
		r = read_times(args, &wish, &lists, err);
	if (r == 0)
		r = read_rest(args, &wish, &lists, err);
	if (r == 0)
		r = pipe_schedule_play(&wish, &schedule, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(answer, "time", json_real(schedule.time));
	(void)json_object_set_new(answer, "idle", plan_args_json_reals(schedule.idle, wish.stages));
	if (wish.activation)
		(void)json_object_set_new(answer, "peak",
					  plan_args_json_reals(schedule.peak, wish.stages));
	return 0;
}

int plan_schedule_standby(struct plan_args *args, json_t *answer, struct err *err)
{
	const struct plan_args_range hosts = { 0, STANDBY_HOSTS_MAX }, part = { 0, 1 };
	const struct plan_args_range hours = { 0, 1e9 };
	const struct plan_args_range certainties = { 1e-9, STANDBY_CERTAINTY_MAX };
	struct standby standby = { 0 };
	double out = 0, rate = 0, repair = 0, certainty = STANDBY_CERTAINTY;
	size_t n = 0;
	int r = plan_args_count(args, "N", hosts, &n, err);

	if (r == 0 && plan_args_has(args, "repair")) {
		r = plan_args_real(args, "rate", hours, &rate, err);
		if (r == 0)
			r = plan_args_real(args, "repair", hours, &repair, err);
		out = rate * repair;
	} else if (r == 0) {
		r = plan_args_real(args, "p", part, &out, err);
	}
	if (r == 0 && plan_args_has(args, "certainty"))
		r = plan_args_real(args, "certainty", certainties, &certainty, err);
	if (r == 0)
		r = standby_find(n, out, certainty, &standby, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(answer, "s", json_integer((json_int_t)standby.spares));
	(void)json_object_set_new(answer, "certainty", json_real(standby.certainty));
	return 0;
}
