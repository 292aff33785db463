/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of NCCL's RAS: how they are interpreted, and what is rejected. */
#include "lib/hang/hang_ras.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_judge.h"
#include "lib/hang/hang_ras_version.h"
#include "tests/unit/ras_fixture.h"
#include "tests/unit/test.h"

enum { WORLD = 8, PAIRS = WORLD / 2, STEPS = 40 };

/* A job of eight ranks: a communicator of all, and one of each rank and the next. */
struct job {
	struct ras_fixture_rank all[WORLD], pairs[PAIRS][2];
	struct ras_fixture_comm comms[1 + PAIRS];
};

static void make_job(struct job *j)
{
	size_t i;

	for (i = 0; i < WORLD; i++) {
		j->all[i] = (struct ras_fixture_rank){ .rank = (unsigned)i,
						       .counts = { 1, 0, STEPS, STEPS, 3 } };
		j->pairs[i / 2][i % 2] =
			(struct ras_fixture_rank){ .rank = (unsigned)i,
						   .counts = { 0, 0, 0, 0, 2 * STEPS } };
	}
	j->comms[0] = (struct ras_fixture_comm){ 0x27a079b828ff1a75, j->all, WORLD };
	for (i = 0; i < PAIRS; i++)
		j->comms[1 + i] = (struct ras_fixture_comm){ 0x100 + i, j->pairs[i], 2 };
}

/* What is known on the first host: four processes. */
static const char *const hosts[] = { "127.0.0.1", "10.0.0.1" };
static const struct hang_ras_process processes[] = {
	{ 100, 0 }, { 101, 1 }, { 102, 2 }, { 103, 3 }
};
static const struct hang_ras_known known = {
	.hosts = hosts,
	.n_hosts = ARRAY_SIZE(hosts),
	.processes = processes,
	.n_processes = ARRAY_SIZE(processes),
	.world = WORLD,
};

static int64_t launched(const struct hang_case *c, const char *group, uint32_t rank)
{
	size_t i;

	for (i = 0; i < c->n_positions; i++) {
		if (c->positions[i].rank == rank &&
		    streq(c->groups[c->positions[i].group].name, group))
			return c->positions[i].enqueued;
	}
	return HANG_UNKNOWN;
}

static bool says(const struct hang_case *c, const char *part)
{
	size_t i;

	for (i = 0; i < c->n_missing; i++) {
		if (strstr(c->missing[i], part))
			return true;
	}
	return false;
}

#define WORLD_GROUP "ras:0x27a079b828ff1a75:0x1:0x2"

static void a_rank_that_has_launched_less_is_seen_in_its_groups(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	struct job j;
	CLEANUP(freep) char *text = NULL;

	make_job(&j);
	j.all[5].counts[2]--;
	j.all[5].counts[3]--;
	text = ras_fixture_json("2.29.7", true, j.comms, ARRAY_SIZE(j.comms));
	CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
	CHECK_STR(told.version, "2.29.7");
	CHECK_EQ(told.taken, 1 + PAIRS);
	CHECK_EQ(told.strangers + told.unready + told.unplaced, 0);
	CHECK_EQ(c.n_ranks, WORLD);
	CHECK_EQ(launched(&c, WORLD_GROUP, 4), 2 * STEPS + 4);
	CHECK_EQ(launched(&c, WORLD_GROUP, 5), 2 * STEPS + 2);
	CHECK_EQ(launched(&c, "ras:0x102:0x1:0x2", 5), 2 * STEPS);
	CHECK_EQ(launched(&c, "ras:0x102:0x1:0x2", 6), HANG_UNKNOWN);
	CHECK_EQ(c.ranks[5].sources, HANG_RAS);
	CHECK_EQ(c.ranks[5].pid, 105);
	CHECK_STR(c.ranks[5].gpu, "gpu 1");
	CHECK_EQ(c.n_missing, 0);
	CHECK_EQ(c.n_ops, 0);
}

/* A culprit where nothing else may hold it up; with other communicators a suspect. */
static void the_judge_names_that_rank_and_no_other(void)
{
	static const size_t n_comms[] = { 1, 1 + PAIRS };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n_comms); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
		CLEANUP(freep) char *text = NULL;
		const bool only = n_comms[i] == 1;
		struct hang_ras_told told;
		struct err err = ERR_INIT;
		struct job j;

		make_job(&j);
		j.all[5].counts[2]--;
		text = ras_fixture_json("2.29.7", true, j.comms, n_comms[i]);
		CHECK_EQ(hang_ras_read(text, strlen(text), NULL, &c, &told, &err), 0);
		CHECK_EQ(hang_judge(&c, verdict, &err), 0);
		CHECK_EQ(verdict->class, only ? HANG_HOST_STALLED : HANG_CANNOT_SAY);
		CHECK_EQ(verdict->n_ranks, only);
		CHECK_EQ(verdict->n_suspects, !only);
		CHECK_EQ(only ? verdict->ranks[0] : verdict->suspects[0], 5);
	}
}

/* Rank 5 is behind in the communicator of all; what is known of that of it and rank 4 differs. */
static void who_may_be_held_up_elsewhere_is_only_a_suspect(void)
{
	static const struct {
		enum ras_fixture_state state;
		unsigned long count;
		size_t n_comms;
		bool text, named;
	} rows[] = {
		{ RAS_FIXTURE_RUNS, STEPS, 1, false, true },
		{ RAS_FIXTURE_RUNS, STEPS, 1, true, true },
		{ RAS_FIXTURE_RUNS, STEPS, 2, false, false },
		{ RAS_FIXTURE_INIT, STEPS, 2, false, false },
		/* It has launched none: it may carry sends, which RAS does not count. */
		{ RAS_FIXTURE_RUNS, 0, 2, false, false },
		/* Of ranks that do not differ there is no text. */
		{ RAS_FIXTURE_RUNS, STEPS, 2, true, false },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
		CLEANUP(freep) char *text = NULL;
		struct hang_ras_told told;
		struct err err = ERR_INIT;
		struct job j;

		make_job(&j);
		j.all[5].counts[4]--;
		for (k = 0; k < 2; k++) {
			j.pairs[2][k].state = rows[i].state;
			j.pairs[2][k].counts[4] = rows[i].count;
		}
		j.comms[1] = j.comms[1 + 2];
		text = rows[i].text ? ras_fixture_text("2.25.1", j.comms, rows[i].n_comms)
				    : ras_fixture_json("2.29.7", true, j.comms, rows[i].n_comms);
		CHECK_EQ(hang_ras_read(text, strlen(text), NULL, &c, &told, &err), 0);
		CHECK_EQ(hang_judge(&c, verdict, &err), 0);
		CHECK_EQ(verdict->class, rows[i].named ? HANG_HOST_STALLED : HANG_CANNOT_SAY);
		CHECK_EQ(verdict->n_ranks, rows[i].named);
		CHECK_EQ(verdict->n_suspects, !rows[i].named);
		CHECK_EQ(rows[i].named ? verdict->ranks[0] : verdict->suspects[0], 5);
	}
}

/* Of a job without a communicator of all ranks none numbers them, however large it is. */
static void two_halves_are_no_world(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(freep) char *text = NULL;
	struct ras_fixture_rank halves[2][WORLD / 2];
	struct ras_fixture_comm comms[2];
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	size_t i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < WORLD / 2; i++)
			halves[k][i] = (struct ras_fixture_rank){ .rank = (unsigned)(2 * i + k),
								  .counts = { STEPS } };
		comms[k] = (struct ras_fixture_comm){ 1 + k, halves[k], WORLD / 2 };
	}
	halves[0][3].counts[0]--; /* rank 6 */
	text = ras_fixture_json("2.29.7", true, comms, 2);
	CHECK_EQ(hang_ras_read(text, strlen(text), NULL, &c, &told, &err), 0);
	CHECK_EQ(told.unplaced, WORLD);
	CHECK_EQ(c.n_positions, 0);
	CHECK(says(&c, "no communicator has all ranks"));
}

static void a_host_speaks_of_its_own_ranks_only_where_it_must(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_known own = known;
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	struct job j;
	CLEANUP(freep) char *text = NULL;
	size_t i;

	make_job(&j);
	own.only_known = true;
	text = ras_fixture_json("2.29.7", true, j.comms, ARRAY_SIZE(j.comms));
	CHECK_EQ(hang_ras_read(text, strlen(text), &own, &c, &told, &err), 0);
	for (i = 0; i < c.n_ranks; i++)
		CHECK_EQ(c.ranks[i].sources, i < 4 ? HANG_RAS : 0);
	CHECK_EQ(c.groups[0].ranks[7], 7);
}

static void a_missing_rank_is_a_suspect_and_has_no_position(void)
{
	static const bool commas[] = { true, false };
	struct job j;
	size_t i;

	make_job(&j);
	j.all[6].state = j.pairs[3][0].state = RAS_FIXTURE_SILENT;
	j.all[7].state = j.pairs[3][1].state = RAS_FIXTURE_DEAD;
	for (i = 0; i < ARRAY_SIZE(commas); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		CLEANUP(freep)
		char *text = ras_fixture_json(commas[i] ? "2.29.7" : "2.28.9", commas[i], j.comms,
					      ARRAY_SIZE(j.comms));
		struct hang_ras_told told = { .taken = 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
		CHECK_STR(err.msg, "");
		CHECK_EQ(told.mended, !commas[i]);
		CHECK_EQ(launched(&c, WORLD_GROUP, 6), HANG_UNKNOWN);
		CHECK_EQ(launched(&c, WORLD_GROUP, 5), 2 * STEPS + 4);
		CHECK_EQ(c.ranks[6].sources, 0);
		CHECK(says(&c, "rank 6: its process did not answer RAS (process 106 at 10.0.0.2)"));
		CHECK(says(&c, "rank 7: RAS can no longer reach its process"));
		CHECK_EQ(c.n_missing, 2);
	}
}

static void only_the_comma_that_nccl_forgets_is_mended(void)
{
	static const struct {
		const char *version, *from, *to;
	} rows[] = {
		{ "2.29.7", "", "" },			       /* another version */
		{ "2.28.9", "\"size\": 8,", "\"size\": 8" },   /* another comma */
		{ "2.28.9", "\"status\": {", "\"state\": {" }, /* another key behind it */
		{ "2.28.9", "\"timeouts_count\": 0", "\"timeouts_count\": " },
	};
	struct job j;
	size_t i;

	make_job(&j);
	j.all[6].state = RAS_FIXTURE_SILENT;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		CLEANUP(freep) char *text = ras_fixture_json(rows[i].version, false, j.comms, 1);
		char *at = strstr(text, rows[i].from);
		CLEANUP(freep)
		char *broken = xasprintf("%.*s%s%s", (int)(at - text), text, rows[i].to,
					 at + strlen(rows[i].from));
		struct hang_ras_told told;
		struct err err = ERR_INIT;

		/* The last of the third row's keys is the missing rank's. */
		if (i == 2) {
			at = strstr(strstr(broken, "missing_ranks\": ["), "\"status\"");
			memcpy(at, "\"stotus\"", strlen("\"stotus\""));
		}
		CHECK_EQ(hang_ras_read(broken, strlen(broken), &known, &c, &told, &err), -EINVAL);
		CHECK_HAS(err.msg, "RAS");
	}
}

static void an_answer_of_another_job_is_refused_and_a_mixed_one_is_sorted(void)
{
	static const struct hang_ras_process others[] = { { 900, 0 } };
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_known other = known, own = known;
	struct ras_fixture_rank strange[] = { { .rank = 300 }, { .rank = 301 } };
	struct hang_ras_told told = { .taken = 77 };
	struct err err = ERR_INIT;
	struct job j;
	CLEANUP(freep) char *text = NULL;

	make_job(&j);
	j.comms[PAIRS] = (struct ras_fixture_comm){ 0x999, strange, 2 };
	text = ras_fixture_json("2.29.7", true, j.comms, ARRAY_SIZE(j.comms));
	other.processes = others;
	other.n_processes = 1;
	CHECK_EQ(hang_ras_read(text, strlen(text), &other, &c, &told, &err), -ESRCH);
	CHECK_HAS(err.msg, "another job");
	CHECK_EQ(told.taken, 77);
	CHECK_EQ(c.n_ranks, 0);

	/* The same number of a process on another host is another process. */
	own.hosts = hosts;
	own.n_hosts = 1;
	CHECK_EQ(hang_ras_read(text, strlen(text), &own, &c, &told, &err), -ESRCH);

	CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
	CHECK_EQ(told.taken, PAIRS);
	CHECK_EQ(told.strangers, 1);
	CHECK(says(&c, "1 communicators belong to another or an unknown job"));
}

static void a_communicator_that_is_made_or_taken_down_does_not_count(void)
{
	static const enum ras_fixture_state states[] = { RAS_FIXTURE_INIT, RAS_FIXTURE_FINALIZE };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		CLEANUP(freep) char *text = NULL;
		struct hang_ras_told told;
		struct err err = ERR_INIT;
		struct job j;

		make_job(&j);
		j.pairs[1][0].state = states[i];
		text = ras_fixture_json("2.29.7", true, j.comms, ARRAY_SIZE(j.comms));
		CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
		CHECK_EQ(told.unready, 1);
		CHECK_EQ(told.taken, PAIRS);
		CHECK_EQ(launched(&c, "ras:0x101:0x1:0x2", 2), HANG_UNKNOWN);
		CHECK(says(&c, "being created or destroyed"));
	}
}

static void an_error_of_nccl_is_said(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	struct job j;
	CLEANUP(freep) char *text = NULL;

	make_job(&j);
	j.all[3].state = RAS_FIXTURE_ERROR;
	text = ras_fixture_json("2.29.7", true, j.comms, 1);
	CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
	CHECK(says(&c, "rank 3: NCCL reports an error for it"));
	CHECK_EQ(launched(&c, WORLD_GROUP, 3), 2 * STEPS + 4);
}

/* Without a communicator of all ranks only the processes that are known have a number. */
static void ranks_that_nobody_knows_are_nobody(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct ras_fixture_rank cross[] = { { .rank = 3, .counts = { 5 } },
					    { .rank = 6, .counts = { 5 } } };
	const struct ras_fixture_comm comm = { 0x5, cross, 2 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	CLEANUP(freep) char *text = ras_fixture_json("2.29.7", true, &comm, 1);

	CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
	CHECK_EQ(told.unplaced, 1);
	CHECK_EQ(c.groups[0].ranks[0], 3);
	CHECK_EQ(c.groups[0].ranks[1], HANG_NOBODY);
	CHECK_EQ(launched(&c, "ras:0x5:0x1:0x2", 3), 5);
	CHECK_EQ(c.n_positions, 1);
}

/* A communicator of as many ranks as the job has, in another order, numbers nobody. */
static void a_communicator_of_another_order_is_not_the_world(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	struct job j;
	CLEANUP(freep) char *text = NULL;
	size_t i;

	make_job(&j);
	for (i = 0; i < WORLD; i++)
		j.all[i].rank = (unsigned)(WORLD - 1 - i);
	text = ras_fixture_json("2.29.7", true, j.comms, 1);
	CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
	CHECK_EQ(c.groups[0].ranks[7], 0);
	CHECK_EQ(c.groups[0].ranks[0], HANG_NOBODY);
	CHECK_EQ(told.unplaced, 4);
}

static void ranks_that_called_different_functions_are_told_apart(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	struct job j;
	CLEANUP(freep) char *text = NULL;
	size_t i, odd = 0;

	make_job(&j);
	j.all[2].counts[2]++; /* all_gather where the others reduce */
	for (i = 0; i < WORLD; i++)
		j.all[i].counts[4] += i != 2;
	text = ras_fixture_json("2.29.7", true, j.comms, 1);
	CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
	CHECK_EQ(c.n_ops, WORLD);
	for (i = 0; i < c.n_ops; i++) {
		CHECK_EQ(c.ops[i].seq, 2 * STEPS + 5);
		CHECK_STR(c.ops[i].name, c.ops[i].rank == 2 ? "all_gather" : "all_reduce");
		odd += c.ops[i].rank == 2;
	}
	CHECK_EQ(odd, 1);
}

static void the_text_says_who_is_behind(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	struct job j;
	CLEANUP(freep) char *text = NULL;

	make_job(&j);
	j.all[1].counts[4]--;
	j.all[7].state = RAS_FIXTURE_SILENT;
	text = ras_fixture_text("2.25.1", j.comms, ARRAY_SIZE(j.comms));
	CHECK_EQ(hang_ras_read(text, strlen(text), &known, &c, &told, &err), 0);
	CHECK(told.text);
	CHECK_STR(told.version, "2.25.1");
	CHECK_EQ(told.taken, 1);
	CHECK_EQ(launched(&c, "ras:0x27a079b828ff1a75", 0), 3);
	CHECK_EQ(launched(&c, "ras:0x27a079b828ff1a75", 1), 2);
	CHECK_EQ(launched(&c, "ras:0x27a079b828ff1a75", 6), 3);
	CHECK_EQ(launched(&c, "ras:0x27a079b828ff1a75", 7), HANG_UNKNOWN);
	CHECK(says(&c, "rank 7: its process did not answer RAS"));
}

/* Of two counts that nobody was named for, nobody knows which rank has which. */
static void of_two_halves_the_text_names_nobody(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	struct job j;
	CLEANUP(freep) char *text = NULL;
	size_t i;

	make_job(&j);
	for (i = 0; i < WORLD / 2; i++)
		j.all[i].counts[4]--;
	text = ras_fixture_text("2.27.7", j.comms, 1);
	CHECK_EQ(hang_ras_read(text, strlen(text), NULL, &c, &told, &err), 0);
	CHECK_EQ(c.n_positions, 0);
}

static void what_is_no_answer_is_refused_in_a_sentence(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "", "neither its JSON nor its text" },
		{ "OK\n", "neither its JSON nor its text" },
		{ "{", "RAS: line 1" },
		{ "{}", "RAS: communicators" },
		{ "{\"communicators\":{}}", "communicators: expected a list" },
		{ "{\"communicators\":[{}]}", "communicators[0]: hash: missing" },
		{ "{\"communicators\":[{\"hash\":\"0x1\",\"size\":-1}]}",
		  "size: expected a whole" },
		{ "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"rank\":2}]}]}",
		  "rank 2 of a communicator of 2" },
		{ "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"rank\":1},"
		  "{\"rank\":1}]}]}",
		  "rank 1 appears twice" },
		{ "{\"communicators\":[{\"hash\":\"0x1\",\"size\":16385}]}", "more than 16384" },
		{ "NCCL version 2.25.1\n#0-0 (12) MISMATCH\n", "group 0 is not in the table" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		struct hang_ras_told told;
		struct err err = ERR_INIT;

		CHECK(hang_ras_read(rows[i].text, strlen(rows[i].text), NULL, &c, &told, &err) < 0);
		CHECK_HAS(err.msg, rows[i].words);
	}
}

/* Whoever has the port may answer: not for as long as it likes. */
static void a_text_that_never_ends_is_given_up(void)
{
	static const char head[] =
		"NCCL version 2.25.1\nGroup     Comms     Nodes\n"
		"    0  1  1  8  16384  16384  RUNNING  MISMATCH\n\n#0-0 (7) MISMATCH\n";
	static const char line[] =
		"  Communicator ranks have different AllReduce operation counts\n";
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(HANG_RAS_ANSWER_MAX);
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct hang_ras_told told;
	struct err err = ERR_INIT;

	(void)strbuf_puts(&text, head);
	while (text.len + strlen(line) < HANG_RAS_ANSWER_MAX)
		(void)strbuf_puts(&text, line);
	CHECK_EQ(hang_ras_read(strbuf_text(&text), text.len, NULL, &c, &told, &err), -E2BIG);
	CHECK_HAS(err.msg, "its counts are larger than any job has");
}

/* An answer that was cut anywhere is refused, or at least names nobody that the whole does not. */
static void a_cut_answer_accuses_nobody(void)
{
	struct job j;
	size_t form, n;

	make_job(&j);
	j.all[5].counts[4]--;
	for (form = 0; form < 2; form++) {
		CLEANUP(freep)
		char *text = form ? ras_fixture_text("2.25.1", j.comms, 2)
				  : ras_fixture_json("2.29.7", true, j.comms, 2);
		const size_t size = strlen(text);

		for (n = 0; n + 1 < size; n++) {
			CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
			struct hang_ras_told told;
			size_t i;
			const int r = hang_ras_read(text, n, NULL, &c, &told, NULL);

			CHECK(r < 0 || form == 1 || n + 1 >= size);
			for (i = 0; r == 0 && i < c.n_positions; i++) {
				if (c.positions[i].rank != 5)
					CHECK(c.positions[i].enqueued == 3);
			}
		}
	}
}

static void only_versions_that_are_listed_are_asked(void)
{
	static const struct {
		const char *version;
		bool listed, ask, json;
	} rows[] = {
		{ "2.28.9", true, true, true },	   { "2.28.9+cuda13.0", true, true, true },
		{ "2.25.1", true, true, false },   { "2.27.3", true, false, false },
		{ "2.28.3", true, false, false },  { "2.29.7", true, true, true },
		{ "2.31.2", false, false, false }, { "2.23.4", false, false, false },
		{ "2.28", false, false, false },   { "2.28.9rc1", false, false, false },
		{ "", false, false, false },	   { "2.28.9999", false, false, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct hang_ras_version *found =
			hang_ras_version_find(hang_ras_version_number(rows[i].version));

		CHECK_EQ(found != NULL, rows[i].listed);
		CHECK_EQ(found && found->ask, rows[i].ask);
		CHECK_EQ(found && found->json, rows[i].json);
		CHECK(!found || found->ask || found->words);
	}
}

/* One has launched what its peers never launch, and they are not behind: nobody knows who is wrong. */
static void who_has_launched_more_than_most_may_be_the_wrong_one(void)
{
	static const struct {
		int64_t enqueued[4];
		size_t named, suspects;
	} cases[] = {
		{ { 301, 301, 301, 300 }, 1, 0 },
		{ { 301, 301, 300, 300 }, 0, 4 },
		{ { 301, 300, 300, 300 }, 0, 4 },
	};
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	const uint32_t ranks[] = { 0, 1, 2, 3 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		struct err err = ERR_INIT;
		uint32_t rank, group = 0;

		CHECK_EQ(hang_case_group(&c, "c", NULL, ranks, ARRAY_SIZE(ranks), &group, &err), 0);
		for (rank = 0; rank < ARRAY_SIZE(ranks); rank++) {
			const struct hang_position position = { .rank = rank,
								.enqueued = cases[i].enqueued[rank],
								.started = HANG_UNKNOWN,
								.completed = HANG_UNKNOWN };

			CHECK_EQ(hang_case_position(&c, &position, &err), 0);
		}
		CHECK_EQ(hang_judge(&c, verdict, &err), 0);
		CHECK_EQ(verdict->class, cases[i].named ? HANG_HOST_STALLED : HANG_CANNOT_SAY);
		CHECK_EQ(verdict->n_ranks, cases[i].named);
		CHECK(cases[i].named == 0 || verdict->ranks[0] == 3);
		CHECK_EQ(verdict->n_suspects, cases[i].suspects);
	}
}

static const struct test tests[] = {
	TEST(a_rank_that_has_launched_less_is_seen_in_its_groups),
	TEST(the_judge_names_that_rank_and_no_other),
	TEST(who_may_be_held_up_elsewhere_is_only_a_suspect),
	TEST(who_has_launched_more_than_most_may_be_the_wrong_one),
	TEST(two_halves_are_no_world),
	TEST(a_host_speaks_of_its_own_ranks_only_where_it_must),
	TEST(a_missing_rank_is_a_suspect_and_has_no_position),
	TEST(only_the_comma_that_nccl_forgets_is_mended),
	TEST(an_answer_of_another_job_is_refused_and_a_mixed_one_is_sorted),
	TEST(a_communicator_that_is_made_or_taken_down_does_not_count),
	TEST(an_error_of_nccl_is_said),
	TEST(ranks_that_nobody_knows_are_nobody),
	TEST(a_communicator_of_another_order_is_not_the_world),
	TEST(ranks_that_called_different_functions_are_told_apart),
	TEST(the_text_says_who_is_behind),
	TEST(of_two_halves_the_text_names_nobody),
	TEST(what_is_no_answer_is_refused_in_a_sentence),
	TEST(a_text_that_never_ends_is_given_up),
	TEST(a_cut_answer_accuses_nobody),
	TEST(only_versions_that_are_listed_are_asked),
};

TEST_SUITE(tests);
