/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of patches and events, compared with those tried on a real API server. */
#include <stdlib.h>

#include "controller/cluster/kube/kube_event.h"
#include "controller/cluster/kube/kube_node.h"
#include "controller/cluster/kube/kube_patch.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define STAMP_US (UINT64_C(1767225601) * USEC_PER_SEC) /* 2026-01-01T00:00:01Z */

static const struct kube_taint no_taint = { 0 };
static const struct kube_taint unhealthy = { CLUSTER_PREFIX "/unhealthy", "bad", "NoSchedule" };
static const struct cluster_mark mark = { .by = (char *)(uintptr_t) "assay",
					  .reason = (char *)(uintptr_t) "xid79",
					  .incident = (char *)(uintptr_t) "4",
					  .action = (char *)(uintptr_t) "17",
					  .at_us = STAMP_US,
					  .epoch = 7 };

/* A node with what a test wants of it, merged in. */
struct subject {
	json_t *raw;
	struct cluster_node node;
};

static struct subject subject_of(const char *more)
{
	CLEANUP(json_freep) json_t *extra = json_loads(more, 0, NULL);
	struct subject s = { 0 };

	s.raw = json_pack("{s:{s:s, s:s, s:s}, s:{}, s:{s:[{s:s, s:s}]}}", "metadata", "name",
			  "gpu-0", "uid", "u-1", "resourceVersion", "205", "spec", "status",
			  "conditions", "type", "Ready", "status", "True");
	CHECK(extra != NULL);
	(void)json_object_update_recursive(s.raw, extra);
	CHECK_EQ(kube_node_read(s.raw, &cluster_names_usual, &s.node, NULL), 0);
	return s;
}

static void subject_release(struct subject *s)
{
	json_decref(s->raw);
	cluster_node_release(&s->node);
}

static const char marked[] = "{\"metadata\":{\"annotations\":{\"assay.dev/"
			     "cordon\":\"{\\\"v\\\":1,\\\"by\\\":\\\"assay\\\","
			     "\\\"reason\\\":\\\"r\\\",\\\"at\\\":\\\"2026-01-01T00:00:00Z\\\","
			     "\\\"action\\\":\\\"17\\\"%s}\"}%s},"
			     "\"spec\":{\"unschedulable\":%s%s}}";

static struct subject marked_by_us(const char *pre, const char *metadata, const char *unschedulable,
				   const char *spec)
{
	CLEANUP(freep) char *text = xasprintf(marked, pre, metadata, unschedulable, spec);

	return subject_of(text);
}

/* The patch is exactly this; NULL: there is none. */
static void check_plan(struct kube_plan plan, const char *expected)
{
	CLEANUP(json_freep) json_t *want = expected ? json_loads(expected, 0, NULL) : NULL;
	CLEANUP(json_freep) json_t *got = plan.patch;
	CLEANUP(freep) char *want_text = want ? json_dumps(want, JSON_SORT_KEYS) : NULL;
	CLEANUP(freep) char *got_text = got ? json_dumps(got, JSON_SORT_KEYS) : NULL;

	CHECK_EQ(plan.result, CLUSTER_DONE);
	CHECK_STR(got_text, want_text);
}

static void check_refused(struct kube_plan plan, const char *words)
{
	CHECK_EQ(plan.result, CLUSTER_NOT_OURS);
	CHECK(plan.patch == NULL);
	CHECK_HAS(plan.words, words);
}

/* Our mark in the annotation that a patch sets; NULL: it is taken off. */
static struct cluster_mark *mark_in(const json_t *patch)
{
	const json_t *annotations =
		json_object_get(json_object_get(patch, "metadata"), "annotations");

	return kube_mark_read(json_string_value(json_object_get(annotations, "assay.dev/cordon")));
}

static void a_cordon_is_one_patch_with_version_mark_and_flag(void)
{
	struct subject s = subject_of("{}");
	const struct kube_subject subject = { s.raw, &s.node, &no_taint, &cluster_names_usual };
	struct kube_plan plan = kube_plan_cordon(&subject, &mark);
	CLEANUP(cluster_mark_freep) struct cluster_mark *found = mark_in(plan.patch);

	CHECK(found != NULL);
	CHECK_STR(found->action, "17");
	CHECK_STR(found->incident, "4");
	CHECK_EQ(found->epoch, 7);
	CHECK(!found->pre);
	(void)json_object_del(
		json_object_get(json_object_get(plan.patch, "metadata"), "annotations"),
		"assay.dev/cordon");
	check_plan(plan, "{\"metadata\":{\"resourceVersion\":\"205\",\"annotations\":{}},"
			 "\"spec\":{\"unschedulable\":true}}");
	subject_release(&s);
}

static void a_cordon_that_was_there_is_marked_and_left(void)
{
	struct subject s = subject_of("{\"spec\":{\"unschedulable\":true}}");
	const struct kube_subject subject = { s.raw, &s.node, &no_taint, &cluster_names_usual };
	struct kube_plan plan = kube_plan_cordon(&subject, &mark);
	CLEANUP(cluster_mark_freep) struct cluster_mark *found = mark_in(plan.patch);

	CHECK(found && found->pre);
	CHECK(json_object_get(plan.patch, "spec") == NULL);
	json_decref(plan.patch);
	subject_release(&s);
}

static void a_taint_comes_with_all_the_others_and_goes_alone(void)
{
	struct subject s = subject_of("{\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":"
				      "\"NoExecute\",\"timeAdded\":\"T\"}]}}");
	const struct kube_subject subject = { s.raw, &s.node, &unhealthy, &cluster_names_usual };
	struct kube_plan plan = kube_plan_cordon(&subject, &mark);
	CLEANUP(freep)
	char *spec = json_dumps(json_object_get(plan.patch, "spec"), JSON_COMPACT | JSON_SORT_KEYS);
	struct subject after = marked_by_us(
		"", "", "true",
		",\"taints\":[{\"key\":\"assay.dev/unhealthy\",\"value\":\"bad\",\"effect\":"
		"\"NoSchedule\"},{\"key\":\"a\",\"effect\":\"NoSchedule\"}]");
	const struct kube_subject then = { after.raw, &after.node, &unhealthy,
					   &cluster_names_usual };

	CHECK_STR(spec, "{\"taints\":[{\"effect\":\"NoExecute\",\"key\":\"a\",\"timeAdded\":\"T\"},"
			"{\"effect\":\"NoSchedule\",\"key\":\"assay.dev/unhealthy\",\"value\":"
			"\"bad\"}],\"unschedulable\":true}");
	check_plan(
		kube_plan_uncordon(&then, 0, false),
		"{\"metadata\":{\"resourceVersion\":\"205\",\"annotations\":{\"assay.dev/cordon\":"
		"null}},\"spec\":{\"unschedulable\":null,\"taints\":[{\"key\":\"a\",\"effect\":"
		"\"NoSchedule\"}]}}");
	json_decref(plan.patch);
	subject_release(&s);
	subject_release(&after);
}

static void a_cordon_is_not_done_twice_nor_over_anothers_note(void)
{
	static const char note[] =
		"{\"metadata\":{\"annotations\":{\"assay.dev/cordon\":\"mine, hands off\"}}}";
	struct subject theirs = subject_of(note);
	const struct kube_subject noted = { theirs.raw, &theirs.node, &no_taint,
					    &cluster_names_usual };
	struct subject ours = marked_by_us("", "", "true", "");
	const struct kube_subject same = { ours.raw, &ours.node, &no_taint, &cluster_names_usual };
	struct cluster_mark other = mark;

	check_plan(kube_plan_cordon(&same, &mark), NULL);
	other.action = (char *)(uintptr_t) "18";
	check_refused(kube_plan_cordon(&same, &other), "another action");
	check_refused(kube_plan_cordon(&noted, &mark), "is not one that Assay wrote");
	subject_release(&ours);
	subject_release(&theirs);
}

#define OWNER(manager)                                                                  \
	",\"managedFields\":[{\"manager\":\"kubelet\",\"fieldsV1\":{\"f:status\":{}}}," \
	"{\"manager\":\"" manager "\",\"fieldsV1\":{\"f:spec\":{\"f:unschedulable\":{}}}}]"

static void only_a_cordon_of_ours_is_lifted(void)
{
	static const struct {
		const char *pre, *metadata, *unschedulable;
		bool lifted;
	} rows[] = {
		{ "", "", "true", true },
		{ "", OWNER("assay"), "true", true },
		{ "", OWNER("kubectl"), "true", false }, /* lifted and set again by hand */
		{ ",\\\"pre\\\":true", "", "true", false },
		{ ",\\\"pre\\\":true", OWNER("assay"), "true", false },
		{ "", "", "false", false }, /* there is none */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct subject s =
			marked_by_us(rows[i].pre, rows[i].metadata, rows[i].unschedulable, "");
		const struct kube_subject subject = { s.raw, &s.node, &no_taint,
						      &cluster_names_usual };
		struct kube_plan plan = kube_plan_uncordon(&subject, 0, false);
		const json_t *spec = json_object_get(plan.patch, "spec");

		CHECK_EQ(plan.result, CLUSTER_DONE);
		CHECK_EQ(json_is_null(json_object_get(spec, "unschedulable")), rows[i].lifted);
		CHECK_EQ(spec != NULL, rows[i].lifted);
		CHECK(json_is_null(json_object_get(
			json_object_get(json_object_get(plan.patch, "metadata"), "annotations"),
			"assay.dev/cordon")));
		json_decref(plan.patch);
		plan = kube_plan_uncordon(&subject, 0, true); /* by now it is another's */
		CHECK_EQ(plan.result, CLUSTER_DONE);
		CHECK(!json_object_get(plan.patch, "spec"));
		json_decref(plan.patch);
		subject_release(&s);
	}
}

static void without_a_mark_nothing_is_lifted(void)
{
	struct subject theirs = subject_of("{\"spec\":{\"unschedulable\":true}}");
	struct subject none = subject_of("{}");
	const struct kube_subject a = { theirs.raw, &theirs.node, &no_taint, &cluster_names_usual };
	const struct kube_subject b = { none.raw, &none.node, &no_taint, &cluster_names_usual };

	check_refused(kube_plan_uncordon(&a, STAMP_US, false), "someone else cordoned it");
	check_plan(kube_plan_uncordon(&b, 0, false), NULL);
	check_plan(kube_plan_uncordon(&b, STAMP_US, false),
		   "{\"metadata\":{\"resourceVersion\":\"205\",\"annotations\":{\"assay.dev/"
		   "override-until\":\"2026-01-01T00:00:01.000Z\"}}}");
	subject_release(&theirs);
	subject_release(&none);
}

static void an_override_is_set_and_taken_off_once(void)
{
	struct subject with =
		subject_of("{\"metadata\":{\"annotations\":{\"assay.dev/override-until\":"
			   "\"2026-01-01T00:00:01.000Z\"}}}");
	struct subject without = subject_of("{}");
	const struct kube_subject a = { with.raw, &with.node, &no_taint, &cluster_names_usual };
	const struct kube_subject b = { without.raw, &without.node, &no_taint,
					&cluster_names_usual };

	check_plan(kube_plan_override(&a, STAMP_US + 7), NULL); /* the same millisecond */
	check_plan(kube_plan_override(&b, 0), NULL);
	check_plan(kube_plan_override(&a, 0),
		   "{\"metadata\":{\"resourceVersion\":\"205\","
		   "\"annotations\":{\"assay.dev/override-until\":null}}}");
	subject_release(&with);
	subject_release(&without);
}

static void a_hold_is_a_taint_of_ours_among_the_others(void)
{
	static const char held[] =
		"{\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"},"
		"{\"key\":\"assay.dev/testing\",\"value\":\"1767225601.%s\","
		"\"effect\":\"NoSchedule\"}]}}";
	CLEANUP(freep) char *ours = xasprintf(held, "assay"), *theirs = xasprintf(held, "bob");
	struct subject free_node = subject_of("{}"), s = subject_of(ours), t = subject_of(theirs);
	const struct kube_subject a = { free_node.raw, &free_node.node, &no_taint,
					&cluster_names_usual };
	const struct kube_subject b = { s.raw, &s.node, &no_taint, &cluster_names_usual };
	const struct kube_subject c = { t.raw, &t.node, &no_taint, &cluster_names_usual };

	check_plan(kube_plan_hold(&a, STAMP_US, "assay"),
		   "{\"metadata\":{\"resourceVersion\":\"205\"},\"spec\":{\"taints\":[{\"key\":"
		   "\"assay.dev/"
		   "testing\",\"value\":\"1767225601.assay\",\"effect\":\"NoSchedule\"}]}}");
	check_plan(kube_plan_hold(&b, STAMP_US, "assay"), NULL);
	check_plan(
		kube_plan_hold(&b, 0, "assay"),
		"{\"metadata\":{\"resourceVersion\":\"205\"},\"spec\":{\"taints\":[{\"key\":\"a\","
		"\"effect\":\"NoSchedule\"}]}}");
	check_plan(kube_plan_hold(&a, 0, "assay"), NULL);
	check_refused(kube_plan_hold(&c, 0, "assay"), "another test or action");
	subject_release(&free_node);
	subject_release(&s);
	subject_release(&t);
}

static void the_start_up_taint_goes_whatever_its_effect(void)
{
	static const char fresh[] =
		"{\"spec\":{\"taints\":[{\"key\":\"assay.dev/unverified\",\"effect\":"
		"\"NoSchedule\"}%s]},\"status\":{\"nodeInfo\":{\"bootID\":\"b-1\"}}}";
	CLEANUP(freep) char *alone = xasprintf(fresh, "");
	CLEANUP(freep)
	char *among = xasprintf(fresh, ",{\"key\":\"a\",\"effect\":\"NoSchedule\"},{\"key\":"
				       "\"assay.dev/unverified\",\"effect\":\"NoExecute\"}");
	struct subject s = subject_of(alone), t = subject_of(among), u = subject_of("{}");
	const struct kube_subject a = { s.raw, &s.node, &no_taint, &cluster_names_usual };
	const struct kube_subject b = { t.raw, &t.node, &no_taint, &cluster_names_usual };
	const struct kube_subject c = { u.raw, &u.node, &no_taint, &cluster_names_usual };

	CHECK(s.node.unverified && t.node.unverified && !u.node.unverified);
	CHECK_STR(s.node.boot, "b-1");
	CHECK(u.node.boot == NULL);
	check_plan(kube_plan_verified(&a), "{\"metadata\":{\"resourceVersion\":\"205\"},"
					   "\"spec\":{\"taints\":null}}");
	check_plan(kube_plan_verified(&b),
		   "{\"metadata\":{\"resourceVersion\":\"205\"},"
		   "\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]}}");
	check_plan(kube_plan_verified(&c), NULL);
	subject_release(&s);
	subject_release(&t);
	subject_release(&u);
}

static void the_condition_is_merged_by_its_type(void)
{
	const struct cluster_condition condition = { "gpu-0", 0, "AssayCordoned", "two\nlines" };
	CLEANUP(json_freep)
	json_t *body = kube_patch_condition(&cluster_names_usual, &condition, STAMP_US,
					    STAMP_US - USEC_PER_SEC);
	CLEANUP(freep) char *text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

	CHECK_STR(text,
		  "{\"status\":{\"conditions\":[{\"lastHeartbeatTime\":\"2026-01-01T00:00:01Z\","
		  "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"message\":\"two?lines\","
		  "\"reason\":\"AssayCordoned\",\"status\":\"False\",\"type\":\"assay.dev/"
		  "Healthy\"}]}}");
}

static void an_event_is_one_that_describe_shows(void)
{
	const struct kube_event event = { "gpu-0.0", "gpu-0", "u-1",	"AssayCordoned", "xid 79",
					  true,	     false,   STAMP_US, STAMP_US,	 1 };
	CLEANUP(json_freep) json_t *body = kube_event_body(&event);
	CLEANUP(json_freep)
	json_t *want = json_loads(
		"{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"gpu-0.0\","
		"\"namespace\":\"default\"},\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":"
		"\"Node\","
		"\"name\":\"gpu-0\",\"uid\":\"u-1\"},\"reason\":\"AssayCordoned\",\"message\":"
		"\"xid "
		"79\",\"type\":\"Warning\",\"source\":{\"component\":\"assay\"},"
		"\"reportingComponent\":\"assay\",\"firstTimestamp\":\"2026-01-01T00:00:01Z\","
		"\"lastTimestamp\":\"2026-01-01T00:00:01Z\",\"count\":1}",
		0, NULL);

	CHECK(want && json_equal(body, want));
}

static void an_event_for_an_owner_is_in_his_namespace(void)
{
	const struct kube_event event = { .name = "research.0",
					  .node = "research",
					  .owner = true,
					  .reason = "AssayJobSlow",
					  .message = "slow",
					  .first_us = STAMP_US,
					  .last_us = STAMP_US,
					  .count = 1 };
	CLEANUP(json_freep) json_t *body = kube_event_body(&event);
	const json_t *about = json_object_get(body, "involvedObject");

	CHECK_STR(
		json_string_value(json_object_get(json_object_get(body, "metadata"), "namespace")),
		"research");
	CHECK_STR(json_string_value(json_object_get(about, "kind")), "Namespace");
	CHECK_STR(json_string_value(json_object_get(about, "name")), "research");
	CHECK_STR(json_string_value(json_object_get(about, "namespace")), "research");
	CHECK(!json_object_get(about, "uid"));
	CHECK_STR(json_string_value(json_object_get(body, "type")), "Normal");
}

static void names_of_events_are_short_and_their_own(void)
{
	char node[254], a[KUBE_EVENT_NAME_SIZE], b[KUBE_EVENT_NAME_SIZE];

	memset(node, 'n', sizeof(node) - 1);
	node[sizeof(node) - 1] = '\0';
	node[235] = '.'; /* where it is cut */
	kube_event_name(a, node, STAMP_US, 1);
	kube_event_name(b, node, STAMP_US, 2);
	CHECK(strlen(a) < 254 && !streq(a, b));
	CHECK(strstr(a, "..") == NULL);
	kube_event_name(a, "gpu-0", 0, 0);
	CHECK_STR(a, "gpu-0.0000000000000000");
}

static void texts_are_cut_between_characters(void)
{
	CLEANUP(freep) char *cut = kube_clip("a\xc3\xa4\xc3\xa4", 4);
	CLEANUP(freep) char *whole = kube_clip("a\tb", 100);

	CHECK_STR(cut, "a\xc3\xa4");
	CHECK_STR(whole, "a?b");
}

static void being_told_to_leave_ends_with_the_cordon(void)
{
	CLEANUP(subject_release) struct subject s = marked_by_us("", "", "true", "");
	json_t *notes = json_object_get(json_object_get(s.raw, "metadata"), "annotations");
	const struct kube_subject subject = { s.raw, &s.node, &no_taint, &cluster_names_usual };

	(void)json_object_set_new(notes, "assay.dev/drain", json_string("{}"));
	check_plan(kube_plan_uncordon(&subject, 0, false),
		   "{\"metadata\":{\"resourceVersion\":\"205\",\"annotations\":{\"assay.dev/"
		   "cordon\":null,\"assay.dev/drain\":null}},\"spec\":{\"unschedulable\":null}}");
}

static const struct test tests[] = {
	TEST(a_cordon_is_one_patch_with_version_mark_and_flag),
	TEST(a_cordon_that_was_there_is_marked_and_left),
	TEST(a_taint_comes_with_all_the_others_and_goes_alone),
	TEST(a_cordon_is_not_done_twice_nor_over_anothers_note),
	TEST(only_a_cordon_of_ours_is_lifted),
	TEST(without_a_mark_nothing_is_lifted),
	TEST(an_override_is_set_and_taken_off_once),
	TEST(a_hold_is_a_taint_of_ours_among_the_others),
	TEST(the_start_up_taint_goes_whatever_its_effect),
	TEST(the_condition_is_merged_by_its_type),
	TEST(an_event_is_one_that_describe_shows),
	TEST(an_event_for_an_owner_is_in_his_namespace),
	TEST(names_of_events_are_short_and_their_own),
	TEST(texts_are_cut_between_characters),
	TEST(being_told_to_leave_ends_with_the_cordon),
};

TEST_SUITE(tests);
