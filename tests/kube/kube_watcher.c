/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs controller/cluster/kube/kube_watch.h manually and for tests: prints the watcher's callbacks
 *as lines of JSON until stdin ends.
 *
 *	kube_watcher KUBECONFIG [SPEED [SELECTOR]]
 *	{"node":"gpu-1","uid":"...","version":"205","unschedulable":false,"ready":true,"hands_off":null}
 *	{"gone":"gpu-1"}   {"synced":1}   {"stale":"the state of the cluster has been ..."}
 *
 * SPEED makes only the clock of the watch run that many times faster, so tests need not wait out a
 * minute without an answer.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "controller/cluster/kube/kube_watch.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static uint64_t speed = 1;

static uint64_t fast_us(void)
{
	return clock_mono_us() * speed;
}

static void print(json_t *value)
{
	CLEANUP(freep) char *line = json_line(value);

	json_decref(value);
	puts(line);
	(void)fflush(stdout);
}

static void on_node(void *context UNUSED, const struct cluster_node *node)
{
	print(json_pack("{s:s, s:s, s:s, s:b, s:b, s:s?}", "node", node->name, "uid", node->uid,
			"version", node->version, "unschedulable", node->unschedulable, "ready",
			node->ready, "hands_off", node->hands_off));
}

static void on_gone(void *context UNUSED, const char *name)
{
	print(json_pack("{s:s}", "gone", name));
}

static void on_synced(void *context)
{
	unsigned *lists = context;

	print(json_pack("{s:i}", "synced", (int)++*lists));
}

static void on_stale(void *context UNUSED, const char *words)
{
	print(json_pack("{s:s?}", "stale", words));
}

static int on_stdin(sd_event_source *source, int fd, uint32_t events UNUSED, void *context UNUSED)
{
	char text[64];

	return read(fd, text, sizeof(text)) > 0
		       ? 0
		       : sd_event_exit(sd_event_source_get_event(source), 0);
}

/* The watch's own timer uses the real clock, so tick it here. */
static int on_tick(sd_event_source *source, uint64_t due_us UNUSED, void *context)
{
	kube_watch_tick(context);
	(void)sd_event_source_set_time_relative(source, USEC_PER_SEC / speed / 4);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int run(sd_event *loop, const struct kube_config *config, const char *selector,
	       struct err *err)
{
	CLEANUP(kube_closep) struct kube *kube = NULL;
	CLEANUP(kube_watch_freep) struct kube_watch *watch = NULL;
	unsigned lists = 0;
	const struct cluster_watcher watcher = { on_node, on_gone, on_synced, on_stale, &lists };
	int r = kube_open(loop, config, &kube, err);

	if (r == 0)
		r = kube_watch_new(&(struct kube_watch_options){ .kube = kube,
								 .selector = selector,
								 .mono_us = fast_us },
				   &watcher, &watch, err);
	if (r == 0)
		r = sd_event_add_io(loop, NULL, STDIN_FILENO, EPOLLIN, on_stdin, NULL);
	if (r >= 0)
		r = sd_event_add_time_relative(loop, NULL, CLOCK_MONOTONIC, 0, 1000, on_tick, watch);
	return r < 0 ? r : sd_event_loop(loop);
}

int main(int argc, char **argv)
{
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;
	sd_event *loop = NULL;
	int r;

	if (argc < 2)
		return 2;
	(void)signal(SIGPIPE, SIG_IGN);
	speed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	r = sd_event_default(&loop);
	if (r >= 0)
		r = kube_config_load(argv[1], &config, &err);
	if (r >= 0)
		r = run(loop, &config, argc > 3 ? argv[3] : NULL, &err);
	kube_config_release(&config);
	(void)sd_event_unref(loop);
	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.msg);
	return r < 0 ? 2 : 0;
}
