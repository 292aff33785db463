/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_drain.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/drain_server.h"
#include "tests/unit/test.h"

static const struct cluster_drain usual = { .empty_dir = true };

/* Returns the pods that are terminating or gone as "p0 p3". The caller frees it. */
static char *went(const struct kube *server)
{
	char *text = xstrdup("");
	size_t i;

	for (i = 0; i < server->n; i++) {
		const struct server_pod *p = &server->pods[i];
		char *more;

		if (!p->leaving && !p->gone)
			continue;
		more = xasprintf("%s%s%s", text, text[0] ? " " : "", p->name);
		free(text);
		text = more;
	}
	return text;
}

static void what_may_go_goes_and_the_rest_stays(void)
{
	struct kube s;
	CLEANUP(freep) char *text = NULL;

	server_open(&s);
	(void)server_add(&s);
	server_add(&s)->owner = "DaemonSet";
	server_add(&s)->namespace = "kube-system";
	server_add(&s)->namespace = "assay"; /* we ourselves */
	server_add(&s)->scratch = true;
	server_add(&s)->phase = "Pending";
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_HAS(s.words, "3 of its pods are terminating");
	text = went(&s);
	CHECK_STR(text, "p0 p4 p5");
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_EQ(s.evictions, 3); /* terminating pods are not evicted again */
	CHECK(s.answer.retry_us > 0 && s.answer.retry_us <= 5 * USEC_PER_SEC);
	server_reap(&s);
	CHECK_EQ(server_round(&s, &usual), CLUSTER_DONE);
	CHECK_EQ(s.discoveries, 1);
	server_close(&s);
}

static void one_that_may_not_go_keeps_them_all(void)
{
	static const struct cluster_drain all = { .empty_dir = true, .bare_pods = true };
	struct kube s;

	server_open(&s);
	(void)server_add(&s);
	server_add(&s)->owner = NULL;
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_HAS(s.words, "default/p1");
	CHECK_HAS(s.words, "drain.bare_pods");
	CHECK_EQ(s.evictions, 0);
	CHECK(s.answer.retry_us >= 30 * USEC_PER_SEC); /* a person has to intervene */
	CHECK_EQ(server_round(&s, &all), CLUSTER_AGAIN);
	CHECK_EQ(s.evictions, 2);
	s.pods[0].scratch = s.pods[1].scratch = true;
	s.pods[0].leaving = s.pods[1].leaving = false;
	CHECK_EQ(server_round(&s, NULL), CLUSTER_AGAIN);
	CHECK_HAS(s.words, "2 of its pods may not be evicted");
	CHECK_EQ(s.evictions, 2);
	server_close(&s);
}

/* Runs rounds for this long, each at the time the last one gave. Returns evictions of the pod. */
static unsigned rounds_for(struct kube *s, const struct server_pod *p, uint64_t us)
{
	const uint64_t end_us = server_now_us + us;
	const unsigned before = p->asked;

	while (server_now_us < end_us) {
		CHECK_EQ(server_round(s, &usual), CLUSTER_AGAIN);
		CHECK(s->answer.retry_us >= USEC_PER_SEC);
		server_now_us += MAX(s->answer.retry_us, USEC_PER_SEC);
	}
	return p->asked - before;
}

static void a_budget_is_waited_for_later_each_time(void)
{
	struct kube s;
	struct server_pod *p;

	server_open(&s);
	p = server_add(&s);
	p->budgets = 1;
	server_add(&s)->leaving = true; /* so that the rounds follow soon */
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_HAS(s.words, "1 of its pods are terminating, 1 may not be evicted yet: default/p0: "
			   "Cannot evict");
	server_now_us += 4 * USEC_PER_SEC;
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_EQ(p->asked, 1); /* not before 5 s */
	CHECK_HAS(s.words, "default/p0");
	server_now_us += USEC_PER_SEC;
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_EQ(p->asked, 2);
	/* 10, 20, 40, and then every 60 s. */
	CHECK_EQ(rounds_for(&s, p, 71 * USEC_PER_SEC), 3);
	CHECK_EQ(rounds_for(&s, p, 600 * USEC_PER_SEC), 10);
	s.allowed[0] = 1;
	(void)rounds_for(&s, p, 60 * USEC_PER_SEC);
	CHECK(p->leaving);
	server_reap(&s);
	CHECK_EQ(server_round(&s, &usual), CLUSTER_DONE);
	server_close(&s);
}

static void a_budget_that_lets_one_go_at_a_time_is_kept(void)
{
	struct kube s;
	size_t i, leaving = 0;

	server_open(&s);
	for (i = 0; i < 5; i++)
		server_add(&s)->budgets = 1;
	s.allowed[0] = 1;
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	for (i = 0; i < 5; i++)
		leaving += s.pods[i].leaving;
	CHECK_EQ(leaving, 1);
	CHECK_HAS(s.words, "1 of its pods are terminating, 4 may not be evicted yet");
	server_close(&s);
}

static void two_budgets_of_one_pod_are_no_reason_to_spin(void)
{
	struct kube s;
	struct server_pod *p;

	server_open(&s);
	p = server_add(&s);
	p->budgets = 3;
	s.allowed[0] = s.allowed[1] = 5;
	(void)server_add(&s);
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_HAS(s.words, "more than one PodDisruptionBudget");
	CHECK(s.pods[1].leaving); /* the other one is not delayed by it */
	server_reap(&s);
	CHECK_EQ(rounds_for(&s, p, 10 * USEC_PER_MIN), 9);
	CHECK_EQ(s.allowed[0], 5);
	p->budgets = 0;
	(void)rounds_for(&s, p, USEC_PER_MIN);
	CHECK(p->leaving);
	server_close(&s);
}

static void what_the_server_asks_for_counts_when_it_is_more(void)
{
	struct kube s;
	struct server_pod *p;

	server_open(&s);
	p = server_add(&s);
	server_add(&s)->leaving = true;
	s.fault = "the disruption budget is still being processed";
	s.fault_status = 429;
	s.fault_retry_us = 10 * USEC_PER_SEC;
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	server_now_us += 9 * USEC_PER_SEC;
	(void)server_round(&s, &usual);
	CHECK_EQ(p->asked, 1);
	server_now_us += USEC_PER_SEC;
	(void)server_round(&s, &usual);
	CHECK_EQ(p->asked, 2);
	server_close(&s);
}

static void three_hundred_pods_go_a_few_at_a_time(void)
{
	struct kube s;
	size_t i;

	server_open(&s);
	for (i = 0; i < 300; i++)
		(void)server_add(&s);
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_HAS(s.words, "300 of its pods are terminating");
	CHECK_EQ(s.evictions, 300);
	CHECK_EQ(s.most_out, KUBE_EVICTIONS_AT_ONCE);
	CHECK(s.lists > 1); /* several pages */
	for (i = 0; i < 300; i++)
		CHECK_EQ(s.pods[i].asked, 1);
	server_reap(&s);
	CHECK_EQ(server_round(&s, &usual), CLUSTER_DONE);
	server_close(&s);
}

/* Between the list and the eviction it is gone or replaced by another of its name; or the response
 * is not from the API server. */
static void only_what_is_said_to_be_gone_is_not_waited_for(void)
{
	static const struct {
		unsigned status;
		const char *message, *name;
		enum cluster_result result;
	} table[] = {
		{ 404, "pods \"p0\" not found", "p0", CLUSTER_DONE },
		{ 409, "Precondition failed: UID in precondition: a", "p0", CLUSTER_DONE },
		{ 409, "the UID in the precondition (a) does not match", "p0", CLUSTER_DONE },
		{ 404, "the server could not find the requested resource", NULL, CLUSTER_AGAIN },
		{ 409, "the object has been modified", "p0", CLUSTER_AGAIN },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct kube s;

		server_open(&s);
		(void)server_add(&s);
		s.fault = table[i].message;
		s.fault_status = table[i].status;
		s.fault_name = table[i].name;
		CHECK_EQ(server_round(&s, &usual), table[i].result);
		CHECK_EQ(s.evictions, 1);
		if (table[i].result == CLUSTER_AGAIN)
			CHECK_HAS(s.words, table[i].message);
		s.fault = NULL;
		server_now_us += 5 * USEC_PER_SEC;
		CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
		CHECK(s.pods[0].leaving);
		/* For a path that is not served the version is discovered again. */
		CHECK_EQ(s.discoveries, table[i].name ? 1 : 2);
		server_close(&s);
	}
}

static void faults_are_told_and_tried_again(void)
{
	static const struct {
		unsigned status;
		const char *message;
		enum cluster_result result;
	} table[] = {
		{ 0, "", CLUSTER_AGAIN },
		{ 503, "apiserver is shutting down", CLUSTER_AGAIN },
		{ 403, "cannot create resource pods/eviction", CLUSTER_REFUSED },
		{ 403, "forbidden: namespace ml because it is being terminated", CLUSTER_AGAIN },
		{ 429, "Too many requests, please try again later.", CLUSTER_AGAIN },
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct kube s;

		server_open(&s);
		for (j = 0; j < 100; j++)
			(void)server_add(&s);
		s.fault = table[i].message;
		s.fault_status = table[i].status;
		CHECK_EQ(server_round(&s, &usual), table[i].result);
		CHECK_HAS(s.words, "100 may not be evicted yet: default/p0");
		/* Without the right it does not try a hundred times. */
		CHECK_EQ(s.evictions,
			 table[i].result == CLUSTER_REFUSED ? KUBE_EVICTIONS_AT_ONCE : 100);
		s.fault = NULL;
		server_now_us += USEC_PER_MIN;
		CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
		CHECK_HAS(s.words, "100 of its pods are terminating");
		server_close(&s);
	}
}

static void the_version_of_eviction_is_found_and_found_again(void)
{
	struct kube s;

	server_open(&s);
	(void)server_add(&s);
	s.version = "v1";
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK(s.pods[0].leaving);
	server_reap(&s);
	(void)server_add(&s);
	s.version = "v2"; /* it was replaced by a newer one */
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_HAS(s.words, "no kind");
	CHECK(s.answer.retry_us <= 5 * USEC_PER_SEC);
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK(s.pods[1].leaving);
	CHECK_EQ(s.discoveries, 2);
	server_close(&s);
}

static void nothing_is_asked_while_we_may_not_write(void)
{
	struct kube s;

	server_open(&s);
	(void)server_add(&s);
	s.stopped = "another controller leads";
	CHECK_EQ(server_round(&s, &usual), CLUSTER_AGAIN);
	CHECK_HAS(s.words, "another controller leads");
	CHECK_EQ(s.lists, 0);
	CHECK_EQ(s.evictions, 0);
	server_close(&s);
}

static void on_none(void *context, const struct cluster_answer *answer)
{
	*(int *)context = (int)answer->result;
}

/* The Lease is lost while the pods are being listed. */
static void what_was_begun_stops_when_we_may_not_write_any_more(void)
{
	struct kube s;
	int result = -1;

	server_open(&s);
	(void)server_add(&s);
	kube_drain(s.drains, &(struct cluster_change){ .node = "gpu-0" },
		   &(struct cluster_call){ on_none, &result });
	s.stopped = "the switch is off";
	server_run(&s);
	CHECK_EQ(result, CLUSTER_AGAIN);
	CHECK_EQ(s.evictions, 0);
	server_close(&s);
}

static void one_round_at_a_time_and_none_is_left_without_an_answer(void)
{
	struct kube s;
	int first = -1, second = -1, jobs = -1;

	server_open(&s);
	(void)server_add(&s);
	kube_drain(s.drains, &(struct cluster_change){ .node = "gpu-0" },
		   &(struct cluster_call){ on_none, &first });
	kube_drain(s.drains, &(struct cluster_change){ .node = "gpu-0" },
		   &(struct cluster_call){ on_none, &second });
	kube_drain_jobs(s.drains, "gpu-0", &(struct cluster_call){ on_none, &jobs });
	CHECK_EQ(first, -1);
	CHECK_EQ(second, CLUSTER_AGAIN);
	server_close(&s);
	CHECK_EQ(first, CLUSTER_AGAIN);
	CHECK_EQ(jobs, CLUSTER_AGAIN);
}

static void a_dry_run_changes_nothing(void)
{
	struct kube s;
	int result = -1;

	server_open(&s);
	(void)server_add(&s);
	kube_drain(s.drains, &(struct cluster_change){ .node = "gpu-0", .dry_run = true },
		   &(struct cluster_call){ on_none, &result });
	server_run(&s);
	CHECK_EQ(result, CLUSTER_DONE);
	CHECK_EQ(s.evictions, 1);
	CHECK(!s.pods[0].leaving);
	server_close(&s);
}

static void jobs_may_be_told_instead(void)
{
	const struct cluster_drain ask = { .only_ask = true,
					   .reason = "mlx5_0 is gone",
					   .evict_us = 1767225600 * USEC_PER_SEC };
	struct kube s;

	server_open(&s);
	(void)server_add(&s);
	s.conflicts = 1;
	CHECK_EQ(server_round(&s, &ask), CLUSTER_AGAIN);
	CHECK_EQ(server_round(&s, &ask), CLUSTER_DONE);
	CHECK_HAS(s.note, "mlx5_0 is gone");
	CHECK_HAS(s.note, "2026-01-01T00:00:00");
	s.conflicts = 1; /* would be met: it is not written twice */
	CHECK_EQ(server_round(&s, &ask), CLUSTER_DONE);
	CHECK_EQ(s.evictions, 0);
	s.cordoned = false;
	CHECK_EQ(server_round(&s, &ask), CLUSTER_NOT_OURS);
	server_close(&s);
}

static void on_jobs(void *context, const struct cluster_answer *answer)
{
	char *text = context;
	size_t i, len = 0;

	CHECK_EQ(answer->result, CLUSTER_DONE);
	text[0] = '\0';
	for (i = 0; i < answer->n_jobs; i++)
		len += (size_t)snprintf(text + len, 256 - len, "%s%s", i ? ", " : "",
					answer->jobs[i]);
}

static void the_jobs_of_a_node_are_named_once_each(void)
{
	struct kube s;
	char text[256] = "?";
	size_t i;

	server_open(&s);
	server_add(&s)->owner = "DaemonSet";
	for (i = 0; i < 3; i++)
		server_add(&s)->labels = "\"jobset.sigs.k8s.io/jobset-name\": \"llama\"";
	server_add(&s)->owner = "ReplicaSet";
	server_add(&s)->labels = "\"job-name\": \"solo\"";
	kube_drain_jobs(s.drains, "gpu-0", &(struct cluster_call){ on_jobs, text });
	server_run(&s);
	CHECK_STR(text, "default/llama (jobset), default/solo (job)");
	server_close(&s);
}

static const struct test tests[] = {
	TEST(what_may_go_goes_and_the_rest_stays),
	TEST(one_that_may_not_go_keeps_them_all),
	TEST(a_budget_is_waited_for_later_each_time),
	TEST(a_budget_that_lets_one_go_at_a_time_is_kept),
	TEST(two_budgets_of_one_pod_are_no_reason_to_spin),
	TEST(what_the_server_asks_for_counts_when_it_is_more),
	TEST(three_hundred_pods_go_a_few_at_a_time),
	TEST(only_what_is_said_to_be_gone_is_not_waited_for),
	TEST(faults_are_told_and_tried_again),
	TEST(the_version_of_eviction_is_found_and_found_again),
	TEST(nothing_is_asked_while_we_may_not_write),
	TEST(what_was_begun_stops_when_we_may_not_write_any_more),
	TEST(one_round_at_a_time_and_none_is_left_without_an_answer),
	TEST(a_dry_run_changes_nothing),
	TEST(jobs_may_be_told_instead),
	TEST(the_jobs_of_a_node_are_named_once_each),
};

TEST_SUITE(tests);
