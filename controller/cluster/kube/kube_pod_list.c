/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_pod_list.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_path.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

#define UNFINISHED "status.phase!=Succeeded,status.phase!=Failed"

enum {
	PAGE = 250,   /* pods per answer: some 10 KB each */
	RESTARTS = 3, /* after the snapshot was dropped between two pages */
};

struct kube_pod_list {
	struct kube *kube;
	struct kube_request *request;
	char *path, *filter;  /* of the query, encoded */
	uint64_t deadline_us; /* monotonic; 0: the default timeout per page */
	struct kube_pods pods;
	unsigned restarts;
	kube_pods_done *done;
	void *context;
};

static void list_free(struct kube_pod_list *list)
{
	kube_pods_release(&list->pods);
	free(list->path);
	free(list->filter);
	free(list);
}

void kube_pod_list_cancel(struct kube_pod_list *list)
{
	if (!list)
		return;
	kube_cancel(list->request);
	list_free(list);
}

static void finish(struct kube_pod_list *list, enum cluster_result result, const char *words,
		   uint64_t retry_us)
{
	struct kube_pods_listed listed = { result, words, retry_us, &list->pods };

	list->done(list->context, &listed);
	list_free(list);
}

static kube_done on_page;

static int send_page(struct kube_pod_list *list, const char *next, struct err *err)
{
	CLEANUP(freep) char *token = next ? kube_encode(next) : NULL;
	CLEANUP(freep)
	char *query = xasprintf("limit=%d&%s%s%s", PAGE, list->filter, token ? "&continue=" : "",
				token ? token : "");
	const uint64_t now_us = list->deadline_us ? clock_mono_us() : 0;

	if (list->deadline_us && now_us >= list->deadline_us)
		return err_set(err, ETIMEDOUT, "its pods were not listed in time");
	return kube_send(list->kube,
			 &(struct kube_call){ .method = "GET",
					      .path = list->path,
					      .query = query,
					      .timeout_us = list->deadline_us - now_us,
					      .done = on_page,
					      .context = list },
			 &list->request, err);
}

static void send_next(struct kube_pod_list *list, const char *next)
{
	struct err err = ERR_INIT;

	if (send_page(list, next, &err) < 0)
		finish(list, CLUSTER_AGAIN, err.msg, 0);
}

static void on_page(void *context, const struct kube_answer *answer)
{
	struct kube_pod_list *list = context;
	const char *next;
	struct err err = ERR_INIT;

	list->request = NULL;
	if (answer->status == 410 && list->restarts++ < RESTARTS) {
		kube_pods_release(&list->pods);
		send_next(list, NULL);
		return;
	}
	if (answer->result != CLUSTER_DONE) {
		finish(list, answer->result == CLUSTER_REFUSED ? CLUSTER_REFUSED : CLUSTER_AGAIN,
		       answer->words, answer->retry_us);
		return;
	}
	if (kube_pods_add(&list->pods, answer->body, &err) < 0) {
		finish(list, CLUSTER_AGAIN, err.msg, 0);
		return;
	}
	next = json_string_value(
		json_object_get(json_object_get(answer->body, "metadata"), "continue"));
	if (next && next[0])
		send_next(list, next);
	else
		finish(list, CLUSTER_DONE, "", 0);
}

/* Takes ownership of the content of `how`. */
static int begin(const struct kube_pod_list *how, struct kube_pod_list **ret, struct err *err)
{
	struct kube_pod_list *list = xcalloc(1, sizeof(*list));
	int r;

	*list = *how;
	r = send_page(list, NULL, err);
	if (r < 0)
		list_free(list);
	else
		*ret = list;
	return r;
}

int kube_pod_list_begin(struct kube *kube, const char *node, kube_pods_done *done, void *context,
			struct kube_pod_list **ret, struct err *err)
{
	CLEANUP(freep) char *selector = xasprintf("spec.nodeName=%s," UNFINISHED, node);
	CLEANUP(freep) char *encoded = kube_encode(selector);
	const struct kube_pod_list list = { .kube = kube,
					    .path = xstrdup("/api/v1/pods"),
					    .filter = xasprintf("fieldSelector=%s", encoded),
					    .done = done,
					    .context = context };

	return begin(&list, ret, err);
}

int kube_pod_list_begin_chosen(struct kube *kube, const struct kube_pods_chosen *chosen,
			       kube_pods_done *done, void *context, struct kube_pod_list **ret,
			       struct err *err)
{
	CLEANUP(freep) char *fields = kube_encode(UNFINISHED);
	CLEANUP(freep) char *labels = kube_encode(chosen->labels);
	struct kube_pod_list list = {
		.kube = kube, .deadline_us = chosen->deadline_us, .done = done, .context = context
	};
	char path[KUBE_PATH_MAX];
	int r = kube_path(path, err, "/api/v1/namespaces/%s/pods", chosen->namespace);

	if (r < 0)
		return r;
	list.path = xstrdup(path);
	list.filter = xasprintf("fieldSelector=%s&labelSelector=%s", fields, labels);
	return begin(&list, ret, err);
}
