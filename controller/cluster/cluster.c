/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/cluster.h"

#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"

const char *const cluster_result_names[] = { "done",	"conflict", "not-ours", "gone",
					     "refused", "again",    NULL };

void cluster_answer(const struct cluster_call *call, const struct cluster_answer *answer)
{
	if (call->done)
		call->done(call->context, answer);
}

json_t *cluster_mark_encode(const struct cluster_mark *mark)
{
	char at[CLOCK_STAMP_SIZE];
	json_t *value;

	clock_stamp(mark->at_us, at);
	value = json_pack("{s:i, s:s, s:s?, s:s, s:O?, s:s, s:I, s:b, s:s?}", "v", 1, "by",
			  mark->by, "incident", mark->incident, "reason", mark->reason, "evidence",
			  mark->evidence, "at", at, "epoch", (json_int_t)mark->epoch, "pre",
			  mark->pre, "action", mark->action);
	if (mark->sticky)
		(void)json_object_set_new(value, "sticky", json_true());
	if (mark->born)
		(void)json_object_set_new(value, "born", json_true());
	return value;
}

static char *text_of(const json_t *value, const char *key)
{
	return xstrdup(json_string_value(json_object_get(value, key)));
}

struct cluster_mark *cluster_mark_decode(const json_t *value)
{
	const char *at = json_string_value(json_object_get(value, "at"));
	struct cluster_mark *mark;
	uint64_t at_us = 0;

	if (json_integer_value(json_object_get(value, "v")) != 1 || !at ||
	    clock_parse_stamp(at, &at_us) < 0 || !json_is_string(json_object_get(value, "by")) ||
	    !json_is_string(json_object_get(value, "reason")))
		return NULL;
	mark = xcalloc(1, sizeof(*mark));
	*mark = (struct cluster_mark){
		.by = text_of(value, "by"),
		.incident = text_of(value, "incident"),
		.reason = text_of(value, "reason"),
		.action = text_of(value, "action"),
		.evidence = json_incref(json_object_get(value, "evidence")),
		.at_us = at_us,
		.epoch = (uint64_t)json_integer_value(json_object_get(value, "epoch")),
		.pre = json_is_true(json_object_get(value, "pre")),
		.sticky = json_is_true(json_object_get(value, "sticky")),
		.born = json_is_true(json_object_get(value, "born")),
	};
	return mark;
}

struct cluster_mark *cluster_mark_copy(const struct cluster_mark *mark)
{
	struct cluster_mark *copy;

	if (!mark)
		return NULL;
	copy = xcalloc(1, sizeof(*copy));
	*copy = *mark;
	copy->by = xstrdup(mark->by);
	copy->incident = xstrdup(mark->incident);
	copy->reason = xstrdup(mark->reason);
	copy->action = xstrdup(mark->action);
	copy->evidence = json_incref(mark->evidence);
	return copy;
}

void cluster_mark_free(struct cluster_mark *mark)
{
	if (!mark)
		return;
	free(mark->by);
	free(mark->incident);
	free(mark->reason);
	free(mark->action);
	json_decref(mark->evidence);
	free(mark);
}

void cluster_node_release(struct cluster_node *node)
{
	free(node->name);
	free(node->uid);
	free(node->version);
	json_decref(node->labels);
	cluster_mark_free(node->mark);
	free(node->hold_by);
	free(node->boot);
	free(node->address);
	free(node->hands_off);
	*node = (struct cluster_node){ 0 };
}

struct cluster_node cluster_node_copy(const struct cluster_node *node)
{
	struct cluster_node copy = *node;

	copy.name = xstrdup(node->name);
	copy.uid = xstrdup(node->uid);
	copy.version = xstrdup(node->version);
	copy.labels = json_incref(node->labels);
	copy.mark = cluster_mark_copy(node->mark);
	copy.hold_by = xstrdup(node->hold_by);
	copy.boot = xstrdup(node->boot);
	copy.address = xstrdup(node->address);
	copy.hands_off = xstrdup(node->hands_off);
	return copy;
}

static bool same_json(const json_t *a, const json_t *b)
{
	return a == b || (a && b && json_equal(a, b));
}

static bool same_mark(const struct cluster_mark *a, const struct cluster_mark *b)
{
	if (!a || !b)
		return a == b;
	return streq(a->by, b->by) && streq(a->incident, b->incident) &&
	       streq(a->reason, b->reason) && streq(a->action, b->action) &&
	       same_json(a->evidence, b->evidence) && a->at_us == b->at_us &&
	       a->epoch == b->epoch && a->pre == b->pre;
}

bool cluster_node_same(const struct cluster_node *a, const struct cluster_node *b)
{
	return streq(a->name, b->name) && streq(a->uid, b->uid) &&
	       same_json(a->labels, b->labels) && a->unschedulable == b->unschedulable &&
	       a->ready == b->ready && a->managed == b->managed &&
	       streq(a->hands_off, b->hands_off) && a->leaving == b->leaving &&
	       a->outside == b->outside && a->since_us == b->since_us &&
	       same_mark(a->mark, b->mark) && a->override_us == b->override_us &&
	       a->hold_us == b->hold_us && streq(a->hold_by, b->hold_by) &&
	       a->unverified == b->unverified && streq(a->boot, b->boot) &&
	       streq(a->address, b->address);
}

const char *cluster_node_label(const struct cluster_node *node, const char *label)
{
	return label ? json_string_value(json_object_get(node->labels, label)) : NULL;
}
