/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a watch of nodes from the API server. */
#include <errno.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_node.h"
#include "controller/cluster/kube/kube_path.h"
#include "controller/cluster/kube/kube_watch.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/fuzz/fuzz.h"

enum { NODES_MAX = 64, BY_MAX = 64 };

/* ---- a server behind kube.h, with one request at a time ------------------------------ */

struct kube {
	struct kube_call call; /* `done` NULL: no request is pending */
};

int kube_send(struct kube *kube, const struct kube_call *call, struct kube_request **ret_request,
	      struct err *err)
{
	if (kube->call.done)
		return err_set(err, EBUSY, "one at a time");
	kube->call = *call;
	*ret_request = (struct kube_request *)kube;
	return 0;
}

void kube_cancel(struct kube_request *request)
{
	struct kube *kube = (struct kube *)request;

	if (kube)
		kube->call.done = NULL;
}

const struct cluster_names *kube_names(const struct kube *kube UNUSED)
{
	return &cluster_names_usual;
}

char *kube_encode(const char *text)
{
	return xstrdup(text);
}

static void answer(struct kube *kube, const json_t *body)
{
	const struct kube_call call = kube->call;

	kube->call.done = NULL;
	call.done(call.context, &(struct kube_answer){ .result = CLUSTER_DONE,
						       .status = 200,
						       .reason = "",
						       .words = "",
						       .audit = "",
						       .body = body });
}

/* ---- the watcher ------------------------------------------------------------------- */

static struct {
	char *uids[NODES_MAX], *names[NODES_MAX];
	size_t n;
} seen;

static size_t find(const char *name)
{
	size_t i;

	for (i = 0; i < seen.n; i++) {
		if (streq(seen.names[i], name))
			break;
	}
	return i;
}

static void on_node(void *context UNUSED, const struct cluster_node *node)
{
	size_t at = find(node->name);

	FUZZ_CHECK(node->name[0] && node->uid[0] && node->version[0]);
	FUZZ_CHECK((node->hold_us > 0) == (node->hold_by != NULL));
	FUZZ_CHECK(node->hands_off || !node->leaving);
	FUZZ_CHECK(!kube_node_lifts(node) || (node->mark && !node->leaving));
	if (at < seen.n)
		FUZZ_CHECK(streq(seen.uids[at], node->uid)); /* a new uid only after "gone" */
	if (at < seen.n || seen.n == NODES_MAX)
		return;
	seen.names[seen.n] = xstrdup(node->name);
	seen.uids[seen.n++] = xstrdup(node->uid);
}

static void on_gone(void *context UNUSED, const char *name)
{
	size_t at = find(name);

	FUZZ_CHECK(at < seen.n || seen.n == NODES_MAX);
	if (at == seen.n)
		return;
	free(seen.names[at]);
	free(seen.uids[at]);
	seen.n--;
	seen.names[at] = seen.names[seen.n];
	seen.uids[at] = seen.uids[seen.n];
}

static void on_synced(void *context UNUSED)
{
}

static void on_stale(void *context UNUSED, const char *words UNUSED)
{
}

static uint64_t still_us(void)
{
	return USEC_PER_HOUR;
}

/* ---- accepted input is the same after writing and reading it ------------------------- */

static void check_mark(const struct cluster_mark *mark)
{
	CLEANUP(freep) char *text = kube_mark_text(mark);
	CLEANUP(cluster_mark_freep) struct cluster_mark *back = kube_mark_read(text);

	FUZZ_CHECK(back && streq(back->by, mark->by) && streq(back->reason, mark->reason));
	FUZZ_CHECK(back->pre == mark->pre);
}

static void check_object(const json_t *object)
{
	CLEANUP(json_freep)
	json_t *taints = kube_node_taints(object, &cluster_names_usual, USEC_PER_MIN, "assay");
	const json_t *last = json_array_get(taints, json_array_size(taints) - 1);
	CLEANUP(freep) char *by = NULL;
	struct cluster_node node = { 0 };
	struct err err = ERR_INIT;
	uint64_t until_us = 0;
	int r = kube_node_read(object, &cluster_names_usual, &node, &err);

	FUZZ_CHECK(kube_hold_read(last, &until_us, &by));
	FUZZ_CHECK(until_us == USEC_PER_MIN && streq(by, "assay"));
	if (r < 0)
		fuzz_refused(r, &err);
	else if (node.mark)
		check_mark(node.mark);
	cluster_node_release(&node);
}

static void check_line(const char *line, size_t len)
{
	CLEANUP(json_freep) json_t *event = NULL;

	if (json_parse(line, len, "line", &event, NULL) == 0)
		check_object(json_object_get(event, "object"));
}

/* Returns false if the watch wants no more lines. */
static bool feed(struct kube *kube, const char *line, size_t len)
{
	CLEANUP(freep) char *exact = fuzz_bytes((const uint8_t *)line, len);

	check_line(exact, len);
	return kube->call.line(kube->call.context, exact, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cluster_watcher watcher = { on_node, on_gone, on_synced, on_stale,
							NULL };
	CLEANUP(freep) char *text = fuzz_text(data, size);
	CLEANUP(json_freep)
	json_t *list = json_pack("{s:{s:s}, s:[]}", "metadata", "resourceVersion", "1", "items");
	CLEANUP(kube_watch_freep) struct kube_watch *watch = NULL;
	struct kube kube = { .call = { 0 } };
	const char *at = text, *end = text + size;

	log_init("fuzz_kube_watch", LOG_ERR); /* rejected lines are expected */
	FUZZ_CHECK(kube_watch_new(&(struct kube_watch_options){ .kube = &kube,
								.mono_us = still_us,
								.real_us = still_us },
				  &watcher, &watch, NULL) == 0);
	kube_watch_tick(watch);
	answer(&kube, list);
	FUZZ_CHECK(kube.call.line);
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);

		if (!feed(&kube, at, len))
			break;
		at += len + 1;
	}
	kube_watch_free(TAKE(watch));
	while (seen.n > 0)
		on_gone(NULL, seen.names[0]);
	return 0;
}
