/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/lease_fake.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "controller/cluster/kube/kube_path.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct kube {
	int unused;
};

struct kube_request {
	char *line, *name; /* "PUT /apis/..."; the Lease's name, or NULL */
	json_t *body;
	kube_done *done;
	void *context;
};

struct lease {
	char *name;
	json_t *object;
};

static struct kube the_kube;
static struct kube_request *waiting[LEASE_FAKE_WAITING], *late;
static size_t n_waiting;
static struct lease leases[LEASE_FAKE_LEASES];
static unsigned long version;

static struct lease *find(const char *name)
{
	size_t i;

	for (i = 0; i < LEASE_FAKE_LEASES && leases[i].name; i++) {
		if (streq(leases[i].name, name))
			return &leases[i];
	}
	if (i == LEASE_FAKE_LEASES)
		abort(); /* more Leases than LEASE_FAKE_LEASES */
	leases[i].name = xstrdup(name);
	return &leases[i];
}

json_t *lease_fake_lease(const char *name)
{
	return find(name)->object;
}

void lease_fake_put(const char *name, json_t *object)
{
	struct lease *lease = find(name);

	if (object)
		(void)json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
					  json_sprintf("%lu", ++version));
	json_decref(lease->object);
	lease->object = object;
}

const char *lease_fake_annotation(const char *name, const char *key)
{
	const json_t *metadata = json_object_get(lease_fake_lease(name), "metadata");

	return json_string_value(json_object_get(json_object_get(metadata, "annotations"), key));
}

void lease_fake_annotate(const char *name, const char *key, const char *value)
{
	json_t *object = lease_fake_lease(name)
				 ? json_deep_copy(lease_fake_lease(name))
				 : json_pack("{s:{s:s}, s:{}}", "metadata", "name", name, "spec");
	json_t *metadata = json_object_get(object, "metadata");

	if (!json_object_get(metadata, "annotations"))
		(void)json_object_set_new(metadata, "annotations", json_object());
	if (value)
		(void)json_object_set_new(json_object_get(metadata, "annotations"), key,
					  json_string(value));
	else
		(void)json_object_del(json_object_get(metadata, "annotations"), key);
	lease_fake_put(name, object);
}

/* --- the requests --- */

static void request_free(struct kube_request *request)
{
	free(request->line);
	free(request->name);
	json_decref(request->body);
	free(request);
}

static char *name_of(const char *path, const json_t *body)
{
	const char *last = strrchr(path, '/');

	if (streq(last, "/leases"))
		return xstrdup(json_string_value(
			json_object_get(json_object_get(body, "metadata"), "name")));
	return xstrdup(last + 1);
}

int kube_send(struct kube *kube UNUSED, const struct kube_call *call,
	      struct kube_request **ret_request, struct err *err)
{
	struct kube_request *request;

	if (n_waiting == LEASE_FAKE_WAITING)
		return err_set(err, EBUSY, "the fake has no room");
	request = xcalloc(1, sizeof(*request));
	request->line = xasprintf("%s %s", call->method, call->path);
	request->name = name_of(call->path, call->body);
	request->body = json_deep_copy(call->body);
	request->done = call->done;
	request->context = call->context;
	waiting[n_waiting++] = request;
	*ret_request = request;
	return 0;
}

void kube_cancel(struct kube_request *request)
{
	size_t i;

	for (i = 0; i < n_waiting; i++) {
		if (waiting[i] != request)
			continue;
		memmove(&waiting[i], &waiting[i + 1], (--n_waiting - i) * sizeof(*waiting));
		request_free(request);
		return;
	}
}

int kube_path(char *ret, struct err *err, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(ret, KUBE_PATH_MAX, format, args);
	va_end(args);
	return n < 0 || n >= KUBE_PATH_MAX ? err_set(err, EINVAL, "too long a path") : 0;
}

const char *kube_namespace(const struct kube *kube UNUSED)
{
	return "assay";
}

const struct cluster_names *kube_names(const struct kube *kube UNUSED)
{
	return &cluster_names_usual;
}

int kube_open(struct sd_event *loop UNUSED, const struct kube_config *config UNUSED,
	      struct kube **ret, struct err *err UNUSED)
{
	*ret = &the_kube;
	return 0;
}

void kube_close(struct kube *kube UNUSED)
{
}

/* --- the server --- */

static const char *version_of(const json_t *object)
{
	return json_string_value(
		json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
}

static unsigned serve(const struct kube_request *request)
{
	struct lease *lease = find(request->name);

	if (starts_with(request->line, "GET "))
		return lease->object ? 200 : 404;
	if (starts_with(request->line, "POST ") && lease->object)
		return 409;
	if (starts_with(request->line, "PUT ")) {
		if (!version_of(request->body))
			return 422;
		if (!lease->object)
			return 404;
		if (!streq(version_of(request->body), version_of(lease->object)))
			return 409;
	}
	lease_fake_put(request->name, json_deep_copy(request->body));
	return starts_with(request->line, "POST ") ? 201 : 200;
}

static enum cluster_result result_of(unsigned status)
{
	switch (status) {
	case 200:
	case 201:
		return CLUSTER_DONE;
	case 404:
		return CLUSTER_GONE;
	case 409:
		return CLUSTER_CONFLICT;
	case 403:
	case 422:
		return CLUSTER_REFUSED;
	default:
		return CLUSTER_AGAIN;
	}
}

size_t lease_fake_waiting(void)
{
	return n_waiting;
}

const char *lease_fake_next(void)
{
	return n_waiting > 0 ? waiting[0]->line : "";
}

const json_t *lease_fake_next_body(void)
{
	return n_waiting > 0 ? waiting[0]->body : NULL;
}

static void drop_late(void)
{
	if (late)
		request_free(TAKE(late));
}

void lease_fake_late(void)
{
	if (late)
		(void)serve(late);
	drop_late();
}

bool lease_fake_serve(int fate)
{
	static const unsigned fixed[] = {
		[FATE_BUSY] = 429, [FATE_BROKEN] = 500, [FATE_FORBIDDEN] = 403
	};
	const bool silent = fate == FATE_LOST || fate == FATE_ANSWER_LOST || fate == FATE_LATE;
	struct kube_request *request;
	struct kube_answer answer = { .reason = "", .words = "", .audit = "" };

	if (n_waiting == 0)
		return false;
	request = waiting[0];
	memmove(waiting, waiting + 1, --n_waiting * sizeof(*waiting));
	if (fate == FATE_WELL || fate == FATE_ANSWER_LOST || fate == FATE_BROKEN)
		answer.status = serve(request);
	if (fate == FATE_BUSY || fate == FATE_BROKEN || fate == FATE_FORBIDDEN)
		answer.status = fixed[fate];
	if (silent)
		answer.status = 0;
	answer.r = silent ? -ETIMEDOUT : 0;
	answer.result = result_of(answer.status);
	answer.words = answer.result == CLUSTER_DONE ? "" : "the fake says no";
	answer.body = answer.result == CLUSTER_DONE ? lease_fake_lease(request->name) : NULL;
	request->done(request->context, &answer);
	if (fate != FATE_LATE) {
		request_free(request);
		return true;
	}
	drop_late();
	late = request;
	return true;
}

struct kube *lease_fake(void)
{
	return &the_kube;
}

void lease_fake_reset(void)
{
	size_t i;

	while (n_waiting > 0)
		kube_cancel(waiting[0]);
	drop_late();
	for (i = 0; i < LEASE_FAKE_LEASES; i++) {
		free(leases[i].name);
		json_decref(leases[i].object);
		leases[i] = (struct lease){ 0 };
	}
}
