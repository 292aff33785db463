/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/job_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/job_log_match.h"
#include "agents/assayd/job_log_owner.h"
#include "agents/assayd/process_map.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

#define SAY_US USEC_PER_MIN
#define WHO_US (15 * USEC_PER_SEC) /* refresh of the process list: reading /proc takes time */

enum { NSEC_OF_USEC = 1000, PIECE = 64 * 1024, METRICS_MAX = 32 * 1024 };

/* A followed file; used by the thread only. */
struct followed {
	dev_t device;
	ino_t inode;
	off_t offset;
	bool seen; /* in this look */
	bool away; /* its owner has no rank now: resume here when it has */
	struct job_log_match match;
};

struct found {
	struct job_log_owner owner;
	size_t pattern;
	uint64_t count, last_us;
};

struct job_logs {
	sd_event_source *timer;
	char **globs;
	struct job_log_patterns patterns;
	uint64_t begin_us; /* CLOCK_REALTIME */
	/* Used by the thread only. */
	struct followed *files;
	size_t n_files;
	struct process_entry *entries; /* as of `who_us` */
	size_t n_entries;
	uint64_t who_us;
	pthread_t thread;
	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t wake;
	bool wanted, stops; /* a look is requested; the thread is to end */
	bool left;	    /* nobody will join the thread: it frees everything */
	uint64_t began_us;  /* when the present look began; 0: none */
	bool late_said;
	struct found found[JOB_LOGS_FOUND_MAX];
	size_t n_found;
	uint64_t totals[JOB_LOG_PATTERNS_MAX], written[JOB_LOG_PATTERNS_MAX];
	uint64_t said[JOB_LOG_PATTERNS_MAX], said_us[JOB_LOG_PATTERNS_MAX];
};

/* --- the thread --- */

/* Was the file created since then? False if the file system does not record it. */
static bool is_younger(int fd, uint64_t real_us)
{
	struct statx st = { .stx_mask = 0 };

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) < 0 || !(st.stx_mask & STATX_BTIME) ||
	    st.stx_btime.tv_sec < 0)
		return false;
	return (uint64_t)st.stx_btime.tv_sec * USEC_PER_SEC + st.stx_btime.tv_nsec / NSEC_OF_USEC >=
	       real_us;
}

static struct followed *find(struct job_logs *j, const struct stat *st)
{
	size_t i;

	for (i = 0; i < j->n_files; i++) {
		struct followed *f = &j->files[i];

		if (f->device == st->st_dev && f->inode == st->st_ino)
			return f;
	}
	return NULL;
}

/* Files that existed before us start at their end. NULL: too many. */
static struct followed *add(struct job_logs *j, int fd, const struct stat *st)
{
	size_t i = j->n_files;

	if (i == JOB_LOGS_FILES_MAX) {
		for (i = 0; i < JOB_LOGS_FILES_MAX && !j->files[i].away; i++)
			;
	}
	if (i == JOB_LOGS_FILES_MAX)
		return NULL;
	j->n_files = MAX(j->n_files, i + 1);
	j->files[i] = (struct followed){ .device = st->st_dev, .inode = st->st_ino };
	if (!is_younger(fd, j->begin_us))
		j->files[i].offset = st->st_size;
	return &j->files[i];
}

static void note(struct job_logs *j, const struct job_log_owner *owner, size_t pattern,
		 uint64_t count)
{
	struct found *f;
	size_t i, oldest = 0;

	for (i = 0; i < j->n_found; i++) {
		f = &j->found[i];
		if (f->pattern == pattern && f->owner.uid == owner->uid &&
		    streq(f->owner.pod, owner->pod))
			break;
		if (f->last_us < j->found[oldest].last_us)
			oldest = i;
	}
	if (i == j->n_found && j->n_found == JOB_LOGS_FOUND_MAX)
		i = oldest;
	else if (i == j->n_found)
		j->n_found++;
	else
		count += j->found[i].count;
	j->found[i] = (struct found){ *owner, pattern, count, clock_mono_us() };
}

/* Take the counts since the last time. */
static void gather(struct job_logs *j, struct followed *f, const struct job_log_owner *owner)
{
	size_t i;

	(void)pthread_mutex_lock(&j->lock);
	for (i = 0; i < j->patterns.n; i++) {
		if (!f->match.counts[i])
			continue;
		j->totals[i] += f->match.counts[i];
		note(j, owner, i, f->match.counts[i]);
		f->match.counts[i] = 0;
	}
	(void)pthread_mutex_unlock(&j->lock);
}

static void read_on(const struct job_logs *j, struct followed *f, int fd, off_t size)
{
	char bytes[PIECE];
	ssize_t n = 1;

	/* A truncated file starts over. */
	if (size < f->offset || size - f->offset > JOB_LOGS_LOOK_MAX) {
		f->offset = MAX(size - JOB_LOGS_LOOK_MAX, (off_t)0);
		f->match.n = 0;
	}
	while (n > 0 && f->offset < size) {
		n = pread(fd, bytes, (size_t)MIN(size - f->offset, (off_t)sizeof(bytes)), f->offset);
		if (n > 0) {
			job_log_match_add(&f->match, &j->patterns, bytes, (size_t)n);
			f->offset += n;
		}
	}
}

static void look_at(struct job_logs *j, const char *path)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct followed *f;
	struct job_log_owner owner;
	struct stat st;
	bool away;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	away = !job_log_owner_find(j->entries, j->n_entries, path, st.st_uid, &owner);
	f = find(j, &st);
	if (!f && !away)
		f = add(j, fd, &st);
	if (!f)
		return;
	f->seen = true;
	f->away = away;
	if (away)
		return;
	read_on(j, f, fd, st.st_size);
	gather(j, f, &owner);
}

static void see_who(struct job_logs *j)
{
	const uint64_t now_us = clock_mono_us();

	if (j->who_us && now_us < j->who_us + WHO_US)
		return;
	j->n_entries = process_map_read(j->entries);
	j->who_us = now_us;
}

static void look(struct job_logs *j)
{
	size_t i, k, n = 0;

	see_who(j);
	for (i = 0; i < j->n_files; i++)
		j->files[i].seen = false;
	for (i = 0; j->globs[i]; i++) {
		glob_t paths = { 0 };

		if (glob(j->globs[i], GLOB_NOSORT, NULL, &paths) == 0) {
			for (k = 0; k < paths.gl_pathc; k++)
				look_at(j, paths.gl_pathv[k]);
		}
		globfree(&paths);
	}
	for (i = 0; i < j->n_files; i++) {
		if (j->files[i].seen)
			j->files[n++] = j->files[i];
	}
	j->n_files = n;
}

static void release(struct job_logs *j)
{
	(void)pthread_mutex_destroy(&j->lock);
	(void)pthread_cond_destroy(&j->wake);
	job_log_match_release(&j->patterns);
	strv_free(j->globs);
	free(j->files);
	free(j->entries);
	free(j);
}

static void *follow(void *context)
{
	struct job_logs *j = context;
	bool left;

	(void)pthread_mutex_lock(&j->lock);
	while (!j->stops) {
		if (!j->wanted) {
			(void)pthread_cond_wait(&j->wake, &j->lock);
			continue;
		}
		j->wanted = false;
		j->began_us = clock_mono_us();
		(void)pthread_mutex_unlock(&j->lock);
		look(j);
		(void)pthread_mutex_lock(&j->lock);
		j->began_us = 0;
	}
	left = j->left;
	(void)pthread_mutex_unlock(&j->lock);
	if (left)
		release(j);
	return NULL;
}

/* --- the loop --- */

static void write_metrics(const struct job_logs *j)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(METRICS_MAX);
	CLEANUP(freep) char *dir = paths_run();
	CLEANUP(freep) char *path = xasprintf("%s/job-logs.prom", dir);
	struct err err = ERR_INIT;
	size_t i;

	(void)strbuf_puts(&text,
			  "# HELP assay_job_log_lines_total Lines in logs of jobs that say that "
			  "something is wrong, by pattern, since the start of assayd.\n"
			  "# TYPE assay_job_log_lines_total counter\n");
	for (i = 0; i < j->patterns.n; i++)
		(void)strbuf_printf(&text, "assay_job_log_lines_total{pattern=\"%s\"} %" PRIu64 "\n",
				    j->patterns.all[i].name, j->totals[i]);
	if (file_replace(AT_FDCWD, path, strbuf_text(&text), text.len, &err) < 0)
		log_warning("%s", err.msg);
}

/* At most one line per pattern and minute. */
static void say(struct job_logs *j, uint64_t now_us)
{
	bool changed = false;
	size_t i;

	for (i = 0; i < j->patterns.n; i++) {
		changed = changed || j->totals[i] != j->written[i];
		j->written[i] = j->totals[i];
		if (j->totals[i] == j->said[i] || (j->said[i] && now_us < j->said_us[i] + SAY_US))
			continue;
		log_warning("log of a job: %s pattern=%s lines=%" PRIu64, j->patterns.all[i].says,
			    j->patterns.all[i].name, j->totals[i] - j->said[i]);
		j->said[i] = j->totals[i];
		j->said_us[i] = now_us;
	}
	if (changed)
		write_metrics(j);
}

static int on_timer(sd_event_source *source, uint64_t at_us UNUSED, void *context)
{
	const uint64_t now_us = clock_mono_us();
	struct job_logs *j = context;

	(void)pthread_mutex_lock(&j->lock);
	if (!j->began_us) {
		j->wanted = true;
		j->late_said = false;
		(void)pthread_cond_signal(&j->wake);
	} else if (now_us > j->began_us + JOB_LOGS_LATE_US && !j->late_said) {
		log_warning("reading a job log has taken more than a minute: its file system does "
			    "not respond; until it does, no job logs are followed");
		j->late_said = true;
	}
	say(j, now_us);
	(void)pthread_mutex_unlock(&j->lock);
	(void)sd_event_source_set_time(source, now_us + JOB_LOGS_EVERY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int job_logs_new(struct sd_event *event, char *const *globs, const char *path,
		 struct job_logs **ret, struct err *err)
{
	struct job_logs *j = xcalloc(1, sizeof(*j));
	int r = job_log_match_read(path, &j->patterns, err);

	j->globs = strv_copy(globs);
	j->begin_us = clock_files_us();
	j->files = xcalloc(JOB_LOGS_FILES_MAX, sizeof(*j->files));
	j->entries = xcalloc(PROCESS_MAP_MAX, sizeof(*j->entries));
	(void)pthread_mutex_init(&j->lock, NULL);
	(void)pthread_cond_init(&j->wake, NULL);
	if (r == 0)
		r = sd_event_add_time(event, &j->timer, CLOCK_MONOTONIC, clock_mono_us(),
				      USEC_PER_SEC, on_timer, j);
	if (r >= 0 && pthread_create(&j->thread, NULL, follow, j) != 0)
		r = err_set(err, EAGAIN, "no thread reads job logs");
	if (r < 0) {
		(void)sd_event_source_disable_unref(j->timer);
		release(j);
		return r;
	}
	write_metrics(j);
	*ret = j;
	return 0;
}

void job_logs_free(struct job_logs *j)
{
	bool left;

	if (!j)
		return;
	(void)sd_event_source_disable_unref(j->timer);
	(void)pthread_mutex_lock(&j->lock);
	j->stops = true;
	left = j->left = j->began_us != 0; /* in the middle of a read, which may block for ever */
	if (left)
		(void)pthread_detach(j->thread);
	(void)pthread_cond_signal(&j->wake);
	(void)pthread_mutex_unlock(&j->lock);
	if (left)
		return;
	(void)pthread_join(j->thread, NULL);
	release(j);
}

/* --- output --- */

void job_logs_tell(struct job_logs *j, uid_t uid, const char *pod, json_t *list)
{
	const uint64_t now_us = clock_mono_us();
	size_t i;

	(void)pthread_mutex_lock(&j->lock);
	for (i = 0; i < j->n_found; i++) {
		const struct found *f = &j->found[i];
		const struct job_log_pattern *pattern = &j->patterns.all[f->pattern];

		if (f->last_us + JOB_LOGS_FORGET_US < now_us ||
		    !job_log_owner_has(&f->owner, uid, pod))
			continue;
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:f}", "pattern", pattern->name, "says",
					pattern->says, "count", (json_int_t)f->count, "last_s",
					(double)(now_us - f->last_us) / USEC_PER_SEC));
	}
	(void)pthread_mutex_unlock(&j->lock);
}
