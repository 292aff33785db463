/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_hang.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/json/json.h"
#include "tests/unit/test.h"

#define S UINT64_C(1000000000)
#define NOW (1000 * S)
#define SINCE (900 * S)

static struct ring_comm comm;
static struct ring_op ops[16];
static size_t n_ops;

static void begin(void)
{
	comm = (struct ring_comm){
		.comm_id = 0xabc, .n_ranks = 4, .rank = 2, .mask = 70, .name = "tp"
	};
	n_ops = 0;
}

static struct ring_op *add(uint8_t func, uint64_t seq, unsigned age_s, uint8_t flags)
{
	struct ring_op *op = &ops[n_ops];

	*op = (struct ring_op){ .number = 100 + n_ops,
				.seq = seq,
				.bytes = 4096,
				.enqueued_ns = NOW - age_s * S,
				.peer = -1,
				.channels = 2,
				.func = func,
				.flags = flags };
	if (flags & RING_DONE) {
		op->started = op->stopped = 2;
		op->host_start_ns = op->host_stop_ns = op->enqueued_ns;
	}
	(void)snprintf(op->name, sizeof(op->name), "%s", func == RING_SEND ? "Send" : "AllReduce");
	n_ops++;
	return op;
}

static struct ring_hang_ring ring(uint64_t since_ns)
{
	return (struct ring_hang_ring){
		.rank = 6, .comm = &comm, .ops = ops, .n_ops = n_ops, .since_ns = since_ns
	};
}

/* "groups" and "ranks" of it, as text with sorted keys. */
static char *told(uint64_t since_ns)
{
	const struct ring_hang_ring one = ring(since_ns);
	json_t *groups = json_array(), *ranks = json_array();
	char *text;
	json_t *all;

	ring_hang_add(&one, 1, NOW, groups, ranks);
	all = json_pack("{s:o, s:o}", "groups", groups, "ranks", ranks);
	text = json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
	json_decref(all);
	return text;
}

static void check_told(uint64_t since_ns, const char *part)
{
	char *text = told(since_ns);

	CHECK_HAS(text, part);
	free(text);
}

static void positions_are_of_a_communicator_and_function(void)
{
	begin();
	add(RING_ALL_REDUCE, 410, 20, RING_DONE);
	add(RING_ALL_GATHER, 7, 15, RING_DONE);
	add(RING_ALL_REDUCE, 411, 10, 0)->started = 1;
	add(RING_ALL_REDUCE, 412, 5, 0);
	check_told(SINCE, "{\"desc\":\"tp\",\"name\":\"0000000000000abc AllReduce\",\"p2p\":false,"
			  "\"ranks\":null,\"size\":4}");
	check_told(SINCE,
		   "{\"completed\":410,\"enqueued\":412,\"group\":0,\"place\":2,\"started\":411}");
	check_told(SINCE, "{\"completed\":7,\"enqueued\":7,\"group\":1,\"place\":2,\"started\":7}");
	check_told(SINCE, "\"rank\":6,\"sources\":[\"ring\"]");
	check_told(SINCE,
		   "\"for_s\":10.0,\"group\":0,\"op\":\"AllReduce\",\"peer\":null,\"seq\":411,"
		   "\"state\":\"started\"");
	check_told(SINCE,
		   "\"for_s\":5.0,\"group\":0,\"op\":\"AllReduce\",\"peer\":null,\"seq\":412,"
		   "\"state\":\"enqueued\"");
}

static void what_began_before_the_recording_says_nothing(void)
{
	begin();
	add(RING_ALL_REDUCE, 410, 200, 0);
	check_told(SINCE, "{\"groups\":[],\"ranks\":[{\"ops\":[],\"positions\":[],");
	begin();
	add(RING_ALL_REDUCE, 410, 20, RING_DONE);
	check_told(0, "{\"groups\":[],\"ranks\":[{\"ops\":[],\"positions\":[],"); /* it is off */
}

static void none_completed_is_known_of_the_very_first_alone(void)
{
	begin();
	add(RING_ALL_REDUCE, 411, 10, 0);
	check_told(SINCE, "\"positions\":[{\"enqueued\":411,\"group\":0,\"place\":2}]");
	begin();
	add(RING_ALL_REDUCE, 0, 10, 0);
	check_told(SINCE,
		   "{\"completed\":-1,\"enqueued\":0,\"group\":0,\"place\":2,\"started\":-1}");
}

/* Whether NCCL counts those depends on who was recording. */
static void a_captured_function_has_no_position(void)
{
	begin();
	add(RING_ALL_REDUCE, 410, 200, RING_DONE | RING_GRAPH);
	add(RING_ALL_REDUCE, 411, 10, RING_DONE);
	check_told(SINCE, "\"positions\":[{\"group\":0,\"place\":2}]");
}

static void without_kernels_nobody_knows_what_ended(void)
{
	struct ring_hang_ring one;
	bool in_flight;

	begin();
	comm.mask = 6;
	add(RING_ALL_REDUCE, 410, 20, 0);
	add(RING_ALL_REDUCE, 411, 10, 0);
	check_told(SINCE, "\"positions\":[{\"enqueued\":411,\"group\":0,\"place\":2}]");
	check_told(SINCE,
		   "\"ops\":[{\"count\":4096,\"for_s\":10.0,\"group\":0,\"op\":\"AllReduce\","
		   "\"peer\":null,\"seq\":411,\"state\":\"unknown\",\"wait\":0}]");
	one = ring(SINCE);
	CHECK(ring_hang_moved_ns(&one, NOW, &in_flight) == NOW - 10 * S);
	CHECK(!in_flight);
}

static void lost_stamps_accuse_nobody(void)
{
	begin();
	add(RING_ALL_REDUCE, 410, 20, 0)->started = 2; /* its stops were lost */
	add(RING_ALL_REDUCE, 411, 10, RING_DONE);
	check_told(SINCE,
		   "{\"completed\":411,\"enqueued\":411,\"group\":0,\"place\":2,\"started\":411}");
	check_told(SINCE,
		   "\"ops\":[{\"count\":4096,\"for_s\":10.0,\"group\":0,\"op\":\"AllReduce\","
		   "\"peer\":null,\"seq\":411,\"state\":\"ended\",\"wait\":0}]");
}

static void sends_compare_with_nothing_and_name_their_peer(void)
{
	struct ring_comm other;
	struct ring_hang_ring both[2];
	json_t *groups = json_array(), *ranks = json_array();
	struct ring_op *op;
	char *text;

	begin();
	op = add(RING_SEND, 0, 10, 0);
	op->peer = 3;
	op->wait = RING_WAIT_SEND;
	check_told(SINCE, "\"name\":\"0000000000000abc P2P\",\"p2p\":true");
	check_told(
		SINCE,
		"\"op\":\"Send\",\"peer\":null,\"peer_place\":3,\"state\":\"enqueued\",\"wait\":9");
	check_told(SINCE, "\"positions\":[{\"group\":0,\"place\":2}]");
	/* Where the other end is of this host, its rank is known. */
	other = comm;
	other.rank = 3;
	both[0] = ring(SINCE);
	both[1] = (struct ring_hang_ring){ .rank = 7, .comm = &other };
	ring_hang_add(both, 2, NOW, groups, ranks);
	text = json_dumps(ranks, JSON_SORT_KEYS | JSON_COMPACT);
	CHECK_HAS(text, "\"peer\":7,\"peer_place\":3");
	CHECK_EQ(json_array_size(ranks), 1);
	free(text);
	json_decref(groups);
	json_decref(ranks);
}

static void what_others_said_of_a_rank_stays(void)
{
	json_t *groups = json_pack("[{s:s, s:i}]", "name", "0", "size", 2),
	       *ranks = json_pack("[{s:i, s:[s], s:[{s:i}]}]", "rank", 6, "sources", "process",
				  "positions", "group", 0);
	struct ring_hang_ring one;
	char *text;

	begin();
	add(RING_ALL_REDUCE, 3, 10, RING_DONE);
	one = ring(SINCE);
	ring_hang_add(&one, 1, NOW, groups, ranks);
	ring_hang_add(&one, 1, NOW, groups, ranks);
	text = json_dumps(ranks, JSON_SORT_KEYS | JSON_COMPACT);
	CHECK_EQ(json_array_size(groups), 2);
	CHECK_EQ(json_array_size(ranks), 1);
	CHECK_HAS(text,
		  "\"positions\":[{\"group\":0},{\"completed\":3,\"enqueued\":3,\"group\":1,");
	CHECK_HAS(text, "\"sources\":[\"process\",\"ring\"]");
	free(text);
	json_decref(groups);
	json_decref(ranks);
}

static void a_ring_has_a_bounded_number_of_operations(void)
{
	struct ring_hang_ring one;
	json_t *groups = json_array(), *ranks = json_array();
	unsigned i;

	begin();
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		add(RING_ALL_REDUCE, i, 30 - i, 0);
	one = ring(SINCE);
	ring_hang_add(&one, 1, NOW, groups, ranks);
	CHECK_EQ(json_array_size(json_object_get(json_array_get(ranks, 0), "ops")),
		 RING_HANG_OPS_MAX);
	json_decref(groups);
	json_decref(ranks);
}

static void it_stands_since_the_last_that_moved(void)
{
	struct ring_hang_ring one;
	bool in_flight;

	begin();
	add(RING_ALL_REDUCE, 1, 30, RING_DONE);
	one = ring(SINCE);
	CHECK(ring_hang_moved_ns(&one, NOW, &in_flight) == NOW - 30 * S);
	CHECK(!in_flight);
	add(RING_ALL_REDUCE, 2, 20, 0);
	comm.beat_ns = NOW - 15 * S;
	one = ring(SINCE);
	CHECK(ring_hang_moved_ns(&one, NOW, &in_flight) == NOW - 15 * S);
	CHECK(in_flight);
	comm.beat_ns = UINT64_MAX;
	CHECK(ring_hang_moved_ns(&one, NOW, &in_flight) == NOW);
	one = ring(0);
	CHECK(ring_hang_moved_ns(&one, NOW, &in_flight) == 0);
	CHECK(!in_flight);
}

static const struct test tests[] = {
	TEST(positions_are_of_a_communicator_and_function),
	TEST(what_began_before_the_recording_says_nothing),
	TEST(none_completed_is_known_of_the_very_first_alone),
	TEST(a_captured_function_has_no_position),
	TEST(without_kernels_nobody_knows_what_ended),
	TEST(lost_stamps_accuse_nobody),
	TEST(sends_compare_with_nothing_and_name_their_peer),
	TEST(what_others_said_of_a_rank_stays),
	TEST(a_ring_has_a_bounded_number_of_operations),
	TEST(it_stands_since_the_last_that_moved),
};

TEST_SUITE(tests);
