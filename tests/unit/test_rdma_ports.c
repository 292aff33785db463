/* SPDX-License-Identifier: Apache-2.0 */
/* Which ports of a host are for jobs, the rate of one, and the site's settings for them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "probes/rdma/bond.h"
#include "probes/rdma/ports.h"
#include "probes/rdma/site.h"
#include "tests/unit/test.h"

static struct rdma_port port_of(const char *device, const char *model, double gbit)
{
	struct rdma_port p = { .number = 1, .active = true, .layer = RDMA_ETHERNET, .mtu = 4096 };

	(void)snprintf(p.device, sizeof(p.device), "%s", device);
	(void)snprintf(p.model, sizeof(p.model), "%s", model);
	p.bytes_per_s = gbit * 1e9 / 8;
	return p;
}

/* As NCCL reads NCCL_IB_HCA. */
static void a_list_of_devices_is_read_as_nccl_does(void)
{
	static const struct {
		const char *list, *device;
		unsigned number;
		bool listed;
	} cases[] = {
		{ "mlx5", "mlx5_0", 1, true },
		{ "mlx5_1", "mlx5_1", 1, true },
		{ "mlx5_1", "mlx5_10", 1, true },
		{ "=mlx5_1", "mlx5_10", 1, false },
		{ "=mlx5_1", "mlx5_1", 1, true },
		{ "=mlx5_1:1,mlx5_2", "mlx5_1", 1, true },
		{ "=mlx5_1:1,mlx5_2", "mlx5_1", 2, false },
		{ "=mlx5_1:1,mlx5_2", "mlx5_2", 2, true },
		{ "^mlx5_1", "mlx5_10", 1, false },
		{ "^=mlx5_1", "mlx5_10", 1, true },
		{ "^=mlx5_1", "mlx5_1", 1, false },
		{ "^mlx5_1:2", "mlx5_1", 1, true },
		{ "rocep", "mlx5_0", 1, false },
		{ "^rocep", "mlx5_0", 1, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rdma_port p = port_of(cases[i].device, "", 400);

		p.number = cases[i].number;
		CHECK_EQ(ports_list_check(cases[i].list, NULL), 0);
		CHECK_EQ(ports_listed(cases[i].list, &p), cases[i].listed);
	}
}

static void what_is_no_list_of_devices_is_told(void)
{
	static const char *const lists[] = {
		"",	   "^",	       "=",	 "mlx5_0,,mlx5_1", ":1",
		"mlx5_0:", "mlx5_0:a", "mlx5 0", "mlx5_0,=mlx5_1", "^^mlx5_0"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(ports_list_check(lists[i], &err), -EINVAL);
		CHECK_HAS(err.msg, "is not a device");
	}
}

static void the_jobs_have_the_ports_of_most_bandwidth(void)
{
	/* "m400 m400 x100": models and rates of ports, and which of them stay. */
	static const struct {
		struct {
			const char *model;
			double gbit;
		} ports[5];
		const char *stay;
	} cases[] = {
		{ { { "m", 400 }, { "m", 400 }, { "x", 100 } }, "01" },
		{ { { "m", 400 }, { "m", 400 }, { "m", 200 } }, "01" },
		{ { { "x", 100 }, { "m", 400 } }, "1" },
		{ { { "m", 400 }, { "m", 400 } }, "01" },
		{ { { "m", 200 }, { "m", 200 }, { "m", 400 }, { "x", 400 } }, "0123" }, /* a draw */
		{ { { "", 2.5 }, { "", 2.5 } }, "01" },
		{ { { "", 0 }, { "", 0 } }, "01" },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rdma_port ports[5];
		char words[PORTS_WORDS_SIZE], stay[8] = "", name[] = "mlx5_0";
		size_t n = 0;

		for (; n < 5 && cases[i].ports[n].model; n++) {
			name[5] = (char)('0' + n);
			ports[n] = port_of(name, cases[i].ports[n].model, cases[i].ports[n].gbit);
		}
		k = ports_choose(ports, n, NULL, words);
		CHECK_EQ(words[0] != '\0', k < n);
		n = k;
		for (k = 0; k < n; k++)
			stay[k] = ports[k].device[5];
		CHECK_STR(stay, cases[i].stay);
	}
}

static void who_is_left_out_is_named(void)
{
	struct rdma_port ports[] = { port_of("mlx5_0", "m", 400), port_of("mlx5_1", "m", 400),
				     port_of("mlx5_2", "x", 100) };
	char words[PORTS_WORDS_SIZE];

	/* A port that is down is none the less of the jobs' kind. */
	ports[1].active = false;
	CHECK_EQ(ports_choose(ports, 3, NULL, words), 2);
	CHECK_STR(words, "mlx5_2:1 (100 Gb/s) left out: its model or rate differs from "
			 "the others; --devices would include it");
	CHECK_EQ(ports_choose(ports, 2, "=mlx5_1", words), 1);
	CHECK_STR(words, "mlx5_0:1 (400 Gb/s) left out: not in the list of devices");
	CHECK_STR(ports[0].device, "mlx5_1");
}

/* An engine that lists these, or fails. */
static const struct rdma_port *listed;
static int n_listed;

static int list(struct rdma_engine *engine, struct rdma_port *ret, size_t max, struct err *err)
{
	(void)engine;
	(void)max;
	(void)err;
	if (n_listed > 0)
		memcpy(ret, listed, (size_t)n_listed * sizeof(*ret));
	return n_listed;
}

static const struct rdma_ops lister_ops = { .list = list };
static struct rdma_engine lister = { .ops = &lister_ops };

static void one_without_connections_is_left_out(void)
{
	struct rdma_port ports[] = { port_of("efa_0", "1d0f:efa1", 100),
				     port_of("mlx5_0", "15b3:1021", 400),
				     port_of("efa_1", "1d0f:efa1", 100) };
	char words[PORTS_WORDS_SIZE];

	CLEANUP(freep) struct rdma_port *kept = xcalloc(RDMA_PORTS_MAX, sizeof(*kept));
	struct err err = ERR_INIT;

	ports[0].unconnected = ports[2].unconnected = true;
	listed = ports;
	n_listed = 3;
	CHECK_EQ(ports_list(&lister, kept, words, &err), 1);
	CHECK_STR(kept[0].device, "mlx5_0");
	CHECK_STR(words, "efa_0:1 (100 Gb/s), efa_1:1 (100 Gb/s) left out: no reliable connections "
			 "(like EFA, usNIC, iWARP), which are what is measured here");
	listed = &ports[1];
	n_listed = 1;
	CHECK_EQ(ports_list(&lister, kept, words, &err), 1);
	CHECK_STR(words, "");
}

static void where_there_is_none_it_is_said_why(void)
{
	static const struct {
		int n;
		const char *message;
	} cases[] = {
		{ -ENOSYS, "this kernel has no RDMA support" },
		{ 0, "no RDMA device on this host" },
		{ 1, "efa_0:1 (100 Gb/s) left out: no reliable connections (like EFA, usNIC, "
		     "iWARP), which are what is measured here" },
	};
	CLEANUP(freep) struct rdma_port *kept = xcalloc(RDMA_PORTS_MAX, sizeof(*kept));
	struct rdma_port efa = port_of("efa_0", "1d0f:efa1", 100);
	char words[PORTS_WORDS_SIZE];
	size_t i;

	efa.unconnected = true;
	listed = &efa;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		n_listed = cases[i].n;
		CHECK_EQ(ports_list(&lister, kept, words, &err), -ENODEV);
		CHECK_STR(err.msg, cases[i].message);
	}
}

static void sysfs(const char *path, const char *text)
{
	CLEANUP(freep) char *name = xasprintf("bonds/sys/class/%s", path);

	free(test_file(name, text));
}

/* mlx5_bond_0 of two ports of 200 Gb/s, as a driver says that adds them up, and as one that does not. */
static void a_bond_is_as_fast_as_one_of_its_members(void)
{
	CLEANUP(freep) char *root = xasprintf("%s/bonds", test_dir());
	struct rdma_port p = port_of("mlx5_bond_0", "15b3:1021", 400),
			 lone = port_of("mlx5_0", "15b3:1021", 400);

	sysfs("infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0\n");
	sysfs("infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth7\n");
	sysfs("net/bond0/bonding/slaves", "eth0 eth1\n");
	sysfs("net/eth0/speed", "200000\n");
	sysfs("net/eth1/speed", "-1\n");
	(void)setenv("ASSAY_SYSROOT", root, 1);
	bond_find(&p);
	CHECK_EQ(p.members, 2);
	CHECK_NEAR(p.bytes_per_s, 25e9, 1);
	sysfs("net/eth1/speed", "100000\n");
	bond_find(&p);
	CHECK_NEAR(p.bytes_per_s, 12.5e9, 1);
	bond_find(&lone);
	CHECK_EQ(lone.members, 0);
	CHECK_NEAR(lone.bytes_per_s, 50e9, 1);
	(void)unsetenv("ASSAY_SYSROOT");
}

static void headers_take_their_part_of_a_port(void)
{
	struct rdma_port p = port_of("mlx5_0", "m", 400);

	CHECK_NEAR(port_payload(&p, 4096) / 50e9, 0.976, 0.001);
	CHECK_NEAR(port_payload(&p, 1024) / 50e9, 0.909, 0.001);
	p.layer = RDMA_INFINIBAND;
	CHECK_NEAR(port_payload(&p, 4096) / 50e9, 0.984, 0.001);
	CHECK_NEAR(port_payload(&p, 0), 0, 0);
}

static void site(const char *yaml)
{
	CLEANUP(freep) char *dir = xasprintf("%s/conf", test_dir());

	free(test_file("conf/rdma.yaml", yaml));
	(void)setenv("ASSAY_CONF_DIR", dir, 1);
}

static void a_fast_port_has_several_queue_pairs(void)
{
	static const struct {
		double gbit;
		const char *pci;
		unsigned members, queues;
	} cases[] = {
		{ 400, "0000:1b:00.0", 0, 4 }, { 200, "0000:1b:00.0", 0, 4 },
		{ 199, "0000:1b:00.0", 0, 1 }, { 100, "0000:1b:00.0", 0, 1 },
		{ 0, "0000:1b:00.0", 0, 1 },   { 400, "", 0, 1 },
		{ 200, "0000:1b:00.0", 2, 1 }, { 400, "0000:1b:00.0", 1, 4 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rdma_port port = { .bytes_per_s = cases[i].gbit * 0.125e9,
					  .members = cases[i].members };

		(void)snprintf(port.pci, sizeof(port.pci), "%s", cases[i].pci);
		CHECK_EQ(port_queues(&port), cases[i].queues);
	}
}

static void the_site_says_what_no_option_does(void)
{
	struct rdma_service s = RDMA_SERVICE_INIT;
	struct err err = ERR_INIT;
	int gid_index = -1;

	site("{v: 1, devices: '^mlx5_8', gid_index: 3, pkey_index: 1, sl: 3, tclass: 106}");
	s.sl = 5;
	CHECK_EQ(rdma_site_fill(&s, &gid_index, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_STR(rdma_service_devices(&s), "^mlx5_8");
	CHECK_EQ(gid_index, 3);
	CHECK_EQ(s.pkey_index, 1);
	CHECK_EQ(s.sl, 5);
	CHECK_EQ(s.tclass, 106);
	site("{v: 1}");
	s = RDMA_SERVICE_INIT;
	CHECK_EQ(rdma_site_fill(&s, &gid_index, &err), 0);
	CHECK(rdma_service_devices(&s) == NULL);
	CHECK_EQ(s.pkey_index, -1);
	(void)setenv("ASSAY_CONF_DIR", "/nonexistent", 1);
	CHECK_EQ(rdma_site_fill(&s, &gid_index, &err), 0);
}

static void a_wrong_site_file_names_the_place(void)
{
	static const struct {
		const char *yaml, *message;
	} cases[] = {
		{ "{devices: mlx5_0}", "rdma.yaml: v: missing" },
		{ "{v: 2}", "rdma.yaml: v: expected 1" },
		{ "{v: 1, hcas: mlx5_0}", "rdma.yaml: hcas: unknown key" },
		{ "{v: 1, devices: [mlx5_0]}",
		  "rdma.yaml: devices: expected a list of devices in one" },
		{ "{v: 1, devices: 'a b'}", "rdma.yaml: devices: 'a b' is not a device" },
		{ "{v: 1, sl: 16}", "rdma.yaml: sl: expected a whole number from 0 to 15" },
		{ "{v: 1, tclass: 1.5}",
		  "rdma.yaml: tclass: expected a whole number from 0 to 255" },
		{ "{v: 1, pkey_index: -1}", "rdma.yaml: pkey_index: expected a whole number" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rdma_service s = RDMA_SERVICE_INIT;
		struct err err = ERR_INIT;
		int gid_index = -1;

		site(cases[i].yaml);
		CHECK_EQ(rdma_site_fill(&s, &gid_index, &err), -EINVAL);
		CHECK_HAS(err.msg, cases[i].message);
	}
}

static void only_what_is_not_usual_is_in_the_params(void)
{
	CLEANUP(json_freep) json_t *plain = json_object(), *said = json_object();
	struct rdma_service s = RDMA_SERVICE_INIT;

	rdma_service_params(&s, RDMA_PKEY_DEFAULT, plain);
	CHECK_EQ(json_object_size(plain), 0);
	s.sl = 3;
	s.tclass = 106;
	rdma_service_params(&s, 0x8001, said);
	CHECK_EQ(json_integer_value(json_object_get(said, "sl")), 3);
	CHECK_EQ(json_integer_value(json_object_get(said, "tclass")), 106);
	CHECK_STR(json_string_value(json_object_get(said, "pkey")), "0x8001");
}

static const struct test tests[] = {
	TEST(a_list_of_devices_is_read_as_nccl_does),
	TEST(what_is_no_list_of_devices_is_told),
	TEST(the_jobs_have_the_ports_of_most_bandwidth),
	TEST(who_is_left_out_is_named),
	TEST(one_without_connections_is_left_out),
	TEST(where_there_is_none_it_is_said_why),
	TEST(a_bond_is_as_fast_as_one_of_its_members),
	TEST(headers_take_their_part_of_a_port),
	TEST(a_fast_port_has_several_queue_pairs),
	TEST(the_site_says_what_no_option_does),
	TEST(a_wrong_site_file_names_the_place),
	TEST(only_what_is_not_usual_is_in_the_params),
};

TEST_SUITE(tests);
