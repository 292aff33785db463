/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hangs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/remediation.h"
#include "controller/cluster/cluster.h"
#include "controller/controller.h"
#include "controller/job/beats.h"
#include "controller/job/hang_board.h"
#include "controller/job/hang_job.h"
#include "controller/job/jobs.h"
#include "controller/store/store.h"
#include "controller/store/store_jobs.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_json.h"
#include "lib/hang/hang_rows.h"
#include "lib/json/json.h"

/* Shortest interval between reads of a job's placements. For a host not in them they are read at
 * once; such hosts are limited in how often they may send. */
#define PLACES_EVERY_US (10 * USEC_PER_SEC)

struct hangs {
	struct service *s;
	struct hang_board board;
	struct map jobs; /* struct hang_job */
	struct hangs_counts counts;
	/* For the check in progress. */
	uint64_t now_us;
	size_t looking; /* hosts looking */
	size_t wakes_left;
	struct hang_job *judged;     /* a job to judge, or NULL */
	const struct hang_job *gone; /* a job to forget */
};

static void release_job(void *item)
{
	hang_job_release(item);
}

static void find_oldest(void *context, void *item)
{
	const struct hang_job *job = item, **oldest = context;
	const uint64_t over_us = hang_job_over_us(job);

	if (over_us && (!*oldest || over_us < hang_job_over_us(*oldest)))
		*oldest = job;
}

static void drop(struct hangs *h, const struct hang_job *job)
{
	hang_board_drop(&h->board, job->name);
	map_drop(&h->jobs, job->name, release_job);
}

/* Returns NULL if there is no room, as all jobs are still active. */
static struct hang_job *need(struct hangs *h, const char *name)
{
	const struct hang_job *oldest = NULL;

	if (!map_find(&h->jobs, name) && h->jobs.n >= HANGS_JOBS_MAX) {
		map_each(&h->jobs, find_oldest, &oldest);
		if (!oldest)
			return NULL;
		drop(h, oldest);
	}
	return map_need(&h->jobs, name, sizeof(struct hang_job));
}

/* --- receiving a document --- */

static int read_places(struct hangs *h, struct hang_job *job, uint64_t every_us, struct err *err)
{
	int r;

	if (job->places_us && h->now_us - MIN(h->now_us, job->places_us) < every_us)
		return 0;
	r = hang_places_read(&job->places, h->s->store, job->name, h->now_us, err);
	if (r == 0)
		job->places_us = h->now_us;
	return r;
}

struct sums {
	const char *node;
	size_t bytes, jobs; /* of all documents; in which the host reported */
};

static void add_up(void *context, void *item)
{
	const struct hang_job *job = item;
	struct sums *sums = context;

	sums->bytes += job->docs.bytes;
	sums->jobs += sums->node && hang_docs_bytes(&job->docs, sums->node) > 0;
}

static int check_room(const struct hangs *h, const struct hang_job *job, const char *node,
		      size_t length, struct err *err)
{
	struct sums sums = { .node = node };
	const size_t had = hang_docs_bytes(&job->docs, node);

	map_each(&h->jobs, add_up, &sums);
	if (had == 0 && sums.jobs >= HANGS_NODE_JOBS)
		return err_set(err, EDQUOT, "'%.80s' has already reported %d jobs", node,
			       HANGS_NODE_JOBS);
	if (length > HANGS_DOC_BYTES_MAX)
		return err_set(err, EINVAL, "hang: takes %zu KiB of memory, at most %d",
			       length / 1024, HANGS_DOC_BYTES_MAX / 1024);
	if (sums.bytes - had + length > HANGS_BYTES_MAX ||
	    job->docs.bytes - had + length > HANGS_JOB_BYTES_MAX)
		return err_set(err, EDQUOT, "hosts have sent too much about hung jobs");
	return 0;
}

/* Check the document in a case of its own: it is taken as a whole or not at all. */
static int check(const json_t *doc, const char *node, struct hang_head *head, struct err *err)
{
	const struct jval root = jval_root(doc, "hang"), of = jval_get(&root, "node"),
			  job = jval_get(&root, "job");
	struct hang_case c = { .n_ranks = 0 };
	int r = hang_json_add(&c, &root, head, err);

	hang_case_release(&c);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	if (!streq(head->node, node))
		return jval_fail(&of, err, "is not '%.80s', the host that sends it", node);
	return jobs_name_ok(head->job) ? 0 : jval_fail(&job, err, "is not the name of a job");
}

static int refuse_stranger(const char *job, const char *node, struct err *err)
{
	return err_set(err, EPERM, "no rank of '%.80s' is known to run on '%.80s'", job, node);
}

static int find_job(struct hangs *h, const char *name, const char *node, struct hang_job **ret,
		    struct err *err)
{
	struct hang_job *job;
	bool there = false;
	int r;

	r = store_has_placement(h->s->store, name, node, &there, err);
	if (r == 0 && !there)
		r = refuse_stranger(name, node, err);
	if (r < 0)
		return r;
	job = need(h, name);
	if (!job)
		return err_set(err, EDQUOT, "too many jobs hang");
	r = read_places(h, job, PLACES_EVERY_US, err);
	if (r == 0 && !hang_places_has(&job->places, node))
		r = read_places(h, job, 0, err);
	if (r < 0)
		return r;
	*ret = job;
	return hang_places_has(&job->places, node) ? 0 : refuse_stranger(name, node, err);
}

static int take(struct hangs *h, const char *node, json_t *doc, struct err *err)
{
	CLEANUP(freep) struct hang_head *head = xcalloc(1, sizeof(*head));
	CLEANUP(hang_docs_words_release) struct hang_docs_words words = { .logs = NULL };
	struct hang_doc_facts facts;
	struct hang_job *job = NULL;
	int r = check(doc, node, head, err);

	if (r == 0)
		r = find_job(h, head->job, node, &job, err);
	if (r < 0)
		return r;
	hang_doc_cut(doc, &job->places, node, &facts);
	if (facts.own + facts.told == 0 && facts.refused > 0)
		return err_set(err, EPERM,
			       "none of these ranks of '%.80s' is known to run on '%.80s'",
			       head->job, node);
	r = hang_docs_read(doc, &words, err);
	if (r == 0)
		r = check_room(h, job, node, words.bytes, err);
	if (r < 0)
		return r;
	hang_docs_put(&job->docs, node, &words, &facts, h->now_us);
	hang_asks_answered(&job->asks, node, h->now_us);
	return 0;
}

int hangs_take(struct service *s, const char *node, json_t *doc, struct err *err)
{
	int r;

	s->hangs->now_us = clock_real_us();
	r = take(s->hangs, node, doc, err);
	if (r == 0)
		s->hangs->counts.documents++;
	else
		s->hangs->counts.refused++;
	return r;
}

/* --- asking hosts --- */

struct ordering {
	struct hangs *h;
	const char *node, *job;
	uint64_t until_us;
};

static void find_order(void *context, void *item)
{
	struct ordering *to = context;
	struct hang_job *job = item;

	if (!to->job && hang_asks_give(&job->asks, to->node, to->h->now_us, &to->until_us))
		to->job = job->name;
}

json_t *hangs_order(struct service *s, const char *node)
{
	struct ordering to = { .h = s->hangs, .node = node };
	char now[CLOCK_STAMP_SIZE], until[CLOCK_STAMP_SIZE];

	if (!s->hangs || s->hangs->looking >= HANGS_LOOKS_MAX)
		return NULL;
	s->hangs->now_us = clock_real_us();
	map_each(&s->hangs->jobs, find_order, &to);
	if (!to.job)
		return NULL;
	s->hangs->looking++;
	s->hangs->counts.looks++;
	clock_stamp(s->hangs->now_us, now);
	clock_stamp(to.until_us, until);
	return json_pack("{s:o, s:s, s:s, s:s, s:s}", "id",
			 json_sprintf("look-%" PRIu64, s->hangs->now_us), "kind", "look", "now",
			 now, "deadline", until, "job", to.job);
}

static void wake(void *context, const char *node)
{
	controller_wake_orders(context, node);
}

static void ask(struct hangs *h, struct hang_job *job)
{
	struct err err = ERR_INIT;

	if (hang_job_wants_ask(job, h->now_us)) {
		if (read_places(h, job, PLACES_EVERY_US, &err) < 0)
			log_warning("ranks of %s cannot be read: %s", job->name, err.msg);
		hang_asks_begin(&job->asks, job->places.nodes, job->places.n_nodes, h->now_us);
	}
	if (h->looking < HANGS_LOOKS_MAX)
		h->wakes_left -= hang_asks_waiting(
			&job->asks, MIN(h->wakes_left, HANGS_LOOKS_MAX - h->looking), wake, h->s);
}

/* --- storing and reporting findings --- */

static void keep(struct hangs *h, struct hang_job *job)
{
	struct err err = ERR_INIT;
	int r = store_need_job(h->s->store, job->name, h->now_us, &job->id, &err);

	job->unkept = false;
	if (r == 0)
		r = store_keep_hang(h->s->store, job->name, hang_job_kept(job), &err);
	if (r == 0)
		service_touch(h->s);
	else if (r != -EDQUOT)
		service_failed(h->s, &err);
}

static void tell(struct hangs *h, struct hang_job *job)
{
	const char *sentence = json_string_value(json_object_get(job->found, "sentence"));
	const char *act = json_string_value(json_object_get(job->found, "act"));
	CLEANUP(freep)
	char *words =
		job->still_words
			? xasprintf("%s stands still: %s; %s. %s", job->name, job->still_words,
				    sentence, act)
			: xasprintf("%s hangs: none of its ranks is making progress for %" PRIu64
				    "m; %s. %s",
				    job->name,
				    (h->now_us - MIN(h->now_us, job->hung.still_us)) / USEC_PER_MIN,
				    sentence, act);

	if (job->tells == 1)
		h->counts.hangs[job->class]++;
	h->s->cluster->ops->event(h->s->cluster,
				  &(struct cluster_event){ .job = job->name,
							   .reason = "AssayJobStopped",
							   .message = words,
							   .warning = true });
	log_warning("%s", words);
}

static void note(struct hangs *h, const struct hang_job *job)
{
	const char *sentence = json_string_value(json_object_get(job->found, "sentence"));
	const bool stands = job->still || job->hung.state == HUNG_HUNG;
	struct hang_noted *noted;

	if (!stands && !job->quiet) {
		hang_board_drop(&h->board, job->name);
		return;
	}
	noted = hang_board_need(&h->board, job->name);
	noted->awaited = hang_job_awaits(job, h->now_us);
	noted->owner = hang_job_is_owners(job);
	free(noted->sentence);
	noted->sentence = job->docs.hosts.n > 0 || job->said ? xstrdup(sentence) : NULL;
}

static void judge(struct hangs *h, struct hang_job *job)
{
	const uint64_t began_us = clock_mono_us();
	struct err err = ERR_INIT;
	int r = read_places(h, job, PLACES_EVERY_US, &err);

	if (r == 0)
		r = hang_job_judge(job, h->now_us, &err);
	job->cost_us = clock_mono_us() - began_us;
	if (r < 0)
		log_warning("cannot judge which ranks have stopped %s: %s", job->name, err.msg);
}

/* --- once a second --- */

static void forget_beats(void *context UNUSED, void *item)
{
	struct hang_job *job = item;

	job->beats = job->quiet = job->still = false;
	free(TAKE(job->still_words));
}

static void take_beats(void *context, const struct beats_now *now)
{
	struct hangs *h = context;
	struct hang_job *job = map_find(&h->jobs, now->job);

	if (!job && now->quiet)
		job = need(h, now->job);
	if (!job)
		return;
	job->beats = true;
	job->quiet = now->quiet;
	job->still = now->still;
	job->run = now->run;
	job->advanced_us = now->advanced_us;
	job->still_words = now->still ? xstrdup(now->words) : NULL;
}

static void look_at(void *context, void *item)
{
	struct hangs *h = context;
	struct hang_job *job = item;

	if (hang_job_look(job, h->now_us))
		log_info("%s hangs no longer", job->name);
	h->counts.hung += job->said;
	h->looking += hang_asks_look(&job->asks, h->now_us);
	if (job->unkept)
		keep(h, job);
	if (hang_job_wants_judge(job, h->now_us) &&
	    (!h->judged || job->judged_us < h->judged->judged_us))
		h->judged = job;
}

static void act_on(void *context, void *item)
{
	struct hangs *h = context;
	struct hang_job *job = item;

	if (actor_knows(h->s->act) && hang_job_tells(job, h->now_us)) {
		keep(h, job);
		tell(h, job);
	}
	note(h, job);
	ask(h, job);
	if (hang_job_is_idle(job))
		h->gone = job;
}

static void on_tick(struct service *s)
{
	struct hangs *h = s->hangs;

	if (!h || s->closing || s->failing || remediation_other(s))
		return;
	h->now_us = clock_real_us();
	h->looking = 0;
	h->wakes_left = HANGS_WAKES_MAX;
	h->counts.hung = 0;
	h->judged = NULL;
	h->gone = NULL;
	map_each(&h->jobs, forget_beats, NULL);
	beats_each(s, take_beats, h);
	map_each(&h->jobs, look_at, h);
	if (h->judged)
		judge(h, h->judged);
	map_each(&h->jobs, act_on, h);
	if (h->gone)
		drop(h, h->gone);
}

/* --- begin and end --- */

static void restore(void *context, int64_t id, const char *name, const json_t *found)
{
	struct hangs *h = context;
	struct hang_job *job;

	job = need(h, name);
	if (!job)
		return;
	job->id = id;
	hang_job_restore(job, found, h->now_us);
}

static int open_hangs(struct service *s, struct err *err)
{
	struct hangs *h = xcalloc(1, sizeof(*h));

	h->s = s;
	h->now_us = clock_real_us();
	s->hangs = h;
	s->hang_board = &h->board;
	return store_jobs_that_hang(s->store, restore, h, err);
}

/* Everything stored since the last commit was lost: store it again. */
static void keep_again(void *context UNUSED, void *item)
{
	struct hang_job *job = item;

	job->unkept = hang_job_kept(job) != NULL;
}

static void on_failed(struct service *s)
{
	if (s->hangs)
		map_each(&s->hangs->jobs, keep_again, NULL);
}

static void close_hangs(struct service *s)
{
	struct hangs *h = TAKE(s->hangs);

	s->hang_board = NULL;
	if (!h)
		return;
	hang_board_release(&h->board);
	map_release(&h->jobs, release_job);
	free(h);
}

const struct controller_part hangs_part = {
	.open = open_hangs,
	.tick = on_tick,
	.failed = on_failed,
	.close = close_hangs,
};

/* --- queries --- */

static const struct hang_job *find(const struct service *s, const char *name)
{
	return s->hangs && name ? map_find(&s->hangs->jobs, name) : NULL;
}

void hangs_show(const struct service *s, json_t *item)
{
	const struct hang_job *job = find(s, json_string_value(json_object_get(item, "job")));

	(void)json_object_set_new(item, "hang",
				  job ? hang_job_show(job, clock_real_us()) : json_null());
	if (job && job->said)
		(void)json_object_set_new(item, "state", json_string(hung_state_names[HUNG_HUNG]));
}

static json_t *groups_of(const struct hang_case *c)
{
	json_t *groups = json_array();
	size_t i;

	for (i = 0; i < c->n_groups && i < HANGS_GROUPS_SHOWN; i++) {
		const struct hang_group *g = &c->groups[i];

		(void)json_array_append_new(groups,
					    json_pack("{s:s, s:s, s:I}", "name", g->name, "desc",
						      g->desc, "size", (json_int_t)g->size));
	}
	return groups;
}

json_t *hangs_ranks(const struct service *s, const char *name, size_t first, size_t most,
		    bool *ret_more)
{
	static const struct hang_case none;
	const struct hang_job *job = find(s, name);
	const struct hang_case *c = job && job->rows ? &job->c : &none;

	*ret_more = first < c->n_ranks && c->n_ranks - first > most;
	return json_pack("{s:o, s:I, s:o, s:o}", "hang",
			 job ? hang_job_show(job, clock_real_us()) : json_null(), "world",
			 (json_int_t)c->n_ranks, "groups", groups_of(c), "ranks",
			 c->n_ranks > 0 ? hang_rows_json(c, job->rows, first, most) : json_array());
}

struct naming {
	const char *node;
	json_t *all;
};

static void add_named(void *context, void *item)
{
	const struct naming *to = context;
	json_t *one = json_array_size(to->all) < STORE_BLAMING_MAX ? hang_job_names(item, to->node)
								   : NULL;

	if (one)
		(void)json_array_append_new(to->all, one);
}

json_t *hangs_of_node(const struct service *s, const char *node)
{
	struct naming to = { node, json_array() };

	if (s->hangs)
		map_each(&s->hangs->jobs, add_named, &to);
	return to.all;
}

struct each_hung {
	void (*each)(void *context, const struct hangs_hung *hung);
	void *context;
};

static void tell_hung(void *context, void *item)
{
	const struct each_hung *to = context;
	const struct hang_job *job = item;
	const char *sentence = json_string_value(json_object_get(job->found, "sentence"));

	if (job->said)
		to->each(to->context, &(struct hangs_hung){ job->name, sentence, job->hung.still_us,
							    job->still });
}

void hangs_each(const struct service *s, void (*each)(void *context, const struct hangs_hung *hung),
		void *context)
{
	struct each_hung to = { each, context };

	if (s->hangs)
		map_each(&s->hangs->jobs, tell_hung, &to);
}

struct hangs_counts hangs_counts(const struct service *s)
{
	struct hangs_counts counts = { .hung = 0 };
	struct sums sums = { .node = NULL };

	if (!s->hangs)
		return counts;
	counts = s->hangs->counts;
	map_each(&s->hangs->jobs, add_up, &sums);
	counts.bytes = sums.bytes;
	return counts;
}
