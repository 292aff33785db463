/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_placements.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"

/* --- placements of a host --- */

/* The host's previous placements that are no longer reported. */
struct compared {
	const struct store_placed *placed;
	bool known[STORE_PLACEMENTS_AT_ONCE]; /* per list entry: already stored */
	int64_t ended[STORE_PLACEMENTS_AT_ONCE];
	size_t n_ended;
};

static bool is_same(const struct db_placements_present_row *row, const struct store_placement *p)
{
	return row->rank == p->rank && row->run == p->run && row->start == p->start &&
	       streq(row->job, p->job);
}

static int compare_present(void *context, const void *p)
{
	const struct db_placements_present_row *row = p;
	struct compared *c = context;
	size_t i;

	for (i = 0; streq(row->boot_id, c->placed->boot_id) && i < c->placed->n; i++) {
		if (c->known[i] || !is_same(row, &c->placed->list[i]))
			continue;
		c->known[i] = true;
		return 0;
	}
	if (c->n_ended == STORE_PLACEMENTS_AT_ONCE)
		return 1;
	c->ended[c->n_ended++] = row->id;
	return 0;
}

/* Has the job room for this host? */
static bool fits(struct db_batch *b, const char *job, const char *node)
{
	struct db_placement_nodes_row row = { 0 };

	if (db_any(b, placement_of_job, .job = job, .node = node))
		return true;
	(void)db_one(b, placement_nodes, &row, .job = job, .most = STORE_PLACEMENT_NODES_MAX);
	return row.n < STORE_PLACEMENT_NODES_MAX;
}

static void add_new(struct db_batch *b, const struct compared *c)
{
	const struct store_placed *placed = c->placed;
	size_t i;

	for (i = 0; i < placed->n && db_end(b) == 0; i++) {
		const struct store_placement *p = &placed->list[i];

		if (c->known[i] || !fits(b, p->job, placed->node))
			continue;
		db_add(b, placement_add, .job = p->job, .run = p->run, .rank = p->rank,
		       .node = placed->node, .boot_id = placed->boot_id, .source = p->source,
		       .start = p->start, .pod = p->pod, .from_us = p->from_us);
	}
}

/* When the host last reported, 0: never; -EDQUOT. */
static int find_host(struct db_batch *b, const struct store_placed *placed, uint64_t *ret_seen_us)
{
	struct db_placement_host_row host = { .seen_us = 0 };
	struct db_placement_hosts_count_row count = { 0 };

	if (!db_one(b, placement_host, &host, .node = placed->node)) {
		(void)db_one(b, placement_hosts_count, &count);
		if (db_end(b) == 0 && count.n >= placed->hosts_max)
			return err_set(b->err, EDQUOT, "%zu hosts have already reported their ranks",
				       placed->hosts_max);
	}
	*ret_seen_us = host.seen_us;
	return db_end(b);
}

int store_set_placements(struct store *s, const struct store_placed *placed, struct err *err)
{
	struct compared c = { .placed = placed };
	struct db_batch b = store_write(s, err);
	uint64_t seen_us = 0, end_us;
	size_t i;
	int r;

	if (placed->n > STORE_PLACEMENTS_AT_ONCE)
		return err_set(err, E2BIG, "a host has at most %d ranks", STORE_PLACEMENTS_AT_ONCE);
	r = find_host(&b, placed, &seen_us);
	if (r < 0)
		return r;
	end_us = MIN(placed->now_us, seen_us + STORE_PLACEMENT_BELIEVED_US);
	db_each(&b, placements_present, compare_present, &c, .node = placed->node);
	for (i = 0; i < c.n_ended; i++)
		db_add(&b, placement_end, .id = c.ended[i], .until_us = end_us);
	add_new(&b, &c);
	db_add(&b, placements_trim, .node = placed->node, .most = STORE_PLACEMENTS_OF_NODE);
	db_add(&b, placement_host_put, .node = placed->node, .boot_id = placed->boot_id,
	       .seen_us = placed->now_us);
	return db_end(&b);
}

int store_has_placement(struct store *s, const char *job, const char *node, bool *ret,
			struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = db_any(&b, placement_of_job, .job = job, .node = node);
	return db_end(&b);
}

/* --- placements of ranks --- */

struct reading {
	void (*each)(void *context, const struct store_placement *placement);
	void *context;
	size_t n;
	const char *job;
	struct err *err;
};

static int read_placement(void *context, const void *p)
{
	const struct db_placements_of_ranks_row *row = p;
	struct reading *reading = context;
	const struct store_placement placement = {
		.job = reading->job,
		.run = row->run,
		.rank = row->rank,
		.node = row->node,
		.source = row->source,
		.from_us = row->from_us,
		.until_us = row->until_us ? row->until_us
					  : row->seen_us + STORE_PLACEMENT_BELIEVED_US,
	};

	if (reading->n++ == STORE_PLACEMENTS_READ_MAX)
		return err_set(reading->err, E2BIG, "too many hosts claim ranks of '%.80s'",
			       reading->job);
	reading->each(reading->context, &placement);
	return 0;
}

int store_placements(struct store *s, const char *job, const int64_t ranks[static 2],
		     void (*each)(void *context, const struct store_placement *placement),
		     void *context, struct err *err)
{
	struct reading reading = { each, context, 0, job, err };
	struct db_batch b = store_ask(s, err);

	db_each(&b, placements_of_ranks, read_placement, &reading, .job = job, .first = ranks[0],
		.last = ranks[1], .limit = STORE_PLACEMENTS_READ_MAX + 1);
	return db_end(&b);
}

static int read_since(void *context, const void *p)
{
	const struct db_placements_since_row *row = p;
	const struct reading *reading = context;

	reading->each(reading->context,
		      &(struct store_placement){
			      .job = row->job,
			      .run = row->run,
			      .rank = row->rank,
			      .node = row->node,
			      .from_us = row->from_us,
			      .until_us = row->until_us
						  ? row->until_us
						  : row->seen_us + STORE_PLACEMENT_BELIEVED_US });
	return 0;
}

int store_placements_since(struct store *s, uint64_t since_us,
			   void (*each)(void *context, const struct store_placement *placement),
			   void *context, struct err *err)
{
	struct reading reading = { each, context, 0, NULL, err };
	struct db_batch b = store_ask(s, err);

	db_each(&b, placements_since, read_since, &reading, .since_us = since_us,
		.limit = STORE_PLACEMENTS_READ_MAX);
	return db_end(&b);
}

int store_placement_present(struct store *s, const char *node, uint64_t now_us, bool *ret,
			    struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = db_any(&b, placement_present, .node = node,
		      .since_us = now_us - MIN(now_us, STORE_PLACEMENT_BELIEVED_US));
	return db_end(&b);
}

static int read_job(void *context, const void *p)
{
	const struct db_placement_jobs_of_node_row *row = p;
	const struct reading *reading = context;

	reading->each(reading->context, &(struct store_placement){ .job = row->job,
								   .from_us = row->from_us,
								   .until_us = row->until_us });
	return 0;
}

int store_node_jobs(struct store *s, const char *node, const uint64_t since_and_most[static 2],
		    void (*each)(void *context, const struct store_placement *placement),
		    void *context, struct err *err)
{
	struct reading reading = { each, context, 0, NULL, err };
	struct db_batch b = store_ask(s, err);

	db_each(&b, placement_jobs_of_node, read_job, &reading, .node = node,
		.since_us = since_and_most[0], .believed_us = STORE_PLACEMENT_BELIEVED_US,
		.limit = since_and_most[1]);
	return db_end(&b);
}

static int add_node(void *context, const void *p)
{
	const struct db_placement_hosts_of_job_row *row = p;

	(void)json_array_append_new(context, json_string(row->node));
	return 0;
}

int store_job_hosts(struct store *s, const char *job, const uint64_t now_and_lately_us[static 2],
		    size_t most, json_t **ret, struct err *err)
{ /* lint: allow parameters: the job, the times, the limit, and the result */
	const uint64_t now_us = now_and_lately_us[0];
	CLEANUP(json_freep) json_t *names = json_array();
	struct db_batch b = store_ask(s, err);

	db_each(&b, placement_hosts_of_job, add_node, names, .job = job,
		.since_us = now_us - MIN(now_us, STORE_PLACEMENT_BELIEVED_US), .limit = most);
	if (json_array_size(names) == 0)
		db_each(&b, placement_hosts_of_last_run, add_node, names, .job = job,
			.since_us = now_and_lately_us[1], .limit = most);
	if (db_end(&b) == 0)
		*ret = TAKE(names);
	return db_end(&b);
}

int store_count_ranks(struct store *s, const struct store_placement *of_run,
		      const uint64_t since_and_now_us[static 2], struct store_ranks *ret,
		      struct err *err)
{
	const uint64_t now_us = since_and_now_us[1];
	const uint64_t believed_us = now_us - MIN(now_us, STORE_PLACEMENT_BELIEVED_US);
	struct db_batch b = store_ask(s, err);
	struct db_placement_ranks_row row = { 0 };

	(void)db_one(&b, placement_ranks, &row, .job = of_run->job, .run = of_run->run,
		     .since_us = MAX(since_and_now_us[0], believed_us));
	if (db_end(&b) == 0)
		*ret = (struct store_ranks){ row.live, row.silent, row.ended, row.later };
	return db_end(&b);
}

int store_thin_placements(struct store *s, uint64_t before_us, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, placements_drop, .before_us = before_us);
	db_add(&b, placement_hosts_gone, .before_us = before_us);
	db_add(&b, placement_hosts_drop, .before_us = before_us);
	return db_end(&b);
}
