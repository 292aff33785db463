/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-event.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_list.h"
#include "controller/cluster/kube/kube_node.h"
#include "controller/cluster/kube/kube_path.h"
#include "controller/cluster/kube/kube_view.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define RETRY_BASE_US (800 * USEC_PER_MSEC) /* client-go, tools/cache/reflector.go */
#define RETRY_CAP_US (30 * USEC_PER_SEC)
/* A person has to fix it; but a server that has just started may not know its roles for a while. */
#define REFUSED_SOON_US (5 * USEC_PER_SEC)
#define REFUSED_AGAIN_US USEC_PER_MIN
#define TICK_US USEC_PER_SEC

/* A watch that ends sooner without data has failed, and lists are at least this far apart. */
#define SHORT_US (5 * USEC_PER_SEC)

enum doing { WAITING, LISTING, WATCHING };

struct kube_watch {
	struct kube *kube;
	char *labels;
	struct kube_chosen chosen; /* from `labels` */
	uint64_t (*mono_us)(void), (*real_us)(void);
	const struct cluster_watcher *watcher;
	sd_event_source *timer;
	struct kube_view view;
	int doing;	   /* enum doing */
	char *version;	   /* last seen */
	uint64_t again_us; /* WAITING: time of the next list */
	struct backoff backoff;
	struct kube_list *list;
	struct kube_request *watch, *beat;
	unsigned seconds;	      /* requested duration of the watch */
	uint64_t started_us, beat_us; /* start of the task; start of the beat, or when due */
	bool lines;		      /* this watch has received something */
	bool broken, expired;	      /* it cannot continue; because its start version expired */
	struct err problem;	      /* last failure since all was well, for people */
	uint64_t listed_us;	      /* 0: never */
	uint64_t torn_us;     /* real time: the watch broke then, without a list since; or 0 */
	struct kube_now good; /* when the view was last known to be current */
	char *stale;	      /* as reported, or NULL */
};

static struct kube_now now_of(const struct kube_watch *w)
{
	return (struct kube_now){ w->mono_us(), w->real_us() };
}

/* ---- is it current? ------------------------------------------------------------ */

static bool is_old(const struct kube_watch *w, struct kube_now now)
{
	return now.mono_us - w->good.mono_us > KUBE_STALE_AFTER_US;
}

/* Why nothing may be decided on it, new memory; or NULL. */
static char *stale_words(struct kube_watch *w)
{
	struct kube_now now = now_of(w);
	const bool old = is_old(w, now);
	const char *problem = w->problem.msg[0] ? w->problem.msg : "no answer";
	char stamp[CLOCK_STAMP_SIZE];

	if (w->listed_us == 0)
		return w->problem.msg[0]
			       ? xasprintf("the nodes of the cluster are not known yet: %s", problem)
			       : NULL;
	if (!old && !w->torn_us)
		return kube_view_doubt(&w->view, now);
	clock_stamp(old ? w->good.real_us : w->torn_us, stamp);
	return old ? xasprintf("the state of the cluster has been unknown since %s: %s", stamp,
			       problem)
		   : xasprintf("the node watch broke at %s and is being re-listed", stamp);
}

static void judge(struct kube_watch *w)
{
	CLEANUP(freep) char *words = stale_words(w);

	if (streq(words, w->stale))
		return;
	free(w->stale);
	w->stale = TAKE(words);
	w->watcher->stale(w->watcher->context, w->stale);
}

bool kube_watch_fresh(const struct kube_watch *w)
{
	return w->listed_us > 0 && !w->stale && !is_old(w, now_of(w));
}

/* ---- next step ----------------------------------------------------------------- */

static void note_problem(struct kube_watch *w, const char *words)
{
	struct err problem = ERR_INIT;

	(void)err_set(&problem, EIO, "%s", words);
	if (!streq(w->problem.msg, problem.msg))
		log_warning("the nodes of the cluster: %s", problem.msg);
	w->problem = problem;
}

/* Changes from now on are missed: only a list started later is current. */
static void tear(struct kube_watch *w)
{
	if (w->listed_us > 0 && !w->torn_us)
		w->torn_us = w->real_us();
	judge(w);
}

/* After a failure: wait, longer each time, then list. */
static void postpone(struct kube_watch *w, enum cluster_result result, const char *words,
		     uint64_t retry_us)
{
	uint64_t wait_us = backoff_fail(&w->backoff, retry_us, random_u64());

	if (result == CLUSTER_REFUSED)
		wait_us = MAX(wait_us, w->backoff.failures <= KUBE_REFUSED_SOON ? REFUSED_SOON_US
										: REFUSED_AGAIN_US);
	w->doing = WAITING;
	w->again_us = w->mono_us() + wait_us;
	note_problem(w, words);
	tear(w);
}

static void start_watch(struct kube_watch *w);

static void set_version(struct kube_watch *w, const char *version)
{
	free(w->version);
	w->version = xstrdup(version);
}

static void on_listed(void *context, struct kube_listed *listed)
{
	struct kube_watch *w = context;
	struct kube_now now = now_of(w);

	w->list = NULL;
	if (listed->result != CLUSTER_DONE) {
		postpone(w, listed->result, listed->words, listed->retry_us);
		return;
	}
	w->listed_us = now.mono_us;
	w->good = (struct kube_now){ w->started_us, now.real_us - (now.mono_us - w->started_us) };
	w->torn_us = 0;
	set_version(w, listed->version);
	kube_view_list(&w->view, listed->nodes, listed->n, now);
	start_watch(w);
	judge(w);
}

static void start_list(struct kube_watch *w)
{
	struct err err = ERR_INIT;

	w->doing = LISTING;
	w->started_us = w->mono_us();
	if (kube_list_begin(w->kube, &w->chosen, on_listed, w, &w->list, &err) < 0)
		postpone(w, CLUSTER_AGAIN, err.msg, 0);
}

/* ---- lines of the watch -------------------------------------------------------- */

static int on_node(struct kube_watch *w, const json_t *object, struct err *err)
{
	struct cluster_node node;
	int r = kube_node_read(object, kube_names(w->kube), &node, err);

	if (r < 0)
		return r;
	if (w->view.n >= KUBE_NODES_MAX) {
		cluster_node_release(&node);
		return err_set(err, E2BIG, "more than %d nodes", KUBE_NODES_MAX);
	}
	set_version(w, node.version);
	kube_view_take(&w->view, &node, now_of(w));
	return 0;
}

static int on_deleted(struct kube_watch *w, const json_t *object, struct err *err)
{
	struct cluster_node node;
	int r = kube_node_read(object, kube_names(w->kube), &node, err);

	if (r < 0)
		return r;
	set_version(w, node.version);
	kube_view_drop(&w->view, node.name, node.uid, now_of(w));
	cluster_node_release(&node);
	return 0;
}

static int on_bookmark(struct kube_watch *w, const json_t *object, struct err *err)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));

	if (!version || !version[0])
		return err_set(err, EINVAL, "a bookmark without a resourceVersion");
	set_version(w, version);
	return 0;
}

static int on_error(struct kube_watch *w, const json_t *object, struct err *err)
{
	const char *message = json_string_value(json_object_get(object, "message"));

	w->expired = json_integer_value(json_object_get(object, "code")) == 410;
	return err_set(err, ESTALE, "the watch ended: %.300s", message ? message : "no reason");
}

static const struct line_kind {
	const char *type;
	int (*take)(struct kube_watch *w, const json_t *object, struct err *err);
} line_kinds[] = {
	{ "ADDED", on_node },	     { "MODIFIED", on_node }, { "DELETED", on_deleted },
	{ "BOOKMARK", on_bookmark }, { "ERROR", on_error },
};

static int take_line(struct kube_watch *w, const char *line, size_t len, struct err *err)
{
	CLEANUP(json_freep) json_t *event = NULL;
	const char *type;
	size_t i;
	int r = json_parse(line, len, "an event of the watch", &event, err);

	if (r < 0)
		return r;
	type = json_string_value(json_object_get(event, "type"));
	for (i = 0; i < ARRAY_SIZE(line_kinds); i++) {
		if (streq(type, line_kinds[i].type))
			return line_kinds[i].take(w, json_object_get(event, "object"), err);
	}
	return err_set(err, EINVAL, "a watch event of unknown type");
}

static bool on_line(void *context, const char *line, size_t len)
{
	struct kube_watch *w = context;
	struct err err = ERR_INIT;

	if (take_line(w, line, len, &err) < 0) {
		w->broken = true;
		note_problem(w, err.msg);
		return false;
	}
	w->lines = true;
	w->good = now_of(w);
	w->problem = (struct err)ERR_INIT;
	judge(w);
	return true;
}

/* ---- the watch ------------------------------------------------------------------ */

static void stop_watch(struct kube_watch *w)
{
	kube_cancel(TAKE(w->watch));
	kube_cancel(TAKE(w->beat));
}

static void on_watch_done(void *context, const struct kube_answer *answer)
{
	struct kube_watch *w = context;
	const uint64_t now_us = w->mono_us();
	const bool lived = now_us - w->started_us >= SHORT_US;
	const bool ended = answer->result == CLUSTER_DONE && !w->broken;
	struct err problem = w->problem;
	const char *words = w->broken ? problem.msg
			    : ended   ? "the node watch ended immediately"
				      : answer->words;

	w->watch = NULL;
	stop_watch(w);
	if (lived)
		backoff_reset(&w->backoff);
	w->expired |= answer->status == 410;
	if (w->expired && now_us - w->listed_us >= SHORT_US) {
		tear(w);
		start_list(w);
	} else if (ended && (lived || w->lines)) {
		start_watch(w);
	} else {
		postpone(w, ended || w->expired ? CLUSTER_AGAIN : answer->result, words,
			 answer->retry_us);
	}
}

static void start_watch(struct kube_watch *w)
{
	CLEANUP(freep) char *version = kube_encode(w->version);
	CLEANUP(freep)
	char *first = xasprintf("watch=1&allowWatchBookmarks=true&timeoutSeconds=%u"
				"&resourceVersion=%s",
				w->seconds, version);
	CLEANUP(freep) char *query = kube_nodes_query(first, &w->chosen);
	struct err err = ERR_INIT;

	w->doing = WATCHING;
	w->started_us = w->mono_us();
	w->beat_us = w->started_us + (is_old(w, now_of(w)) ? 0 : KUBE_BEAT_EVERY_US);
	w->lines = w->broken = w->expired = false;
	if (kube_send(
		    w->kube,
		    &(struct kube_call){ .method = "GET",
					 .path = "/api/v1/nodes",
					 .query = query,
					 .timeout_us = (w->seconds + KUBE_TIMEOUT_S) * USEC_PER_SEC,
					 .line = on_line,
					 .done = on_watch_done,
					 .context = w },
		    &w->watch, &err) < 0)
		postpone(w, CLUSTER_AGAIN, err.msg, 0);
}

/* Does the server answer while the watch is running? */
static void on_beat(void *context, const struct kube_answer *answer)
{
	struct kube_watch *w = context;
	struct kube_now now = now_of(w);

	w->beat = NULL;
	if (answer->status == 0) { /* no connection, so the watch may be dead, too */
		stop_watch(w);
		postpone(w, CLUSTER_AGAIN, answer->words, 0);
		return;
	}
	if (answer->result == CLUSTER_DONE) {
		w->good = (struct kube_now){ w->beat_us, now.real_us - (now.mono_us - w->beat_us) };
		w->problem = (struct err)ERR_INIT;
	} else {
		note_problem(w, answer->words);
	}
	w->beat_us = now.mono_us + KUBE_BEAT_EVERY_US;
	judge(w);
}

static void send_beat(struct kube_watch *w)
{
	CLEANUP(freep) char *query = kube_nodes_query("limit=1", &w->chosen);
	struct err err = ERR_INIT;

	w->beat_us = w->mono_us();
	if (kube_send(w->kube,
		      &(struct kube_call){ .method = "GET",
					   .path = "/api/v1/nodes",
					   .query = query,
					   .timeout_us = KUBE_BEAT_TIMEOUT_US,
					   .done = on_beat,
					   .context = w },
		      &w->beat, &err) == 0)
		return;
	note_problem(w, err.msg);
	w->beat_us += KUBE_BEAT_EVERY_US;
}

/* ---- time ------------------------------------------------------------------------ */

/* Is a list due, or are both the watch and the beats silent? */
static bool is_list_due(const struct kube_watch *w, struct kube_now now)
{
	return now.mono_us - w->listed_us >= KUBE_RELIST_EVERY_US ||
	       (is_old(w, now) && now.mono_us - w->started_us > KUBE_STALE_AFTER_US);
}

void kube_watch_tick(struct kube_watch *w)
{
	struct kube_now now = now_of(w);

	if (w->doing == WATCHING && is_list_due(w, now)) {
		stop_watch(w);
		start_list(w);
	} else if (w->doing == WATCHING && !w->beat && now.mono_us >= w->beat_us) {
		send_beat(w);
	} else if (w->doing == WAITING && now.mono_us >= w->again_us) {
		start_list(w);
	}
	kube_view_grow(&w->view, now);
	judge(w);
}

static int on_timer(sd_event_source *source, uint64_t due_us UNUSED, void *context)
{
	struct kube_watch *w = context;
	uint64_t now_us, wait_us = TICK_US;

	kube_watch_tick(w);
	now_us = w->mono_us();
	if (w->doing == WAITING)
		wait_us = MIN(wait_us, w->again_us > now_us ? w->again_us - now_us : 0);
	(void)sd_event_source_set_time_relative(source, wait_us);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int kube_watch_new(const struct kube_watch_options *options, const struct cluster_watcher *watcher,
		   struct kube_watch **ret, struct err *err)
{
	CLEANUP(kube_watch_freep) struct kube_watch *w = xcalloc(1, sizeof(*w));
	const unsigned span = KUBE_WATCH_MOST_S - KUBE_WATCH_LEAST_S + 1;
	int r;

	*w = (struct kube_watch){
		.kube = options->kube,
		.labels = xstrdup(options->selector),
		.mono_us = options->mono_us ? options->mono_us : clock_mono_us,
		.real_us = options->real_us ? options->real_us : clock_real_us,
		.watcher = watcher,
		.view = { .watcher = watcher, .young_us = options->young_us },
		.seconds = KUBE_WATCH_LEAST_S + (unsigned)(random_u64() % span),
		.backoff = { .base_us = RETRY_BASE_US, .cap_us = RETRY_CAP_US },
	};
	w->chosen.labels = w->labels;
	r = options->loop ? sd_event_add_time_relative(options->loop, &w->timer, CLOCK_MONOTONIC, 0,
						       USEC_PER_MSEC, on_timer, w)
			  : 0;
	if (r < 0)
		return err_errno(err, -r, "event loop");
	*ret = TAKE(w);
	return 0;
}

void kube_watch_free(struct kube_watch *w)
{
	if (!w)
		return;
	stop_watch(w);
	kube_list_cancel(w->list);
	sd_event_source_disable_unref(w->timer);
	kube_view_release(&w->view);
	free(w->labels);
	free(w->version);
	free(w->stale);
	free(w);
}
