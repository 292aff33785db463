/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_rules.h"

#include <stdio.h>

#include "tests/unit/test.h"

static void names_of_profilers_are_taken_and_no_others(void)
{
	static const struct {
		const char *name;
		bool ok;
	} rows[] = {
		{ "gpu-17_4711.1790000000000.pt.trace.json", true },
		{ "rank0.json.gz", true },
		{ "records.jsonl", true },
		{ "r.jsonl.gz", true },
		{ "\xff\x1b.json", true },
		{ ".json", false },
		{ ".hidden.json", false },
		{ ".json.gz", false },
		{ "", false },
		{ "a.json.tmp", false },
		{ "a.gz", false },
		{ "json", false },
		{ "a.JSON", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(trace_rules_name_ok(rows[i].name), rows[i].ok);
}

static void only_a_regular_file_with_one_name_and_a_size_is_taken(void)
{
	static const struct {
		mode_t mode;
		nlink_t links;
		off_t size;
		enum trace_refusal why;
	} rows[] = {
		{ S_IFREG | 0644, 1, 1, TRACE_TAKEN },
		{ S_IFREG | 0644, 1, TRACE_FILE_MAX, TRACE_TAKEN },
		{ S_IFREG | 0644, 1, TRACE_FILE_MAX + 1, TRACE_LARGE },
		{ S_IFREG | 0644, 1, 0, TRACE_GONE },
		{ S_IFREG | 0644, 2, 1, TRACE_LINKS },
		{ S_IFREG | 0644, 0, 1, TRACE_GONE },
		{ S_IFLNK | 0777, 1, 1, TRACE_LINK },
		{ S_IFIFO | 0644, 1, 1, TRACE_KIND },
		{ S_IFCHR | 0644, 1, 1, TRACE_KIND },
		{ S_IFBLK | 0644, 1, 1, TRACE_KIND },
		{ S_IFSOCK | 0644, 1, 1, TRACE_KIND },
		{ S_IFDIR | 0755, 1, 1, TRACE_KIND },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct stat st = { .st_mode = rows[i].mode,
					 .st_nlink = rows[i].links,
					 .st_size = rows[i].size };

		CHECK_EQ(trace_rules_judge(&st), rows[i].why);
	}
}

static void a_file_that_was_touched_has_changed(void)
{
	const struct stat was = { .st_dev = 1, .st_ino = 2, .st_size = 3, .st_ctim = { 4, 5 } };
	struct stat is = was;

	CHECK(trace_rules_unchanged(&was, &is));
	is.st_mtim.tv_sec = 9; /* which a user can set */
	CHECK(trace_rules_unchanged(&was, &is));
	is.st_ctim.tv_nsec = 6;
	CHECK(!trace_rules_unchanged(&was, &is));
	is = was;
	is.st_size = 2;
	CHECK(!trace_rules_unchanged(&was, &is));
	is = was;
	is.st_ino = 1;
	CHECK(!trace_rules_unchanged(&was, &is));
}

static void set(struct process_env *env, int key, const char *value)
{
	(void)snprintf(env->values[key], PROCESS_ENV_VALUE_SIZE, "%s", value);
}

static struct process_env process(const char *rank, const char *world, const char *shape)
{
	struct process_env env = { .values = { "" } };

	set(&env, PROCESS_ENV_RANK, rank);
	set(&env, PROCESS_ENV_WORLD, world);
	set(&env, PROCESS_ENV_SHAPE, shape);
	set(&env, PROCESS_ENV_JOB, "a/b");
	return env;
}

static void a_shape_is_that_of_the_world_or_none(void)
{
	static const struct {
		const char *world, *shape;
		enum trace_refusal why;
		unsigned dp, pp, tp;
	} rows[] = {
		{ "128", "dp8-pp2-tp8", TRACE_TAKEN, 8, 2, 8 },
		{ "", "dp8-pp2-tp8", TRACE_TAKEN, 8, 2, 8 },
		{ "4", "", TRACE_TAKEN, 4, 1, 1 },
		{ "512", "", TRACE_TAKEN, 512, 1, 1 },
		{ "513", "", TRACE_SHAPE, 0, 0, 0 },
		{ "", "", TRACE_SHAPE, 0, 0, 0 },
		{ "0", "", TRACE_SHAPE, 0, 0, 0 },
		{ "127", "dp8-pp2-tp8", TRACE_SHAPE, 0, 0, 0 },
		{ "", "dp0-pp2-tp8", TRACE_SHAPE, 0, 0, 0 },
		{ "", "dp8-pp2-tp0", TRACE_SHAPE, 0, 0, 0 },
		{ "", "dp8-pp2", TRACE_SHAPE, 0, 0, 0 },
		{ "", "dp8-pp2-tp8-", TRACE_SHAPE, 0, 0, 0 },
		{ "", "dp-pp2-tp8", TRACE_SHAPE, 0, 0, 0 },
		{ "", "dp999999-pp2-tp8", TRACE_SHAPE, 0, 0, 0 },
		{ "", "d", TRACE_SHAPE, 0, 0, 0 },
		{ "99999999999", "dp99999-pp99999-tp99999", TRACE_SHAPE, 0, 0, 0 },
	};
	struct trace_place place;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct process_env env = process("3", rows[i].world, rows[i].shape);

		CHECK_EQ(trace_rules_place(&env, &place), rows[i].why);
		CHECK_EQ(place.rank, 3);
		if (rows[i].why != TRACE_TAKEN)
			continue;
		CHECK_EQ(place.dp, rows[i].dp);
		CHECK_EQ(place.pp, rows[i].pp);
		CHECK_EQ(place.tp, rows[i].tp);
	}
}

static void a_job_goes_by_its_name_and_run_or_by_those_of_slurm(void)
{
	struct process_env env = process("", "4", "");
	struct trace_place place;

	set(&env, PROCESS_ENV_PROCID, "2");
	set(&env, PROCESS_ENV_RUN, "7");
	CHECK_EQ(trace_rules_place(&env, &place), TRACE_TAKEN);
	CHECK_STR(place.job, "a/b");
	CHECK_EQ(place.run, 7);
	CHECK_EQ(place.rank, 2);
	set(&env, PROCESS_ENV_JOB, "");
	set(&env, PROCESS_ENV_RUN, "");
	CHECK_EQ(trace_rules_place(&env, &place), TRACE_JOB);
	set(&env, PROCESS_ENV_SLURM_JOB, "77");
	CHECK_EQ(trace_rules_place(&env, &place), TRACE_TAKEN);
	CHECK_STR(place.job, "slurm:77");
	CHECK_EQ(place.run, 1);
	set(&env, PROCESS_ENV_SLURM_CLUSTER, "c1");
	set(&env, PROCESS_ENV_SLURM_RESTARTS, "2");
	CHECK_EQ(trace_rules_place(&env, &place), TRACE_TAKEN);
	CHECK_STR(place.job, "slurm:c1/77");
	CHECK_EQ(place.run, 3);
}

static void a_file_is_of_a_rank_of_its_owner_alone(void)
{
	struct process_entry entries[4] = { { .uid = 1 }, { .uid = 1 }, { .uid = 2 }, { .uid = 1 } };
	struct trace_place place;

	entries[0].env = process("0", "4", "");
	entries[1].env = process("1", "4", "");
	entries[2].env = process("2", "4", "");
	entries[3].env = process("1", "4", "");
	CHECK_EQ(trace_rules_find(entries, 4, 3, 0, &place), TRACE_STRANGER);
	CHECK_EQ(trace_rules_find(entries, 0, 1, 0, &place), TRACE_STRANGER);
	CHECK_EQ(trace_rules_find(entries, 4, 1, 2, &place), TRACE_RANK);
	CHECK_EQ(trace_rules_find(entries, 4, 2, 2, &place), TRACE_TAKEN);
	/* One rank in two processes is one; in two jobs it is nobody's. */
	CHECK_EQ(trace_rules_find(entries, 4, 1, 1, &place), TRACE_TAKEN);
	CHECK_STR(place.job, "a/b");
	set(&entries[3].env, PROCESS_ENV_JOB, "c");
	CHECK_EQ(trace_rules_find(entries, 4, 1, 1, &place), TRACE_RANK);
	CHECK_EQ(trace_rules_find(entries, 4, 1, 0, &place), TRACE_TAKEN);
}

static void each_reason_has_a_name_and_words(void)
{
	size_t i;

	for (i = 0; i < TRACE_REFUSALS; i++)
		CHECK(trace_refusal_names[i] && trace_refusal_words[i]);
}

static const struct test tests[] = {
	TEST(names_of_profilers_are_taken_and_no_others),
	TEST(only_a_regular_file_with_one_name_and_a_size_is_taken),
	TEST(a_file_that_was_touched_has_changed),
	TEST(a_shape_is_that_of_the_world_or_none),
	TEST(a_job_goes_by_its_name_and_run_or_by_those_of_slurm),
	TEST(a_file_is_of_a_rank_of_its_owner_alone),
	TEST(each_reason_has_a_name_and_words),
};

TEST_SUITE(tests);
