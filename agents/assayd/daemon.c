/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "agents/assayd/assayd_check.h"
#include "agents/assayd/assayd_config.h"
#include "agents/assayd/hang_watch.h"
#include "agents/assayd/identity_files.h"
#include "agents/assayd/job_logs.h"
#include "agents/assayd/order_executor.h"
#include "agents/assayd/orders_link.h"
#include "agents/assayd/process_link.h"
#include "agents/assayd/process_map.h"
#include "agents/assayd/rings.h"
#include "agents/assayd/schedule.h"
#include "agents/assayd/spool_metrics.h"
#include "agents/assayd/topology_link.h"
#include "agents/assayd/traces.h"
#include "agents/assayd/uplink.h"
#include "agents/assayd/watch.h"
#include "agents/run/spool.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"
#include "lib/sys/file.h"
#include "lib/sys/lock.h"
#include "lib/sys/paths.h"

/* Checks what inotify watches, in case a watch was lost. */
#define TICK_US (1 * USEC_PER_MIN)
#define TICK_ACCURACY_US (5 * USEC_PER_SEC)

/* How long a restarted daemon waits for the previous one to end. */
#define START_LOCK_WAIT_US (10 * USEC_PER_SEC)

struct daemon {
	sd_event *event;
	const char *config_path;
	struct assayd_config config;
	char *spool_dir, *conf_dir, *disabled_file;
	sd_event_source *tick, *spool_watch, *conf_watch;
	struct order_executor *executor;
	struct schedule *schedule;
	struct identity_files *identity;
	struct watch *watch;
	struct hang_watch *hangs;
	struct traces *traces;
	struct job_logs *logs; /* NULL: no logs are read */
	struct rings *rings;
	struct spool_metrics metrics;
	int lock_fd; /* of the state directory; -1: not held yet */
	bool disabled;
	bool following; /* the directories of traces, in the present configuration */
	char *named;	/* ASSAY_NODE in the environment that we were started with, or "" */
	/* Connections; NULL while disabled. */
	struct http *http;
	struct uplink *uplink;
	struct orders_link *orders;
	struct topology_link *topologies;
	struct process_link *processes;
};

/* For systemctl status and the textfile collector. */
static void say_status(void *context)
{
	struct daemon *d = context;
	const char *trouble;

	if (d->disabled) {
		spool_metrics_tell(&d->metrics, false);
		(void)sd_notifyf(0, "STATUS=Stopped while %s exists", d->disabled_file);
		return;
	}
	if (!d->uplink || !d->orders)
		return;
	trouble = uplink_trouble(d->uplink);
	if (!trouble[0])
		trouble = orders_link_trouble(d->orders);
	spool_metrics_tell(&d->metrics, !trouble[0]);
	(void)sd_notifyf(0, "STATUS=%s%s%s; reports waiting: %zu, set aside: %zu",
			 d->config.controller, trouble[0] ? ": " : " is connected", trouble,
			 uplink_waiting(d->uplink), spool_aside());
}

/*
 * Set our name for children and for what we write (lib/sys/host.h). Never unset it: libcurl's
 * threads may be reading the environment, and a replaced value stays in memory.
 */
static void name_host(const struct daemon *d)
{
	(void)setenv("ASSAY_NODE", d->config.node, true);
}

/* --- orders ------------------------------------------------------------------ */

static void on_order(void *context, const struct order *order)
{
	struct daemon *d = context;

	order_executor_order(d->executor, order);
}

static void on_refused(void *context, const struct order *order, const char *why)
{
	struct daemon *d = context;

	order_executor_refused(d->executor, order, why);
}

/* --- conversations --------------------------------------------------------------- */

/* If the controller is reachable again, waiting reports can be sent. */
static void on_orders_changed(void *context)
{
	struct daemon *d = context;

	if (d->uplink && d->orders && !orders_link_trouble(d->orders)[0])
		uplink_hint(d->uplink);
	say_status(d);
}

static void on_want(void *context, const char *digest)
{
	struct daemon *d = context;

	topology_link_want(d->topologies, digest);
}

/* Trace parts are sent after reports. */
static bool no_report_waits(void *context)
{
	const struct daemon *d = context;

	return d->uplink && uplink_waiting(d->uplink) == 0;
}

static void close_links(struct daemon *d)
{
	traces_send_to(d->traces, NULL);
	hang_watch_send_to(d->hangs, NULL);
	process_link_free(TAKE(d->processes));
	topology_link_free(TAKE(d->topologies));
	orders_link_free(TAKE(d->orders));
	uplink_free(TAKE(d->uplink));
	http_free(TAKE(d->http));
}

/* Read the processes once for all users. */
static void look_at_processes(struct daemon *d)
{
	CLEANUP(freep) struct process_entry *entries = NULL;
	size_t n;

	if (d->disabled)
		return;
	entries = xcalloc(PROCESS_MAP_MAX, sizeof(*entries));
	n = process_map_read(entries);
	if (d->processes)
		process_link_look(d->processes, entries, n);
	hang_watch_look(d->hangs, entries, n);
	traces_look(d->traces, entries, n);
}

static int open_http(struct daemon *d, struct err *err)
{
	const struct http_options options = {
		.ca_file = d->config.ca,
		.cert_file = d->config.cert,
		.key_file = d->config.key,
		.token_file = d->config.token_file,
		.user_agent = "assayd/" PACKAGE_VERSION,
	};

	return http_new(d->event, &options, &d->http, err);
}

static int open_links(struct daemon *d, struct err *err)
{
	const struct backoff backoff = {
		.base_us = d->config.retry_base_us,
		.cap_us = d->config.retry_max_us,
	};
	struct uplink_options uplink = {
		.url = d->config.controller,
		.backoff = backoff,
		.changed = say_status,
		.want = on_want,
		.context = d,
	};
	struct orders_link_options orders = {
		.url = d->config.controller,
		.node = d->config.node,
		.wait_us = d->config.orders_wait_us,
		.backoff = backoff,
		.order = on_order,
		.refused = on_refused,
		.changed = on_orders_changed,
		.context = d,
	};
	int r = open_http(d, err);

	if (r < 0)
		return r;
	uplink.http = orders.http = d->http;
	d->topologies = topology_link_new(d->http, d->config.controller);
	d->processes = process_link_new(d->http, d->config.controller, d->config.node);
	r = uplink_new(d->event, &uplink, &d->uplink, err);
	if (r == 0)
		r = orders_link_new(d->event, &orders, &d->orders, err);
	if (r < 0) {
		close_links(d);
		return r;
	}
	uplink_kick(d->uplink);
	traces_send_to(d->traces, d->http);
	hang_watch_send_to(d->hangs, d->http);
	look_at_processes(d);
	say_status(d);
	return 0;
}

/* Unreadable patterns only disable the logs. */
static void set_logs(struct daemon *d, bool on)
{
	struct err err = ERR_INIT;

	hang_watch_logs(d->hangs, NULL);
	job_logs_free(d->logs);
	d->logs = NULL;
	if (on && d->config.trace_logs &&
	    job_logs_new(d->event, d->config.trace_logs, d->config.trace_patterns, &d->logs, &err) <
		    0)
		log_error("%s; job logs are not read", err.msg);
	hang_watch_logs(d->hangs, d->logs);
}

/* Obey $CONF/disabled. */
static int look_at_disabled(struct daemon *d, struct err *err)
{
	static const uint64_t never[SCHEDULE_TURNS];
	const bool disabled = access(d->disabled_file, F_OK) == 0;
	int r = 0;

	if (d->disabled != disabled || !d->following) {
		traces_set(d->traces, !disabled);
		set_logs(d, !disabled);
		rings_set(d->rings, !disabled);
	}
	d->following = true;
	if (disabled && (d->http || !d->disabled)) {
		log_warning("nothing is sent and no order is carried out while %s exists",
			    d->disabled_file);
		close_links(d);
		order_executor_stop(d->executor);
	}
	if (!disabled && d->disabled)
		log_info("%s is gone", d->disabled_file);
	d->disabled = disabled;
	watch_set(d->watch, !disabled && d->config.watch_links,
		  !disabled && d->config.watch_kernel_log);
	schedule_set(d->schedule, d->config.node, disabled ? never : d->config.schedule_us);
	if (!disabled && !d->http)
		r = open_links(d, err);
	say_status(d);
	return r;
}

/* --- events ------------------------------------------------------------------------ */

static bool is_report(const char *name)
{
	const size_t len = strlen(name);

	return len > 5 && name[0] != '.' && streq(name + len - 5, ".json");
}

static int on_spool(sd_event_source *source UNUSED, const struct inotify_event *event, void *context)
{
	struct daemon *d = context;

	if (!(event->mask & IN_Q_OVERFLOW) && (!event->len || !is_report(event->name)))
		return 0;
	order_executor_look(d->executor);
	if (d->uplink)
		uplink_kick(d->uplink);
	return 0;
}

static void look_again(struct daemon *d)
{
	struct err err = ERR_INIT;

	if (look_at_disabled(d, &err) < 0)
		log_error("%s, trying again", err.msg);
}

static int on_conf(sd_event_source *source UNUSED, const struct inotify_event *event UNUSED,
		   void *context)
{
	look_again(context);
	return 0;
}

/* Watch a directory that may come and go: re-adds a lost watch. */
static void watch(struct daemon *d, sd_event_source **watch, const char *dir,
		  sd_event_inotify_handler_t handler)
{
	static const uint32_t mask = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
				     IN_ONLYDIR;
	int enabled = SD_EVENT_OFF;

	if (*watch && sd_event_source_get_enabled(*watch, &enabled) >= 0 && enabled != SD_EVENT_OFF)
		return;
	*watch = sd_event_source_disable_unref(*watch);
	(void)sd_event_add_inotify(d->event, watch, dir, mask, handler, d);
}

static void watch_all(struct daemon *d)
{
	watch(d, &d->spool_watch, d->spool_dir, on_spool);
	watch(d, &d->conf_watch, d->conf_dir, on_conf);
}

static int on_tick(sd_event_source *source, uint64_t now_us UNUSED, void *context)
{
	struct daemon *d = context;

	watch_all(d);
	look_again(d);
	identity_files_look(d->identity);
	order_executor_look(d->executor);
	if (d->uplink)
		uplink_kick(d->uplink);
	look_at_processes(d);
	(void)sd_event_source_set_time(source, clock_mono_us() + TICK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/*
 * Open connections keep the certificates that they started with, and libcurl caches the CA
 * certificates: restart both.
 */
static void on_identity(void *context)
{
	struct daemon *d = context;
	struct err err = ERR_INIT;

	if (assayd_config_check_files(&d->config, &err) < 0) {
		log_warning("certificates changed: %s; keeping the current connections", err.msg);
		return;
	}
	log_info("certificates changed: reconnecting");
	close_links(d);
	look_again(d);
}

static void watch_identity(struct daemon *d)
{
	const char *const paths[IDENTITY_FILES_MAX] = { d->config.ca, d->config.cert,
							d->config.key };

	identity_files_set(d->identity, paths);
}

/* --- life cycle ---------------------------------------------------------------------- */

void daemon_reload(struct daemon *d)
{
	struct assayd_config config = { 0 };
	struct err err = ERR_INIT;

	(void)sd_notify(0, "RELOADING=1");
	(void)setenv("ASSAY_NODE", d->named, true);
	if (assayd_config_read(d->config_path, &config, &err) < 0) {
		log_error("%s; keeping the current configuration", err.msg);
		name_host(d);
	} else {
		assayd_config_release(&d->config);
		d->config = config;
		name_host(d);
		watch_identity(d);
		watch_reload(d->watch);
		close_links(d);
		d->following = false;
		look_again(d);
		log_info("configuration read again: controller=%s node=%s", d->config.controller,
			 d->config.node);
	}
	(void)sd_notify(0, "READY=1");
}

/*
 * Two daemons would send each report and execute each order twice. Failure to create the lock
 * file (disk full, read-only) is not fatal: spooled reports can still be sent.
 */
static int lock_state(struct daemon *d, struct err *err)
{
	CLEANUP(freep) char *state = paths_state();
	CLEANUP(freep) char *path = xasprintf("%s/assayd.lock", state);
	int r = lock_take(path, clock_mono_us() + START_LOCK_WAIT_US, &d->lock_fd, err);

	if (r == -ENOSPC || r == -EDQUOT || r == -EROFS || r == -EIO) {
		log_warning("%s; cannot tell whether another assayd is running in %s", err->msg,
			    state);
		*err = (struct err)ERR_INIT;
		return 0;
	}
	return r < 0 ? err_wrap(err, r, "another assayd is already running in %s", state) : 0;
}

int daemon_start(struct daemon *d, struct err *err)
{
	int r = file_mkdirs(d->spool_dir, err);

	if (r == 0)
		r = lock_state(d, err);
	if (r < 0)
		return r;
	log_info("version=" PACKAGE_VERSION " controller=%s node=%s", d->config.controller,
		 d->config.node);
	assayd_warn(&d->config);
	watch_all(d);
	watch_identity(d);
	r = sd_event_add_time(d->event, &d->tick, CLOCK_MONOTONIC, clock_mono_us() + TICK_US,
			      TICK_ACCURACY_US, on_tick, d);
	if (r < 0)
		return err_errno(err, -r, "cannot create a timer");
	return look_at_disabled(d, err);
}

/* Children read the same file. */
static void name_config(const char *given)
{
	CLEANUP(freep) char *path = given ? realpath(given, NULL) : NULL;

	if (path)
		(void)setenv("ASSAY_CONFIG", path, true);
}

struct daemon *daemon_new(struct sd_event *event, const char *config_path,
			  struct assayd_config *config)
{
	CLEANUP(freep) char *state = paths_state();
	const char *named = secure_getenv("ASSAY_NODE");
	struct daemon *d = xcalloc(1, sizeof(*d));

	d->event = sd_event_ref(event);
	d->config_path = config_path;
	d->named = xstrdup(named ? named : "");
	name_config(config_path);
	d->lock_fd = -1;
	d->config = *config;
	name_host(d);
	*config = (struct assayd_config){ 0 };
	d->spool_dir = xasprintf("%s/spool", state);
	d->conf_dir = paths_conf();
	d->disabled_file = xasprintf("%s/disabled", d->conf_dir);
	d->watch = watch_new(event);
	d->traces = traces_new(event, &d->config, no_report_waits, d);
	d->rings = rings_new(event, &d->config, d->traces);
	d->hangs = hang_watch_new(event, &d->config, d->watch, d->rings);
	d->executor = order_executor_new(event, &d->config, d->hangs);
	d->schedule = schedule_new(event);
	d->identity = identity_files_new(event, on_identity, d);
	return d;
}

void daemon_free(struct daemon *d)
{
	close_links(d);
	order_executor_free(d->executor);
	schedule_free(d->schedule);
	hang_watch_free(d->hangs);
	rings_free(d->rings);
	traces_free(d->traces);
	job_logs_free(d->logs);
	watch_free(d->watch);
	identity_files_free(d->identity);
	(void)sd_event_source_disable_unref(d->tick);
	spool_metrics_release(&d->metrics);
	(void)sd_event_source_disable_unref(d->spool_watch);
	(void)sd_event_source_disable_unref(d->conf_watch);
	assayd_config_release(&d->config);
	closep(&d->lock_fd);
	free(d->named);
	free(d->spool_dir);
	free(d->conf_dir);
	free(d->disabled_file);
	(void)sd_event_unref(d->event);
	free(d);
}
