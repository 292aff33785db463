/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_list.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_node.h"
#include "controller/cluster/kube/kube_path.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

struct kube_list {
	struct kube *kube;
	char *labels, *fields; /* selectors, or NULL */
	kube_list_done *done;
	void *context;
	struct kube_request *request;
	struct cluster_node *nodes;
	size_t n, room;
	unsigned restarts;
};

/* Append "&key=value" to `query`, taking ownership of it. */
static char *add_selector(char *query, const char *key, const char *selector)
{
	CLEANUP(freep) char *before = query;
	CLEANUP(freep) char *encoded = selector ? kube_encode(selector) : NULL;

	return encoded ? xasprintf("%s&%s=%s", before, key, encoded) : TAKE(before);
}

char *kube_nodes_query(const char *first, const struct kube_chosen *chosen)
{
	char *query = add_selector(xstrdup(first), "fieldSelector", chosen->fields);

	return add_selector(query, "labelSelector", chosen->labels);
}

static void forget_nodes(struct kube_list *list)
{
	while (list->n > 0)
		cluster_node_release(&list->nodes[--list->n]);
}

static void list_free(struct kube_list *list)
{
	forget_nodes(list);
	free(list->nodes);
	free(list->labels);
	free(list->fields);
	free(list);
}

void kube_list_cancel(struct kube_list *list)
{
	if (!list)
		return;
	kube_cancel(list->request);
	list_free(list);
}

/* Finish; the list is freed on return. */
static void end(struct kube_list *list, enum cluster_result result, const char *words,
		uint64_t retry_us, const char *version)
{
	struct kube_listed listed = { .result = result,
				      .words = words,
				      .retry_us = retry_us,
				      .nodes = list->nodes,
				      .n = result == CLUSTER_DONE ? list->n : 0,
				      .version = version };

	list->done(list->context, &listed);
	list_free(list);
}

static int take_node(struct kube_list *list, const json_t *object, struct err *err)
{
	int r;

	if (list->n == KUBE_NODES_MAX)
		return err_set(err, E2BIG, "more than %d nodes: select some with a label selector",
			       KUBE_NODES_MAX);
	if (list->n == list->room) {
		list->room = MAX(2 * list->room, (size_t)KUBE_PAGE);
		list->nodes = xrealloc(list->nodes, list->room, sizeof(*list->nodes));
	}
	r = kube_node_read(object, kube_names(list->kube), &list->nodes[list->n], err);
	list->n += r == 0;
	return r;
}

static void on_page(void *context, const struct kube_answer *answer);

static int ask(struct kube_list *list, const char *more, struct err *err)
{
	CLEANUP(freep) char *encoded = more ? kube_encode(more) : NULL;
	CLEANUP(freep)
	char *first = encoded ? xasprintf("limit=%d&continue=%s", KUBE_PAGE, encoded)
			      : xasprintf("limit=%d", KUBE_PAGE);
	const struct kube_chosen chosen = { list->labels, list->fields };
	CLEANUP(freep) char *query = kube_nodes_query(first, &chosen);

	return kube_send(list->kube,
			 &(struct kube_call){ .method = "GET",
					      .path = "/api/v1/nodes",
					      .query = query,
					      .done = on_page,
					      .context = list },
			 &list->request, err);
}

static void ask_or_end(struct kube_list *list, const char *more)
{
	struct err err = ERR_INIT;

	if (ask(list, more, &err) < 0)
		end(list, CLUSTER_AGAIN, err.msg, 0, NULL);
}

static void take_page(struct kube_list *list, const json_t *body)
{
	const json_t *metadata = json_object_get(body, "metadata");
	const json_t *items = json_object_get(body, "items");
	const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));
	const char *more = json_string_value(json_object_get(metadata, "continue"));
	struct err err = ERR_INIT;
	size_t i;

	if (!version || !version[0] || !(json_is_array(items) || json_is_null(items))) {
		end(list, CLUSTER_AGAIN, "GET /api/v1/nodes: the answer is not a NodeList", 0, NULL);
		return;
	}
	for (i = 0; i < json_array_size(items); i++) {
		int r = take_node(list, json_array_get(items, i), &err);

		if (r == 0)
			continue;
		end(list, r == -E2BIG ? CLUSTER_REFUSED : CLUSTER_AGAIN, err.msg, 0, NULL);
		return;
	}
	if (!more || !more[0])
		end(list, CLUSTER_DONE, "", 0, version);
	else if (i == 0)
		end(list, CLUSTER_AGAIN, "GET /api/v1/nodes: a page without nodes", 0, NULL);
	else
		ask_or_end(list, more);
}

static bool is_refused(const struct kube_answer *answer)
{
	return answer->result == CLUSTER_REFUSED || answer->result == CLUSTER_NOT_OURS ||
	       answer->result == CLUSTER_GONE;
}

static void on_page(void *context, const struct kube_answer *answer)
{
	struct kube_list *list = context;

	list->request = NULL;
	if (answer->status == 410 && list->restarts < KUBE_LIST_RESTARTS) {
		list->restarts++;
		forget_nodes(list);
		ask_or_end(list, NULL);
		return;
	}
	if (answer->result == CLUSTER_DONE)
		take_page(list, answer->body);
	else
		end(list, is_refused(answer) ? CLUSTER_REFUSED : CLUSTER_AGAIN, answer->words,
		    answer->retry_us, NULL);
}

int kube_list_begin(struct kube *kube, const struct kube_chosen *chosen, kube_list_done *done,
		    void *context, struct kube_list **ret, struct err *err)
{
	struct kube_list *list = xcalloc(1, sizeof(*list));
	int r;

	*list = (struct kube_list){ .kube = kube,
				    .labels = xstrdup(chosen->labels),
				    .fields = xstrdup(chosen->fields),
				    .done = done,
				    .context = context };
	r = ask(list, NULL, err);
	if (r < 0) {
		list_free(list);
		return r;
	}
	*ret = list;
	return 0;
}

/* --- cluster_ops.list ----------------------------------------------------- */

struct kube_lists_item {
	struct kube_lists_item *next;
	struct kube_lists *lists;
	struct kube_list *list;
	void (*each)(void *context, const struct cluster_node *node);
	struct cluster_call call;
};

static void item_free(struct kube_lists_item *item)
{
	struct kube_lists_item **at = &item->lists->first;

	while (*at != item)
		at = &(*at)->next;
	*at = item->next;
	free(item);
}

static void on_listed(void *context, struct kube_listed *listed)
{
	struct kube_lists_item *item = context;
	const struct cluster_call call = item->call;
	size_t i;

	for (i = 0; i < listed->n; i++)
		item->each(call.context, &listed->nodes[i]);
	item_free(item);
	cluster_answer(&call, &(struct cluster_answer){ .result = listed->result,
							.words = listed->words,
							.retry_us = listed->retry_us });
}

void kube_list(struct kube_lists *lists, struct kube *kube, const struct kube_chosen *chosen,
	       void (*each)(void *context, const struct cluster_node *node),
	       const struct cluster_call *call)
{
	struct kube_lists_item *item = xcalloc(1, sizeof(*item));
	struct err err = ERR_INIT;

	*item = (struct kube_lists_item){ lists->first, lists, NULL, each, *call };
	lists->first = item;
	if (kube_list_begin(kube, chosen, on_listed, item, &item->list, &err) == 0)
		return;
	item_free(item);
	cluster_answer(call, &(struct cluster_answer){ .result = CLUSTER_AGAIN, .words = err.msg });
}

void kube_lists_close(struct kube_lists *lists)
{
	while (lists->first) {
		const struct cluster_call call = lists->first->call;

		kube_list_cancel(lists->first->list);
		item_free(lists->first);
		cluster_answer(&call,
			       &(struct cluster_answer){ .result = CLUSTER_AGAIN,
							 .words = "the controller is stopping" });
	}
}
