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

/* --- copying and comparing --- */

/* Owned strings of each struct, for copying, comparing and freeing. */
static const size_t mark_texts[] = {
	offsetof(struct cluster_mark, by),
	offsetof(struct cluster_mark, incident),
	offsetof(struct cluster_mark, reason),
	offsetof(struct cluster_mark, action),
};

/* The version is last, as equal nodes may differ in it. */
static const size_t node_texts[] = {
	offsetof(struct cluster_node, name),	offsetof(struct cluster_node, uid),
	offsetof(struct cluster_node, hold_by), offsetof(struct cluster_node, boot),
	offsetof(struct cluster_node, address), offsetof(struct cluster_node, hands_off),
	offsetof(struct cluster_node, version),
};

static char **text_at(void *owner, size_t offset)
{
	return (void *)((char *)owner + offset);
}

static const char *text_in(const void *owner, size_t offset)
{
	return *(const char *const *)(const void *)((const char *)owner + offset);
}

static void texts_copy(void *owner, const size_t *texts, size_t n)
{
	while (n-- > 0)
		*text_at(owner, texts[n]) = xstrdup(*text_at(owner, texts[n]));
}

static void texts_free(void *owner, const size_t *texts, size_t n)
{
	while (n-- > 0)
		free(*text_at(owner, texts[n]));
}

static bool texts_same(const void *a, const void *b, const size_t *texts, size_t n)
{
	while (n-- > 0) {
		const char *one = text_in(a, texts[n]), *other = text_in(b, texts[n]);

		if (!streq(one, other))
			return false;
	}
	return true;
}

struct cluster_mark *cluster_mark_copy(const struct cluster_mark *mark)
{
	struct cluster_mark *copy;

	if (!mark)
		return NULL;
	copy = xcalloc(1, sizeof(*copy));
	*copy = *mark;
	texts_copy(copy, mark_texts, ARRAY_SIZE(mark_texts));
	copy->evidence = json_incref(mark->evidence);
	return copy;
}

void cluster_mark_free(struct cluster_mark *mark)
{
	if (!mark)
		return;
	texts_free(mark, mark_texts, ARRAY_SIZE(mark_texts));
	json_decref(mark->evidence);
	free(mark);
}

void cluster_node_release(struct cluster_node *node)
{
	texts_free(node, node_texts, ARRAY_SIZE(node_texts));
	json_decref(node->labels);
	cluster_mark_free(node->mark);
	*node = (struct cluster_node){ 0 };
}

struct cluster_node cluster_node_copy(const struct cluster_node *node)
{
	struct cluster_node copy = *node;

	texts_copy(&copy, node_texts, ARRAY_SIZE(node_texts));
	copy.labels = json_incref(node->labels);
	copy.mark = cluster_mark_copy(node->mark);
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
	return a->at_us == b->at_us && a->epoch == b->epoch && a->pre == b->pre &&
	       same_json(a->evidence, b->evidence) &&
	       texts_same(a, b, mark_texts, ARRAY_SIZE(mark_texts));
}

bool cluster_node_same(const struct cluster_node *a, const struct cluster_node *b)
{
	return a->unschedulable == b->unschedulable && a->ready == b->ready &&
	       a->managed == b->managed && a->leaving == b->leaving && a->outside == b->outside &&
	       a->since_us == b->since_us && a->override_us == b->override_us &&
	       a->hold_us == b->hold_us && a->unverified == b->unverified &&
	       same_json(a->labels, b->labels) && same_mark(a->mark, b->mark) &&
	       texts_same(a, b, node_texts, ARRAY_SIZE(node_texts) - 1);
}

const char *cluster_node_label(const struct cluster_node *node, const char *label)
{
	return label ? json_string_value(json_object_get(node->labels, label)) : NULL;
}
