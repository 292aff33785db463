/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of hang analysis: pickles, dumps, documents of hosts, cases, and rules that need no dump. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_dump.h"
#include "lib/hang/hang_fr.h"
#include "lib/hang/hang_json.h"
#include "lib/hang/hang_pickle.h"
#include "lib/hang/hang_verdict.h"
#include "lib/hang/hang_words.h"
#include "lib/json/json.h"
#include "tests/hang/hang_writer.h"
#include "tests/unit/test.h"

/* --- pickles --------------------------------------------------------------------- */

static int read_pickle(const char *bytes, size_t n, char **ret_text, struct err *err)
{
	CLEANUP(pool_release) struct pool pool = { 0 };
	const struct hang_value *v = NULL;
	int r = hang_pickle_read(&pool, bytes, n, "_dump_3", &v, err);

	if (r == 0)
		*ret_text = xasprintf("%d %zu %s %lld %g", v->kind, v->n, hang_value_text(v),
				      (long long)v->number, v->real);
	return r;
}

#define BYTES(text) text, sizeof(text) - 1

static void plain_data_is_read(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *expected;
	} cases[] = {
		{ BYTES("\x80\x02N."), "0 0  0 0" },
		{ BYTES("\x80\x02\x88."), "1 0  1 0" },
		{ BYTES("\x80\x02K\xff."), "2 0  255 0" },
		{ BYTES("\x80\x02M\x01\x02."), "2 0  513 0" },
		{ BYTES("\x80\x02J\xff\xff\xff\xff."), "2 0  -1 0" },
		{ BYTES("\x80\x02\x8a\x00."), "2 0  0 0" },
		{ BYTES("\x80\x02\x8a\x01\xfe."), "2 0  -2 0" },
		{ BYTES("\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."),
		  "2 0  -9223372036854775808 0" },
		{ BYTES("\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00."), "3 0  0 1.5" },
		{ BYTES("\x80\x02X\x02\x00\x00\x00hi."), "4 2 hi 0 0" },
		{ BYTES("\x80\x02]q\x00(K\x01K\x02"
			"e."),
		  "5 2  0 0" },
		{ BYTES("\x80\x02}q\x00(K\x01K\x02u."), "6 2  0 0" },
		{ BYTES("\x80\x02K\x01q\x05h\x05h\x05\x87."), "5 3  0 0" },
		{ BYTES("\x80\x02(K\x01K\x02t."), "5 2  0 0" },
		{ BYTES("\x80\x02]K\x01"
			"a."),
		  "5 1  0 0" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *text = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(read_pickle(cases[i].bytes, cases[i].n, &text, &err), 0);
		CHECK_STR(text, cases[i].expected);
	}
}

static const struct {
	const char *bytes;
	size_t n;
	int code;
	const char *expected;
} refused[] = {
	{ BYTES("\x80\x02"
		"cposix\nsystem\n."),
	  EINVAL, "_dump_3: byte 2: GLOBAL is not plain data: refused" },
	{ BYTES("\x80\x02)R."), EINVAL, "_dump_3: byte 3: REDUCE is not plain data: refused" },
	{ BYTES("\x80\x02}b."), EINVAL, "_dump_3: byte 3: BUILD is not plain data: refused" },
	{ BYTES("\x80\x02(i."), EINVAL, "_dump_3: byte 3: INST is not plain data: refused" },
	{ BYTES("\x80\x02\x81."), EINVAL, "_dump_3: byte 2: NEWOBJ is not plain data: refused" },
	{ BYTES("\x80\x02P1\n."), EINVAL, "_dump_3: byte 2: PERSID is not plain data: refused" },
	{ BYTES("\x80\x02\x82\x01."), EINVAL, "_dump_3: byte 2: EXT1 is not plain data: refused" },
	{ BYTES("\x80\x02\x93."), EINVAL,
	  "_dump_3: byte 2: STACK_GLOBAL is not plain data: refused" },
	{ BYTES("\x80\x02\xff."), EINVAL, "_dump_3: byte 2: 0xff is not an opcode: refused" },
	{ BYTES("\x80\x04N."), EINVAL, "_dump_3: byte 0: PROTO is not of protocol 2: refused" },
	{ BYTES("\x80\x02N"), ENODATA, "_dump_3: byte 3: it is truncated" },
	{ BYTES("\x80\x02X\xff\x00\x00\x00hi"), ENODATA, "_dump_3: byte 9: it is truncated" },
	{ BYTES("\x80\x02X\xff\xff\xff\xff."), E2BIG,
	  "_dump_3: byte 2: BINUNICODE is longer than a text may be: refused" },
	{ BYTES("\x80\x02r\xff\xff\xff\xff."), EINVAL,
	  "_dump_3: byte 2: LONG_BINPUT finds nothing to memoize: refused" },
	{ BYTES("\x80\x02Nr\xff\xff\xff\xff."), E2BIG,
	  "_dump_3: byte 3: LONG_BINPUT remembers too much: refused" },
	{ BYTES("\x80\x02h\x07."), EINVAL,
	  "_dump_3: byte 2: BINGET asks for something that was not memoized: refused" },
	/* A list that contains itself, and one changed after it was memoized. */
	{ BYTES("\x80\x02]q\x00h\x00"
		"a."),
	  EINVAL, "_dump_3: byte 5: BINGET asks for something that is not finished: refused" },
	{ BYTES("\x80\x02]q\x00\x85h\x00K\x01"
		"a."),
	  EINVAL, "_dump_3: byte 10: APPEND changes what was finished: refused" },
	{ BYTES("\x80\x02"
		"e."),
	  EINVAL, "_dump_3: byte 2: APPENDS finds no mark: refused" },
	{ BYTES("\x80\x02}(K\x01u."), EINVAL,
	  "_dump_3: byte 6: SETITEMS finds a key without a value: refused" },
	{ BYTES("\x80\x02(."), EINVAL,
	  "_dump_3: byte 3: STOP finds no value, or more than one: refused" },
	{ BYTES("\x80\x02N.N"), EINVAL, "_dump_3: byte 3: STOP is not the last byte: refused" },
};

static void what_is_no_plain_data_is_refused_by_name(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		CLEANUP(freep) char *text = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(read_pickle(refused[i].bytes, refused[i].n, &text, &err), -refused[i].code);
		CHECK_STR(err.msg, refused[i].expected);
	}
}

static void depth_has_a_limit(void)
{
	char bytes[4 + 2 * HANG_VALUE_DEPTH_MAX + 8] = "\x80\x02N";
	struct err err = ERR_INIT;
	CLEANUP(freep) char *text = NULL;
	size_t n = 3;

	while (n < 3 + HANG_VALUE_DEPTH_MAX)
		bytes[n++] = '\x85';
	bytes[n] = '.';
	CHECK_EQ(read_pickle(bytes, n + 1, &text, &err), 0);
	bytes[n++] = '\x85';
	bytes[n] = '.';
	CHECK_EQ(read_pickle(bytes, n + 1, &text, &err), -E2BIG);
}

/* --- dumps ----------------------------------------------------------------------- */

static void both_forms_of_a_dump_say_the_same(void)
{
	CLEANUP(world_freep) struct world *w = world_new(7, WORLD_HOST_STALLED, 1);
	size_t rank;

	for (rank = 0; rank < w->n_ranks; rank++) {
		CLEANUP(strbuf_release) struct strbuf pickle = STRBUF_INIT(HANG_WRITER_MAX);
		CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(HANG_WRITER_MAX);
		CLEANUP(pool_release) struct pool pool = { 0 };
		CLEANUP(json_freep) json_t *parsed = NULL;
		struct hang_dump a = { .n_groups = 0 }, b = { .n_groups = 0 };
		const struct hang_value *v = NULL;
		struct err err = ERR_INIT;

		hang_writer_dump(w, rank, &pickle);
		hang_writer_json(w, rank, &json);
		CHECK_EQ(hang_pickle_read(&pool, pickle.data, pickle.len, "x", &v, &err), 0);
		CHECK_EQ(hang_dump_read(&a, v, "_dump_0", &err), 0);
		CHECK_EQ(json_parse(json.data, json.len, "x", &parsed, &err), 0);
		CHECK_EQ(hang_dump_read(&b, hang_value_json(&pool, parsed), "_dump_0", &err), 0);
		CHECK_EQ(a.n_groups, w->ranks[rank].n_groups);
		CHECK_EQ(a.groups[0].has_status, true);
		CHECK(a.rank == (int64_t)rank || !w->named_alone);
		CHECK(hang_dump_may_be(&a, (int64_t)rank));
		CHECK_EQ(a.n_ops, b.n_ops);
		hang_dump_release(&a);
		hang_dump_release(&b);
	}
}

/* Sorted numbers belong to sorted names, unless an operation contradicts it. */
static void which_number_is_which_group_is_what_operations_say(void)
{
	static const struct {
		const char *pg_id;
		int64_t of_2, of_10; /* launched; HANG_UNKNOWN: no number belongs to that group */
	} cases[] = { { "7", 11, 9 }, { "3", HANG_UNKNOWN, 11 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(hang_dump_release) struct hang_dump dump = { .n_groups = 0 };
		CLEANUP(pool_release) struct pool pool = { 0 };
		CLEANUP(json_freep) json_t *json = NULL;
		CLEANUP(freep)
		char *text = xasprintf(
			"{\"pg_config\":{\"10\":{\"ranks\":\"[0, 1]\"},\"2\":{\"ranks\":\"[0]\"}},"
			"\"pg_status\":{\"7\":{\"last_enqueued_collective\":9,"
			"\"last_started_collective\":-1,\"last_completed_collective\":4},"
			"\"3\":{\"last_enqueued_collective\":11,\"last_started_collective\":-1,"
			"\"last_completed_collective\":4}},"
			"\"entries\":[{\"pg_id\":%s,\"process_group\":[\"10\",\"x\"],"
			"\"collective_seq_id\":5,\"profiling_name\":\"nccl:all_reduce\","
			"\"state\":\"scheduled\"}]}",
			cases[i].pg_id);
		struct err err = ERR_INIT;

		CHECK_EQ(json_parse(text, strlen(text), "x", &json, &err), 0);
		CHECK_EQ(hang_dump_read(&dump, hang_value_json(&pool, json), "_dump_0", &err), 0);
		CHECK_EQ(dump.n_groups, 2);
		CHECK_STR(dump.by_name[0]->name, "10");
		CHECK_EQ(dump.by_name[0]->has_status ? dump.by_name[0]->enqueued : HANG_UNKNOWN,
			 cases[i].of_10);
		CHECK_EQ(dump.by_name[1]->has_status ? dump.by_name[1]->enqueued : HANG_UNKNOWN,
			 cases[i].of_2);
	}
}

static void the_rank_is_the_last_number_of_a_name(void)
{
	CHECK_EQ(hang_dump_name_rank("a/_dump_12"), 12);
	CHECK_EQ(hang_dump_name_rank("nccl_trace_rank_0"), 0);
	CHECK_EQ(hang_dump_name_rank("rank7.json"), 7);
	CHECK_EQ(hang_dump_name_rank("run3/dump.pickle"), -1);
	CHECK_EQ(hang_dump_name_rank("_dump_99999999999999999999"), -1);
}

/* --- documents ------------------------------------------------------------------- */

static const char document[] =
	"{\"format\":\"assay-hang/1\",\"node\":\"gpu-17\",\"boot_id\":\"b\",\"job\":\"r/"
	"llm\",\"run\":1,\"world\":5,"
	"\"age_s\":0.5,\"groups\":[{\"name\":\"0\",\"desc\":\"default_pg\",\"size\":2,\"ranks\":[0,"
	"2],\"p2p\":false},"
	"{\"name\":\"c\",\"desc\":\"\",\"size\":3,\"ranks\":[null,3,null],\"p2p\":true}],"
	"\"ranks\":[{\"rank\":3,\"sources\":[\"ras\",\"device\"],\"pid\":12,\"gpu\":\"gpu 3\","
	"\"process\":{\"state\":\"stopped\",\"wchan\":\"w\",\"syscall\":\"futex\",\"where\":\"next "
	"(l.py:1)\",\"for_s\":2.5},"
	"\"device\":{\"xid\":-1,\"util\":0.5,\"power\":0.25,\"rdma_bytes_s\":0.0},"
	"\"positions\":[{\"group\":1,\"place\":1,\"enqueued\":4,\"started\":-1,\"completed\":3}],"
	"\"ops\":[{\"group\":1,\"state\":\"enqueued\",\"op\":\"all_reduce\",\"dtype\":\"Float\","
	"\"seq\":4,\"count\":10,"
	"\"count_out\":10,\"for_s\":1.5,\"wait\":9}]}],\"missing\":[\"rank 4: no dump\"]}";

static int add(struct hang_case *c, const char *text, struct hang_head *head, struct err *err)
{
	CLEANUP(json_freep) json_t *json = NULL;
	struct jval root;

	CHECK_EQ(json_parse(text, strlen(text), "doc", &json, err), 0);
	root = jval_root(json, "doc");
	return hang_json_add(c, &root, head, err);
}

static void a_document_comes_back_as_it_was(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(json_freep) json_t *wanted = NULL;
	CLEANUP(json_freep) json_t *got = NULL;
	struct hang_head head;
	struct err err = ERR_INIT;

	CHECK_EQ(add(&c, document, &head, &err), 0);
	CHECK_EQ(json_parse(document, strlen(document), "doc", &wanted, &err), 0);
	got = hang_json_encode(&c, &head);
	CHECK(json_equal(got, wanted));
	CHECK_EQ(c.n_ranks, 5);
}

static void what_is_wrong_in_a_document_is_named(void)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "{}", "doc: format: must be \"assay-hang/1\"" },
		{ "{\"format\":\"assay-hang/1\",\"world\":20000}",
		  "doc: world: must be at most 16384" },
		{ "{\"format\":\"assay-hang/1\",\"groups\":[{\"name\":\"a\",\"size\":0}]}",
		  "doc: groups[0].size: must be a number from 1 to 16384" },
		{ "{\"format\":\"assay-hang/"
		  "1\",\"groups\":[{\"name\":\"a\",\"size\":2,\"ranks\":[1]}]}",
		  "doc: groups[0].ranks: must be a list with one entry per member" },
		{ "{\"format\":\"assay-hang/"
		  "1\",\"groups\":[{\"name\":\"a\",\"size\":2,\"ranks\":[1,1]}]}",
		  "doc: groups[0]: group 'a' has rank 1 twice" },
		{ "{\"format\":\"assay-hang/"
		  "1\",\"ranks\":[{\"rank\":1,\"positions\":[{\"group\":0}]}]}",
		  "doc: ranks[0].positions[0].group: must be the index of a group: there are 0" },
		{ "{\"format\":\"assay-hang/"
		  "1\",\"groups\":[{\"name\":\"a\",\"size\":2}],\"ranks\":[{\"rank\":1,"
		  "\"positions\":[{\"group\":0,\"completed\":9223372036854775807}]}]}",
		  "doc: rank 1: no job launches that many operations" },
		{ "{\"format\":\"assay-hang/1\",\"ranks\":[7]}",
		  "doc: ranks[0]: expected an object, not a number" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(add(&c, cases[i].text, NULL, &err), -EINVAL);
		CHECK_STR(err.msg, cases[i].expected);
	}
}

static void a_rank_that_two_hosts_claim_is_the_first_ones(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(add(&c, document, NULL, &err), 0);
	CHECK_EQ(add(&c,
		     "{\"format\":\"assay-hang/"
		     "1\",\"node\":\"liar\",\"ranks\":[{\"rank\":3,\"process\":"
		     "{\"state\":\"gone\"}}]}",
		     NULL, &err),
		 0);
	CHECK_STR(c.ranks[3].node, "gpu-17");
	CHECK_EQ(c.ranks[3].process, HANG_PROCESS_STOPPED);
	CHECK_STR(c.missing[1], "rank 3: both gpu-17 and liar claim it; the report of liar "
				"is left out");
}

/* --- cases ----------------------------------------------------------------------- */

static void groups_are_joined_by_name_and_members(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	const uint32_t a[] = { 0, HANG_NOBODY }, b[] = { HANG_NOBODY, 1 }, other[] = { 2, 3 };
	uint32_t x = 9, y = 9, z = 9, again = 9;
	struct err err = ERR_INIT;

	CHECK_EQ(hang_case_group(&c, "g", NULL, a, 2, &x, &err), 0);
	CHECK_EQ(hang_case_group(&c, "g", "desc", b, 2, &y, &err), 0);
	CHECK_EQ(hang_case_group(&c, "g", NULL, other, 2, &z, &err), 0);
	CHECK_EQ(hang_case_group(&c, "g", NULL, other, 2, &again, &err), 0);
	CHECK(x == 0 && y == 0 && z == 1 && again == 1);
	CHECK_EQ(c.groups[0].ranks[1], 1);
	CHECK_EQ(hang_case_group(&c, "g", NULL, NULL, 3, &z, &err), 0);
	CHECK_EQ(z, 2);
	CHECK_EQ(hang_case_group(&c, "g", NULL, NULL, 20000, &z, &err), -E2BIG);
}

static void the_largest_job_is_taken_and_judged(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(freep) uint32_t *ranks = xcalloc(HANG_RANKS_MAX, sizeof(*ranks));
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	struct hang_position position = { .started = HANG_UNKNOWN };
	struct err err = ERR_INIT;
	uint32_t i, k, group = 0;

	for (i = 0; i < HANG_RANKS_MAX; i++)
		ranks[i] = i;
	for (i = 0; i < HANG_RANKS_MAX; i += 8)
		CHECK_EQ(hang_case_group(&c, "tp", NULL, ranks + i, 8, &group, &err), 0);
	CHECK_EQ(group, HANG_RANKS_MAX / 8 - 1);
	CHECK_EQ(hang_case_group(&c, "0", "default_pg", ranks, HANG_RANKS_MAX, &group, &err), 0);
	for (i = 0; i < HANG_RANKS_MAX; i++)
		for (k = 0; k < 2; k++) {
			position.rank = i;
			position.group = k ? group : i / 8;
			position.completed = 10;
			position.enqueued = i == 4711 ? 10 : 11;
			CHECK_EQ(hang_case_position(&c, &position, &err), 0);
		}
	CHECK_EQ(hang_judge(&c, verdict, &err), 0);
	CHECK_EQ(verdict->class, HANG_HOST_STALLED);
	CHECK(verdict->n_ranks == 1 && verdict->ranks[0] == 4711);
}

enum { MEMBERS = 4 };

/* --- dumps of different times -------------------------------------------------------- */

/* Four ranks of one group, all of whose operations but the first that waits are of `count`. */
static void judge_counters(const int64_t *enqueued, const int64_t *completed, int64_t count,
			   struct hang_verdict *verdict)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	const uint32_t ranks[MEMBERS] = { 0, 1, 2, 3 };
	struct err err = ERR_INIT;
	uint32_t i, group = 0;

	CHECK_EQ(hang_case_group(&c, "g", NULL, ranks, MEMBERS, &group, &err), 0);
	for (i = 0; i < MEMBERS; i++) {
		struct hang_position position = { .rank = i,
						  .enqueued = enqueued[i],
						  .started = HANG_UNKNOWN,
						  .completed = completed[i] };
		struct hang_op op = { .rank = i,
				      .seq = completed[i] + 1,
				      .peer = HANG_UNKNOWN,
				      .name = "all_reduce",
				      .count = 7,
				      .state = HANG_OP_ENQUEUED };

		CHECK_EQ(hang_case_position(&c, &position, &err), 0);
		for (; op.seq <= enqueued[i]; op.seq++, op.count = count)
			CHECK_EQ(hang_case_op(&c, &op, &err), 0);
	}
	CHECK_EQ(hang_judge(&c, verdict, &err), 0);
}

static void what_is_of_another_time_proves_nothing(void)
{
	static const struct {
		int64_t enqueued[MEMBERS], completed[MEMBERS], count;
		enum hang_class class;
		size_t suspects;
	} cases[] = {
		/* The last has launched nothing more, and its peers wait for it; */
		{ { 1001, 1001, 1001, 1000 }, { 1000, 1000, 1000, 1000 }, 7, HANG_HOST_STALLED, 0 },
		/* ... so they do where they ended some that did not need it; */
		{ { 1011, 1011, 1011, 1000 }, { 1010, 1010, 1010, 1000 }, 7, HANG_HOST_STALLED, 0 },
		/* ... but not if they have gone on for long: its dump is old. */
		{ { 5001, 5001, 5001, 1000 }, { 5000, 5000, 5000, 1000 }, 7, HANG_CANNOT_SAY, 1 },
		/* It does not end what its peers have ended; */
		{ { 506, 506, 506, 503 }, { 502, 502, 502, 500 }, 7, HANG_OWN_GPU_STOPPED, 0 },
		/* ... of nothing, which ends without it; */
		{ { 503, 503, 503, 503 }, { 502, 502, 502, 500 }, 0, HANG_CANNOT_SAY, 1 },
		/* ... or, its dump being of a run that came further, they of what it has ended. */
		{ { 506, 506, 506, 9000 }, { 500, 500, 500, 8999 }, 7, HANG_CANNOT_SAY, 0 },
	};
	static const enum hang_act acts[HANG_CLASSES] = {
		[HANG_HOST_STALLED] = HANG_ACT_STACKS, [HANG_OWN_GPU_STOPPED] = HANG_ACT_TEST_HOST
	};
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const bool named = cases[i].class != HANG_CANNOT_SAY;

		judge_counters(cases[i].enqueued, cases[i].completed, cases[i].count, verdict);
		CHECK_EQ(verdict->class, cases[i].class);
		CHECK_EQ(verdict->act, acts[cases[i].class]);
		CHECK_EQ(verdict->n_ranks, named);
		CHECK(!named || verdict->ranks[0] == 3);
		CHECK_EQ(verdict->n_suspects, cases[i].suspects);
		CHECK(cases[i].suspects == 0 || verdict->suspects[0] == 3);
	}
}

/* A collective that broke halfway ends on some members; so do earlier ones in other groups. */
static void one_operation_behind_is_no_proof_unless_others_say_so_too(void)
{
	static const struct {
		uint32_t members[2][MEMBERS];
		size_t size, named;
	} cases[] = {
		{ { { 0, 1, 2, 3 }, { 0, 1, 2, 3 } }, MEMBERS, 0 },
		{ { { 1, 2, 3 }, { 0, 2, 3 } }, MEMBERS - 1, 1 },
	};
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	size_t i, k, m;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		struct err err = ERR_INIT;

		for (k = 0; k < 2; k++) {
			uint32_t group = 0;

			CHECK_EQ(hang_case_group(&c, k ? "b" : "a", NULL, cases[i].members[k],
						 cases[i].size, &group, &err),
				 0);
			for (m = 0; m < cases[i].size; m++) {
				const uint32_t rank = cases[i].members[k][m];
				const struct hang_position position = { .rank = rank,
									.group = group,
									.enqueued = 10,
									.started = HANG_UNKNOWN,
									.completed =
										rank == 3 ? 8 : 9 };
				struct hang_op op = { .rank = rank,
						      .group = group,
						      .seq = position.completed + 1,
						      .peer = HANG_UNKNOWN,
						      .name = "all_reduce",
						      .count = 7,
						      .state = HANG_OP_ENQUEUED };

				CHECK_EQ(hang_case_position(&c, &position, &err), 0);
				for (; op.seq <= position.enqueued; op.seq++)
					CHECK_EQ(hang_case_op(&c, &op, &err), 0);
			}
		}
		CHECK_EQ(hang_judge(&c, verdict, &err), 0);
		CHECK_EQ(verdict->n_ranks, cases[i].named);
		CHECK_EQ(verdict->n_suspects, 1 - cases[i].named);
		CHECK((cases[i].named ? verdict->ranks[0] : verdict->suspects[0]) == 3);
	}
}

/* One has called an operation that its peers never call (an extra batch): it is unknown who is wrong. */
static void who_waits_for_most_of_the_job_may_be_the_wrong_one(void)
{
	static const int64_t completed[MEMBERS] = { 1000, 1000, 1000, 1000 };
	static const struct {
		int64_t enqueued[MEMBERS];
		size_t named, suspects;
	} cases[] = {
		{ { 1001, 1001, 1001, 1000 }, 1, 0 },
		{ { 1001, 1001, 1000, 1000 }, 0, 4 },
		{ { 1001, 1000, 1000, 1000 }, 0, 4 },
	};
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		judge_counters(cases[i].enqueued, completed, 7, verdict);
		CHECK_EQ(verdict->class, cases[i].named > 0 ? HANG_HOST_STALLED : HANG_CANNOT_SAY);
		CHECK_EQ(verdict->n_ranks, cases[i].named);
		CHECK_EQ(verdict->n_suspects, cases[i].suspects);
		CHECK(cases[i].named == 0 || verdict->ranks[0] == MEMBERS - cases[i].named);
	}
}

/* --- votes ---------------------------------------------------------------------------- */

static void who_says_no_type_has_no_vote_on_it(void)
{
	static const char *const types[] = { "Float", "", "", "Half", "Half" };
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	const uint32_t ranks[ARRAY_SIZE(types)] = { 0, 1, 2, 3, 4 };
	struct err err = ERR_INIT;
	uint32_t i, group = 0;

	CHECK_EQ(hang_case_group(&c, "g", NULL, ranks, ARRAY_SIZE(types), &group, &err), 0);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct hang_position position = {
			.rank = i, .enqueued = 5, .started = HANG_UNKNOWN, .completed = 4
		};
		struct hang_op op = { .rank = i,
				      .seq = 5,
				      .peer = HANG_UNKNOWN,
				      .name = "all_reduce",
				      .count = 7,
				      .state = HANG_OP_ENQUEUED };

		(void)snprintf(op.dtype, sizeof(op.dtype), "%s", types[i]);
		CHECK_EQ(hang_case_position(&c, &position, &err), 0);
		CHECK_EQ(hang_case_op(&c, &op, &err), 0);
	}
	CHECK_EQ(hang_judge(&c, verdict, &err), 0);
	CHECK_EQ(verdict->class, HANG_MISMATCH);
	CHECK_EQ(verdict->n_ranks, 0);
	CHECK_EQ(verdict->n_suspects, ARRAY_SIZE(types));
}

/* Two against one of five: the ranks without dumps may agree with either. */
static void a_majority_is_one_of_the_group_and_not_of_those_who_dumped(void)
{
	static const size_t sizes[] = { 3, 5 };
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	const uint32_t ranks[] = { 0, 1, 2, 3, 4 };
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		uint32_t rank, group = 0;

		CHECK_EQ(hang_case_group(&c, "g", NULL, ranks, sizes[i], &group, &err), 0);
		for (rank = 0; rank < 3; rank++) {
			const struct hang_position position = {
				.rank = rank, .enqueued = 5, .started = HANG_UNKNOWN, .completed = 4
			};
			const struct hang_op op = { .rank = rank,
						    .seq = 5,
						    .peer = HANG_UNKNOWN,
						    .name = "all_reduce",
						    .count = rank == 2 ? 8 : 7,
						    .state = HANG_OP_ENQUEUED };

			CHECK_EQ(hang_case_position(&c, &position, &err), 0);
			CHECK_EQ(hang_case_op(&c, &op, &err), 0);
		}
		CHECK_EQ(hang_judge(&c, verdict, &err), 0);
		CHECK_EQ(verdict->class, HANG_MISMATCH);
		CHECK_EQ(verdict->n_ranks, sizes[i] == 3);
		CHECK(verdict->n_ranks == 0 || verdict->ranks[0] == 2);
		CHECK_EQ(verdict->n_suspects, sizes[i] == 3 ? 0 : 5);
	}
}

/* A rank's state in one group proves nothing about another group whose counters are missing. */
static void who_may_wait_in_another_group_is_not_idle(void)
{
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	const uint32_t ranks[MEMBERS] = { 0, 1, 2, 3 };
	struct err err = ERR_INIT;
	int known;

	for (known = 0; known < 2; known++) {
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		uint32_t a = 0, b = 0, rank;

		CHECK_EQ(hang_case_group(&c, "a", NULL, ranks, MEMBERS, &a, &err), 0);
		CHECK_EQ(hang_case_group(&c, "b", NULL, ranks, MEMBERS, &b, &err), 0);
		for (rank = 0; rank < MEMBERS; rank++) {
			struct hang_position position = { .rank = rank,
							  .group = a,
							  .enqueued = rank == 3 ? 10 : 11,
							  .started = HANG_UNKNOWN,
							  .completed = 10 };

			CHECK_EQ(hang_case_position(&c, &position, &err), 0);
			position.group = b;
			position.enqueued = 10;
			if (rank != 3 || known)
				CHECK_EQ(hang_case_position(&c, &position, &err), 0);
		}
		CHECK_EQ(hang_judge(&c, verdict, &err), 0);
		CHECK_EQ(verdict->class, known ? HANG_HOST_STALLED : HANG_CANNOT_SAY);
		CHECK_EQ(verdict->n_ranks, known);
	}
}

static void a_culprit_is_no_suspect(void)
{
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));

	hang_verdict_suspect(verdict, 3);
	hang_verdict_suspect(verdict, 2);
	hang_verdict_blame(verdict, 2);
	hang_verdict_suspect(verdict, 2);
	CHECK_EQ(verdict->n_ranks, 1);
	CHECK_EQ(verdict->n_suspects, 1);
	CHECK_EQ(verdict->suspects[0], 3);
}

/* --- rules on starts and proxies ---------------------------------------------------- */

/* Four ranks that have all launched operation 5; what each has started, and its proxy's wait. */
enum other { NO_OTHER, OTHER_RUNS, OTHER_UNKNOWN };

struct started {
	int64_t started[MEMBERS];
	uint8_t wait[MEMBERS];
	enum hang_class class;
	size_t named; /* the first of them: */
	uint32_t rank;
	size_t size;	  /* of the group; 0: all */
	enum other other; /* the third and fourth have another group: both are in its operation, or
			     nobody knows */
};

static void add_other_group(struct hang_case *c, enum other other)
{
	const uint32_t ranks[] = { 2, 3 };
	struct err err = ERR_INIT;
	uint32_t i, group = 0;

	CHECK_EQ(hang_case_group(c, "other", NULL, ranks, ARRAY_SIZE(ranks), &group, &err), 0);
	for (i = 0; i < ARRAY_SIZE(ranks) && other == OTHER_RUNS; i++) {
		const struct hang_position position = {
			.rank = ranks[i], .group = group, .enqueued = 1, .started = 1, .completed = 0
		};

		CHECK_EQ(hang_case_position(c, &position, &err), 0);
	}
}

static void judge_started(const struct started *s, struct hang_verdict *verdict)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	const uint32_t ranks[MEMBERS] = { 0, 1, 2, 3 };
	const size_t size = s->size ? s->size : MEMBERS;
	struct err err = ERR_INIT;
	uint32_t i, group = 0;

	CHECK_EQ(hang_case_group(&c, "g", NULL, ranks, size, &group, &err), 0);
	for (i = 0; i < size; i++) {
		struct hang_position position = {
			.rank = i, .enqueued = 5, .started = s->started[i], .completed = 4
		};
		struct hang_op op = { .rank = i,
				      .seq = 5,
				      .peer = HANG_UNKNOWN,
				      .name = "AllReduce",
				      .count = 7,
				      .state = HANG_OP_STARTED,
				      .wait = s->wait[i] };

		CHECK_EQ(hang_case_position(&c, &position, &err), 0);
		if (s->started[i] == 5)
			CHECK_EQ(hang_case_op(&c, &op, &err), 0);
	}
	if (s->other)
		add_other_group(&c, s->other);
	CHECK_EQ(hang_judge(&c, verdict, &err), 0);
}

static void starts_and_proxies_tell_a_gpu_from_the_network(void)
{
	static const struct started cases[] = {
		{ { 5, 5, 4, 5 }, { 0 }, HANG_OWN_GPU_STOPPED, 1, 2, 0, 0 },
		{ { 5, 4, 4, 5 }, { 0 }, HANG_EQUAL_COUNT, 0, 0, 0, 0 },
		/* Either of two may be it; and a rank that runs another operation is not blocked. */
		{ { 5, 4 }, { 0 }, HANG_EQUAL_COUNT, 0, 0, 2, 0 },
		{ { 5, 5, 4, 5 }, { 0 }, HANG_EQUAL_COUNT, 0, 0, 0, OTHER_RUNS },
		/* Senders are named, but most of a job does not break at once. */
		{ { 5, 5, 5, 5 }, { 10, 9, 10, 10 }, HANG_FABRIC, 1, 1, 0, 0 },
		{ { 5, 5, 5, 5 }, { 9, 9, 10, 10 }, HANG_FABRIC, 2, 0, 0, 0 },
		{ { 5, 5, 5, 5 }, { 9, 9, 9, 10 }, HANG_FABRIC, 0, 0, 0, 0 },
		{ { 5, 5, 5, 5 }, { 10, 10, 10, 10 }, HANG_FABRIC, 0, 0, 0, 0 },
		{ { 5, 5, 5, 5 }, { 10, 10, 10, 12 }, HANG_OWN_GPU_STOPPED, 1, 3, 0, 0 },
		{ { 5, 5, 5, 5 }, { 10, 12, 12, 12 }, HANG_EQUAL_COUNT, 0, 0, 0, 0 },
		{ { 5, 5, 5, 5 }, { 8, 8, 8, 8 }, HANG_EQUAL_COUNT, 0, 0, 0, 0 },
		{ { 5, 5, 5, 5 }, { 0 }, HANG_EQUAL_COUNT, 0, 0, 0, 0 },
		/* A rank without information may be the one all wait for. */
		{ { 5, 5, 5 }, { 0 }, HANG_CANNOT_SAY, 0, 0, 3, OTHER_UNKNOWN },
		{ { 5, 5, HANG_UNKNOWN, 5 }, { 10, 9, 0, 10 }, HANG_EQUAL_COUNT, 0, 0, 0, 0 },
	};
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		judge_started(&cases[i], verdict);
		if (verdict->class != cases[i].class)
			printf("  case %zu: %s\n", i, hang_class_names[verdict->class]);
		CHECK_EQ(verdict->class, cases[i].class);
		CHECK_EQ(verdict->n_ranks, cases[i].named);
		if (cases[i].named > 0)
			CHECK_EQ(verdict->ranks[0], cases[i].rank);
	}
}

static const struct test tests[] = {
	TEST(plain_data_is_read),
	TEST(what_is_no_plain_data_is_refused_by_name),
	TEST(depth_has_a_limit),
	TEST(both_forms_of_a_dump_say_the_same),
	TEST(which_number_is_which_group_is_what_operations_say),
	TEST(the_rank_is_the_last_number_of_a_name),
	TEST(a_document_comes_back_as_it_was),
	TEST(what_is_wrong_in_a_document_is_named),
	TEST(a_rank_that_two_hosts_claim_is_the_first_ones),
	TEST(groups_are_joined_by_name_and_members),
	TEST(the_largest_job_is_taken_and_judged),
	TEST(what_is_of_another_time_proves_nothing),
	TEST(one_operation_behind_is_no_proof_unless_others_say_so_too),
	TEST(who_waits_for_most_of_the_job_may_be_the_wrong_one),
	TEST(who_says_no_type_has_no_vote_on_it),
	TEST(a_majority_is_one_of_the_group_and_not_of_those_who_dumped),
	TEST(who_may_wait_in_another_group_is_not_idle),
	TEST(a_culprit_is_no_suspect),
	TEST(starts_and_proxies_tell_a_gpu_from_the_network),
};

TEST_SUITE(tests);
