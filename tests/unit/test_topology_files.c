/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "tests/unit/test.h"
#include "tests/unit/topology_fixture.h"

static void files_that_are_no_topology_are_refused(void)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{ "empty.xml", "" },
		{ "words.xml", "not xml at all\n" },
		{ "cut.xml",
		  "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n <object type=\"Mach" },
		{ "other.xml", "<?xml version=\"1.0\"?>\n<html><body/></html>\n" },
		{ "bare.xml", "<?xml version=\"1.0\"?>\n<topology version=\"2.0\"></topology>\n" },
		/* These two crash hwloc 2.9. */
		{ "unset.xml",
		  "<?xml version=\"1.0\"?>\n<topology version=\"2.0\"><object type=\"Machine\" "
		  "gp_index=\"1\"/></topology>\n" },
		{ "half.xml",
		  "<?xml version=\"1.0\"?>\n<topology version=\"2.0\"><object type=\"Machine\" "
		  "cpuset=\"0x1\" gp_index=\"1\"><object type=\"PU\" os_index=\"0\" "
		  "gp_index=\"2\"/></object></topology>\n" },
	};
	struct topology t = { .n_nodes = 77 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = test_file(rows[i].name, rows[i].text);
		struct err err = ERR_INIT;
		int r = topology_from_file(path, &t, &err);

		if (r == -ENOTSUP) {
			CHECK_HAS(err.msg, "hwloc");
			continue;
		}
		CHECK_EQ(r, -EINVAL);
		CHECK_HAS(err.msg, path);
		CHECK_HAS(err.msg, "XML");
		CHECK_EQ(t.n_nodes, 77);
	}
}

static void a_file_that_is_not_there_is_named(void)
{
	struct err err = ERR_INIT;
	struct topology t;
	int r = topology_from_file("/nowhere/at.xml", &t, &err);

	CHECK(r == -ENOENT || r == -ENOTSUP);
	CHECK_HAS(err.msg, "/nowhere/at.xml");
	CHECK_EQ(topology_from_file("/nowhere/at.json", &t, &err), -ENOENT);
	CHECK_HAS(err.msg, "/nowhere/at.json");
}

static void too_many_devices_are_refused(void)
{
	struct strbuf devices = STRBUF_INIT(1024 * 1024);
	CLEANUP(freep) char *vm = fixture_text("vm.xml");
	CLEANUP(freep) char *xml = NULL;
	CLEANUP(freep) char *path = NULL;
	struct err err = ERR_INIT;
	struct topology t;
	unsigned i;
	int r;

	(void)strbuf_puts(&devices, ">");
	for (i = 0; i < 1100; i++)
		(void)strbuf_printf(&devices,
				    "<object type=\"PCIDev\" gp_index=\"%u\" "
				    "pci_busid=\"0002:%02x:%02x.%x\" pci_type=\"0207 [15b3:1021] "
				    "[0000:0000] 00\" pci_link_speed=\"0.0\"/>",
				    10000 + i, i / 256, i / 8 % 32, i % 8);
	xml = fixture_edit(vm, "bridge_pci=\"0000:[00-00]\"", ">", strbuf_text(&devices));
	strbuf_release(&devices);
	path = test_file("many.xml", xml);
	r = topology_from_file(path, &t, &err);
	CHECK(r == -E2BIG || r == -ENOTSUP);
	if (r == -E2BIG)
		CHECK_HAS(err.msg, "more than 1024 nodes");
	CHECK_HAS(err.msg, path);
}

static void this_host_can_be_read(void)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(topology_releasep) struct topology again = { .n_nodes = 0 };
	struct err err = ERR_INIT;
	int r = topology_live(&t, &err);

	if (r == -ENOTSUP) {
		CHECK_HAS(err.msg, "hwloc");
		test_skip("built without hwloc");
		return;
	}
	CHECK_EQ(r, 0);
	CHECK(fixture_count(&t, TOPO_NUMA) >= 1);
	CHECK_EQ(topology_live(&again, &err), 0);
	CHECK_STR(t.digest, again.digest);
}

static void the_environment_names_another_host(void)
{
	CLEANUP(freep) char *text = fixture_text("hgx-8gpu-8nic.xml");
	CLEANUP(freep) char *path = test_file("named.xml", text);
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	int r;

	CHECK_EQ(setenv("ASSAY_TOPOLOGY", path, 1), 0);
	r = topology_load(&t, NULL);
	CHECK_EQ(unsetenv("ASSAY_TOPOLOGY"), 0);
	if (r == -ENOTSUP) {
		test_skip("built without hwloc");
		return;
	}
	CHECK_EQ(r, 0);
	CHECK_EQ(fixture_count(&t, TOPO_GPU), 8);
}

static const struct test tests[] = {
	TEST(files_that_are_no_topology_are_refused), TEST(a_file_that_is_not_there_is_named),
	TEST(too_many_devices_are_refused),	      TEST(this_host_can_be_read),
	TEST(the_environment_names_another_host),
};

TEST_SUITE(tests);
