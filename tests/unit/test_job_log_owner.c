/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/job_log_owner.h"

#include "tests/unit/test.h"

#define POD_A "0a0a0a0a-1111-2222-3333-444444444444"
#define POD_B "0b0b0b0b-1111-2222-3333-444444444444"
#define POD_LOG(pod) "/var/log/pods/research_llm_" pod "/train/0.log"

static void a_file_is_that_of_the_pod_in_its_path_or_of_its_user(void)
{
	static const struct process_entry entries[] = {
		{ .uid = 0, .pod = POD_A },
		{ .uid = 1000, .pod = POD_A },
		{ .uid = 1001 },
	};
	static const struct {
		const char *path;
		uid_t uid;
		bool found;
		const char *pod; /* of whom it is */
	} rows[] = {
		{ POD_LOG(POD_A), 0, true, POD_A }, { POD_LOG(POD_A), 5, true, POD_A },
		{ POD_LOG(POD_B), 0, false, "" }, /* root's, as all of them, and a rank is root */
		{ "/logs/a.log", 0, false, "" },    { "/logs/a.log", 1000, true, "" },
		{ "/logs/a.log", 1001, true, "" },  { "/logs/a.log", 1002, false, "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct job_log_owner owner = { .uid = 77 };

		CHECK_EQ(job_log_owner_find(entries, ARRAY_SIZE(entries), rows[i].path, rows[i].uid,
					    &owner),
			 rows[i].found);
		CHECK_STR(owner.pod, rows[i].pod);
		CHECK_EQ(owner.uid, !rows[i].found ? 77 : rows[i].pod[0] ? 0 : rows[i].uid);
	}
	CHECK(!job_log_owner_find(entries, 0, POD_LOG(POD_A), 0, &(struct job_log_owner){ 0 }));
}

static void a_rank_of_root_on_the_host_itself_owns_files_of_root(void)
{
	static const struct process_entry entry = { .uid = 0 };
	struct job_log_owner owner = { .uid = 77 };

	CHECK(job_log_owner_find(&entry, 1, "/logs/a.log", 0, &owner));
	CHECK_EQ(owner.uid, 0);
	CHECK(job_log_owner_has(&owner, 0, ""));
	CHECK(!job_log_owner_has(&owner, 0, POD_A));
}

static void logs_of_a_pod_are_those_of_its_ranks_alone(void)
{
	const struct job_log_owner pod = { .pod = POD_A }, user = { .uid = 1000 };

	CHECK(job_log_owner_has(&pod, 1000, POD_A));
	CHECK(!job_log_owner_has(&pod, 0, POD_B));
	CHECK(!job_log_owner_has(&pod, 0, ""));
	CHECK(job_log_owner_has(&user, 1000, POD_A));
	CHECK(job_log_owner_has(&user, 1000, ""));
	CHECK(!job_log_owner_has(&user, 1001, ""));
}

static const struct test tests[] = {
	TEST(a_file_is_that_of_the_pod_in_its_path_or_of_its_user),
	TEST(a_rank_of_root_on_the_host_itself_owns_files_of_root),
	TEST(logs_of_a_pod_are_those_of_its_ranks_alone),
};

TEST_SUITE(tests);
