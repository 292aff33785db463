/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_advices.h"

#include "controller/store/sql/statements.h"
#include "controller/store/store_placements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"

int store_add_advice(struct store *s, const struct store_advice *a, int64_t *ret_id, struct err *err)
{
	struct db_batch b = store_write(s, err);
	struct db_advice_add_row added;

	if (db_one(&b, advice_add, &added, .job = a->job, .run = a->run,
		   .prediction = a->prediction, .kind = a->kind, .why = a->why,
		   .exclude = a->exclude, .replacements = a->replacements, .reason = a->reason,
		   .made_us = a->made_us, .expires_us = a->expires_us))
		*ret_id = added.id;
	db_add(&b, advices_trim, .job = a->job, .most = STORE_ADVICES_KEPT);
	return db_end(&b);
}

struct taking {
	store_advice_fn *take;
	void *context;
};

static int take(void *context, const void *p)
{
	const struct db_advice_last_row *row = p;
	const struct taking *taking = context;
	const struct store_advice advice = {
		.id = row->id,
		.job = row->job,
		.run = row->run,
		.prediction = row->prediction,
		.kind = (int)row->kind,
		.why = (int)row->why,
		.exclude = row->exclude,
		.replacements = row->replacements,
		.reason = row->reason,
		.made_us = row->made_us,
		.expires_us = row->expires_us,
		.done_us = row->done_us,
	};

	taking->take(taking->context, &advice);
	return 1;
}

int store_last_advice(struct store *s, int64_t job, store_advice_fn *fn, void *context,
		      struct err *err)
{
	struct taking taking = { fn, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, advice_last, take, &taking, .job = job);
	return db_end(&b);
}

int store_advice_by_id(struct store *s, int64_t job, int64_t id, store_advice_fn *fn, void *context,
		       struct err *err)
{
	struct taking taking = { fn, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, advice_by_id, take, &taking, .job = job, .id = id);
	return db_end(&b);
}

int store_was_advised(struct store *s, int64_t job, int64_t prediction, int kind, bool *ret,
		      struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_advice_stopped_row row;
	const bool found = db_one(&b, advice_stopped, &row, .job = job, .prediction = prediction,
				  .kind = kind);

	*ret = db_end(&b) == 0 && found;
	return db_end(&b);
}

int store_acknowledge_advice(struct store *s, int64_t id, uint64_t now_us, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, advice_done, .id = id, .done_us = now_us);
	return db_end(&b);
}

struct each_job {
	void (*each)(void *context, int64_t job);
	void *context;
};

static int take_job(void *context, const void *row)
{
	const struct each_job *to = context;

	to->each(to->context, ((const struct db_jobs_advised_row *)row)->id);
	return 0;
}

int store_jobs_advised(struct store *s, int kind, void (*each)(void *context, int64_t job),
		       void *context, struct err *err)
{
	struct each_job to = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_advised, take_job, &to, .kind = kind);
	return db_end(&b);
}

int store_job_runs(struct store *s, const char *job, uint64_t now_us, bool *ret_known,
		   bool *ret_runs, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_placement_of_job_now_row row = { 0 };

	(void)db_one(&b, placement_of_job_now, &row, .job = job,
		     .since_us = now_us - MIN(now_us, STORE_PLACEMENT_BELIEVED_US));
	*ret_known = row.known != 0;
	*ret_runs = row.runs != 0;
	return db_end(&b);
}
