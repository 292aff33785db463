/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/identity_files.h"

#include <libgen.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

#define TIMER_ACCURACY_US (50 * USEC_PER_MSEC)

struct identity_file {
	char *path; /* owned; NULL: not used */
	struct stat seen;
	sd_event_source *watch; /* of its directory: renaming creates a new file */
};

struct identity_files {
	sd_event *event;
	sd_event_source *quiet;
	struct identity_file files[IDENTITY_FILES_MAX];
	void (*changed)(void *context);
	void *context;
};

/* All zero if it does not exist. */
static struct stat look_at(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 ? st : (struct stat){ .st_size = 0 };
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void identity_files_look(struct identity_files *f)
{
	bool changed = false;
	size_t i;

	for (i = 0; i < IDENTITY_FILES_MAX; i++) {
		const struct stat now = look_at(f->files[i].path);

		changed |= !same(&now, &f->files[i].seen);
		f->files[i].seen = now;
	}
	if (changed)
		f->changed(f->context);
}

static int on_quiet(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	identity_files_look(context);
	return 0;
}

static int on_event(sd_event_source *source UNUSED, const struct inotify_event *event UNUSED,
		    void *context)
{
	struct identity_files *f = context;

	(void)sd_event_source_set_time(f->quiet, clock_mono_us() + IDENTITY_FILES_QUIET_US);
	(void)sd_event_source_set_enabled(f->quiet, SD_EVENT_ONESHOT);
	return 0;
}

static void forget(struct identity_file *file)
{
	(void)sd_event_source_disable_unref(file->watch);
	free(file->path);
	*file = (struct identity_file){ .path = NULL };
}

/* Without a watch identity_files_look() still detects changes. */
static void watch(struct identity_files *f, struct identity_file *file, const char *path)
{
	static const uint32_t mask = IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_CLOSE_WRITE |
				     IN_ONLYDIR;
	CLEANUP(freep) char *copy = xstrdup(path);

	file->path = xstrdup(path);
	file->seen = look_at(path);
	if (path)
		(void)sd_event_add_inotify(f->event, &file->watch, dirname(copy), mask, on_event, f);
}

void identity_files_set(struct identity_files *f, const char *const paths[static IDENTITY_FILES_MAX])
{
	size_t i;

	for (i = 0; i < IDENTITY_FILES_MAX; i++) {
		forget(&f->files[i]);
		watch(f, &f->files[i], paths[i]);
	}
}

struct identity_files *identity_files_new(struct sd_event *event, void (*changed)(void *context),
					  void *context)
{
	struct identity_files *f = xcalloc(1, sizeof(*f));

	f->event = sd_event_ref(event);
	f->changed = changed;
	f->context = context;
	if (sd_event_add_time(event, &f->quiet, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_quiet,
			      f) >= 0)
		(void)sd_event_source_set_enabled(f->quiet, SD_EVENT_OFF);
	return f;
}

void identity_files_free(struct identity_files *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < IDENTITY_FILES_MAX; i++)
		forget(&f->files[i]);
	(void)sd_event_source_disable_unref(f->quiet);
	(void)sd_event_unref(f->event);
	free(f);
}
