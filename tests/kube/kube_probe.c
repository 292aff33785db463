/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs controller/cluster/kube/kube.h manually and for tests: reads requests as lines of JSON from
 * stdin and prints the results as lines of JSON.
 *
 *	kube_probe [KUBECONFIG]		(default: as in a pod)
 *	{"method":"GET","path":"/api/v1/nodes"}
 *	{"method":"GET","path":"/api/v1/nodes","query":"watch=1","watch":true,"cut":3}
 *
 * Keys: method, path (or the name of a node), query, content (json, merge, strategic), body,
 * dry_run, timeout_ms. `watch` prints {"line":...}; after that many lines, `cut` makes the callback
 * return false and `cancel` cancels from inside the callback. `then` is a request sent from inside
 * the first callback. With "wait":false the next line is read at once.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <systemd/sd-event.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "controller/cluster/kube/kube_path.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct asked {
	struct kube *kube;
	struct kube_request *request;
	unsigned *n_open;
	json_int_t lines, cut, cancel;
	json_t *tag, *then; /* owned */
};

static const char *const results[] = {
	[CLUSTER_DONE] = "done", [CLUSTER_CONFLICT] = "conflict", [CLUSTER_NOT_OURS] = "not-ours",
	[CLUSTER_GONE] = "gone", [CLUSTER_REFUSED] = "refused",	  [CLUSTER_AGAIN] = "again",
};

static void print(json_t *value)
{
	CLEANUP(freep) char *line = json_line(value);

	json_decref(value);
	puts(line);
	(void)fflush(stdout);
}

static void asked_free(struct asked *a)
{
	--*a->n_open;
	json_decref(a->tag);
	json_decref(a->then);
	free(a);
}

static void send(struct kube *kube, const json_t *line, unsigned *n_open);

static void send_then(struct asked *a)
{
	CLEANUP(json_freep) json_t *then = TAKE(a->then);

	if (then)
		send(a->kube, then, a->n_open);
}

static bool on_line(void *context, const char *line, size_t len)
{
	struct asked *a = context;

	a->lines++;
	send_then(a);
	print(json_pack("{s:O?, s:s%}", "tag", a->tag, "line", line, len));
	if (a->lines == a->cancel) {
		kube_cancel(a->request);
		print(json_pack("{s:O?, s:b}", "tag", a->tag, "cancelled", true));
		asked_free(a);
		return true;
	}
	return a->lines != a->cut;
}

static void on_done(void *context, const struct kube_answer *answer)
{
	struct asked *a = context;

	print(json_pack("{s:O?, s:s, s:i, s:i, s:s, s:s, s:I, s:s, s:O?}", "tag", a->tag, "result",
			results[answer->result], "r", answer->r, "status", (int)answer->status,
			"reason", answer->reason, "words", answer->words, "retry_us",
			(json_int_t)answer->retry_us, "audit", answer->audit, "body", answer->body));
	send_then(a);
	asked_free(a);
}

static enum kube_content content_of(const json_t *line)
{
	static const struct {
		const char *name;
		enum kube_content content;
	} names[] = { { "json", KUBE_JSON },
		      { "merge", KUBE_MERGE },
		      { "strategic", KUBE_STRATEGIC } };
	const char *name = json_string_value(json_object_get(line, "content"));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (streq(name, names[i].name))
			return names[i].content;
	}
	return json_object_get(line, "body") ? KUBE_JSON : KUBE_NO_BODY;
}

static void send(struct kube *kube, const json_t *line, unsigned *n_open)
{
	const char *node = json_string_value(json_object_get(line, "node"));
	const char *path = json_string_value(json_object_get(line, "path"));
	struct asked *a = xcalloc(1, sizeof(*a));
	char made[KUBE_PATH_MAX];
	struct kube_call call = {
		.method = json_string_value(json_object_get(line, "method")),
		.path = path ? path : made,
		.query = json_string_value(json_object_get(line, "query")),
		.content = content_of(line),
		.body = json_object_get(line, "body"),
		.dry_run = json_is_true(json_object_get(line, "dry_run")),
		.timeout_us = (uint64_t)json_integer_value(json_object_get(line, "timeout_ms")) *
			      USEC_PER_MSEC,
		.line = json_is_true(json_object_get(line, "watch")) ? on_line : NULL,
		.done = on_done,
		.context = a,
	};
	struct err err = ERR_INIT;
	int r = path ? 0 : kube_path(made, &err, "/api/v1/nodes/%s", node ? node : "");

	*a = (struct asked){ .kube = kube,
			     .n_open = n_open,
			     .cut = json_integer_value(json_object_get(line, "cut")),
			     .cancel = json_integer_value(json_object_get(line, "cancel")),
			     .tag = json_incref(json_object_get(line, "tag")),
			     .then = json_incref(json_object_get(line, "then")) };
	++*n_open;
	if (r == 0)
		r = call.method ? kube_send(kube, &call, &a->request, &err)
				: err_set(&err, EINVAL, "want a method");
	if (r < 0) {
		print(json_pack("{s:O?, s:i, s:s}", "tag", a->tag, "r", r, "unsent", err.msg));
		asked_free(a);
	}
}

static int run_line(struct kube *kube, sd_event *loop, const char *text, unsigned *n_open)
{
	CLEANUP(json_freep) json_t *line = NULL;
	struct err err = ERR_INIT;
	int r = json_parse(text, strlen(text), "stdin", &line, &err);

	if (r < 0) {
		print(json_pack("{s:i, s:s}", "r", r, "unsent", err.msg));
		return 0;
	}
	send(kube, line, n_open);
	if (json_is_false(json_object_get(line, "wait")))
		return 0;
	while (*n_open && r >= 0)
		r = sd_event_run(loop, UINT64_MAX);
	return r;
}

int main(int argc, char **argv)
{
	CLEANUP(freep) char *text = NULL;
	CLEANUP(kube_closep) struct kube *kube = NULL;
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;
	sd_event *loop = NULL;
	unsigned n_open = 0;
	size_t size = 0;
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	r = sd_event_default(&loop);
	if (r >= 0)
		r = kube_config_load(argc > 1 ? argv[1] : NULL, &config, &err);
	if (r >= 0)
		r = kube_open(loop, &config, &kube, &err);
	kube_config_release(&config);
	if (r < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		(void)sd_event_unref(loop);
		return 2;
	}
	while (r >= 0 && getline(&text, &size, stdin) > 0)
		r = run_line(kube, loop, text, &n_open);
	while (r >= 0 && n_open)
		r = sd_event_run(loop, UINT64_MAX);
	kube_close(TAKE(kube));
	(void)sd_event_unref(loop);
	return r < 0;
}
