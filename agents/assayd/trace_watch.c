/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"

enum { FD_PATH_SIZE = 40 };

struct followed {
	struct trace_watch *w;
	size_t at;
	char *path;
	int fd; /* O_PATH; -1: does not exist */
	sd_event_source *source;
	bool told;  /* its absence was logged */
	bool again; /* events were lost: rescan */
};

struct trace_watch {
	sd_event *event;
	sd_event_source *timer;
	void (*file)(void *context, size_t dir, const char *name);
	void *context;
	struct followed *dirs;
	size_t n;
};

static void fd_path(int fd, char ret[static FD_PATH_SIZE])
{
	(void)snprintf(ret, FD_PATH_SIZE, "/proc/self/fd/%d", fd);
}

/* --- a file --- */

int trace_watch_open(const struct trace_watch *w, size_t dir, const char *name, struct stat *ret_st,
		     enum trace_refusal *ret_why)
{
	/* Check first: opening a device may have side effects, and a FIFO blocks. */
	CLEANUP(closep)
	int look = file_open_resolved(w->dirs[dir].fd, name, O_PATH | O_NOFOLLOW,
				      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	char path[FD_PATH_SIZE];
	int fd;

	*ret_why = look == -ELOOP || look == -EXDEV ? TRACE_LINK : TRACE_GONE;
	if (look < 0)
		return -1;
	if (fstat(look, ret_st) < 0)
		return -1;
	*ret_why = trace_rules_judge(ret_st);
	if (*ret_why != TRACE_TAKEN)
		return -1;
	fd_path(look, path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		*ret_why =
			TRACE_SANDBOX; /* only its owner may read it, and we lack the capability */
	return fd;
}

const char *trace_watch_path(const struct trace_watch *w, size_t dir)
{
	return w->dirs[dir].path;
}

static void tell(const struct followed *f, const char *name)
{
	if (trace_rules_name_ok(name))
		f->w->file(f->w->context, f->at, name);
}

/* --- a directory --- */

static void let_go(struct followed *f)
{
	f->source = sd_event_source_disable_unref(f->source);
	closep(&f->fd);
	f->fd = -1;
}

static bool is_recent(int dir, const char *name)
{
	const uint64_t now_us = clock_real_us();
	struct stat st;
	uint64_t at_us;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_ctim.tv_sec < 0)
		return false;
	at_us = (uint64_t)st.st_ctim.tv_sec * USEC_PER_SEC;
	return at_us + TRACE_WATCH_RECENT_US > now_us;
}

/* Report recently written files. */
static void scan(struct followed *f)
{
	const int fd = file_open_resolved(f->fd, ".", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t n = 0;

	f->again = false;
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while (n++ < TRACE_WATCH_SCAN_MAX && (entry = readdir(dir))) {
		if (trace_rules_name_ok(entry->d_name) && is_recent(dirfd(dir), entry->d_name))
			tell(f, entry->d_name);
	}
	(void)closedir(dir);
}

static int on_event(sd_event_source *source UNUSED, const struct inotify_event *event, void *context)
{
	struct followed *f = context;

	if (event->mask & IN_Q_OVERFLOW)
		f->again = true;
	else if (event->len && !(event->mask & IN_ISDIR))
		tell(f, event->name);
	return 0;
}

static void complain(struct followed *f, int r)
{
	if (!f->told)
		log_warning("traces.dirs: %s is not followed: %s%s", f->path, strerror(-r),
			    r == -ELOOP ? ": it leads through a symbolic link: name the directory "
					  "itself"
					: "");
	f->told = true;
}

static void follow(struct followed *f)
{
	char path[FD_PATH_SIZE];
	int r;

	f->fd = file_open_resolved(AT_FDCWD, f->path, O_PATH | O_DIRECTORY,
				   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	r = MIN(f->fd, 0);
	if (r == 0) {
		/* The directory that was opened, even if its path has changed. */
		fd_path(f->fd, path);
		r = sd_event_add_inotify(f->w->event, &f->source, path,
					 IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR, on_event, f);
	}
	if (r < 0) {
		complain(f, r);
		let_go(f);
		return;
	}
	if (f->told)
		log_info("traces.dirs: %s is followed", f->path);
	f->told = false;
	scan(f);
}

/* inotify does not report deletion of an open directory. */
static bool is_still_there(const struct followed *f)
{
	struct stat held, there;

	return f->fd >= 0 && fstat(f->fd, &held) == 0 && lstat(f->path, &there) == 0 &&
	       held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

static int on_timer(sd_event_source *source, uint64_t now_us UNUSED, void *context)
{
	struct trace_watch *w = context;
	size_t i;

	for (i = 0; i < w->n; i++) {
		struct followed *f = &w->dirs[i];

		if (!is_still_there(f)) {
			let_go(f);
			follow(f);
		} else if (f->again) {
			scan(f);
		}
	}
	(void)sd_event_source_set_time(source, clock_mono_us() + TRACE_WATCH_EVERY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

struct trace_watch *trace_watch_new(struct sd_event *event, char *const *dirs,
				    void (*file)(void *context, size_t dir, const char *name),
				    void *context)
{
	struct trace_watch *w = xcalloc(1, sizeof(*w));
	size_t i;
	int r;

	w->event = sd_event_ref(event);
	w->file = file;
	w->context = context;
	w->n = strv_len(dirs);
	w->dirs = xcalloc(w->n + 1, sizeof(*w->dirs));
	for (i = 0; i < w->n; i++)
		w->dirs[i] = (struct followed){ w, i, xstrdup(dirs[i]), -1, NULL, false, false };
	r = sd_event_add_time(event, &w->timer, CLOCK_MONOTONIC, 0, 0, on_timer, w);
	if (r < 0)
		log_error("no timer: %s", strerror(-r));
	return w;
}

void trace_watch_free(struct trace_watch *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < w->n; i++) {
		let_go(&w->dirs[i]);
		free(w->dirs[i].path);
	}
	(void)sd_event_source_disable_unref(w->timer);
	(void)sd_event_unref(w->event);
	free(w->dirs);
	free(w);
}
