/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/traces.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/process_map.h"
#include "agents/assayd/trace_converter.h"
#include "agents/assayd/trace_send.h"
#include "agents/assayd/trace_watch.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

#define LOOK_US (5 * USEC_PER_SEC) /* minimum interval of reading /proc for an unknown user */
/* Keep ended jobs: they leave a last profile. */
#define KNOWN_US (10 * USEC_PER_MIN)
#define SAY_US USEC_PER_MIN /* one line per reason, with the number suppressed */
#define TELL_US USEC_PER_SEC

enum {
	ARGUMENTS_MAX = 2 * PROCESS_MAP_MAX + 8,
	METRICS_MAX = 8 * 1024,
	SHOWN_MAX = 80, /* characters of a name in messages */
};

/* A job's process, as long as its files are accepted. */
struct known {
	struct process_entry entry;
	uint64_t seen_us;
};

struct waiting_file {
	size_t dir;
	uid_t uid;
	char *name;
};

/* The file being converted. */
struct current {
	int fd;
	struct stat st;
	char *shown; /* its name in messages */
};

struct traces {
	sd_event *event;
	const struct assayd_config *config;
	bool (*may_send)(void *context);
	void *context;
	struct trace_watch *watch;
	struct trace_converter *converter;
	struct trace_send *send;
	sd_event_source *turn; /* starts the next file from the loop */
	sd_event_source *tell; /* writes the counts, a little later */
	struct known *known;
	size_t n_known;
	uint64_t looked_us;
	struct waiting_file files[TRACES_FILES_MAX];
	size_t n_files;
	struct current now;
	uint64_t counts[TRACE_REFUSALS];
	uint64_t said_us[TRACE_REFUSALS], unsaid[TRACE_REFUSALS];
};

/* --- outcomes --- */

static int write_counts(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(METRICS_MAX);
	CLEANUP(freep) char *dir = paths_run();
	CLEANUP(freep) char *path = xasprintf("%s/traces.prom", dir);
	const struct traces *t = context;
	struct err err = ERR_INIT;
	size_t i;

	(void)strbuf_puts(&text, "# HELP assay_traces_files_total Files of followed directories "
				 "since assayd started, by outcome.\n"
				 "# TYPE assay_traces_files_total counter\n");
	for (i = 0; i < TRACE_REFUSALS; i++) {
		if (i != TRACE_GONE)
			(void)strbuf_printf(&text,
					    "assay_traces_files_total{result=\"%s\"} %" PRIu64 "\n",
					    trace_refusal_names[i], t->counts[i]);
	}
	(void)strbuf_printf(&text,
			    "# HELP assay_traces_waiting Parts that wait for the controller.\n"
			    "# TYPE assay_traces_waiting gauge\nassay_traces_waiting %zu\n",
			    trace_send_waiting(t->send));
	if (file_replace(AT_FDCWD, path, strbuf_text(&text), text.len, &err) < 0)
		log_warning("%s", err.msg);
	return 0;
}

static void tell_soon(struct traces *t)
{
	int enabled = SD_EVENT_OFF;

	if (sd_event_source_get_enabled(t->tell, &enabled) >= 0 && enabled != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time(t->tell, clock_mono_us() + TELL_US);
	(void)sd_event_source_set_enabled(t->tell, SD_EVENT_ONESHOT);
}

/* `shown` is the name for messages, in safe characters. */
static void count(struct traces *t, enum trace_refusal why, const char *shown, const char *words)
{
	const uint64_t now_us = clock_mono_us();
	const bool more = words && words[0];

	if (why == TRACE_GONE)
		return;
	t->counts[why]++;
	tell_soon(t);
	if (why == TRACE_TAKEN)
		return;
	if (t->said_us[why] && now_us < t->said_us[why] + SAY_US) {
		t->unsaid[why]++;
		return;
	}
	log_warning("trace refused: %s: %s%s%s reason=%s more=%" PRIu64, shown,
		    trace_refusal_words[why], more ? ": " : "", more ? words : "",
		    trace_refusal_names[why], t->unsaid[why]);
	t->said_us[why] = now_us;
	t->unsaid[why] = 0;
}

static char *show(const struct traces *t, size_t dir, const char *name)
{
	CLEANUP(freep)
	char *path = xasprintf("%s/%.*s", trace_watch_path(t->watch, dir), SHOWN_MAX, name);

	return utf8_clean(path);
}

static void count_file(struct traces *t, enum trace_refusal why, size_t dir, const char *name)
{
	CLEANUP(freep) char *shown = why == TRACE_GONE ? NULL : show(t, dir, name);

	count(t, why, shown, NULL);
}

static void on_sent(void *context, enum trace_refusal why, const struct trace_queue_part *part,
		    const char *words)
{
	CLEANUP(freep)
	char *shown = xasprintf("%s run %" PRId64 " rank %" PRId64 " step %" PRId64, part->job,
				part->run, part->rank, part->step);
	struct traces *t = context;

	if (why == TRACE_TAKEN)
		log_info("trace part sent: %s bytes=%zu", shown, part->size);
	count(t, why, shown, words);
}

/* --- processes --- */

static bool is_same(const struct process_entry *a, const struct process_entry *b)
{
	return a->uid == b->uid && memcmp(&a->env, &b->env, sizeof(a->env)) == 0;
}

static bool is_among(const struct known *known, size_t n, const struct process_entry *entry)
{
	size_t i;

	for (i = 0; i < n && !is_same(&known[i].entry, entry); i++)
		;
	return i < n;
}

void traces_look(struct traces *t, const struct process_entry *entries, size_t n)
{
	const uint64_t now_us = clock_mono_us();
	CLEANUP(freep) struct known *known = NULL;
	size_t i;

	if (!t->watch)
		return;
	known = xcalloc(2 * PROCESS_MAP_MAX, sizeof(*known));
	for (i = 0; i < n; i++)
		known[i] = (struct known){ entries[i], now_us };
	for (i = 0; i < t->n_known && n < (size_t)2 * PROCESS_MAP_MAX; i++) {
		if (t->known[i].seen_us + KNOWN_US > now_us &&
		    !is_among(known, n, &t->known[i].entry))
			known[n++] = t->known[i];
	}
	free(t->known);
	t->known = n ? xcalloc(n, sizeof(*t->known)) : NULL;
	if (n)
		memcpy(t->known, known, n * sizeof(*known));
	t->n_known = n;
	t->looked_us = now_us;
}

static void look(struct traces *t)
{
	CLEANUP(freep) struct process_entry *entries = xcalloc(PROCESS_MAP_MAX, sizeof(*entries));

	traces_look(t, entries, process_map_read(entries));
}

static bool has_rank(const struct traces *t, uid_t uid)
{
	size_t i;

	for (i = 0; i < t->n_known && t->known[i].entry.uid != uid; i++)
		;
	return i < t->n_known;
}

/* Does the user have a rank here? Reads /proc again for an unknown user. */
static bool is_of_a_job(struct traces *t, uid_t uid)
{
	if (!has_rank(t, uid) && clock_mono_us() >= t->looked_us + LOOK_US)
		look(t);
	return has_rank(t, uid);
}

/* All entries for trace_rules_find(); the caller frees the array. */
static struct process_entry *entries_of(const struct traces *t)
{
	struct process_entry *entries = xcalloc(t->n_known + 1, sizeof(*entries));
	size_t i;

	for (i = 0; i < t->n_known; i++)
		entries[i] = t->known[i].entry;
	return entries;
}

/* --- queue --- */

static void drop_file(struct traces *t, size_t i)
{
	free(t->files[i].name);
	memmove(&t->files[i], &t->files[i + 1], (t->n_files - i - 1) * sizeof(t->files[0]));
	t->n_files--;
}

static void wake(struct traces *t)
{
	(void)sd_event_source_set_enabled(t->turn, SD_EVENT_ONESHOT);
}

static void add_file(struct traces *t, size_t dir, const char *name, uid_t uid)
{
	size_t n = 0, i;

	for (i = 0; i < t->n_files; i++) {
		n += t->files[i].uid == uid;
		if (t->files[i].dir == dir && streq(t->files[i].name, name))
			return; /* already queued */
	}
	if (n >= TRACES_FILES_OF_USER || t->n_files == TRACES_FILES_MAX) {
		count_file(t, TRACE_CROWDED, dir, name);
		return;
	}
	t->files[t->n_files++] = (struct waiting_file){ dir, uid, xstrdup(name) };
	wake(t);
}

static void on_file(void *context, size_t dir, const char *name)
{
	struct traces *t = context;
	enum trace_refusal why;
	struct stat st;
	CLEANUP(closep) int fd = trace_watch_open(t->watch, dir, name, &st, &why);

	if (fd >= 0 && !is_of_a_job(t, st.st_uid))
		why = TRACE_STRANGER;
	if (why == TRACE_TAKEN)
		add_file(t, dir, name, st.st_uid);
	else
		count_file(t, why, dir, name);
}

/* --- conversion --- */

static void let_go(struct current *now)
{
	closep(&now->fd);
	now->fd = -1;
	free(TAKE(now->shown));
}

/* RANK=dpN-ppN-tpN for each rank of its owner, for tools that know their rank only by the file. */
static enum trace_refusal add_ranks(const struct traces *t, uid_t uid, char **argv, size_t n)
{
	enum trace_refusal why = TRACE_STRANGER;
	struct trace_place place;
	size_t i;

	for (i = 0; i < t->n_known && n + 2 < ARGUMENTS_MAX; i++) {
		enum trace_refusal of_one;

		if (t->known[i].entry.uid != uid)
			continue;
		of_one = trace_rules_place(&t->known[i].entry.env, &place);
		if (of_one != TRACE_TAKEN) {
			why = why == TRACE_TAKEN ? why : of_one;
			continue;
		}
		why = TRACE_TAKEN;
		argv[n++] = xstrdup("--part");
		argv[n++] = xasprintf("%" PRId64 "=dp%u-pp%u-tp%u", place.rank, place.dp, place.pp,
				      place.tp);
	}
	return why;
}

/* The caller frees all; `argv` has room for ARGUMENTS_MAX and is NULL-terminated. */
static enum trace_refusal make_arguments(const struct traces *t, const struct waiting_file *file,
					 char **argv)
{
	static const char *const tools[] = { [TRACE_TOOL_PYTORCH] = "pytorch",
					     [TRACE_TOOL_NDTIMELINE] = "ndtimeline",
					     [TRACE_TOOL_NONE] = "optrace" };
	size_t n = 0;

	argv[n++] = xstrdup(tools[t->config->trace_converter]);
	argv[n++] = xasprintf("--name=%s", file->name);
	argv[n++] = xstrdup("-");
	return add_ranks(t, file->uid, argv, n);
}

static enum trace_refusal convert(struct traces *t, const struct waiting_file *file)
{
	CLEANUP(strv_freep) char **argv = xcalloc(ARGUMENTS_MAX + 1, sizeof(*argv));
	struct current *now = &t->now;
	struct err err = ERR_INIT;
	enum trace_refusal why;

	now->fd = trace_watch_open(t->watch, file->dir, file->name, &now->st, &why);
	if (now->fd < 0)
		return why;
	if (now->st.st_uid != file->uid)
		return TRACE_CHANGED;
	why = make_arguments(t, file, argv);
	if (why != TRACE_TAKEN)
		return why;
	now->shown = show(t, file->dir, file->name);
	if (trace_converter_start(t->converter, now->fd, &now->st, argv, &err) == 0)
		return TRACE_TAKEN;
	log_warning("%s", err.msg);
	return TRACE_SANDBOX;
}

static int on_turn(sd_event_source *source UNUSED, void *context)
{
	struct traces *t = context;

	while (t->n_files && t->watch && !trace_converter_runs(t->converter)) {
		const enum trace_refusal why = convert(t, &t->files[0]);

		if (why != TRACE_TAKEN) {
			count_file(t, why, t->files[0].dir, t->files[0].name);
			let_go(&t->now);
		}
		drop_file(t, 0);
	}
	return 0;
}

/* Convert wall-clock seconds since 1970 to time since boot. */
static uint64_t on_boot_clock(double at_s)
{
	const double age_s = (double)clock_real_us() / USEC_PER_SEC - at_s;
	const double at_us = (double)clock_boot_us() - age_s * USEC_PER_SEC;

	return at_us > 0 ? (uint64_t)at_us : 0;
}

static enum trace_refusal take(struct traces *t, struct trace_converted *c)
{
	CLEANUP(freep) struct process_entry *entries = entries_of(t);
	struct trace_place place = { .rank = -1 };
	enum trace_refusal why =
		trace_rules_find(entries, t->n_known, t->now.st.st_uid, c->rank, &place);
	struct trace_queue_part part;

	if (why != TRACE_TAKEN)
		return why;
	if (c->of != place.dp * place.pp)
		return TRACE_SHAPE;
	part = (struct trace_queue_part){
		.run = place.run,
		.rank = c->rank,
		.step = c->step,
		.part = c->part,
		.of = c->of,
		.first_us = on_boot_clock(c->first_s),
		.last_us = on_boot_clock(c->last_s),
		.since_us = clock_mono_us(),
		.fd = c->fd,
		.offset = c->offset,
		.size = c->size,
	};
	memcpy(part.job, place.job, sizeof(part.job));
	why = trace_send_add(t->send, &part);
	if (why == TRACE_TAKEN)
		c->fd = -1;
	return why;
}

void traces_add(struct traces *t, const struct trace_queue_part *part, double first_s, double last_s)
{
	struct trace_queue_part dated = *part;
	enum trace_refusal why;

	dated.first_us = on_boot_clock(first_s);
	dated.last_us = on_boot_clock(last_s);
	dated.since_us = clock_mono_us();
	why = trace_send_add(t->send, &dated);
	if (why == TRACE_TAKEN)
		return; /* counted when it is sent */
	on_sent(t, why, &dated, "");
	(void)close(dated.fd);
}

static void on_converted(void *context, struct trace_converted *c)
{
	struct traces *t = context;
	enum trace_refusal why = c->why;
	struct stat st;

	/* The output for a file that changed meanwhile is invalid. */
	if (fstat(t->now.fd, &st) < 0 || !trace_rules_unchanged(&t->now.st, &st))
		why = TRACE_CHANGED;
	if (why == TRACE_TAKEN)
		why = take(t, c);
	if (why != TRACE_TAKEN) /* otherwise counted when it is sent */
		count(t, why, t->now.shown, c->words);
	let_go(&t->now);
	wake(t);
}

/* --- life cycle --- */

void traces_set(struct traces *t, bool on)
{
	trace_watch_free(TAKE(t->watch));
	trace_send_keep(t->send, t->config->trace_keep_bytes);
	while (t->n_files)
		drop_file(t, t->n_files - 1);
	if (!on || !t->config->trace_dirs)
		return;
	t->watch = trace_watch_new(t->event, t->config->trace_dirs, on_file, t);
	look(t);
	tell_soon(t);
}

void traces_send_to(struct traces *t, struct http *http)
{
	trace_send_to(t->send, http, t->config->controller);
}

static bool may_send(void *context)
{
	struct traces *t = context;

	return t->may_send(t->context);
}

struct traces *traces_new(struct sd_event *event, const struct assayd_config *config,
			  bool (*no_report_waits)(void *context), void *context)
{
	CLEANUP(freep) char *state = paths_state();
	struct traces *t = xcalloc(1, sizeof(*t));
	const struct trace_send_options send = {
		.backoff = { .base_us = config->retry_base_us, .cap_us = config->retry_max_us },
		.may_send = may_send,
		.ended = on_sent,
		.context = t,
	};

	t->event = sd_event_ref(event);
	t->config = config;
	t->may_send = no_report_waits;
	t->context = context;
	t->now.fd = -1;
	t->converter = trace_converter_new(event, state, on_converted, t);
	t->send = trace_send_new(event, &send);
	if (sd_event_add_defer(event, &t->turn, on_turn, t) < 0 ||
	    sd_event_source_set_enabled(t->turn, SD_EVENT_OFF) < 0 ||
	    sd_event_add_time(event, &t->tell, CLOCK_MONOTONIC, 0, 0, write_counts, t) < 0 ||
	    sd_event_source_set_enabled(t->tell, SD_EVENT_OFF) < 0)
		log_error("cannot create a timer: trace directories are not followed");
	return t;
}

void traces_free(struct traces *t)
{
	if (!t)
		return;
	traces_set(t, false);
	trace_converter_free(t->converter);
	trace_send_free(t->send);
	let_go(&t->now);
	(void)sd_event_source_disable_unref(t->turn);
	(void)sd_event_source_disable_unref(t->tell);
	(void)sd_event_unref(t->event);
	free(t->known);
	free(t);
}
