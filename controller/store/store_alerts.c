/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_alerts.h"

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"

int store_put_alert(struct store *s, const struct store_alert *alert, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, alert_put, .alertmanager = alert->alertmanager, .labels = alert->labels,
	       .sentence = alert->sentence, .since_us = alert->since_us, .ended = alert->ended);
	return db_end(&b);
}

int store_drop_alert(struct store *s, const char *alertmanager, const char *labels, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, alert_drop, .alertmanager = alertmanager, .labels = labels);
	return db_end(&b);
}

struct each_alert {
	void (*each)(void *context, const struct store_alert *alert);
	void *context;
};

static int take_alert(void *context, const void *p)
{
	const struct db_alerts_row *row = p;
	const struct each_alert *to = context;

	to->each(to->context, &(struct store_alert){ row->alertmanager, row->labels, row->sentence,
						     row->since_us, row->ended != 0 });
	return 0;
}

int store_alerts(struct store *s, void (*each)(void *context, const struct store_alert *alert),
		 void *context, struct err *err)
{
	struct each_alert to = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, alerts, take_alert, &to);
	return db_end(&b);
}

struct each_incident {
	void (*each)(void *context, const struct store_incident_told *incident);
	void *context;
};

static int take_incident(void *context, const void *p)
{
	const struct db_incidents_to_tell_row *row = p;
	const struct each_incident *to = context;

	to->each(to->context, &(struct store_incident_told){
				      .id = row->id,
				      .node = row->node,
				      .check = row->check_name,
				      .action = row->action,
				      .sentence = row->sentence,
				      .fatal = row->fatal != 0,
				      .opened_us = row->opened_us,
				      .seen_us = row->seen_us,
				      .windows = { row->bits, (unsigned)row->seen },
				      .n = (unsigned)row->n,
			      });
	return 0;
}

int store_incidents_to_tell(struct store *s, size_t limit,
			    void (*each)(void *context, const struct store_incident_told *incident),
			    void *context, struct err *err)
{
	struct each_incident to = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, incidents_to_tell, take_incident, &to, .limit = limit);
	return db_end(&b);
}

struct each_job {
	void (*each)(void *context, const struct store_job_told *job);
	void *context;
};

static int take_job(void *context, const void *p)
{
	const struct db_jobs_to_tell_row *row = p;
	const struct each_job *to = context;

	to->each(to->context, &(struct store_job_told){
				      .id = row->id,
				      .name = row->name,
				      .state = row->state,
				      .suspect = row->suspect,
				      .sentence = row->sentence,
				      .slowdown = row->slowdown,
				      .last_us = row->last_us,
			      });
	return 0;
}

int store_jobs_to_tell(struct store *s, uint64_t since_us,
		       void (*each)(void *context, const struct store_job_told *job), void *context,
		       struct err *err)
{
	struct each_job to = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_to_tell, take_job, &to, .since_us = since_us);
	return db_end(&b);
}
