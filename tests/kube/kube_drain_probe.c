/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs controller/cluster/kube/kube_drain.h manually and for tests: drain rounds until no pod is
 * left, with each answer as a line of JSON on stdout.
 *
 *	kube_drain_probe KUBECONFIG NODE SECONDS [bare] [scratch] [dry] [ask] [jobs]
 *
 * Exit status: 0 no pod is left, 1 pods are left, 2 the API server could not be queried.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <systemd/sd-event.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "controller/cluster/kube/kube_drain.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct probe {
	sd_event *loop;
	struct kube_drains *drains;
	struct cluster_change change;
	struct cluster_drain how;
	uint64_t deadline_us;
};

static const char *const results[] = {
	[CLUSTER_DONE] = "done", [CLUSTER_CONFLICT] = "conflict", [CLUSTER_NOT_OURS] = "not-ours",
	[CLUSTER_GONE] = "gone", [CLUSTER_REFUSED] = "refused",	  [CLUSTER_AGAIN] = "again",
};

static const char *never_stopped(void *context UNUSED)
{
	return NULL;
}

static void print(const struct cluster_answer *answer)
{
	json_t *line = json_pack("{s:s, s:s, s:I, s:[]}", "result", results[answer->result], "words",
				 answer->words, "retry_us", (json_int_t)answer->retry_us, "jobs");
	CLEANUP(freep) char *text = NULL;
	size_t i;

	for (i = 0; i < answer->n_jobs; i++)
		(void)json_array_append_new(json_object_get(line, "jobs"),
					    json_string(answer->jobs[i]));
	text = json_line(line);
	json_decref(line);
	puts(text);
	(void)fflush(stdout);
}

static void on_answer(void *context, const struct cluster_answer *answer);

static int on_time(sd_event_source *source, uint64_t due_us UNUSED, void *context)
{
	struct probe *p = context;

	(void)sd_event_source_unref(source);
	kube_drain(p->drains, &p->change, &(struct cluster_call){ on_answer, p });
	return 0;
}

static void on_answer(void *context, const struct cluster_answer *answer)
{
	struct probe *p = context;
	uint64_t wait_us = MAX(answer->retry_us, 200 * USEC_PER_MSEC);
	sd_event_source *timer = NULL;

	print(answer);
	if (answer->result != CLUSTER_AGAIN || clock_mono_us() + wait_us >= p->deadline_us)
		(void)sd_event_exit(p->loop, answer->result != CLUSTER_DONE);
	else if (sd_event_add_time_relative(p->loop, &timer, CLOCK_MONOTONIC, wait_us,
					    USEC_PER_MSEC, on_time, p) < 0)
		(void)sd_event_exit(p->loop, 2);
}

static bool has_word(char **words, const char *word)
{
	while (*words && !streq(*words, word))
		words++;
	return *words != NULL;
}

static int run(struct probe *p, struct kube *kube, char **words)
{
	const struct kube_drains_options options = { .kube = kube,
						     .mono_us = clock_mono_us,
						     .stopped = never_stopped };
	const struct cluster_call call = { on_answer, p };
	int r;

	p->how = (struct cluster_drain){ .only_ask = has_word(words, "ask"),
					 .bare_pods = has_word(words, "bare"),
					 .empty_dir = has_word(words, "scratch"),
					 .reason = "by hand" };
	p->change.drain = &p->how;
	p->change.dry_run = has_word(words, "dry");
	p->drains = kube_drains_new(&options);
	if (has_word(words, "jobs"))
		kube_drain_jobs(p->drains, p->change.node, &call);
	else
		kube_drain(p->drains, &p->change, &call);
	r = sd_event_loop(p->loop);
	kube_drains_free(p->drains);
	return r < 0 ? 2 : r;
}

int main(int argc, char **argv)
{
	CLEANUP(kube_closep) struct kube *kube = NULL;
	struct kube_config config = { 0 };
	struct probe p = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (argc < 4) {
		(void)fprintf(stderr,
			      "usage: kube_drain_probe KUBECONFIG NODE SECONDS [WORD]...\n");
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	p.change.node = argv[2];
	p.deadline_us = clock_mono_us() + strtoull(argv[3], NULL, 10) * USEC_PER_SEC;
	r = sd_event_default(&p.loop);
	if (r >= 0)
		r = kube_config_load(argv[1], &config, &err);
	if (r >= 0)
		r = kube_open(p.loop, &config, &kube, &err);
	kube_config_release(&config);
	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.msg);
	r = r < 0 ? 2 : run(&p, kube, argv + 4);
	kube_close(TAKE(kube));
	(void)sd_event_unref(p.loop);
	return r;
}
