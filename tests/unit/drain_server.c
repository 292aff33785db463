/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/drain_server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube_path.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define EVICT_ROOT "/api/v1/namespaces/"

struct kube_request {
	struct kube_request *next;
	struct kube *server;
	struct kube_call call;
	char *method, *path, *query;
	json_t *body;
};

uint64_t server_now_us;

/* --- the functions of kube.h --- */

int kube_send(struct kube *kube, const struct kube_call *call, struct kube_request **ret_request,
	      struct err *err UNUSED)
{
	struct kube_request *r = xcalloc(1, sizeof(*r)), **at = &kube->first;

	*r = (struct kube_request){ .server = kube,
				    .call = *call,
				    .method = xstrdup(call->method),
				    .path = xstrdup(call->path),
				    .query = xstrdup(call->query),
				    .body = json_deep_copy(call->body) };
	while (*at)
		at = &(*at)->next;
	*at = r;
	kube->out++;
	kube->most_out = MAX(kube->most_out, kube->out);
	*ret_request = r;
	return 0;
}

static void request_free(struct kube_request *r)
{
	free(r->method);
	free(r->path);
	free(r->query);
	json_decref(r->body);
	free(r);
}

/* Removes it from the pending requests. */
static void take_out(struct kube_request *r)
{
	struct kube_request **at = &r->server->first;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	r->server->out--;
}

void kube_cancel(struct kube_request *request)
{
	if (!request)
		return;
	take_out(request);
	request_free(request);
}

int kube_path(char *ret, struct err *err UNUSED, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(ret, KUBE_PATH_MAX, format, ap);
	va_end(ap);
	return 0;
}

char *kube_encode(const char *text)
{
	return xstrdup(text);
}

const char *kube_namespace(const struct kube *kube UNUSED)
{
	return "assay";
}

const struct cluster_names *kube_names(const struct kube *kube UNUSED)
{
	return &cluster_names_usual;
}

/* --- responses --- */

static void answer(const struct kube_request *r, unsigned status, json_t *body, uint64_t retry_us)
{
	static const struct {
		unsigned status;
		enum cluster_result result;
	} results[] = { { 200, CLUSTER_DONE },	   { 201, CLUSTER_DONE },
			{ 403, CLUSTER_REFUSED },  { 404, CLUSTER_GONE },
			{ 409, CLUSTER_CONFLICT }, { 429, CLUSTER_AGAIN },
			{ 400, CLUSTER_REFUSED },  { 0, CLUSTER_AGAIN },
			{ 500, CLUSTER_REFUSED },  { 503, CLUSTER_AGAIN } };
	const char *message = json_string_value(json_object_get(body, "message"));
	struct kube_answer a = { .status = status,
				 .r = status ? 0 : -ETIMEDOUT,
				 .reason = "",
				 .audit = "",
				 .body = body,
				 .words = message ? message : "no answer",
				 .retry_us = retry_us };
	size_t i = 0;

	while (i < ARRAY_SIZE(results) && results[i].status != status)
		i++;
	CHECK(i < ARRAY_SIZE(results));
	a.result = i < ARRAY_SIZE(results) ? results[i].result : CLUSTER_AGAIN;
	/* Like kube_answer_read(): a 404 means gone only if it names the object. */
	if (status == 404 && !json_object_get(json_object_get(body, "details"), "name"))
		a.result = CLUSTER_REFUSED;
	r->call.done(r->call.context, &a);
	json_decref(body);
}

static json_t *status_of(const char *message)
{
	return json_pack("{s:s, s:s}", "kind", "Status", "message", message);
}

static json_t *status_about(const char *message, const char *name)
{
	json_t *status = status_of(message);

	if (name)
		(void)json_object_set_new(status, "details", json_pack("{s:s}", "name", name));
	return status;
}

static json_t *pod_json(const struct server_pod *p)
{
	CLEANUP(freep) char *labels = xasprintf("{%s}", p->labels ? p->labels : "");
	json_t *pod = json_pack("{s:{s:s, s:s, s:s, s:o}, s:{s:s, s:[{s:s}]}, s:{s:s}}", "metadata",
				"name", p->name, "namespace", p->namespace, "uid", p->uid, "labels",
				json_loads(labels, 0, NULL), "spec", "nodeName", "gpu-0", "volumes",
				"name", "data", "status", "phase", p->phase);
	json_t *metadata = json_object_get(pod, "metadata");

	CHECK(pod != NULL);
	if (p->owner)
		(void)json_object_set_new(metadata, "ownerReferences",
					  json_pack("[{s:s, s:s, s:s, s:b}]", "kind", p->owner,
						    "name", "owner", "uid", "owner-1", "controller",
						    true));
	if (p->leaving)
		(void)json_object_set_new(metadata, "deletionTimestamp",
					  json_string("2026-01-01T00:00:00Z"));
	if (p->scratch)
		(void)json_object_set_new(
			json_array_get(json_object_get(json_object_get(pod, "spec"), "volumes"), 0),
			"emptyDir", json_object());
	return pod;
}

/* Serves the page that the query asks for; the continue token is the index of the next pod. */
static void list(struct kube *server, const struct kube_request *r)
{
	const char *next = strstr(r->query, "continue="), *limit = strstr(r->query, "limit=");
	size_t at = next ? strtoul(next + 9, NULL, 10) : 0;
	size_t most = limit ? strtoul(limit + 6, NULL, 10) : SERVER_PODS;
	json_t *body = json_pack("{s:{}, s:[]}", "metadata", "items");
	json_t *items = json_object_get(body, "items");
	char token[24];

	CHECK_HAS(r->query, "spec.nodeName=gpu-0");
	server->lists++;
	for (; at < server->n && json_array_size(items) < most; at++) {
		if (!server->pods[at].gone)
			(void)json_array_append_new(items, pod_json(&server->pods[at]));
	}
	(void)snprintf(token, sizeof(token), "%zu", at);
	if (at < server->n)
		(void)json_object_set_new(json_object_get(body, "metadata"), "continue",
					  json_string(token));
	answer(r, 200, body, 0);
}

static void discover(struct kube *server, const struct kube_request *r)
{
	server->discoveries++;
	answer(r, 200,
	       json_pack("{s:[{s:s}, {s:s, s:s, s:s}]}", "resources", "name", "pods", "name",
			 "pods/eviction", "group", "policy", "version", server->version),
	       0);
}

static struct server_pod *pod_at(struct kube *server, const char *path)
{
	size_t i;

	for (i = 0; i < server->n; i++) {
		struct server_pod *p = &server->pods[i];
		CLEANUP(freep)
		char *own = xasprintf(EVICT_ROOT "%s/pods/%s/eviction", p->namespace, p->name);

		if (!p->gone && streq(own, path))
			return p;
	}
	return NULL;
}

static unsigned budgets_of(const struct server_pod *p, size_t *ret_last)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < SERVER_BUDGETS; i++) {
		if (!(p->budgets & 1U << i))
			continue;
		*ret_last = i;
		n++;
	}
	return n;
}

static void evict_it(struct kube *server, const struct kube_request *r, struct server_pod *p)
{
	size_t budget = 0;
	unsigned n = streq(p->phase, "Running") && !p->leaving ? budgets_of(p, &budget) : 0;

	if (n > 1) {
		answer(r, 500,
		       status_of("This pod has more than one PodDisruptionBudget, which the "
				 "eviction subresource does not support."),
		       0);
		return;
	}
	if (n == 1 && server->allowed[budget] == 0) {
		answer(r, 429,
		       status_of(
			       "Cannot evict pod as it would violate the pod's disruption budget."),
		       0);
		return;
	}
	if (!r->call.dry_run) {
		server->allowed[budget] -= n;
		p->leaving = true;
	}
	answer(r, 201, status_of("Success"), 0);
}

static void evict(struct kube *server, const struct kube_request *r)
{
	struct server_pod *p = pod_at(server, r->path);
	CLEANUP(freep) char *version = xasprintf("policy/%s", server->version);
	const char *uid = NULL, *api = NULL;

	(void)json_unpack(r->body, "{s:s, s:{s:{s:s}}}", "apiVersion", &api, "deleteOptions",
			  "preconditions", "uid", &uid);
	CHECK(uid != NULL);
	server->evictions++;
	if (p)
		p->asked++;
	if (server->fault)
		answer(r, server->fault_status, status_about(server->fault, server->fault_name),
		       server->fault_retry_us);
	else if (!streq(api, version))
		answer(r, 400,
		       status_of("no kind \"Eviction\" is registered for version in scheme"), 0);
	else if (!p)
		answer(r, 404, status_about("pods not found", "p"), 0);
	else if (!streq(uid, p->uid))
		answer(r, 409, status_of("the UID in the precondition does not match"), 0);
	else
		evict_it(server, r, p);
}

static void get_node(struct kube *server, const struct kube_request *r)
{
	json_t *notes = json_object();

	if (server->cordoned)
		(void)json_object_set_new(notes, cluster_names_usual.cordon,
					  json_string("{\"v\":1}"));
	if (server->note[0])
		(void)json_object_set_new(notes, cluster_names_usual.drain,
					  json_string(server->note));
	answer(r, 200,
	       json_pack("{s:{s:s, s:o}}", "metadata", "resourceVersion", "7", "annotations", notes),
	       0);
}

static void patch_node(struct kube *server, const struct kube_request *r)
{
	const char *note = NULL, *version = NULL;

	(void)json_unpack(r->body, "{s:{s:s, s:{s:s}}}", "metadata", "resourceVersion", &version,
			  "annotations", cluster_names_usual.drain, &note);
	CHECK_STR(version, "7");
	CHECK_EQ(r->call.content, KUBE_MERGE);
	if (server->conflicts > 0) {
		server->conflicts--;
		answer(r, 409, status_of("the object has been modified"), 0);
		return;
	}
	(void)snprintf(server->note, sizeof(server->note), "%s", note ? note : "?");
	answer(r, 200, json_object(), 0);
}

static void serve(struct kube *server, const struct kube_request *r)
{
	if (streq(r->method, "POST"))
		evict(server, r);
	else if (streq(r->method, "PATCH"))
		patch_node(server, r);
	else if (streq(r->path, "/api/v1"))
		discover(server, r);
	else if (streq(r->path, "/api/v1/pods"))
		list(server, r);
	else
		get_node(server, r);
}

void server_run(struct kube *server)
{
	while (server->first) {
		struct kube_request *r = server->first;

		take_out(r); /* answered: it can no longer be cancelled */
		serve(server, r);
		request_free(r);
	}
}

/* --- the client --- */

static uint64_t mono_us(void)
{
	return server_now_us;
}

static const char *stopped(void *context)
{
	return ((struct kube *)context)->stopped;
}

void server_open(struct kube *server)
{
	*server = (struct kube){ .version = "v1beta1", .cordoned = true };
	server_now_us = 1000 * USEC_PER_SEC;
	server->drains = kube_drains_new(&(struct kube_drains_options){
		.kube = server, .mono_us = mono_us, .stopped = stopped, .context = server });
}

void server_close(struct kube *server)
{
	kube_drains_free(TAKE(server->drains));
	CHECK(server->first == NULL);
	CHECK_EQ(server->out, 0);
}

struct server_pod *server_add(struct kube *server)
{
	struct server_pod *p = &server->pods[server->n];

	CHECK(server->n < SERVER_PODS);
	*p = (struct server_pod){ .namespace = "default", .phase = "Running", .owner = "Job" };
	(void)snprintf(p->name, sizeof(p->name), "p%zu", server->n);
	(void)snprintf(p->uid, sizeof(p->uid), "u%zu", server->n);
	server->n++;
	return p;
}

void server_reap(struct kube *server)
{
	size_t i;

	for (i = 0; i < server->n; i++)
		server->pods[i].gone |= server->pods[i].leaving;
}

static void on_answer(void *context, const struct cluster_answer *a)
{
	struct kube *server = context;
	size_t i, len = 0;

	server->answers++;
	server->answer = *a;
	(void)snprintf(server->words, sizeof(server->words), "%s", a->words);
	server->answer.words = server->words;
	server->jobs[0] = '\0';
	for (i = 0; i < a->n_jobs; i++)
		len += (size_t)snprintf(server->jobs + len, sizeof(server->jobs) - len, "%s%s",
					i ? "; " : "", a->jobs[i]);
	server->answer.jobs = NULL;
}

enum cluster_result server_round(struct kube *server, const struct cluster_drain *how)
{
	const size_t before = server->answers;

	kube_drain(server->drains, &(struct cluster_change){ .node = "gpu-0", .drain = how },
		   &(struct cluster_call){ on_answer, server });
	server_run(server);
	CHECK_EQ(server->answers, before + 1);
	return server->answer.result;
}
