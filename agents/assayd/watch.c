/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/watch.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/child.h"
#include "agents/assayd/link_watch.h"
#include "agents/assayd/log_watch.h"
#include "agents/assayd/watch_kmsg.h"
#include "agents/assayd/watch_link.h"
#include "agents/assayd/watch_pace.h"
#include "agents/run/spool.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"
#include "lib/sys/state.h"

#define KEEP_TIMEOUT_US (60 * USEC_PER_SEC)
#define RETRY_US (60 * USEC_PER_SEC) /* a full disk does not empty within seconds */
#define TIMER_ACCURACY_US (50 * USEC_PER_MSEC)

static const char state_name[] = "watch.json";

struct watch {
	sd_event *event;
	sd_event_source *timer;
	char *state_path;
	char *boot_id;
	struct log_watch log;
	struct link_watch links;
	struct watch_pace pace;
	struct watch_kmsg *kmsg; /* NULL: not watched */
	struct watch_link *link;
	struct child *keep;
	json_t *draft;	   /* of a report that is not kept yet, or NULL */
	bool saved;	   /* the state file is up to date */
	bool told;	   /* the present problem was logged */
	bool renumber;	   /* the draft was not kept, and later numbers may have been sent */
	uint64_t retry_us; /* monotonic: not before */
};

static void complain(struct watch *w, const char *why)
{
	if (!w->told)
		log_warning("what assayd observed could not be stored, retrying: %s", why);
	w->told = true;
	w->retry_us = clock_mono_us() + RETRY_US;
}

/* --- the state file --------------------------------------------------------------- */

static int save(struct watch *w, struct err *err)
{
	CLEANUP(json_freep)
	json_t *value = json_pack("{s:i, s:s, s:o, s:o, s:O?}", "v", 1, "boot_id", w->boot_id,
				  "log", log_watch_encode(&w->log), "links",
				  link_watch_encode(&w->links), "report", w->draft);
	struct err first = ERR_INIT;
	int r = state_save(state_name, value, &first);

	while (spool_made_room(r)) {
		first = (struct err)ERR_INIT;
		r = state_save(state_name, value, &first);
	}
	if (r < 0 && err)
		*err = first;
	w->saved = r == 0;
	return r;
}

static int next_number(uint64_t *ret_seq, struct err *err)
{
	struct err first = ERR_INIT;
	int r = state_next_seq(ret_seq, &first);

	while (spool_made_room(r)) {
		first = (struct err)ERR_INIT;
		r = state_next_seq(ret_seq, &first);
	}
	if (r < 0)
		*err = first;
	return r;
}

static void load(struct watch *w)
{
	CLEANUP(json_freep) json_t *value = NULL;
	const json_t *draft;

	if (state_load(state_name, &value, NULL) < 0)
		return;
	draft = json_object_get(value, "report");
	if (json_is_object(draft))
		w->draft = json_deep_copy(draft);
	w->saved = true;
	/* Another boot has another log and other ports. */
	if (!streq(json_string_value(json_object_get(value, "boot_id")), w->boot_id))
		return;
	log_watch_decode(&w->log, json_object_get(value, "log"));
	link_watch_decode(&w->links, json_object_get(value, "links"));
}

/* Removing the file, after a device reset, is an operator's way to say that all is well again. */
static void look_for_file(struct watch *w)
{
	if (!w->saved || access(w->state_path, F_OK) == 0 || errno != ENOENT)
		return;
	log_info("%s is gone: what was observed so far is lost", w->state_path);
	log_watch_forget(&w->log);
	w->saved = false;
}

/* --- reports ------------------------------------------------------------------------- */

static json_t *make_draft(struct watch *w, uint64_t seq, const struct clock_pair *now)
{
	struct report report = { .seq = seq };
	json_t *samples = json_array();
	char stamp[CLOCK_STAMP_SIZE];
	size_t i;

	if (w->kmsg)
		log_watch_tell(&w->log, now, &report);
	if (w->link)
		link_watch_tell(&w->links, now, &report);
	for (i = 0; i < report.n_samples; i++)
		json_array_append_new(samples, sample_encode(&report.samples[i]));
	report_release(&report);
	clock_stamp(now->real_us, stamp);
	return json_pack("{s:I, s:s, s:s, s:f, s:o}", "seq", (json_int_t)seq, "time", stamp,
			 "boot_id", w->boot_id, "uptime_s", (double)now->up_us / 1e6, "samples",
			 samples);
}

/* Reports must be in the order of their numbers. */
static int renumber(struct watch *w, struct err *err)
{
	uint64_t seq;
	int r = next_number(&seq, err);

	if (r < 0)
		return r;
	json_object_set_new(w->draft, "seq", json_integer((json_int_t)seq));
	w->renumber = w->saved = false;
	return 0;
}

static void start_keep(struct watch *w)
{
	const char *const arguments[] = { "keep", w->state_path, NULL };
	struct err err = ERR_INIT;
	int r = w->renumber ? renumber(w, &err) : 0;

	if (r == 0 && !w->saved)
		r = save(w, &err);
	if (r == 0)
		r = child_start(w->keep, arguments, clock_mono_us() + KEEP_TIMEOUT_US, &err);
	if (r < 0)
		complain(w, err.msg);
}

/* Get the number first: without one nothing counts as reported. */
static void tell(struct watch *w, const struct clock_pair *now)
{
	struct err err = ERR_INIT;
	uint64_t seq;

	if (next_number(&seq, &err) < 0) {
		complain(w, err.msg);
		return;
	}
	watch_pace_told(&w->pace, now->up_us);
	w->draft = make_draft(w, seq, now);
	w->saved = false;
	start_keep(w);
}

static uint64_t due_us(const struct watch *w)
{
	uint64_t since_us = WATCH_NEVER;

	if (w->kmsg)
		since_us = MIN(since_us, log_watch_due(&w->log));
	if (w->link)
		since_us = MIN(since_us, link_watch_due(&w->links));
	return watch_pace_due(&w->pace, since_us);
}

/* When to run the timer, monotonic; WATCH_NEVER: another event wakes us. */
static uint64_t wake_us(const struct watch *w, uint64_t up_us)
{
	const uint64_t due = due_us(w), now_us = clock_mono_us();

	if (child_runs(w->keep) || (!w->kmsg && !w->link))
		return WATCH_NEVER;
	if (w->draft)
		return w->retry_us;
	if (due == WATCH_NEVER)
		return WATCH_NEVER;
	return MAX(now_us + (due > up_us ? due - up_us : 0), w->retry_us);
}

static void arm(struct watch *w)
{
	const uint64_t at_us = wake_us(w, clock_boot_us());

	if (at_us == WATCH_NEVER) {
		(void)sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
		return;
	}
	(void)sd_event_source_set_time(w->timer, at_us);
	(void)sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct watch *w = context;
	const struct clock_pair now = { clock_real_us(), clock_boot_us(), w->boot_id };

	if (w->draft)
		start_keep(w);
	else if (due_us(w) <= now.up_us)
		tell(w, &now);
	arm(w);
	return 0;
}

static void on_changed(void *context)
{
	arm(context);
}

/* It was kept, or never will be: the next one may follow. */
static void drop_draft(struct watch *w)
{
	struct err err = ERR_INIT;

	json_decref(w->draft);
	w->draft = NULL;
	w->told = false;
	w->retry_us = 0;
	if (save(w, &err) < 0)
		complain(w, err.msg);
}

static void on_kept(void *context, const siginfo_t *info)
{
	enum { KEPT = 0, NOT_KEPT = 1, BAD = 2 };
	struct watch *w = context;
	const int status = info->si_code == CLD_EXITED ? info->si_status : -1;

	if (status == BAD)
		log_error("assay keep cannot read %s; its contents are lost", w->state_path);
	if (status == KEPT || status == BAD) {
		drop_draft(w);
	} else {
		/* If it was killed it may have spooled the report: then keep the number. */
		w->renumber = status == NOT_KEPT;
		complain(w, "assay keep failed");
	}
	arm(w);
}

/* --- life cycle -------------------------------------------------------------------------- */

void watch_set(struct watch *w, bool links, bool kernel_log)
{
	if (!links)
		watch_link_free(TAKE(w->link));
	else if (!w->link)
		w->link = watch_link_new(w->event, &w->links, on_changed, w);
	if (!kernel_log)
		watch_kmsg_free(TAKE(w->kmsg));
	else if (!w->kmsg)
		w->kmsg = watch_kmsg_new(w->event, &w->log, on_changed, w);
	watch_look(w);
}

void watch_reload(struct watch *w)
{
	if (w->kmsg)
		watch_kmsg_reload(w->kmsg);
}

void watch_look(struct watch *w)
{
	look_for_file(w);
	if (w->kmsg)
		watch_kmsg_look(w->kmsg);
	if (w->link)
		watch_link_look(w->link);
	arm(w);
}

int64_t watch_fatal_xid(const struct watch *w, const char *subject, uint64_t since_us)
{
	return w->kmsg ? log_watch_fatal_xid(&w->log, subject, since_us) : -2;
}

struct watch *watch_new(struct sd_event *event)
{
	CLEANUP(freep) char *state = paths_state();
	struct watch *w = xcalloc(1, sizeof(*w));

	w->event = sd_event_ref(event);
	w->state_path = xasprintf("%s/%s", state, state_name);
	w->boot_id = host_boot_id();
	w->keep = child_new(event, "assay keep", on_kept, w);
	log_watch_init(&w->log);
	link_watch_init(&w->links);
	load(w);
	if (sd_event_add_time(event, &w->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_timer,
			      w) >= 0)
		(void)sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	watch_kmsg_free(w->kmsg);
	watch_link_free(w->link);
	child_free(w->keep);
	(void)sd_event_source_disable_unref(w->timer);
	if (w->saved || w->log.next_sequence || w->links.n)
		(void)save(w, NULL);
	log_watch_release(&w->log);
	json_decref(w->draft);
	(void)sd_event_unref(w->event);
	free(w->state_path);
	free(w->boot_id);
	free(w);
}
