/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/plan_rearrange.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/pipe_schedule.h"
#include "lib/remedy/rearrange.h"
#include "lib/remedy/shrink.h"

enum { MICROBATCHES_MAX = 65536 };

static const struct plan_args_range seconds = { 1e-9, 1e9 };
static const struct plan_args_range bytes = { 0, 1e18 };

/* A job and the lists that it borrows. */
struct described {
	struct rearrange_job job;
	struct plan_args_reals forward, backward, memory, slowdown;
	struct plan_args_counts split;
};

static void described_release(struct described *described)
{
	free(described->forward.v);
	free(described->backward.v);
	free(described->memory.v);
	free(described->slowdown.v);
	free(described->split.v);
}

/* One list per pipeline, all of equal length. */
static int read_slowdown(struct plan_args *args, struct described *to, struct err *err)
{
	const struct plan_args_range times = { 1e-3, 1e3 };
	struct jval v = plan_args_get(args, "y");
	size_t d;
	int r = jval_need_array(&v, err);

	if (r == 0 && json_array_size(v.value) > REARRANGE_WORKERS_MAX)
		r = jval_fail(&v, err, "expected at most %d pipelines", REARRANGE_WORKERS_MAX);
	if (r < 0)
		return r;
	to->job.dp = json_array_size(v.value);
	to->job.pp = to->split.n;
	to->slowdown.v = xcalloc(to->job.dp * to->job.pp + 1, sizeof(double));
	for (d = 0; d < to->job.dp && r == 0; d++) {
		CLEANUP(plan_args_reals_release) struct plan_args_reals one = { 0 };
		struct jval at = jval_at(&v, d);

		r = plan_args_reals_of(&at, times, to->job.pp, &one, err);
		if (r == 0 && one.n != to->job.pp)
			r = jval_fail(&at, err, "%zu values for %zu stages", one.n, to->job.pp);
		if (r == 0)
			memcpy(to->slowdown.v + d * to->job.pp, one.v, one.n * sizeof(*one.v));
	}
	return r;
}

static int read_memory(struct plan_args *args, struct described *to, struct err *err)
{
	int r = 0;

	if (!plan_args_has(args, "memory"))
		return 0;
	r = plan_args_reals(args, "memory", bytes, REARRANGE_LAYERS_MAX, &to->memory, err);
	if (r == 0 && to->memory.n != to->job.layers)
		r = err_set(err, EINVAL, "%s: memory: %zu values for %zu layers", args->line.file,
			    to->memory.n, to->job.layers);
	if (r == 0)
		r = plan_args_real(args, "room", bytes, &to->job.room, err);
	if (r == 0 && plan_args_has(args, "emb"))
		r = plan_args_real(args, "emb", bytes, &to->job.ends, err);
	to->job.bytes = to->memory.v;
	return r;
}

static int read_job(struct plan_args *args, struct described *to, struct err *err)
{
	const struct plan_args_range microbatches = { 1, MICROBATCHES_MAX };
	const struct plan_args_range layers = { 1, REARRANGE_LAYERS_MAX };
	const struct plan_args_range chunks = { 1, PIPE_SCHEDULE_CHUNKS_MAX };
	int r = plan_args_reals(args, "F", seconds, REARRANGE_LAYERS_MAX, &to->forward, err);

	if (r == 0)
		r = plan_args_reals(args, "B", seconds, REARRANGE_LAYERS_MAX, &to->backward, err);
	if (r == 0 && to->backward.n != to->forward.n)
		r = err_set(err, EINVAL, "%s: B: %zu values, but F has %zu", args->line.file,
			    to->backward.n, to->forward.n);
	if (r == 0)
		r = plan_args_counts(args, "split", layers, REARRANGE_LAYERS_MAX, &to->split, err);
	if (r == 0)
		r = plan_args_count(args, "m", microbatches, &to->job.microbatches, err);
	if (r == 0 && plan_args_has(args, "v"))
		r = plan_args_count(args, "v", chunks, &to->job.chunks, err);
	if (r == 0)
		r = read_slowdown(args, to, err);
	to->job.layers = to->forward.n;
	to->job.forward = to->forward.v;
	to->job.backward = to->backward.v;
	to->job.split = to->split.v;
	to->job.slowdown = to->slowdown.v;
	return r < 0 ? r : read_memory(args, to, err);
}

/* One list per pipeline. */
static json_t *table(const size_t *v, size_t rows, size_t columns)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < rows; i++)
		(void)json_array_append_new(list, plan_args_json_counts(v + i * columns, columns));
	return list;
}

static int put_plan(const struct rearrange_job *job, enum rearrange_way way, double fixed,
		    json_t *list, struct err *err)
{
	CLEANUP(rearrange_plan_release) struct rearrange_plan plan = { 0 };
	int r = rearrange_plan(job, way, &plan, err);
	json_t *object;

	if (r < 0)
		return r;
	object = json_object();
	(void)json_object_set_new(object, "way", json_string(rearrange_names[way]));
	(void)json_object_set_new(object, "time", json_real(plan.time + fixed));
	(void)json_object_set_new(object, "better", json_boolean(plan.better));
	(void)json_object_set_new(object, "microbatches",
				  plan_args_json_counts(plan.microbatches, job->dp));
	(void)json_object_set_new(object, "layers", table(plan.split, job->dp, job->pp));
	(void)json_object_set_new(object, "hosts", table(plan.hosts, job->dp, job->pp));
	if (job->bytes)
		(void)json_object_set_new(object, "moved", json_real(rearrange_bytes(job, &plan)));
	(void)json_array_append_new(list, object);
	return 0;
}

/* With `step`, the present step time, the part outside pipelines stays as it is. */
int plan_rearrange(struct plan_args *args, json_t *answer, struct err *err)
{
	CLEANUP(described_release) struct described described = { 0 };
	CLEANUP(json_freep) json_t *list = json_array();
	struct rearrange_bounds bounds = { 0 };
	double step = 0, fixed = 0;
	size_t way;
	int r = read_job(args, &described, err);

	if (r == 0)
		r = rearrange_now(&described.job, &bounds, err);
	if (r == 0 && plan_args_has(args, "step"))
		r = plan_args_real(args, "step", seconds, &step, err);
	if (r < 0)
		return r;
	if (step > 0)
		fixed = step - bounds.now;
	for (way = 0; way < REARRANGE_WAYS && r == 0; way++)
		r = put_plan(&described.job, (enum rearrange_way)way, fixed, list, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(answer, "now", json_real(bounds.now + fixed));
	(void)json_object_set_new(answer, "bound", json_real(bounds.bound));
	(void)json_object_set(answer, "plans", list);
	return 0;
}

static json_t *copies_json(const struct rearrange_job *job, const struct hotspa_switch_plan *copies)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < copies->n; i++) {
		const struct hotspa_switch_move *m = &copies->moves[i];
		json_t *object;

		if (m->local)
			continue;
		object = json_object();
		(void)json_object_set_new(object, "from", json_integer((json_int_t)m->from));
		(void)json_object_set_new(object, "to", json_integer((json_int_t)m->to));
		(void)json_object_set_new(object, "layers",
					  json_pack("[II]",
						    (json_int_t)shrink_layer(job, m->rows.first),
						    (json_int_t)shrink_layer(job, m->rows.last)));
		(void)json_array_append_new(list, object);
	}
	return list;
}

/* The remaining job after these losses. */
static json_t *loss_json(const struct rearrange_job *job, const struct shrink_templates *templates,
			 const struct shrink_plan *plan, double fixed)
{
	json_t *object = json_object(), *pipelines = json_array(), *layers = json_array();
	size_t p, i = 0;

	for (p = 0; p < plan->pipelines.n; p++) {
		json_t *hosts = json_array();
		size_t size = plan->pipelines.ends[p] - i;

		(void)json_array_append_new(
			layers, plan_args_json_counts(shrink_cut(templates, size), size));
		for (; i < plan->pipelines.ends[p]; i++)
			(void)json_array_append_new(
				hosts, json_integer((json_int_t)plan->pipelines.hosts[i]));
		(void)json_array_append_new(pipelines, hosts);
	}
	(void)json_object_set_new(object, "time", json_real(plan->time + fixed));
	(void)json_object_set_new(object, "pipelines", pipelines);
	(void)json_object_set_new(object, "layers", layers);
	(void)json_object_set_new(object, "microbatches",
				  plan_args_json_counts(plan->microbatches, plan->pipelines.n));
	(void)json_object_set_new(object, "way", json_string(reconfigure_way_names[plan->way]));
	(void)json_object_set_new(object, "restart", json_boolean(plan->restart));
	(void)json_object_set_new(object, "copies", copies_json(job, &plan->copies));
	(void)json_object_set_new(object, "bytes", json_real(plan->bytes));
	return object;
}

/* After the first lost host, the first two ...; with the reason if the job cannot continue. */
static int put_losses(const struct rearrange_job *job, const struct shrink_templates *templates,
		      const struct plan_args_counts *lost, double fixed, json_t *answer,
		      struct err *err)
{
	CLEANUP(freep) uint32_t *hosts = xcalloc(lost->n + 1, sizeof(*hosts));
	json_t *list = json_array();
	size_t i;
	int r = 0;

	for (i = 0; i < lost->n && r == 0; i++) {
		CLEANUP(shrink_plan_release) struct shrink_plan plan = { .time = 0 };

		hosts[i] = (uint32_t)lost->v[i];
		r = shrink_plan(job, templates, hosts, i + 1, &plan, err);
		(void)json_array_append_new(
			list, r == 0 ? loss_json(job, templates, &plan, fixed)
				     : json_pack("{sbss}", "feasible", false, "why", err->msg));
	}
	(void)json_object_set_new(answer, "losses", list);
	return r == -ERANGE ? 0 : r;
}

static void put_choice(json_t *answer, const struct shrink_choice *choice, double fixed)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "sizes", plan_args_json_counts(choice->sizes, choice->n));
	(void)json_object_set_new(object, "microbatches",
				  plan_args_json_counts(choice->microbatches, choice->n));
	(void)json_object_set_new(object, "time", json_real(choice->time + fixed));
	(void)json_object_set_new(object, "of", json_integer((json_int_t)choice->all));
	(void)json_object_set_new(object, "looked", json_integer((json_int_t)choice->looked));
	(void)json_object_set_new(answer, "choice", object);
}

static int shrink(struct plan_args *args, const struct rearrange_job *job,
		  const struct plan_args_counts *lost, json_t *answer, struct err *err)
{
	const struct plan_args_range failures_range = { 0, SHRINK_HOSTS_MAX };
	CLEANUP(shrink_templates_release) struct shrink_templates templates = { 0 };
	CLEANUP(shrink_choice_release) struct shrink_choice choice = { 0 };
	struct rearrange_bounds bounds = { 0 };
	double step = 0;
	size_t failures = 0;
	int r = plan_args_count(args, "f", failures_range, &failures, err);

	if (r == 0 && plan_args_has(args, "step"))
		r = plan_args_real(args, "step", seconds, &step, err);
	if (r == 0)
		r = rearrange_now(job, &bounds, err);
	if (r == 0)
		r = shrink_templates(job, failures, &templates, err);
	if (r < 0)
		return r;
	r = shrink_choose(job, &templates, job->dp * job->pp, failures, &choice, err);
	if (r < 0 && r != -ERANGE)
		return r;
	(void)json_object_set_new(answer, "n0", json_integer((json_int_t)templates.least));
	(void)json_object_set_new(answer, "sizes",
				  json_pack("[II]", (json_int_t)templates.sizes.first,
					    (json_int_t)templates.sizes.last));
	if (r == 0)
		put_choice(answer, &choice, step > 0 ? step - bounds.now : 0);
	else
		(void)json_object_set_new(answer, "choice",
					  json_pack("{sbss}", "feasible", false, "why", err->msg));
	return put_losses(job, &templates, lost, step > 0 ? step - bounds.now : 0, answer, err);
}

int plan_rearrange_shrink(struct plan_args *args, json_t *answer, struct err *err)
{
	const struct plan_args_range range = { 0, SHRINK_HOSTS_MAX };
	CLEANUP(described_release) struct described described = { 0 };
	CLEANUP(plan_args_counts_release) struct plan_args_counts lost = { 0 };
	struct jval v = plan_args_get(args, "lost");
	int r = read_job(args, &described, err);

	if (r == 0 && v.value)
		r = plan_args_counts_of(&v, range, SHRINK_HOSTS_MAX, &lost, err);
	return r < 0 ? r : shrink(args, &described.job, &lost, answer, err);
}
