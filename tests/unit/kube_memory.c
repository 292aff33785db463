/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/kube_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube_config.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define NODES "/api/v1/nodes"
#define RV "resourceVersion="
#define EVENTS "/api/v1/namespaces/default/events"

struct kube_request {
	struct kube_request *next;
	struct kube *kube;
	struct kube_call call;
	char *what, *path, *query;
	json_t *body;
	bool stream;
	size_t told; /* log lines sent on a stream */
};

/* --- the functions of kube.h --- */

static void request_free(struct kube_request *q)
{
	free(q->what);
	free(q->path);
	free(q->query);
	json_decref(q->body);
	free(q);
}

static void unlink_request(struct kube_request *q)
{
	struct kube_request **at = &q->kube->first;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
}

int kube_send(struct kube *kube, const struct kube_call *call, struct kube_request **ret_request,
	      struct err *err UNUSED)
{
	struct kube_request *q = xcalloc(1, sizeof(*q)), **at = &kube->first;
	const char *from = call->query ? strstr(call->query, RV) : NULL;

	q->kube = kube;
	q->call = *call;
	q->path = xstrdup(call->path);
	q->query = xstrdup(call->query);
	q->what = xasprintf("%s %s", call->method, call->path);
	q->body = call->body ? json_deep_copy(call->body) : NULL;
	q->stream = call->line != NULL;
	q->told = from ? strtoull(from + strlen(RV), NULL, 10) - FAKE_FIRST : 0;
	while (*at)
		at = &(*at)->next;
	*at = q;
	kube->requests++;
	kube->streams += q->stream;
	*ret_request = q;
	return 0;
}

void kube_cancel(struct kube_request *request)
{
	if (!request)
		return;
	request->kube->streams -= request->stream;
	unlink_request(request);
	request_free(request);
}

int kube_open(struct sd_event *loop UNUSED, const struct kube_config *config UNUSED,
	      struct kube **ret UNUSED, struct err *err)
{
	return err_set(err, ENOSYS, "there is only the one that a test makes");
}

void kube_close(struct kube *kube UNUSED)
{
}

const char *kube_namespace(const struct kube *kube UNUSED)
{
	return "assay";
}

const struct cluster_names *kube_names(const struct kube *kube UNUSED)
{
	return &cluster_names_usual;
}

/* --- the server --- */

static void merge(json_t *target, const json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)patch, key, value)
	{
		json_t *inner = json_object_get(target, key);

		if (json_is_null(value)) {
			(void)json_object_del(target, key);
		} else if (json_is_object(value)) {
			if (!json_is_object(inner))
				(void)json_object_set_new(target, key, json_object());
			merge(json_object_get(target, key), value);
		} else {
			(void)json_object_set_new(target, key, json_deep_copy(value));
		}
	}
}

static const char *name_of(const json_t *node)
{
	return json_string_value(json_object_get(json_object_get(node, "metadata"), "name"));
}

/* Records a change of the node: a new version, and a line for the watches. */
static void changed(struct kube *kube, const char *type, json_t *node)
{
	CLEANUP(freep) char *version = xasprintf("%" PRIu64, ++kube->version);
	CLEANUP(json_freep) json_t *event = NULL;

	(void)json_object_set_new(json_object_get(node, "metadata"), "resourceVersion",
				  json_string(version));
	event = json_pack("{s:s, s:O}", "type", type, "object", node);
	kube->log = xrealloc(kube->log, kube->n_log + 1, sizeof(*kube->log));
	kube->log[kube->n_log++] = json_line(event);
}

static void own(json_t *node, const char *manager, const json_t *patch)
{
	json_t *metadata = json_object_get(node, "metadata");
	const json_t *cordon = json_object_get(json_object_get(patch, "spec"), "unschedulable");

	if (!cordon)
		return;
	(void)json_object_del(metadata, "managedFields");
	if (json_is_true(cordon))
		(void)json_object_set_new(metadata, "managedFields",
					  json_pack("[{s:s, s:{s:{s:{}}}}]", "manager", manager,
						    "fieldsV1", "f:spec", "f:unschedulable"));
}

void fake_patch(struct kube *kube, const char *name, const char *manager, json_t *patch)
{
	json_t *node = fake_node(kube, name);

	own(node, manager, patch);
	merge(node, patch);
	changed(kube, "MODIFIED", node);
	json_decref(patch);
}

static void set_condition(json_t *node, const json_t *patch)
{
	const json_t *one =
		json_array_get(json_object_get(json_object_get(patch, "status"), "conditions"), 0);
	json_t *list = json_object_get(json_object_get(node, "status"), "conditions");
	const char *type = json_string_value(json_object_get(one, "type"));
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		json_t *old = json_array_get(list, i);

		if (streq(json_string_value(json_object_get(old, "type")), type)) {
			(void)json_object_update(old, (json_t *)(uintptr_t)one);
			return;
		}
	}
	(void)json_array_append_new(list, json_deep_copy(one));
}

struct reply {
	unsigned status;
	const char *reason;
	json_t *body;
};

static struct reply patch_node(struct kube_request *q, json_t *node, bool status)
{
	const char *version = json_string_value(
		json_object_get(json_object_get(q->body, "metadata"), "resourceVersion"));
	const char *now = json_string_value(
		json_object_get(json_object_get(node, "metadata"), "resourceVersion"));
	struct kube *kube = q->kube;
	json_t *after = node;

	if (version && !streq(version, now))
		return (struct reply){ 409, "Conflict", NULL };
	if (q->call.dry_run) {
		after = json_deep_copy(node);
		merge(after, q->body);
		return (struct reply){ 200, "", after };
	}
	kube->writes++;
	if (status) {
		set_condition(node, q->body);
		changed(kube, "MODIFIED", node);
	} else {
		if (kube->seen)
			kube->seen(kube->context, node, q->body);
		own(node, "assay", q->body);
		merge(node, q->body);
		changed(kube, "MODIFIED", node);
	}
	return (struct reply){ 200, "", json_deep_copy(node) };
}

static struct reply serve_node(struct kube_request *q)
{
	CLEANUP(freep) char *name = xstrdup(q->path + strlen(NODES "/"));
	char *slash = strchr(name, '/');
	json_t *node;

	if (slash)
		*slash = '\0';
	node = fake_node(q->kube, name);
	if (!node)
		return (struct reply){ 404, "NotFound", NULL };
	if (streq(q->call.method, "PATCH"))
		return patch_node(q, node, slash != NULL);
	return (struct reply){ 200, "", json_deep_copy(node) };
}

static struct reply serve_list(const struct kube *kube)
{
	CLEANUP(freep) char *version = xasprintf("%" PRIu64, kube->version);
	json_t *items = json_array(), *node;
	const char *name;

	json_object_foreach(kube->nodes, name, node)
	{
		(void)json_array_append_new(items, json_deep_copy(node));
	}
	return (struct reply){ 200, "",
			       json_pack("{s:s, s:{s:s}, s:o}", "kind", "NodeList", "metadata",
					 "resourceVersion", version, "items", items) };
}

static struct reply serve_event(const struct kube_request *q)
{
	json_t *events = q->kube->events, *event;
	const char *name = name_of(q->body);

	if (streq(q->call.method, "POST")) {
		if (json_object_get(events, name))
			return (struct reply){ 409, "AlreadyExists", NULL };
		(void)json_object_set_new(events, name, json_deep_copy(q->body));
		return (struct reply){ 201, "", json_deep_copy(q->body) };
	}
	event = json_object_get(events, q->path + strlen(EVENTS "/"));
	if (!event)
		return (struct reply){ 404, "NotFound", NULL };
	(void)json_object_update(event, q->body);
	return (struct reply){ 200, "", json_deep_copy(event) };
}

static struct reply serve(struct kube_request *q)
{
	if (starts_with(q->path, NODES "/"))
		return serve_node(q);
	if (streq(q->path, NODES))
		return serve_list(q->kube);
	if (starts_with(q->path, EVENTS))
		return serve_event(q);
	return (struct reply){ 404, "NotFound", NULL };
}

static enum cluster_result result_of(unsigned status)
{
	if (status >= 200 && status < 300)
		return CLUSTER_DONE;
	if (status == 409)
		return CLUSTER_CONFLICT;
	return status == 404 ? CLUSTER_GONE : CLUSTER_AGAIN;
}

/* --- responses --- */

static struct kube_request *waiting(const struct kube *kube, size_t i)
{
	struct kube_request *q;

	for (q = kube->first; q; q = q->next) {
		if (!q->stream && i-- == 0)
			return q;
	}
	return NULL;
}

/* Like waiting(), but the request must exist. */
static struct kube_request *waiting_there(const struct kube *kube, size_t i)
{
	struct kube_request *q = waiting(kube, i);

	if (!q)
		abort();
	return q;
}

size_t fake_waiting(const struct kube *kube)
{
	size_t n = 0;

	while (waiting(kube, n))
		n++;
	return n;
}

const char *fake_what(const struct kube *kube, size_t i)
{
	const struct kube_request *q = waiting(kube, i);

	return q ? q->what : "";
}

const json_t *fake_body(const struct kube *kube, size_t i)
{
	return waiting_there(kube, i)->body;
}

void fake_answer(struct kube *kube, size_t i, enum fake_fate fate)
{
	struct kube_request *q = waiting_there(kube, i);
	const bool writes = streq(q->call.method, "PATCH") && starts_with(q->path, NODES "/");
	struct reply reply = { 0, "", NULL };
	struct kube_answer answer = { .words = "", .reason = "", .audit = "audit" };

	if (fate == FAKE_SERVED || fate == FAKE_UNANSWERED)
		reply = serve(q);
	else if (fate == FAKE_BUSY)
		reply.status = 429;
	else if (fate == FAKE_CONFLICT)
		reply = writes ? (struct reply){ 409, "Conflict", NULL } : serve(q);
	if (fate == FAKE_UNANSWERED || fate == FAKE_LOST) {
		answer.r = -ECONNRESET;
		answer.result = CLUSTER_AGAIN;
	} else {
		answer.status = reply.status;
		answer.reason = reply.reason;
		answer.result = result_of(reply.status);
		answer.body = reply.body;
	}
	if (answer.result != CLUSTER_DONE)
		answer.words = "it did not go well";
	unlink_request(q);
	q->call.done(q->call.context, &answer);
	json_decref(reply.body);
	request_free(q);
}

void fake_run(struct kube *kube)
{
	while (fake_waiting(kube) > 0)
		fake_answer(kube, 0, FAKE_SERVED);
}

/* Sends the next line of any stream that has one. Returns false if none has. */
static bool tell_one(const struct kube *kube)
{
	struct kube_request *q;

	for (q = kube->first; q; q = q->next) {
		const char *line = q->stream && q->told < kube->n_log ? kube->log[q->told] : NULL;

		if (!line)
			continue;
		q->told++;
		(void)q->call.line(q->call.context, line, strlen(line));
		return true;
	}
	return false;
}

void fake_tell(struct kube *kube, size_t n)
{
	while (n-- > 0 && tell_one(kube))
		;
}

/* --- changes by others --- */

json_t *fake_node(const struct kube *kube, const char *name)
{
	return json_object_get(kube->nodes, name);
}

void fake_add(struct kube *kube, const char *name)
{
	CLEANUP(freep) char *uid = xasprintf("uid-%" PRIu64, ++kube->uids);
	json_t *node = json_pack("{s:{s:s, s:s}, s:{}, s:{s:[{s:s, s:s}]}}", "metadata", "name",
				 name, "uid", uid, "spec", "status", "conditions", "type", "Ready",
				 "status", "True");

	(void)json_object_set_new(kube->nodes, name, node);
	changed(kube, "ADDED", node);
}

void fake_delete(struct kube *kube, const char *name)
{
	CLEANUP(json_freep) json_t *node = json_incref(fake_node(kube, name));

	(void)json_object_del(kube->nodes, name);
	changed(kube, "DELETED", node);
}

void fake_init(struct kube *kube)
{
	*kube = (struct kube){ .nodes = json_object(),
			       .events = json_object(),
			       .version = FAKE_FIRST };
}

void fake_release(struct kube *kube)
{
	size_t i;

	while (kube->first)
		kube_cancel(kube->first);
	for (i = 0; i < kube->n_log; i++)
		free(kube->log[i]);
	free(kube->log);
	json_decref(kube->nodes);
	json_decref(kube->events);
}
