/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_watch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/hang_child.h"
#include "agents/assayd/hang_document.h"
#include "agents/assayd/hang_dumps.h"
#include "agents/assayd/hang_ranks.h"
#include "agents/assayd/hang_send.h"
#include "agents/assayd/hang_touch.h"
#include "agents/assayd/job_logs.h"
#include "agents/assayd/process_map.h"
#include "agents/assayd/ring_set.h"
#include "agents/assayd/rings.h"
#include "agents/assayd/watch.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_json.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"

#define NEVER UINT64_MAX
#define AGAIN_US (HANG_SIGHT_APART_US + 50 * USEC_PER_MSEC)
/* An inconclusive first look is not retried for longer than this. */
#define UNSURE_US (5 * USEC_PER_SEC)
/* A rate over a longer time is not current. */
#define RATE_US (2 * USEC_PER_MIN)
#define TIMER_ACCURACY_US (50 * USEC_PER_MSEC)

enum { ARGUMENTS_MAX = PROCESS_MAP_MAX + 2 * HANG_DUMPS_PREFIXES_MAX + 1 };

/* A job with ranks here, or with a request pending. */
struct job {
	char name[TRACE_JOB_SIZE];
	uint64_t asked_us;	 /* NEVER: no request is pending */
	uint64_t asked_until_us; /* monotonic */
	uint64_t sent_us;	 /* 0: never */
	double dump_s;		 /* when its newest dump was written, since 1970 */
	uint64_t dump_us;	 /* and first seen; 0: none since we started */
};

struct hang_watch {
	sd_event_source *timer;
	const struct assayd_config *config;
	const struct watch *log;
	struct rings *rings;
	struct job_logs *logs;
	struct hang_ranks ranks;
	struct hang_child *child;
	struct hang_touch *touch;
	json_t *found;		/* by assay-hang-look, during intrusive checks; or NULL */
	char *found_why;	/* why it is NULL */
	struct hang_send *send; /* NULL: no controller */
	struct job jobs[HANG_WATCH_JOBS_MAX];
	size_t n_jobs;
	/* What the child was started for. */
	bool peeks;
	char collected[TRACE_JOB_SIZE]; /* job of the document being made, or "" */
	int64_t collected_run;
	char (*asked_of)[TRACE_JOB_SIZE]; /* [PROCESS_MAP_MAX] jobs of the ranks, in order */
	uint64_t peeked_us;
	uint64_t rdma_bytes, rdma_us; /* last reading; 0: unknown */
};

/* --- jobs --- */

static struct job *find_job(struct hang_watch *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->n_jobs; i++) {
		if (streq(w->jobs[i].name, name))
			return &w->jobs[i];
	}
	return NULL;
}

/* NULL: too many jobs. */
static struct job *take_job(struct hang_watch *w, const char *name)
{
	struct job *job = find_job(w, name);

	if (job || w->n_jobs == HANG_WATCH_JOBS_MAX || strlen(name) >= sizeof(job->name))
		return job;
	job = &w->jobs[w->n_jobs++];
	*job = (struct job){ .asked_us = NEVER };
	memcpy(job->name, name, strlen(name) + 1);
	return job;
}

static void forget_jobs(struct hang_watch *w)
{
	size_t i = w->n_jobs;

	while (i-- > 0) {
		if (hang_ranks_run(&w->ranks, w->jobs[i].name) >= 0)
			continue;
		w->n_jobs--;
		memmove(&w->jobs[i], &w->jobs[i + 1], (w->n_jobs - i) * sizeof(w->jobs[0]));
	}
}

/* Ranks that ended during a restart of ours, whose rings came back. */
static void add_gone(struct hang_watch *w, uint64_t now_us)
{
	const struct ring_process *p;
	size_t i = 0;

	while ((p = rings_next_gone(w->rings, &i))) {
		struct hang_here gone = { .run = p->place.run,
					  .rank = p->place.rank,
					  .world = (int64_t)p->place.dp * p->place.pp * p->place.tp,
					  .uid = p->uid,
					  .pid = p->pid,
					  .start_ticks = p->start_ticks,
					  .since_us = p->ended_us };

		memcpy(gone.job, p->place.job, sizeof(gone.job));
		hang_ranks_add_gone(&w->ranks, &gone, now_us);
	}
}

void hang_watch_look(struct hang_watch *w, const struct process_entry *entries, size_t n)
{
	size_t i;

	if (!w->send)
		return;
	hang_ranks_set(&w->ranks, entries, n, clock_mono_us());
	add_gone(w, clock_mono_us());
	for (i = 0; i < w->ranks.n; i++)
		(void)take_job(w, w->ranks.all[i].job);
	forget_jobs(w);
	if (w->ranks.n)
		(void)sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

/* Has a ring of the job stood still for long with an operation in flight? */
static bool rings_stand(const struct hang_watch *w, const char *job)
{
	size_t i;

	for (i = 0; i < w->ranks.n; i++) {
		const struct hang_here *h = &w->ranks.all[i];

		if (h->proc_fd >= 0 && streq(h->job, job) &&
		    rings_standing_s(w->rings, job, h->run, h->rank) * USEC_PER_SEC >
			    HANG_RANKS_STANDS_US)
			return true;
	}
	return false;
}

static bool stands(const struct hang_watch *w, const struct job *job, uint64_t now_us)
{
	return hang_ranks_stand(&w->ranks, job->name, now_us) || rings_stand(w, job->name) ||
	       (job->dump_us && now_us < job->dump_us + HANG_WATCH_DUMP_US);
}

/* When its next document is due; NEVER: not at present. */
static uint64_t due_us(const struct hang_watch *w, const struct job *job, uint64_t now_us)
{
	if (job->asked_us != NEVER || now_us < job->asked_until_us)
		return job->sent_us ? job->sent_us + HANG_WATCH_ASKED_US : now_us;
	if (stands(w, job, now_us))
		return job->sent_us ? job->sent_us + HANG_WATCH_STANDS_US : now_us;
	return NEVER;
}

/* --- the document --- */

static json_t *device_of(json_t *rank)
{
	json_t *device = json_object_get(rank, "device");

	if (!device) {
		device = json_object();
		(void)json_object_set_new(rank, "device", device);
	}
	hang_document_source(rank, "device");
	return device;
}

static uint64_t began_us(const struct hang_watch *w, const char *job, int64_t run, json_int_t rank)
{
	const uint64_t hz = (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1L);
	size_t i;

	for (i = 0; i < w->ranks.n; i++) {
		const struct hang_here *h = &w->ranks.all[i];

		if (h->rank == rank && h->run == run && streq(h->job, job))
			return h->start_ticks * USEC_PER_SEC / hz;
	}
	return 0;
}

/*
 * Its GPU, and whether it failed since the process started: from assay-hang-look and the kernel
 * log.
 */
static void add_device(const struct hang_watch *w, const json_t *found, json_t *ranks)
{
	const json_int_t number = json_integer_value(json_object_get(found, "rank"));
	const char *pci = json_string_value(json_object_get(found, "pci"));
	json_t *rank = hang_document_rank(ranks, number), *gpu = json_object_get(found, "gpu");
	CLEANUP(freep) char *subject = pci ? xasprintf("pci:%s", pci) : NULL;
	int64_t xid;

	if (json_is_string(gpu))
		(void)json_object_set(rank, "gpu", gpu);
	if (!subject)
		return;
	xid = watch_fatal_xid(w->log, subject, began_us(w, w->collected, w->collected_run, number));
	if (xid >= HANG_NONE)
		(void)json_object_set_new(device_of(rank), "xid", json_integer(xid));
}

/* Per host, so the same for each of its ranks. */
static void add_rdma(struct hang_watch *w, const json_t *found, uint64_t now_us, json_t *ranks)
{
	const json_t *bytes = json_object_get(found, "rdma_bytes");
	const uint64_t n = (uint64_t)json_integer_value(bytes);
	json_t *rank;
	size_t i;

	if (!json_is_integer(bytes))
		return;
	if (w->rdma_us && now_us > w->rdma_us && now_us < w->rdma_us + RATE_US &&
	    n >= w->rdma_bytes) {
		const double per_s =
			(double)(n - w->rdma_bytes) * USEC_PER_SEC / (double)(now_us - w->rdma_us);

		json_array_foreach(ranks, i, rank)(void)
			json_object_set_new(device_of(rank), "rdma_bytes_s", json_real(per_s));
	}
	w->rdma_bytes = n;
	w->rdma_us = now_us;
}

/* Does it belong to the run of the document being made? */
static bool is_collected(const struct hang_watch *w, const struct hang_here *h)
{
	return h->run == w->collected_run && streq(h->job, w->collected);
}

/* Does an earlier rank have the same logs, i.e. the same user and pod? */
static bool has_known_logs(const struct hang_watch *w, size_t i)
{
	const struct hang_here *all = w->ranks.all;
	size_t k;

	for (k = 0; k < i; k++) {
		if (is_collected(w, &all[k]) && all[k].uid == all[i].uid &&
		    streq(all[k].pod, all[i].pod))
			return true;
	}
	return false;
}

/* "logs", new reference: findings in the logs of the job of the document. */
static json_t *tell_logs(const struct hang_watch *w)
{
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < w->ranks.n; i++) {
		const struct hang_here *h = &w->ranks.all[i];

		if (is_collected(w, h) && !has_known_logs(w, i))
			job_logs_tell(w->logs, h->uid, h->pod, all);
	}
	return all;
}

/* `found` NULL: assay-hang-look failed, for the reason in `why`. New reference. */
static json_t *make_document(struct hang_watch *w, const json_t *found, const char *why)
{
	const uint64_t now_us = clock_mono_us();
	CLEANUP(freep) char *boot = host_boot_id();
	CLEANUP(freep)
	char *line = found ? NULL : xasprintf("dumps and devices of this host: %s", why);
	int64_t world;
	json_t *ranks = hang_ranks_tell(&w->ranks, w->collected, w->collected_run, now_us, &world);
	json_t *groups = json_array(), *missing = json_array(), *document, *one;
	size_t i;

	if (line)
		(void)json_array_append_new(missing, json_string(line));
	json_array_extend(missing, json_object_get(found, "missing"));
	json_array_foreach(json_object_get(found, "ranks"), i, one) add_device(w, one, ranks);
	add_rdma(w, found, now_us, ranks);
	hang_document_add(groups, ranks, json_object_get(found, "dumps"));
	rings_tell(w->rings, w->collected, w->collected_run, groups, ranks);
	hang_ranks_tell_profilers(&w->ranks, w->collected, w->collected_run, missing);
	hang_touch_tell(w->touch, groups, ranks, missing);
	document = json_pack("{s:s, s:s, s:s, s:s, s:I, s:f, s:o, s:o, s:o}", "format", HANG_FORMAT,
			     "node", w->config->node, "boot_id", boot, "job", w->collected, "run",
			     (json_int_t)w->collected_run, "age_s", 0.0, "groups", groups, "ranks",
			     ranks, "missing", missing);
	if (w->logs)
		(void)json_object_set_new(document, "logs", tell_logs(w));
	if (world > 0)
		(void)json_object_set_new(document, "world", json_integer((json_int_t)world));
	return document;
}

static void keep(const char *text)
{
	CLEANUP(freep) char *dir = paths_run();
	CLEANUP(freep) char *path = xasprintf("%s/hang.json", dir);
	CLEANUP(freep) char *line = xasprintf("%s\n", text);
	struct err err = ERR_INIT;

	if (file_replace(AT_FDCWD, path, line, strlen(line), &err) < 0)
		log_warning("%s", err.msg);
}

static void finish(struct hang_watch *w, const json_t *found, const char *why)
{
	struct job *job = find_job(w, w->collected);
	CLEANUP(json_freep) json_t *document = NULL;
	CLEANUP(freep) char *text = NULL;

	if (job && w->send) {
		hang_ranks_look(&w->ranks, clock_mono_us());
		document = make_document(w, found, why);
		text = hang_document_line(document, HANG_SEND_MAX);
		job->sent_us = clock_mono_us();
		job->asked_us = NEVER;
	}
	if (text) {
		keep(text);
		hang_send_document(w->send, job->name, text);
	}
	w->collected[0] = '\0';
}

/* --- intrusive checks --- */

static void wake(struct hang_watch *w)
{
	(void)sd_event_source_set_time(w->timer, clock_mono_us());
	(void)sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

static void on_touched(void *context)
{
	struct hang_watch *w = context;
	CLEANUP(json_freep) json_t *found = TAKE(w->found);
	CLEANUP(freep) char *why = TAKE(w->found_why);

	finish(w, found, why);
	wake(w);
}

/* The NCCL version that one of its processes has loaded; NULL: unknown. */
static const char *nccl_of(const json_t *found)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(found, "ranks"), i, one)
	{
		const json_t *nccl = json_object_get(one, "nccl");

		if (nccl)
			return json_string_value(nccl);
	}
	return NULL;
}

/* Takes over `found`. */
static void touch(struct hang_watch *w, json_t *found, const char *why)
{
	w->found = found;
	w->found_why = xstrdup(why);
	hang_touch_start(w->touch, &w->ranks, w->collected, w->collected_run, nccl_of(found));
}

/* --- assay-hang-look --- */

static void take_dumps(struct hang_watch *w, const json_t *found)
{
	const uint64_t now_us = clock_mono_us();
	const double now_s = (double)clock_real_us() / USEC_PER_SEC;
	const json_t *one;
	struct job *job;
	size_t i;

	json_array_foreach(json_object_get(found, "ranks"), i, one)
	{
		const double at_s = json_number_value(json_object_get(one, "dump"));

		job = i < PROCESS_MAP_MAX ? find_job(w, w->asked_of[i]) : NULL;
		if (!job || at_s <= job->dump_s)
			continue;
		job->dump_s = at_s;
		if (at_s + (double)HANG_WATCH_DUMP_US / USEC_PER_SEC > now_s)
			job->dump_us = now_us;
	}
}

static void on_found(void *context, const char *text, size_t size, const char *why)
{
	CLEANUP(json_freep) json_t *found = NULL;
	struct hang_watch *w = context;

	if (text && json_parse(text, size, "assay-hang-look", &found, NULL) < 0)
		why = "assay-hang-look printed no JSON";
	take_dumps(w, found);
	if (!w->peeks)
		touch(w, json_incref(found), why);
	else
		wake(w);
}

static const char *const usual_dumps[] = { "/tmp/nccl_trace_rank_",
					   "~/.cache/torch/comm_lib_trace_rank_", NULL };

/*
 * Arguments for all live ranks, or those of the document's job. NULL-terminated; the caller frees
 * them.
 */
static char **make_arguments(struct hang_watch *w)
{
	const char *const *dumps =
		w->config->hang_dumps ? (const char *const *)w->config->hang_dumps : usual_dumps;
	char **argv = xcalloc(ARGUMENTS_MAX + 1, sizeof(*argv));
	size_t n = 0, n_ranks = 0, i;

	if (w->peeks)
		argv[n++] = xstrdup("--peek");
	else if (w->config->hang_ras == ASSAYD_ON)
		argv[n++] = xstrdup("--nccl");
	for (i = 0; dumps[i]; i++) {
		argv[n++] = xstrdup("--dumps");
		argv[n++] = xstrdup(dumps[i]);
	}
	for (i = 0; i < w->ranks.n && n_ranks < PROCESS_MAP_MAX; i++) {
		const struct hang_here *h = &w->ranks.all[i];

		if (h->proc_fd < 0 || (!w->peeks && !is_collected(w, h)))
			continue;
		memcpy(w->asked_of[n_ranks++], h->job, sizeof(h->job));
		argv[n++] = xasprintf("%ld:%" PRIu64 ":%" PRId64, (long)h->pid, h->start_ticks,
				      h->rank);
	}
	return argv;
}

static int start_child(struct hang_watch *w, bool peeks, struct err *err)
{
	CLEANUP(strv_freep) char **argv = NULL;

	w->peeks = peeks;
	argv = make_arguments(w);
	return hang_child_start(w->child, (const char *const *)argv, err);
}

static void begin(struct hang_watch *w, const struct job *job)
{
	struct err err = ERR_INIT;

	memcpy(w->collected, job->name, sizeof(w->collected));
	w->collected_run = hang_ranks_run(&w->ranks, job->name);
	if (start_child(w, false, &err) < 0)
		touch(w, NULL, err.msg);
}

/* --- scheduling --- */

/* Is it better to look again before the first answer? */
static bool is_unsure(const struct hang_watch *w, const struct job *job, uint64_t now_us)
{
	return job->asked_us != NEVER && now_us < job->asked_us + UNSURE_US &&
	       hang_ranks_unsure(&w->ranks, job->name);
}

/* Returns when to look next. */
static uint64_t serve(struct hang_watch *w, uint64_t now_us)
{
	uint64_t next_us = now_us + HANG_WATCH_IDLE_US;
	size_t i;

	for (i = 0; i < w->n_jobs; i++) {
		const struct job *job = &w->jobs[i];
		const uint64_t at_us = due_us(w, job, now_us);

		if (at_us > now_us)
			next_us = MIN(next_us, at_us);
		else if (is_unsure(w, job, now_us))
			next_us = MIN(next_us, now_us + AGAIN_US);
		else if (!w->collected[0] && !hang_child_runs(w->child))
			begin(w, job); /* may finish immediately */
	}
	if (!hang_child_runs(w->child) && now_us >= w->peeked_us + HANG_WATCH_PEEK_US) {
		w->peeked_us = now_us;
		(void)start_child(w, true, NULL);
	}
	return next_us;
}

static int on_timer(sd_event_source *source, uint64_t at_us UNUSED, void *context)
{
	struct hang_watch *w = context;
	uint64_t now_us = clock_mono_us();

	if (!w->send)
		return 0;
	hang_ranks_look(&w->ranks, now_us);
	forget_jobs(w);
	if (!w->ranks.n)
		return 0; /* hang_watch_look() restarts it */
	(void)sd_event_source_set_time(source, serve(w, now_us));
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void hang_watch_ask(struct hang_watch *w, const char *job, uint64_t deadline_us)
{
	const uint64_t now_us = clock_mono_us(), real_us = clock_real_us();
	const uint64_t left_us = deadline_us > real_us ? deadline_us - real_us : 0;
	CLEANUP(freep) struct process_entry *entries = xcalloc(PROCESS_MAP_MAX, sizeof(*entries));
	struct job *found;

	hang_watch_look(w, entries, process_map_read(entries));
	found = find_job(w, job);
	if (!found) {
		log_info("asked about a job that has no rank here: job=%.80s", job);
		return;
	}
	log_info("asked where the ranks of a job are: job=%s", found->name);
	found->asked_us = now_us;
	found->asked_until_us = now_us + MIN(left_us, HANG_WATCH_ASK_MAX_US);
	rings_ask(w->rings, job, hang_ranks_run(&w->ranks, job), found->asked_until_us - now_us);
	wake(w);
}

void hang_watch_logs(struct hang_watch *w, struct job_logs *logs)
{
	w->logs = logs;
}

void hang_watch_send_to(struct hang_watch *w, struct http *http)
{
	hang_send_free(TAKE(w->send));
	if (!http) {
		(void)sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
		return;
	}
	w->send = hang_send_new(http, w->config->controller, w->config->node);
	(void)sd_event_source_set_time(w->timer, clock_mono_us());
}

/* --- life cycle --- */

struct hang_watch *hang_watch_new(struct sd_event *event, const struct assayd_config *config,
				  const struct watch *log, struct rings *rings)
{
	struct hang_watch *w = xcalloc(1, sizeof(*w));

	w->config = config;
	w->log = log;
	w->rings = rings;
	w->asked_of = xcalloc(PROCESS_MAP_MAX, sizeof(*w->asked_of));
	w->child = hang_child_new(event, on_found, w);
	w->touch = hang_touch_new(event, config, on_touched, w);
	if (sd_event_add_time(event, &w->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_timer,
			      w) < 0 ||
	    sd_event_source_set_enabled(w->timer, SD_EVENT_OFF) < 0)
		log_error("cannot create a timer: jobs are not watched for hangs");
	return w;
}

void hang_watch_free(struct hang_watch *w)
{
	if (!w)
		return;
	hang_child_free(w->child);
	hang_touch_free(w->touch);
	json_decref(w->found);
	free(w->found_why);
	hang_send_free(w->send);
	(void)sd_event_source_disable_unref(w->timer);
	hang_ranks_release(&w->ranks);
	free(w->asked_of);
	free(w);
}
