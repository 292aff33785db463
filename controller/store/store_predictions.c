/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_predictions.h"

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

const char *const prediction_state_names[] = { "open", "held", "failed", NULL };

int store_add_prediction(struct store *s, const struct store_prediction *p, int64_t *ret_id,
			 struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_prediction_there_row there;
	struct db_prediction_add_row added;
	const bool found = db_one(&b, prediction_there, &there, .job = p->job, .run = p->run,
				  .class = p->class, .hosts = p->hosts);

	if (found)
		*ret_id = there.id;
	if (db_end(&b) < 0 || found)
		return db_end(&b);
	b = store_write(s, err);
	if (db_one(&b, prediction_add, &added, .job = p->job, .run = p->run, .window = p->window,
		   .class = p->class, .hosts = p->hosts, .ranks = p->ranks, .dp = p->dp,
		   .pp = p->pp, .before_s = p->before_s, .after_s = p->after_s, .low_s = p->low_s,
		   .high_s = p->high_s, .restart_s = p->restart_s, .from_us = p->from_us,
		   .until_us = p->until_us, .made_us = p->made_us))
		*ret_id = added.id;
	return db_end(&b) < 0 ? db_end(&b) : 1;
}

struct taking {
	void (*each)(void *context, const struct store_prediction *prediction);
	void *context;
};

static int take(void *context, const void *p)
{
	const struct db_prediction_last_row *row = p;
	const struct taking *taking = context;
	const struct store_prediction prediction = {
		.id = row->id,
		.job = row->job,
		.run = row->run,
		.window = row->window,
		.class = row->class,
		.hosts = row->hosts,
		.ranks = row->ranks,
		.dp = row->dp,
		.pp = row->pp,
		.before_s = row->before_s,
		.after_s = row->after_s,
		.low_s = row->low_s,
		.high_s = row->high_s,
		.restart_s = row->restart_s,
		.from_us = row->from_us,
		.until_us = row->until_us,
		.made_us = row->made_us,
		.state = (enum prediction_state)store_within(row->state, PREDICTION_FAILED),
		.checked_us = row->checked_us,
		.by_run = row->by_run,
		.measured_s = row->measured_s,
		.steps = row->steps,
		.instead = row->instead,
	};

	taking->each(taking->context, &prediction);
	return 0;
}

int store_predictions(struct store *s, int64_t job,
		      void (*each)(void *context, const struct store_prediction *prediction),
		      void *context, struct err *err)
{
	struct taking taking = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, prediction_last, take, &taking, .job = job, .limit = STORE_PREDICTIONS_READ);
	return db_end(&b);
}

int store_check_prediction(struct store *s, const struct store_prediction *p, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, prediction_check, .id = p->id, .state = (int64_t)p->state,
	       .checked_us = p->checked_us, .by_run = p->by_run, .measured_s = p->measured_s,
	       .steps = p->steps, .instead = p->instead);
	return db_end(&b);
}

int store_trust(struct store *s, const char *class, uint64_t of, struct store_trust *ret,
		struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_predictions_trust_row row = { 0 };

	(void)db_one(&b, predictions_trust, &row, .class = class, .limit = of);
	*ret = (struct store_trust){ .checked = row.n, .held = row.held };
	return db_end(&b);
}

static int take_count(void *context, const void *p)
{
	const struct db_predictions_counted_row *row = p;

	(void)json_object_set_new(context, row->class,
				  json_pack("{s:I, s:I}", "held", (json_int_t)row->held, "failed",
					    (json_int_t)row->failed));
	return 0;
}

int store_count_predictions(struct store *s, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *classes = json_object();
	struct db_batch b = store_ask(s, err);

	db_each(&b, predictions_counted, take_count, classes);
	if (db_end(&b) < 0)
		return db_end(&b);
	*ret = TAKE(classes);
	return 0;
}

static int take_host(void *context, const void *row)
{
	(void)json_array_append_new(
		context, json_string(((const struct db_placement_nodes_within_row *)row)->node));
	return 0;
}

int store_run_hosts(struct store *s, const struct store_run_span *span, json_t **ret,
		    struct err *err)
{
	CLEANUP(json_freep) json_t *hosts = json_array();
	struct db_batch b = store_ask(s, err);

	db_each(&b, placement_nodes_within, take_host, hosts, .job = span->job, .run = span->run,
		.from_us = span->from_us, .until_us = span->until_us,
		.limit = STORE_PREDICTION_HOSTS);
	if (db_end(&b) < 0)
		return db_end(&b);
	*ret = TAKE(hosts);
	return 0;
}
