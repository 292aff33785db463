/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/watch_kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/log_watch.h"
#include "agents/assayd/yaml_child.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/kernel_rules.h"
#include "lib/sys/kmsg.h"
#include "lib/sys/paths.h"

/* Records per iteration, so that other event sources get their turn. */
enum { RECORDS_AT_ONCE = 1024 };

struct watch_kmsg {
	sd_event *event;
	struct log_watch *log;
	void (*changed)(void *context);
	void *context;
	struct kernel_rules rules;
	bool has_rules;
	sd_event_source *source; /* while the log is followed */
	sd_event_source *more;	 /* on while records are left */
	struct kmsg *kmsg;
	char *path;
	int fd;
	bool backlog; /* records read now were written before we started */
	bool told;    /* the present problem was logged */
};

static void stop_following(struct watch_kmsg *k)
{
	k->source = sd_event_source_disable_unref(k->source);
	k->more = sd_event_source_disable_unref(k->more);
	closep(&k->fd);
	k->fd = -1;
}

static void complain(struct watch_kmsg *k, const char *why)
{
	if (!k->told)
		log_warning("the kernel log is not watched: %s", why);
	k->told = true;
}

/* --- rules ------------------------------------------------------------------------ */

static int take_file(struct kernel_rules *rules, const char *dir, const char *name,
		     int (*take)(struct kernel_rules *, const json_t *, const char *, struct err *),
		     struct err *err)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	CLEANUP(json_freep) json_t *doc = NULL;
	int r = yaml_child_read(path, &doc, err);

	return r < 0 ? r : take(rules, doc, path, err);
}

static int read_rules(struct watch_kmsg *k, struct err *err)
{
	CLEANUP(freep) char *dir = paths_policy();
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	int r = take_file(&rules, dir, "kernel-log.yaml", kernel_rules_take_patterns, err);

	if (r == 0)
		r = take_file(&rules, dir, "xid.yaml", kernel_rules_take_xids, err);
	if (r < 0)
		return r;
	kernel_rules_release(&k->rules);
	k->rules = rules;
	rules = (struct kernel_rules){ 0 };
	k->has_rules = true;
	return 0;
}

void watch_kmsg_reload(struct watch_kmsg *k)
{
	struct err err = ERR_INIT;

	if (read_rules(k, &err) == 0)
		return;
	if (k->has_rules)
		log_error("%s; keeping the current kernel log rules", err.msg);
	else
		complain(k, err.msg);
}

/* --- records ------------------------------------------------------------------------ */

/* 1 if there are more, 0 at the end for now, or a negative errno. */
static int take_records(struct watch_kmsg *k)
{
	const uint64_t now_us = clock_boot_us();
	struct kmsg_record record;
	unsigned n;
	int r = 1;

	for (n = 0; n < RECORDS_AT_ONCE && r > 0; n++) {
		r = kmsg_next(k->kmsg, &record);
		if (r > 0)
			log_watch_record(k->log, &k->rules, &record, k->backlog, now_us);
	}
	return r;
}

static void read_on(struct watch_kmsg *k)
{
	int r = take_records(k);

	/* Restart the count, so that a long-lived reader does not reach its byte limit. */
	k->kmsg->n_bytes = 0;
	if (r <= 0)
		k->backlog = false;
	if (k->more)
		(void)sd_event_source_set_enabled(k->more, r > 0 ? SD_EVENT_ON : SD_EVENT_OFF);
	if (r < 0) {
		complain(k, strerror(-r));
		stop_following(k);
	}
	k->changed(k->context);
}

static int on_readable(sd_event_source *source UNUSED, int fd UNUSED, uint32_t events UNUSED,
		       void *context)
{
	read_on(context);
	return 0;
}

static int on_more(sd_event_source *source UNUSED, void *context)
{
	read_on(context);
	return 0;
}

/* A regular file cannot be polled: read it again from the start, and skip records by number. */
static int open_file(struct watch_kmsg *k)
{
	closep(&k->fd);
	k->fd = open(k->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	kmsg_init(k->kmsg, &k->fd);
	if (k->fd < 0)
		return -errno;
	return sd_event_source_set_enabled(k->more, SD_EVENT_ON);
}

static int on_file(sd_event_source *source UNUSED, const struct inotify_event *event UNUSED,
		   void *context)
{
	struct watch_kmsg *k = context;
	int r = open_file(k);

	if (r < 0) {
		complain(k, strerror(-r));
		stop_following(k);
	}
	return 0;
}

/* --- following ------------------------------------------------------------------------- */

static int follow_file(struct watch_kmsg *k)
{
	int r = sd_event_add_inotify(k->event, &k->source, k->path,
				     IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF,
				     on_file, k);

	return r < 0 ? r : open_file(k);
}

/* Open a FIFO for writing too, so that it never reaches end of file. */
static int follow(struct watch_kmsg *k)
{
	struct stat st;
	int flags = O_RDONLY, r;

	if (stat(k->path, &st) < 0)
		return -errno;
	r = sd_event_add_defer(k->event, &k->more, on_more, k);
	if (r >= 0)
		r = sd_event_source_set_enabled(k->more, SD_EVENT_ON);
	if (r < 0)
		return r;
	if (S_ISREG(st.st_mode))
		return follow_file(k);
	if (S_ISFIFO(st.st_mode))
		flags = O_RDWR;
	k->fd = open(k->path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (k->fd < 0)
		return -errno;
	kmsg_init(k->kmsg, &k->fd);
	return sd_event_add_io(k->event, &k->source, k->fd, EPOLLIN, on_readable, k);
}

void watch_kmsg_look(struct watch_kmsg *k)
{
	int r;

	if (k->source)
		return;
	if (!k->has_rules)
		watch_kmsg_reload(k);
	if (!k->has_rules)
		return;
	k->backlog = true;
	r = follow(k);
	if (r < 0) {
		CLEANUP(freep) char *why = xasprintf("cannot read %s: %s", k->path, strerror(-r));

		stop_following(k);
		complain(k, why);
		return;
	}
	k->told = false;
}

struct watch_kmsg *watch_kmsg_new(struct sd_event *event, struct log_watch *log,
				  void (*changed)(void *context), void *context)
{
	struct watch_kmsg *k = xcalloc(1, sizeof(*k));

	k->event = sd_event_ref(event);
	k->log = log;
	k->changed = changed;
	k->context = context;
	k->fd = -1;
	k->path = paths_kmsg();
	k->kmsg = xcalloc(1, sizeof(*k->kmsg));
	return k;
}

void watch_kmsg_free(struct watch_kmsg *k)
{
	if (!k)
		return;
	stop_following(k);
	kernel_rules_release(&k->rules);
	(void)sd_event_unref(k->event);
	free(k->kmsg);
	free(k->path);
	free(k);
}
