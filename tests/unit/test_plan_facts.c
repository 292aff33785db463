/* SPDX-License-Identifier: Apache-2.0 */
/* A plan's input from the analysis of a window, of this or an earlier version. */
#include "controller/job/plan_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/remedy/replicas.h"
#include "tests/unit/test.h"

/* 2 replicas of 2 stages on 4 hosts of which gpu-3 is slow. */
#define REMEDIES                                                                                 \
	"\"remedies\":{\"dp\":2,\"pp\":2,\"microbatches\":8,\"forward_s\":[0.1,0.1],"            \
	"\"backward_s\":[0.2,0.2],\"slowdown\":[1,1,1,1.5],\"replace\":[{\"worker\":3,\"T\":"    \
	"{\"value\":2.9,\"low\":2.8,\"high\":3.0},\"gap_s\":0}],\"sequences\":null,\"gc\":null," \
	"\"pause_s\":null,\"stages\":false}"

#define ANALYSIS                                                                           \
	"{\"class\":\"%s\",\"pp\":2,\"suspects\":[{\"hosts\":[\"gpu-3\"],\"counts\":true," \
	"\"gain\":"                                                                        \
	"{\"value\":0.3,\"low\":0.25,\"high\":0.35}}],\"detail\":{\"T_act\":4.1,\"T\":4,"  \
	"\"T_ideal\":2.8,\"hosts\":[\"gpu-0\",\"gpu-1\",\"gpu-2\",\"gpu-3\"],\"nodes\":%s%s%s}}"

#define NODES "[0,1,2,3]"

static bool read(const char *class, const char *nodes, const char *remedies, struct plan_facts *ret)
{
	CLEANUP(freep)
	char *text = xasprintf(ANALYSIS, class, nodes, *remedies ? "," : "", remedies);
	CLEANUP(json_freep) json_t *analysis = json_loads(text, 0, NULL);

	CHECK(analysis != NULL);
	return plan_facts_read(analysis, ret);
}

static void check_hosts(json_t *list, const char *wanted)
{
	CLEANUP(freep) char *text = json_dumps(list, JSON_COMPACT);

	CHECK_STR(text, wanted);
	json_decref(list);
}

static void an_analysis_has_its_shape_and_whom_to_replace(void)
{
	CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };

	CHECK(read("compute", NODES, REMEDIES, &f));
	CHECK_NEAR(f.facts.now_s, 4.1, 0);
	CHECK_NEAR(f.facts.simulated_s, 4, 0);
	CHECK(f.facts.replicas == &f.replicas);
	CHECK_EQ(f.facts.n_sets, 1);
	CHECK_NEAR(f.sets[0].after_s.value, 2.9, 0);
	check_hosts(plan_facts_set(&f, 0), "[\"gpu-3\"]");
}

/* Micro-batches go through two chunks of each stage, so that the pipeline fills in half the time. */
static void stages_of_several_chunks_are_interleaved(void)
{
	static const char *const more[] = { "\"dp\"", "\"vpp\":2,\"dp\"" };
	double fixed[2];
	size_t i;

	for (i = 0; i < 2; i++) {
		CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };
		CLEANUP(freep)
		char *remedies =
			xasprintf("\"remedies\":{%s%s", more[i], strstr(REMEDIES, "\"dp\"") + 4);

		CHECK(read("compute", NODES, remedies, &f));
		CHECK(f.facts.replicas == &f.replicas);
		fixed[i] = replicas_fixed(&f.replicas, f.facts.simulated_s);
	}
	/* The slow stage waits for nothing but one micro-batch of the first, or one chunk of it. */
	CHECK_NEAR(fixed[0], 4 - (8 * 0.45 + 0.3), 1e-9);
	CHECK_NEAR(fixed[1], 4 - (8 * 0.45 + 0.15), 1e-9);
}

/* It has no remedies: the suspects, and what replacing them gains, are all that there is. */
static void of_an_earlier_version_the_suspects_are_to_be_replaced(void)
{
	CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };

	CHECK(read("compute", NODES, "", &f));
	CHECK(!f.facts.replicas);
	CHECK_EQ(f.facts.n_sets, 1);
	CHECK_NEAR(f.sets[0].after_s.value, 2.8, 1e-12);
	CHECK_NEAR(f.sets[0].after_s.low, 2.6, 1e-12);
	check_hosts(plan_facts_set(&f, 0), "[\"gpu-3\"]");
}

static void of_a_job_that_slows_itself_nobody_is_replaced(void)
{
	CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };

	CHECK(read("job", NODES, REMEDIES, &f));
	CHECK(f.facts.replicas != NULL);
	CHECK_EQ(f.facts.n_sets, 0);
}

static void who_is_not_known_is_called_by_his_place(void)
{
	CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };

	CHECK(read("compute", "[0,1,2,-1]", REMEDIES, &f));
	check_hosts(plan_facts_set(&f, 0), "[\"dp 1 stage 1\"]");
}

static void a_host_that_goes_stops_its_replica(void)
{
	CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };
	CLEANUP(json_freep) json_t *names = json_pack("[s, s]", "gpu-2", "elsewhere");
	json_t *found = NULL;
	struct remedies_loss loss;

	CHECK(read("compute", NODES, REMEDIES, &f));
	loss = plan_facts_without(&f, names, &found);
	check_hosts(found, "[\"gpu-2\"]");
	CHECK_EQ(loss.workers, 1);
	CHECK_EQ(loss.replicas, 1);
	CHECK_EQ(loss.left, 1);
	/* 16 micro-batches on the good replica: 16 * 0.3 + 0.3 beside what is fixed. */
	CHECK_NEAR(loss.after_s, 4.1 - 4 + 5.1 + replicas_fixed(&f.replicas, f.facts.simulated_s),
		   1e-9);
}

static void hosts_that_were_simulated_are_replaced_as_they_were(void)
{
	CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };
	CLEANUP(json_freep) json_t *slow = json_pack("[s]", "gpu-3");
	CLEANUP(json_freep) json_t *good = json_pack("[s]", "gpu-0");

	CHECK(read("compute", NODES, REMEDIES, &f));
	CHECK_NEAR(plan_facts_replaced(&f, slow), 4.1 - 4 + 2.9, 1e-12);
	CHECK_NEAR(plan_facts_replaced(&f, good), 4.1, 1e-9);
}

static void a_host_gains_what_a_good_one_in_its_place_saves(void)
{
	CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };
	CLEANUP(plan_facts_release) struct plan_facts early = { .hosts = NULL };

	CHECK(read("compute", NODES, REMEDIES, &f));
	CHECK_NEAR(plan_facts_gain(&f, "gpu-3"), 1.1 / 4.1, 1e-12);
	CHECK_NEAR(plan_facts_gain(&f, "gpu-0"), 0, 1e-9);
	CHECK(isnan(plan_facts_gain(&f, "elsewhere")));
	CHECK(read("compute", NODES, "", &early));
	CHECK_NEAR(plan_facts_gain(&early, "gpu-3"), 1.2 / 4.1, 1e-12);
	CHECK(isnan(plan_facts_gain(&early, "gpu-0")));
}

static void a_shape_that_cannot_be_is_left_out(void)
{
	static const char zero[] =
		"\"remedies\":{\"dp\":1,\"pp\":1,\"microbatches\":8,\"forward_s\":[0],"
		"\"backward_s\":[0],\"slowdown\":[null],\"replace\":[]}";
	CLEANUP(plan_facts_release) struct plan_facts f = { .hosts = NULL };
	CLEANUP(json_freep) json_t *names = json_pack("[s]", "gpu-0");
	json_t *found = NULL;

	CHECK(read("compute", NODES, zero, &f));
	CHECK(!f.facts.replicas);
	CHECK_EQ(plan_facts_without(&f, names, &found).workers, 1);
	CHECK(isnan(plan_facts_replaced(&f, names)));
	json_decref(found);
}

static const struct test tests[] = {
	TEST(an_analysis_has_its_shape_and_whom_to_replace),
	TEST(stages_of_several_chunks_are_interleaved),
	TEST(of_an_earlier_version_the_suspects_are_to_be_replaced),
	TEST(of_a_job_that_slows_itself_nobody_is_replaced),
	TEST(who_is_not_known_is_called_by_his_place),
	TEST(a_host_that_goes_stops_its_replica),
	TEST(hosts_that_were_simulated_are_replaced_as_they_were),
	TEST(a_host_gains_what_a_good_one_in_its_place_saves),
	TEST(a_shape_that_cannot_be_is_left_out),
};

TEST_SUITE(tests);
