/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/trace_meta.h"

#include <errno.h>
#include <stdlib.h>

#include "attribution/trace.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct meta {
	char *type, *format, *job, *time_unit;
	json_t *trial;
	uint64_t dp, pp, tp, vpp, dsp, world, microbatches;
};

struct place {
	uint64_t rank, dp_rank, stage;
	char *node;
};

#define SIZE_FIELD(key, member, flag)                                   \
	{                                                               \
		key, J_U64, offsetof(struct meta, member), flag, 0, 1e9 \
	}

static const struct jfield meta_fields[] = {
	{ "type", J_STRING, offsetof(struct meta, type) },
	{ "format", J_STRING, offsetof(struct meta, format) },
	{ "job", J_STRING, offsetof(struct meta, job), J_NULL },
	{ "trial_name", J_JSON, offsetof(struct meta, trial) },
	{ "time_unit", J_STRING, offsetof(struct meta, time_unit) },
	SIZE_FIELD("dp_size", dp, J_REQUIRED),
	SIZE_FIELD("pp_size", pp, J_REQUIRED),
	SIZE_FIELD("tp_size", tp, 0),
	SIZE_FIELD("vpp_size", vpp, 0),
	SIZE_FIELD("dsp_size", dsp, 0),
	SIZE_FIELD("world_size", world, J_REQUIRED),
	SIZE_FIELD("microbatches", microbatches, 0),
};

static const struct jfield place_fields[] = {
	{ "rank", J_U64, offsetof(struct place, rank), J_REQUIRED, 0, INT32_MAX },
	{ "dp_rank", J_U64, offsetof(struct place, dp_rank), J_REQUIRED, 0, INT32_MAX },
	{ "stage", J_U64, offsetof(struct place, stage), J_REQUIRED, 0, INT32_MAX },
	{ "node", J_STRING, offsetof(struct place, node), J_NULL },
};

static void meta_release(struct meta *meta)
{
	free(meta->type);
	free(meta->format);
	free(meta->job);
	free(meta->time_unit);
	json_decref(meta->trial);
}

static void place_release(struct place *place)
{
	free(place->node);
}

/* The first line of a trace must state the format; a file for a CSV need not. */
static int check_format(const struct meta *meta, const struct jval *root, bool is_line,
			struct err *err)
{
	struct jval at = jval_get(root, "format");

	if (is_line && (!streq(meta->type, "meta") || !meta->format))
		return err_set(err, EINVAL,
			       "%s: no meta line of optrace/1: expected "
			       "\"type\":\"meta\",\"format\":\"optrace/1\"",
			       root->file);
	if (meta->format && !streq(meta->format, "optrace/1"))
		return jval_fail(&at, err, "'%.40s' is not optrace/1", meta->format);
	at = jval_get(root, "time_unit");
	if (meta->time_unit && !streq(meta->time_unit, "s"))
		return jval_fail(&at, err, "'%.40s' is not s: times are in seconds",
				 meta->time_unit);
	return 0;
}

static int place_one(const struct jval *item, struct trace_job *job, struct err *err)
{
	CLEANUP(place_release) struct place place = { 0 };
	struct err why = ERR_INIT;
	int r = jval_decode(item, place_fields, ARRAY_SIZE(place_fields), 0, &place, err);

	if (r < 0)
		return r;
	r = trace_job_place(job, (int64_t)place.dp_rank, (int64_t)place.stage, (int64_t)place.rank,
			    place.node, &why);
	return r < 0 ? jval_fail(item, err, "%s", why.msg) : 0;
}

static int place_ranks(const struct jval *root, struct trace_job *job, struct err *err)
{
	struct jval ranks = jval_get(root, "ranks");
	size_t n = json_array_size(ranks.value), i;
	int r = 0;

	if (!ranks.value)
		return 0;
	r = jval_need_array(&ranks, err);
	if (r == 0 && n > TRACE_WORKERS_MAX)
		r = jval_fail(&ranks, err, "%zu ranks, more than %d", n, TRACE_WORKERS_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(&ranks, i);

		r = place_one(&item, job, err);
	}
	return r;
}

/* Names of trials may look like numbers. */
static char *name_of(struct meta *meta)
{
	if (meta->job)
		return TAKE(meta->job);
	if (json_is_string(meta->trial))
		return xstrdup(json_string_value(meta->trial));
	return meta->trial ? json_dumps(meta->trial, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
}

static int read_meta(const struct jval *root, bool is_line, struct trace_job *ret_job,
		     struct err *err)
{
	CLEANUP(meta_release) struct meta meta = { .tp = 1, .vpp = 1, .dsp = 1 };
	CLEANUP(trace_job_release) struct trace_job job = { 0 };
	int r = jval_decode(root, meta_fields, ARRAY_SIZE(meta_fields), 0, &meta, err);

	if (r == 0)
		r = check_format(&meta, root, is_line, err);
	if (r < 0)
		return r;
	job = (struct trace_job){
		.name = name_of(&meta),
		.dp = (uint32_t)meta.dp,
		.pp = (uint32_t)meta.pp,
		.tp = (uint32_t)meta.tp,
		.vpp = (uint32_t)meta.vpp,
		.dsp = (uint32_t)meta.dsp,
		.world = meta.world,
		.microbatches = (uint32_t)meta.microbatches,
	};
	r = trace_job_open(&job, err);
	if (r < 0)
		return err_wrap(err, r, "%s", root->file);
	r = place_ranks(root, &job, err);
	if (r < 0)
		return r;
	*ret_job = job;
	job = (struct trace_job){ 0 };
	return 0;
}

int trace_meta_line(const char *text, size_t length, const char *place, struct trace_job *ret_job,
		    struct err *err)
{
	json_t *value;
	struct jval root;
	int r = json_parse(text, length, place, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, place);
	r = read_meta(&root, true, ret_job, err);
	json_decref(value);
	return r;
}

int trace_meta_file(const char *path, struct trace_job *ret_job, struct err *err)
{
	json_t *value;
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	r = read_meta(&root, false, ret_job, err);
	json_decref(value);
	return r;
}
