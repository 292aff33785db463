/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a Node object, and what we write to one. */
#include "controller/cluster/kube/kube_node.h"

#include <ctype.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define META "'name': 'gpu-1', 'uid': 'u-1', 'resourceVersion': '205'"

/* With ' for ", but where it is escaped. New reference. */
static json_t *object_of(const char *text)
{
	CLEANUP(freep) char *copy = xstrdup(text);
	struct err err = ERR_INIT;
	json_t *value = NULL;
	char *at;

	for (at = copy; *at; at++) {
		if (*at == '\'')
			*at = '"';
	}
	CHECK_EQ(json_parse(copy, strlen(copy), "test", &value, &err), 0);
	CHECK_STR(err.msg, "");
	return value;
}

static struct cluster_node node_of(const char *text)
{
	CLEANUP(json_freep) json_t *object = object_of(text);
	struct cluster_node node = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(kube_node_read(object, &cluster_names_usual, &node, &err), 0);
	CHECK_STR(err.msg, "");
	return node;
}

static void a_plain_node_is_in_service(void)
{
	struct cluster_node n = node_of("{'metadata': {" META
					", 'labels': {'zone': 'a', 'odd': 1}, "
					"'creationTimestamp': '2026-11-20T00:00:00Z'}, "
					"'spec': {}, 'status': {'images': [{}]}}");

	CHECK_STR(n.name, "gpu-1");
	CHECK_STR(n.uid, "u-1");
	CHECK_STR(n.version, "205");
	CHECK_STR(cluster_node_label(&n, "zone"), "a");
	CHECK_EQ(json_object_size(n.labels), 1);
	CHECK(n.ready && n.managed && !n.unschedulable && !n.hands_off && !n.leaving && !n.outside);
	CHECK(!n.mark && !n.hold_by && n.hold_us == 0 && n.override_us == 0);
	CHECK_EQ(n.since_us % USEC_PER_DAY, 0);
	CHECK(n.since_us > 0);
	cluster_node_release(&n);
}

static void readiness_is_what_the_condition_ready_says(void)
{
	static const struct {
		const char *conditions;
		bool ready;
	} rows[] = {
		{ "[]", true },
		{ "[{'type': 'MemoryPressure', 'status': 'False'}]", true },
		{ "[{'type': 'Ready', 'status': 'True'}]", true },
		{ "[{'type': 'Ready', 'status': 'False'}]", false },
		{ "[{'type': 'Ready', 'status': 'Unknown'}]", false },
		{ "[{'type': 'Ready'}]", false },
		{ "[{'type': 'DiskPressure', 'status': 'True'}, {'type': 'Ready', 'status': "
		  "'Unknown'}]",
		  false },
		{ "null", true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep)
		char *text = xasprintf("{'metadata': {" META "}, 'status': {'conditions': %s}}",
				       rows[i].conditions);
		struct cluster_node n = node_of(text);

		CHECK_EQ(n.ready, rows[i].ready);
		cluster_node_release(&n);
	}
}

static void what_is_no_node_is_refused(void)
{
	static const char *const rows[] = {
		"{}",
		"{'metadata': {'uid': 'u', 'resourceVersion': '1'}}",
		"{'metadata': {'name': '', 'uid': 'u', 'resourceVersion': '1'}}",
		"{'metadata': {'name': 'a', 'resourceVersion': '1'}}",
		"{'metadata': {'name': 'a', 'uid': 'u'}}",
		"{'metadata': {'name': 'a', 'uid': 'u', 'resourceVersion': 1}}",
		"{'metadata': []}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *object = object_of(rows[i]);
		struct cluster_node n = { 0 };
		struct err err = ERR_INIT;

		CHECK(kube_node_read(object, &cluster_names_usual, &n, &err) < 0);
		CHECK_HAS(err.msg, "node");
		CHECK(!n.name);
	}
}

/* A node on which others may be at work. */
struct hands_row {
	const char *labels, *annotations, *taints;
	const char *words; /* a part, or NULL: it is ours to touch */
	bool leaving, outside;
};

static void check_hands(const struct hands_row *row)
{
	CLEANUP(freep)
	char *text = xasprintf("{'metadata': {" META ", 'labels': {%s}, 'annotations': {%s}}, "
			       "'spec': {'taints': [%s]}}",
			       row->labels, row->annotations, row->taints);
	struct cluster_node n = node_of(text);

	if (row->words)
		CHECK_HAS(n.hands_off ? n.hands_off : "nothing", row->words);
	else
		CHECK_STR(n.hands_off, NULL);
	CHECK_EQ(n.leaving, row->leaving);
	CHECK_EQ(n.outside, row->outside);
	cluster_node_release(&n);
}

#define LABELED(key, words, leaving, outside)                    \
	{                                                        \
		"'" key "': ''", "", "", words, leaving, outside \
	}
#define NOTED(key, words)                                    \
	{                                                    \
		"", "'" key "': '1'", "", words, true, false \
	}
#define TAINTED(key, words, leaving, outside)                                                 \
	{                                                                                     \
		"", "",                                                                       \
			"{'key': 'a', 'effect': 'NoSchedule'}, {'key': '" key "', 'effect': " \
			"'NoSchedule', 'value': '1'}",                                        \
			words, leaving, outside                                               \
	}

static void who_else_has_its_hands_on_it_is_told_in_words(void)
{
	static const struct hands_row rows[] = {
		LABELED("node-role.kubernetes.io/control-plane", "control-plane", false, true),
		LABELED("node-role.kubernetes.io/master", "control-plane", false, true),
		LABELED("node-role.kubernetes.io/worker", NULL, false, false),
		TAINTED("node-role.kubernetes.io/master", "control-plane", false, true),
		TAINTED("node-role.kubernetes.io/control-plane", "control-plane", false, true),
		TAINTED("ToBeDeletedByClusterAutoscaler", "autoscaler", true, false),
		TAINTED("DeletionCandidateOfClusterAutoscaler", NULL, false, false),
		TAINTED("karpenter.sh/disrupted", "Karpenter", true, false),
		TAINTED("karpenter.sh/disruption", "Karpenter", true, false),
		TAINTED("node.cloudprovider.kubernetes.io/shutdown", "shut it down", true, false),
		TAINTED("node.kubernetes.io/out-of-service", "out of service", true, false),
		TAINTED("node.kubernetes.io/unschedulable", NULL, false, false),
		TAINTED("medik8s.io/remediation", "medik8s", true, false),
		TAINTED("medik8s.ioish", NULL, false, false),
		TAINTED("remediator.aks.microsoft.com/unschedulable", "AKS", true, false),
		LABELED("dgxc.nvidia.com/nvsentinel-state", "NVSentinel", true, false),
		NOTED("quarantineHealthEvent", "NVSentinel"),
		NOTED("quarantineHealthEventIsCordoned", "NVSentinel"),
		{ "", "'quarantinedNodeUncordonedManually': 'True'", "", NULL, false, false },
		NOTED("assay.dev/cordon", "annotation assay.dev/cordon is not one"),
		{ "", "'assay.dev/cordon': {}", "", "not one that Assay wrote", true, false },
		{ "", "'assay.dev/cordon': '{\\\"v\\\":2}'", "", "not one that Assay", true, false },
		TAINTED("assay.dev/testing", NULL, false, false),
		{ "", "", "{'key': 'assay.dev/testing', 'effect': 'NoSchedule', 'value': 'mine'}",
		  "taint assay.dev/testing is not one", true, false },
		{ "", "", "{'key': 'assay.dev/testing', 'effect': 'NoExecute', 'value': '7.assay'}",
		  "taint assay.dev/testing is not one", true, false },
		{ "", "",
		  "{'key': 'assay.dev/testing', 'effect': 'NoSchedule', 'value': '7.assay'}, "
		  "{'key': 'assay.dev/testing', 'effect': 'NoSchedule', 'value': '8.assay'}",
		  "taint assay.dev/testing is not one", true, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		check_hands(&rows[i]);
}

static void a_node_that_is_being_deleted_is_left_alone(void)
{
	struct cluster_node n = node_of("{'metadata': {" META ", 'deletionTimestamp': "
					"'2026-11-20T00:00:00Z'}}");

	CHECK_STR(n.hands_off, "it is being deleted");
	CHECK(n.leaving);
	cluster_node_release(&n);
}

static void our_mark_is_read_and_what_is_not_as_we_write_it_is_anothers(void)
{
	struct cluster_node n =
		node_of("{'metadata': {" META ", 'annotations': {'assay.dev/cordon': '{\\\"v\\\":1,"
			"\\\"by\\\":\\\"assay\\\",\\\"reason\\\":\\\"xid79\\\",\\\"at\\\":"
			"\\\"2026-11-21T10:00:00Z\\\",\\\"epoch\\\":7,\\\"pre\\\":false}', "
			"'assay.dev/override-until': '2026-11-22T10:00:00Z'}}, "
			"'spec': {'unschedulable': true}}");

	CHECK(n.unschedulable && n.mark && !n.hands_off);
	CHECK_STR(n.mark ? n.mark->reason : NULL, "xid79");
	CHECK_EQ(n.mark ? n.mark->epoch : 0, 7);
	CHECK(n.override_us > 0);
	CHECK(kube_node_lifts(&n));
	n.leaving = true; /* another owner came after us: the cordon is its, too */
	CHECK(!kube_node_lifts(&n));
	n.leaving = false;
	n.mark->pre = true;
	CHECK(!kube_node_lifts(&n));
	cluster_node_release(&n);
	CHECK(!kube_node_lifts(&n));
}

static void a_mark_comes_back_as_it_was_written(void)
{
	CLEANUP(json_freep) json_t *evidence = json_pack("[s, s]", "incident 7", "\"quoted\"\n");
	const struct cluster_mark mark = { .by = (char *)(uintptr_t) "operator eve",
					   .incident = (char *)(uintptr_t) "7",
					   .reason = (char *)(uintptr_t) "GPU 3: \"lost\" \xc3\xa9",
					   .action = (char *)(uintptr_t) "12",
					   .evidence = evidence,
					   .at_us = 1700000000 * USEC_PER_SEC,
					   .epoch = 9,
					   .pre = true };
	CLEANUP(freep) char *text = kube_mark_text(&mark);
	CLEANUP(cluster_mark_freep) struct cluster_mark *back = kube_mark_read(text);

	CHECK(back != NULL);
	if (!back)
		return;
	CHECK_STR(back->by, mark.by);
	CHECK_STR(back->incident, "7");
	CHECK_STR(back->reason, mark.reason);
	CHECK_STR(back->action, "12");
	CHECK(json_equal(back->evidence, evidence));
	CHECK_EQ(back->at_us, mark.at_us);
	CHECK_EQ(back->epoch, 9);
	CHECK(back->pre);
}

static void a_mark_with_too_much_evidence_is_written_without(void)
{
	CLEANUP(json_freep) json_t *evidence = json_array();
	struct cluster_mark mark = { .by = (char *)(uintptr_t) "assay",
				     .reason = (char *)(uintptr_t) "much",
				     .evidence = evidence,
				     .at_us = USEC_PER_SEC };
	CLEANUP(freep) char *text = NULL;
	CLEANUP(cluster_mark_freep) struct cluster_mark *back = NULL;
	unsigned i;

	for (i = 0; i < KUBE_MARK_MAX / 16; i++)
		(void)json_array_append_new(evidence, json_string("0123456789abcdef"));
	text = kube_mark_text(&mark);
	CHECK(strlen(text) <= KUBE_MARK_MAX);
	back = kube_mark_read(text);
	CHECK(back && !back->evidence);
	CHECK_STR(back ? back->reason : NULL, "much");
}

static void what_is_no_mark_is_none(void)
{
	CLEANUP(freep) char *huge = xcalloc(KUBE_MARK_MAX + 2, 1);
	const char *const rows[] = { NULL, "", "yes", "[]", "{}", "{\"v\":1}", "{\"v\":1,\"v\":1}",
				     huge };
	size_t i;

	memset(huge, ' ', KUBE_MARK_MAX + 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(!kube_mark_read(rows[i]));
}

static void an_override_comes_back_as_it_was_written(void)
{
	const uint64_t until_us = 1800000000 * USEC_PER_SEC + 250 * USEC_PER_MSEC;
	CLEANUP(freep) char *text = kube_override_text(until_us);

	CHECK_EQ(kube_override_read(text), until_us);
	CHECK_EQ(kube_override_read("2026-11-22T08:00:00Z") % USEC_PER_HOUR, 0);
	CHECK_EQ(kube_override_read("soon"), 0);
	CHECK_EQ(kube_override_read(NULL), 0);
}

static void check_hold(uint64_t until_us, const char *by, const char *by_back)
{
	CLEANUP(json_freep) json_t *taint = kube_hold_taint(&cluster_names_usual, until_us, by);
	const char *value = json_string_value(json_object_get(taint, "value"));
	CLEANUP(freep) char *back = NULL;
	uint64_t back_us = 0;
	size_t i;

	/* The rule of the API server for a taint's value. */
	CHECK(strlen(value) > 0 && strlen(value) <= KUBE_TAINT_VALUE_MAX);
	CHECK(isalnum((unsigned char)value[0]) && isalnum((unsigned char)value[strlen(value) - 1]));
	for (i = 0; value[i]; i++)
		CHECK(isalnum((unsigned char)value[i]) || strchr("-_.", value[i]));
	CHECK(kube_hold_read(taint, &back_us, &back));
	CHECK(back_us >= until_us && back_us < until_us + USEC_PER_SEC);
	CHECK_STR(back, by_back);
}

static void a_hold_comes_back_as_it_was_set(void)
{
	check_hold(1800000000 * USEC_PER_SEC, "assay", "assay");
	check_hold(1800000000 * USEC_PER_SEC + 1, "assay", "assay");
	check_hold(USEC_PER_SEC, "", "");
	check_hold(USEC_PER_SEC, NULL, "");
	check_hold(9999999999 * USEC_PER_SEC, "operator eve!", "operator-eve");
	check_hold(9999999999 * USEC_PER_SEC, "...", "");
	check_hold(9999999999 * USEC_PER_SEC,
		   "0123456789012345678901234567890123456789012345678901234567890123456789",
		   "012345678901234567890123456789012345678901");
}

static void setting_a_hold_leaves_the_other_taints_where_they_are(void)
{
	CLEANUP(json_freep)
	json_t *object = object_of("{'spec': {'taints': [{'key': 'a', 'value': 'x', 'effect': "
				   "'NoSchedule', 'timeAdded': '2026-11-22T08:00:00Z'}, {'key': "
				   "'assay.dev/testing', 'value': '5.assay', 'effect': "
				   "'NoSchedule'}, {'key': 'b', 'effect': 'NoExecute'}]}}");
	CLEANUP(json_freep) json_t *bare = object_of("{'spec': {}}");
	CLEANUP(json_freep)
	json_t *set = kube_node_taints(object, &cluster_names_usual, 9 * USEC_PER_SEC, "assay");
	CLEANUP(json_freep)
	json_t *lifted = kube_node_taints(object, &cluster_names_usual, 0, NULL);
	CLEANUP(json_freep)
	json_t *first = kube_node_taints(bare, &cluster_names_usual, 9 * USEC_PER_SEC, "assay");
	const json_t *old = json_object_get(json_object_get(object, "spec"), "taints");

	CHECK_EQ(json_array_size(lifted), 2);
	CHECK(json_equal(json_array_get(lifted, 0), json_array_get(old, 0)));
	CHECK(json_equal(json_array_get(lifted, 1), json_array_get(old, 2)));
	CHECK_EQ(json_array_size(set), 3);
	CHECK_STR(json_string_value(json_object_get(json_array_get(set, 2), "value")), "9.assay");
	CHECK_EQ(json_array_size(first), 1);
	CHECK_EQ(json_array_size(old), 3);
}

static void a_hold_is_read_from_the_node(void)
{
	struct cluster_node n = node_of("{'metadata': {" META "}, 'spec': {'taints': [{'key': "
					"'assay.dev/testing', 'value': '5.assay', 'effect': "
					"'NoSchedule'}]}}");

	CHECK_EQ(n.hold_us, 5 * USEC_PER_SEC);
	CHECK_STR(n.hold_by, "assay");
	CHECK(!n.hands_off);
	cluster_node_release(&n);
}

static void opting_out_is_a_label(void)
{
	static const struct {
		const char *value;
		bool managed;
	} rows[] = { { "'false'", false }, { "'true'", true }, { "''", true }, { "null", true } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep)
		char *text = xasprintf("{'metadata': {" META
				       ", 'labels': {'assay.dev/managed': %s}}}",
				       rows[i].value);
		struct cluster_node n = node_of(text);

		CHECK_EQ(n.managed, rows[i].managed);
		cluster_node_release(&n);
	}
}

static void only_the_version_makes_no_news(void)
{
	static const char *const news[] = {
		"{'metadata': {'name': 'gpu-1', 'uid': 'u-2', 'resourceVersion': '205'}}",
		"{'metadata': {" META ", 'labels': {'a': 'b'}}}",
		"{'metadata': {" META "}, 'spec': {'unschedulable': true}}",
		"{'metadata': {" META "}, 'status': {'conditions': [{'type': 'Ready'}]}}",
		"{'metadata': {" META ", 'annotations': {'assay.dev/cordon': '?'}}}",
		"{'metadata': {" META ", 'annotations': {'assay.dev/override-until': "
		"'2026-11-22T08:00:00Z'}}}",
		"{'metadata': {" META
		"}, 'spec': {'taints': [{'key': 'assay.dev/testing', 'value': "
		"'5.assay', 'effect': 'NoSchedule'}]}}",
	};
	struct cluster_node before = node_of("{'metadata': {" META "}}");
	struct cluster_node later = node_of("{'metadata': {'name': 'gpu-1', 'uid': 'u-1', "
					    "'resourceVersion': '206'}, 'status': {'images': []}}");
	struct cluster_node copy = cluster_node_copy(&before);
	size_t i;

	CHECK(cluster_node_same(&before, &later));
	CHECK(cluster_node_same(&before, &copy));
	for (i = 0; i < ARRAY_SIZE(news); i++) {
		struct cluster_node other = node_of(news[i]);

		CHECK(!cluster_node_same(&before, &other));
		cluster_node_release(&other);
	}
	cluster_node_release(&before);
	cluster_node_release(&later);
	cluster_node_release(&copy);
}

static const struct test tests[] = {
	TEST(a_plain_node_is_in_service),
	TEST(readiness_is_what_the_condition_ready_says),
	TEST(what_is_no_node_is_refused),
	TEST(who_else_has_its_hands_on_it_is_told_in_words),
	TEST(a_node_that_is_being_deleted_is_left_alone),
	TEST(our_mark_is_read_and_what_is_not_as_we_write_it_is_anothers),
	TEST(a_mark_comes_back_as_it_was_written),
	TEST(a_mark_with_too_much_evidence_is_written_without),
	TEST(what_is_no_mark_is_none),
	TEST(an_override_comes_back_as_it_was_written),
	TEST(a_hold_comes_back_as_it_was_set),
	TEST(setting_a_hold_leaves_the_other_taints_where_they_are),
	TEST(a_hold_is_read_from_the_node),
	TEST(opting_out_is_a_label),
	TEST(only_the_version_makes_no_news),
};

TEST_SUITE(tests);
