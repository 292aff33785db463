/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/kube_fake.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube_path.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* ---- the objects ---------------------------------------------------------------- */

static void note(struct kube *kube, const char *type, unsigned node)
{
	if (!kube->events)
		kube->events = xcalloc(FAKE_EVENTS_MAX, sizeof(*kube->events));
	kube->version++;
	if (kube->version >= FAKE_EVENTS_MAX)
		abort(); /* FAKE_EVENTS_MAX is too small for the test */
	kube->nodes[node].version = kube->version;
	kube->events[kube->version] = (struct fake_event){ type, node, kube->nodes[node] };
}

void fake_touch(struct kube *kube, unsigned node)
{
	const bool there = kube->nodes[node].uid != 0;

	if (there)
		kube->nodes[node].unschedulable = !kube->nodes[node].unschedulable;
	else
		kube->nodes[node] = (struct fake_node){ .uid = ++kube->uids };
	note(kube, there ? "MODIFIED" : "ADDED", node);
}

void fake_delete(struct kube *kube, unsigned node)
{
	if (kube->nodes[node].uid == 0)
		return;
	note(kube, "DELETED", node);
	kube->nodes[node].uid = 0;
}

void fake_recreate(struct kube *kube, unsigned node)
{
	fake_delete(kube, node);
	fake_touch(kube, node);
}

void fake_compact(struct kube *kube)
{
	kube->forgotten = kube->version;
}

static json_t *object_of(unsigned node, const struct fake_node *n)
{
	char name[32], uid[32], version[32];

	(void)snprintf(name, sizeof(name), "gpu-%u", node);
	(void)snprintf(uid, sizeof(uid), "u-%u", n->uid);
	(void)snprintf(version, sizeof(version), "%" PRIu64, n->version);
	return json_pack("{s:{s:s, s:s, s:s}, s:{s:b}}", "metadata", "name", name, "uid", uid,
			 "resourceVersion", version, "spec", "unschedulable", n->unschedulable);
}

/* ---- requests --------------------------------------------------------------------- */

char *kube_encode(const char *text)
{
	return xstrdup(text);
}

const struct cluster_names *kube_names(const struct kube *kube UNUSED)
{
	return &cluster_names_usual;
}

static uint64_t number_in(const char *query, const char *key, uint64_t otherwise)
{
	const char *at = strstr(query, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : otherwise;
}

int kube_send(struct kube *kube, const struct kube_call *call, struct kube_request **ret_request,
	      struct err *err)
{
	struct kube_request *request;
	size_t i = 0;

	if (kube->down)
		return err_set(err, ECONNREFUSED, "GET %s: refused", call->path);
	while (i < FAKE_REQUESTS_MAX && kube->requests[i])
		i++;
	if (i == FAKE_REQUESTS_MAX)
		abort(); /* so many requests at once are a bug of the client */
	request = xcalloc(1, sizeof(*request));
	*request = (struct kube_request){ .kube = kube,
					  .call = *call,
					  .query = xstrdup(call->query),
					  .watch = call->line != NULL };
	CHECK_STR(call->method, "GET");
	CHECK_STR(call->path, "/api/v1/nodes");
	request->call.query = request->query;
	request->at = number_in(call->query, "resourceVersion=", 0);
	kube->watches += request->watch;
	kube->sent++;
	kube->requests[i] = request;
	*ret_request = request;
	return 0;
}

static void forget(struct kube_request *request)
{
	struct kube *kube = request->kube;
	size_t i;

	for (i = 0; i < FAKE_REQUESTS_MAX; i++) {
		if (kube->requests[i] == request)
			kube->requests[i] = NULL;
	}
	free(request->query);
	free(request);
}

void kube_cancel(struct kube_request *request)
{
	if (request && request->busy)
		abort(); /* kube.h forbids it inside the request's own callback */
	if (request)
		forget(request);
}

void fake_release(struct kube *kube)
{
	CHECK(!fake_request(kube, 0)); /* all requests were cancelled */
	free(kube->events);
	*kube = (struct kube){ 0 };
}

struct kube_request *fake_request(struct kube *kube, unsigned i)
{
	size_t at;

	for (at = 0; at < FAKE_REQUESTS_MAX; at++) {
		if (kube->requests[at] && i-- == 0)
			return kube->requests[at];
	}
	return NULL;
}

struct kube_request *fake_watch(struct kube *kube)
{
	size_t at;

	for (at = 0; at < FAKE_REQUESTS_MAX; at++) {
		if (kube->requests[at] && kube->requests[at]->watch)
			return kube->requests[at];
	}
	return NULL;
}

/* ---- responses ---------------------------------------------------------------------- */

static enum cluster_result result_of(unsigned status)
{
	if (status == 200)
		return CLUSTER_DONE;
	return status == 403 || status == 401 ? CLUSTER_REFUSED : CLUSTER_AGAIN;
}

static void answer(struct kube_request *request, unsigned status, const json_t *body)
{
	struct kube_request copy = *request;
	char words[64];

	(void)snprintf(words, sizeof(words), "GET /api/v1/nodes: %u", status);
	request->query = NULL;
	forget(request);
	copy.call.done(copy.call.context,
		       &(struct kube_answer){ .result = result_of(status),
					      .r = status ? 0 : -ECONNRESET,
					      .status = status,
					      .reason = status == 410 ? "Expired" : "",
					      .words = status == 200 ? "" : words,
					      .body = body,
					      .audit = "" });
	free(copy.query);
}

void fake_end(struct kube_request *request, unsigned status)
{
	answer(request, status, NULL);
}

/* For "continue=NODE.VERSION": rebuilds the snapshot of that version from the history. */
static void snapshot_at(const struct kube *kube, uint64_t version, struct fake_node *ret)
{
	uint64_t at;

	for (at = 1; at <= version; at++) {
		const struct fake_event *event = &kube->events[at];

		ret[event->node] = event->was;
		if (streq(event->type, "DELETED"))
			ret[event->node].uid = 0;
	}
}

static void serve_page(struct kube_request *request)
{
	struct kube *kube = request->kube;
	const char *more = strstr(request->query, "continue=");
	const unsigned page =
		(unsigned)MIN(number_in(request->query, "limit=", 0), (uint64_t)FAKE_PAGE);
	unsigned at = more ? (unsigned)number_in(more, "continue=", 0) : 0, n = 0;
	uint64_t version = more ? number_in(more, ".", 0) : kube->version;
	struct fake_node nodes[FAKE_NODES] = { 0 };
	CLEANUP(json_freep) json_t *body = NULL;
	json_t *items = json_array();
	char text[64] = "";

	if (more && version < kube->forgotten) {
		json_decref(items);
		fake_end(request, 410);
		return;
	}
	kube->lists += !more && page > 1;
	snapshot_at(kube, version, nodes);
	for (; at < FAKE_NODES && n < page; at++) {
		if (nodes[at].uid) {
			(void)json_array_append_new(items, object_of(at, &nodes[at]));
			n++;
		}
	}
	while (at < FAKE_NODES && !nodes[at].uid)
		at++;
	if (at < FAKE_NODES)
		(void)snprintf(text, sizeof(text), "%u.%" PRIu64, at, version);
	body = json_pack("{s:{s:s, s:o}, s:o}", "metadata", "continue", text, "resourceVersion",
			 json_sprintf("%" PRIu64, version), "items", items);
	answer(request, 200, body);
}

void fake_say(struct kube_request *request, const char *line)
{
	if (request->cut)
		return;
	request->busy = true;
	request->cut = !request->call.line(request->call.context, line, strlen(line));
	request->busy = false;
}

bool fake_line(struct kube_request *request)
{
	struct kube *kube = request->kube;
	const struct fake_event *event;
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(freep) char *line = NULL;

	if (request->cut || request->at >= kube->version)
		return false;
	if (request->at < kube->forgotten) {
		fake_say(request,
			 "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"reason\":"
			 "\"Expired\",\"code\":410,\"message\":\"too old resource version\"}}");
		return false;
	}
	event = &kube->events[++request->at];
	value = json_pack("{s:s, s:o}", "type", event->type, "object",
			  object_of(event->node, &event->was));
	line = json_line(value);
	fake_say(request, line);
	return !request->cut;
}

void fake_bookmark(struct kube_request *request)
{
	CLEANUP(freep)
	char *line = xasprintf("{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Node\",\"metadata\":"
			       "{\"resourceVersion\":\"%" PRIu64 "\"}}}",
			       request->at);

	if (request->at > 0)
		fake_say(request, line);
}

void fake_serve(struct kube_request *request)
{
	if (!request->watch) {
		serve_page(request);
		return;
	}
	while (fake_line(request))
		;
	if (request->cut)
		fake_end(request, 0);
}
