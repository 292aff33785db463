/* SPDX-License-Identifier: Apache-2.0 */
/* Attributing traffic: counters in a fake tree, and conclusions from their growth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/rdma.h"
#include "probes/rdma/traffic.h"
#include "probes/rnic_state/nic.h"
#include "tests/unit/test.h"

#define PORT_DIR "sys/class/infiniband/mlx5_0/ports/1/"

/* 1000 writes of 64 KiB in packets of 4096 bytes within a second, on 400 Gb/s. */
enum { REQUESTS = 1000, SIZE = 65536, MTU = 4096, DATA_PACKETS = REQUESTS * 16 };

static const double line_rate = 50e9;
static const struct traffic_own own = {
	.requests = REQUESTS, .size = SIZE, .mtu = MTU, .window = 128
};

static struct traffic at(uint64_t us)
{
	return (struct traffic){ .at_us = us };
}

static void set(struct traffic *t, enum traffic_counter counter, double value)
{
	t->counts[counter].known = true;
	t->counts[counter].value = (uint64_t)value;
}

static void only_what_exceeds_our_own_is_foreign(void)
{
	static const struct {
		const char *name;
		double bytes, packets, retries; /* negative: not counted */
		bool foreign;
	} cases[] = {
		{ "ours alone", 65.6e6 + 1.6e6, -1, -1, false },
		{ "with all acknowledgements", -1, DATA_PACKETS + REQUESTS, -1, false },
		{ "none for a while", -1, DATA_PACKETS, -1, false },
		{ "a tenth more bytes", 65.6e6 * 1.14, -1, -1, true },
		{ "a tenth more packets", -1, DATA_PACKETS * 1.18, -1, true },
		{ "twice", 131e6, -1, -1, true },
		{ "lost and sent again", -1, DATA_PACKETS * 1.12, 1, false },
		{ "lost and sent again, and as much of others", -1, DATA_PACKETS * 2.3, 1, true },
		{ "the device does not count its loopback", 0, 0, -1, false },
		{ "nor that, but others", 30e6, -1, -1, true },
		{ "nothing is counted", -1, -1, -1, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct traffic before = at(1000000), after = at(2000000);
		struct traffic_finding finding;

		if (cases[i].bytes >= 0) {
			set(&before, TRAFFIC_SENT_BYTES, 7e9);
			set(&after, TRAFFIC_SENT_BYTES, 7e9 + cases[i].bytes);
		}
		if (cases[i].packets >= 0) {
			set(&before, TRAFFIC_SENT_PACKETS, 3);
			set(&after, TRAFFIC_SENT_PACKETS, 3 + cases[i].packets);
		}
		if (cases[i].retries >= 0) {
			set(&before, TRAFFIC_RETRIES, 5);
			set(&after, TRAFFIC_RETRIES, 5 + cases[i].retries);
		}
		traffic_judge(&before, &after, &own, line_rate, &finding);
		if (finding.foreign != cases[i].foreign)
			CU_FAIL(cases[i].name);
		CHECK_EQ(finding.foreign, cases[i].foreign);
		CHECK_EQ(finding.words[0] != '\0', cases[i].foreign);
	}
}

/* 1 % of the nominal rate is too much, however much more we send ourselves. */
static void a_hundredth_of_the_line_is_too_much(void)
{
	struct traffic_own much = own;
	struct traffic before = at(0), after = at(1000000);
	struct traffic_finding finding;

	much.requests = 600000; /* 39 GB */
	set(&before, TRAFFIC_RECEIVED_BYTES, 0);
	set(&after, TRAFFIC_RECEIVED_BYTES, 600000.0 * SIZE * 1.02);
	traffic_judge(&before, &after, &much, line_rate, &finding);
	CHECK(!finding.foreign);
	set(&after, TRAFFIC_RECEIVED_BYTES, 600000.0 * SIZE * 1.045);
	traffic_judge(&before, &after, &much, line_rate, &finding);
	CHECK(finding.foreign);
	CHECK_HAS(finding.words,
		  "MB/s used the port during the test, in addition to our 39321.6 MB/s");
}

/* What looks like packets sent again is the others' when there are others. */
static void retries_excuse_only_who_is_alone(void)
{
	struct traffic before = at(0), after = at(1000000);
	struct traffic_own both = own;
	struct traffic_finding finding;

	set(&before, TRAFFIC_SENT_PACKETS, 0);
	set(&after, TRAFFIC_SENT_PACKETS, DATA_PACKETS * 1.2);
	set(&before, TRAFFIC_RETRIES, 0);
	set(&after, TRAFFIC_RETRIES, 3);
	traffic_judge(&before, &after, &both, line_rate, &finding);
	CHECK(!finding.foreign);
	both.others = true;
	traffic_judge(&before, &after, &both, line_rate, &finding);
	CHECK(finding.foreign);
}

static void eight_bytes_at_a_time_hide_nobody(void)
{
	const struct traffic_own pings = { .requests = 2000, .size = 8, .mtu = MTU };
	struct traffic before = at(0), after = at(100000);
	struct traffic_finding finding;

	set(&before, TRAFFIC_SENT_PACKETS, 0);
	set(&after, TRAFFIC_SENT_PACKETS, 4000);
	traffic_judge(&before, &after, &pings, 0, &finding);
	CHECK(!finding.foreign);
	set(&after, TRAFFIC_SENT_PACKETS, 4300);
	traffic_judge(&before, &after, &pings, 0, &finding);
	CHECK(finding.foreign);
}

/* Between two ports each has data in one direction and answers in the other. */
static void one_end_of_a_pair_carries_data_one_way(void)
{
	const struct traffic_own none = { .mtu = MTU };
	static const struct {
		double sent, received; /* packets of the port that writes */
		double retries;
		bool foreign;
	} cases[] = {
		{ DATA_PACKETS, REQUESTS, 0, false },
		{ DATA_PACKETS * 1.1, REQUESTS, 0, true },
		{ DATA_PACKETS, DATA_PACKETS, 0, true },	  /* as much comes in as goes out */
		{ DATA_PACKETS * 1.1, REQUESTS * 2.5, 1, false }, /* sent, and answered, again */
		{ DATA_PACKETS * 1.3, REQUESTS, 1, true },
	};
	struct traffic before = at(0), after = at(1000000);
	struct traffic_finding finding;
	size_t i;

	set(&before, TRAFFIC_SENT_PACKETS, 0);
	set(&before, TRAFFIC_RECEIVED_PACKETS, 0);
	set(&before, TRAFFIC_RETRIES, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		set(&after, TRAFFIC_SENT_PACKETS, cases[i].sent);
		set(&after, TRAFFIC_RECEIVED_PACKETS, cases[i].received);
		set(&after, TRAFFIC_RETRIES, cases[i].retries);
		traffic_judge_ways(&before, &after, &own, &none, 0, &finding);
		CHECK_EQ(finding.foreign, cases[i].foreign);
	}
}

/* What the other end sent again comes in here, where nothing counts it. */
static void the_other_end_tells_what_it_sent_again(void)
{
	const struct traffic_own none = { .mtu = MTU };
	struct traffic before = at(0), after = at(1000000);
	struct traffic_own in = own;
	struct traffic_finding finding;

	set(&before, TRAFFIC_RECEIVED_PACKETS, 0);
	set(&after, TRAFFIC_RECEIVED_PACKETS, DATA_PACKETS * 1.1);
	traffic_judge_ways(&before, &after, &none, &in, 0, &finding);
	CHECK(finding.foreign);
	in.resends = 1;
	traffic_judge_ways(&before, &after, &none, &in, 0, &finding);
	CHECK(!finding.foreign);
}

static void counters_tell_which_way_it_went(void)
{
	struct traffic before = at(0), after = at(1000000);
	struct traffic_finding finding;

	set(&before, TRAFFIC_WIRE_BYTES, 100);
	set(&before, TRAFFIC_INNER_BYTES, 100);
	set(&after, TRAFFIC_WIRE_BYTES, 5000);
	set(&after, TRAFFIC_INNER_BYTES, 100 + 66e6);
	traffic_judge(&before, &after, &own, line_rate, &finding);
	CHECK(!finding.wire);
	CHECK_HAS(finding.words, "66 MB looped back inside the RNIC");
	set(&after, TRAFFIC_WIRE_BYTES, 68e6);
	traffic_judge(&before, &after, &own, line_rate, &finding);
	CHECK(finding.wire);
	CHECK_HAS(finding.words, "sent back by the switch");
}

static void a_counter_that_was_reset_says_nothing(void)
{
	struct traffic before = at(0), after = at(1000000);
	uint64_t growth = 42;

	set(&before, TRAFFIC_SENT_BYTES, 1000);
	set(&after, TRAFFIC_SENT_BYTES, 999);
	CHECK(!traffic_growth(&before, &after, TRAFFIC_SENT_BYTES, &growth));
	CHECK_EQ(growth, 42);
	set(&after, TRAFFIC_SENT_BYTES, 1000);
	CHECK(traffic_growth(&before, &after, TRAFFIC_SENT_BYTES, &growth));
	CHECK_EQ(growth, 0);
}

static void the_rate_before_needs_time_to_tell(void)
{
	struct traffic before = at(0), after = at(100000);

	set(&before, TRAFFIC_RECEIVED_PACKETS, 10);
	set(&after, TRAFFIC_RECEIVED_PACKETS, 110);
	CHECK_NEAR(traffic_rate(&before, &after, MTU), 100 * MTU / 0.1, 1);
	after.at_us = 19999;
	CHECK_NEAR(traffic_rate(&before, &after, MTU), 0, 0);
}

static int stats(void *context, const char *netdev, struct nic_stats *ret)
{
	(void)context;
	CHECK_STR(netdev, "eth7");
	ret->n = 2;
	ret->names = xcalloc(2, sizeof(*ret->names));
	ret->values = xcalloc(2, sizeof(*ret->values));
	(void)snprintf(ret->names[0], NIC_STAT_NAME_SIZE, "tx_bytes_phy");
	(void)snprintf(ret->names[1], NIC_STAT_NAME_SIZE, "vport_loopback_bytes");
	ret->values[0] = 11;
	ret->values[1] = 12;
	return 0;
}

static void write_counter(const char *name, const char *text)
{
	CLEANUP(freep) char *path = xasprintf(PORT_DIR "%s", name);
	CLEANUP(freep) char *made = test_file(path, text);
}

static void write_file(const char *path, const char *text)
{
	CLEANUP(freep) char *made = test_file(path, text);
}

static void counters_are_read_where_they_are(void)
{
	const struct rdma_port port = { .device = "mlx5_0", .number = 1, .pci = "0000:1b:00.0" };
	struct rdma_port software = port;
	const struct nic nic = { .stats = stats };
	struct traffic t;

	software.pci[0] = '\0';
	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	traffic_read(&software, &nic_none, &t);
	CHECK(!t.counts[TRAFFIC_SENT_BYTES].known && !t.counts[TRAFFIC_SENT_PACKETS].known);
	write_counter("hw_counters/sent_pkts", "77\n");
	write_counter("hw_counters/completer_retry_err", "2\n");
	traffic_read(&software, &nic_none, &t);
	CHECK_EQ(t.counts[TRAFFIC_SENT_PACKETS].value, 77);
	CHECK_EQ(t.counts[TRAFFIC_RETRIES].value, 2);
	CHECK_EQ(t.cached_us, 0);
	write_counter("hw_counters/lifespan", "10\n");
	traffic_read(&software, &nic_none, &t);
	CHECK_EQ(t.cached_us, 10000);
	write_counter("hw_counters/lifespan", "123456789\n");
	traffic_read(&software, &nic_none, &t);
	CHECK_EQ(t.cached_us, 100000);
	write_counter("counters/port_xmit_data", "1000\n");
	write_counter("counters/port_rcv_data", "2000\n");
	write_counter("counters/port_xmit_packets", "5\n");
	write_counter("hw_counters/packet_seq_err", "3\n");
	/* Its address is of a container, where its network device has a name that is here too. */
	write_counter("gid_attrs/ndevs/0", "eth0\n");
	write_file("sys/class/net/eth0/flags", "0x1003\n");
	write_file("sys/class/net/eth7/flags", "0x1003\n");
	write_file("sys/class/infiniband/mlx5_0/device/net/eth7/dev_port", "0\n");
	traffic_read(&port, &nic, &t);
	CHECK_EQ(t.cached_us, 0); /* none of those that are cached was needed */
	CHECK_EQ(t.counts[TRAFFIC_SENT_BYTES].value, 4000);
	CHECK_EQ(t.counts[TRAFFIC_RECEIVED_BYTES].value, 8000);
	CHECK_EQ(t.counts[TRAFFIC_SENT_PACKETS].value, 5);
	CHECK_EQ(t.counts[TRAFFIC_RETRIES].value, 5);
	CHECK_EQ(t.counts[TRAFFIC_WIRE_BYTES].value, 11);
	CHECK_EQ(t.counts[TRAFFIC_INNER_BYTES].value, 12);
	(void)unsetenv("ASSAY_SYSROOT");
}

static const struct test tests[] = {
	TEST(only_what_exceeds_our_own_is_foreign),   TEST(a_hundredth_of_the_line_is_too_much),
	TEST(retries_excuse_only_who_is_alone),	      TEST(eight_bytes_at_a_time_hide_nobody),
	TEST(one_end_of_a_pair_carries_data_one_way), TEST(the_other_end_tells_what_it_sent_again),
	TEST(counters_tell_which_way_it_went),	      TEST(a_counter_that_was_reset_says_nothing),
	TEST(the_rate_before_needs_time_to_tell),     TEST(counters_are_read_where_they_are),
};

TEST_SUITE(tests);
