/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/host_state/iommu_mode.h"
#include "probes/host_state/pci.h"
#include "probes/host_state/pcie_aer.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

static void put16(unsigned char *at, unsigned value)
{
	at[0] = (unsigned char)(value & 0xff);
	at[1] = (unsigned char)(value >> 8);
}

/* A device of port kind `kind` whose ACS control word is `acs` (-1: has none). */
static void make_config(unsigned char *config, unsigned kind, int acs)
{
	memset(config, 0, PCI_CONFIG_MAX);
	put16(config + 0x06, 1 << 4);
	config[0x34] = 0x48;
	config[0x48] = 0x01; /* power management, then PCI Express */
	config[0x49] = 0x60;
	config[0x60] = 0x10;
	put16(config + 0x62, kind << 4 | 2);
	/* extended: AER at 0x100, then ACS at 0x148 */
	put16(config + 0x100, 0x0001);
	put16(config + 0x102, 0x1480 | 1);
	if (acs < 0)
		return;
	put16(config + 0x148, 0x000d);
	put16(config + 0x14a, 1);
	put16(config + 0x14e, (unsigned)acs);
}

static void the_acs_control_word_is_found(void)
{
	unsigned char config[PCI_CONFIG_MAX];

	make_config(config, PCI_PORT_DOWNSTREAM, 0x1d);
	CHECK_EQ(pci_acs_control(config, sizeof(config)), 0x1d);
	CHECK_EQ(pci_port_kind(config, sizeof(config)), PCI_PORT_DOWNSTREAM);
	CHECK(0x1d & PCI_ACS_REQUEST_REDIRECT);
	make_config(config, PCI_PORT_ROOT, 0);
	CHECK_EQ(pci_acs_control(config, sizeof(config)), 0);
	CHECK_EQ(pci_port_kind(config, sizeof(config)), PCI_PORT_ROOT);
}

/* Both words of a device whose PCI Express capability is at 0x60 and its ATS at 0x148. */
static void the_control_words_of_the_device_and_of_ats_are_found(void)
{
	unsigned char config[PCI_CONFIG_MAX];

	make_config(config, PCI_PORT_ENDPOINT, 0);
	CHECK_EQ(pci_ats_control(config, sizeof(config)), -1);
	put16(config + 0x60 + 8, 0x2 << 12 | 0x1 << 5);
	put16(config + 0x148, 0x000f);
	put16(config + 0x14e, 0x8000);
	CHECK_EQ(pci_express_control(config, sizeof(config)), 0x2020);
	CHECK_EQ(pci_ats_control(config, sizeof(config)), PCI_ATS_ENABLED);
	CHECK_EQ(pci_express_control(config, 0x60 + 9), -1);
	CHECK_EQ(pci_express_control(config, 0x60 + 10), 0x2020);
	/* who may read 64 bytes only knows neither */
	CHECK_EQ(pci_express_control(config, 64), -1);
	CHECK_EQ(pci_ats_control(config, 64), -1);
}

static void without_acs_or_the_right_to_read_it_there_is_none(void)
{
	unsigned char config[PCI_CONFIG_MAX];

	make_config(config, PCI_PORT_DOWNSTREAM, -1);
	CHECK_EQ(pci_acs_control(config, sizeof(config)), -1);
	make_config(config, PCI_PORT_DOWNSTREAM, 0x1d);
	CHECK_EQ(pci_acs_control(config, 64), -1);
	CHECK_EQ(pci_acs_control(config, 256), -1);
	CHECK_EQ(pci_acs_control(config, 0x148 + 7), -1);
	CHECK_EQ(pci_acs_control(config, 0x148 + 8), 0x1d);
	CHECK_EQ(pci_acs_control(config, 0), -1);
	CHECK_EQ(pci_port_kind(config, 0), -1);
	/* other than root may read 64 bytes: the list leads out of them */
	CHECK_EQ(pci_port_kind(config, 64), -1);
}

static void a_dead_device_has_no_capabilities(void)
{
	unsigned char config[PCI_CONFIG_MAX];

	memset(config, 0xff, sizeof(config));
	CHECK_EQ(pci_acs_control(config, sizeof(config)), -1);
	CHECK_EQ(pci_extended_capability(config, sizeof(config), 0xffff), 0);
}

static void a_circle_of_capabilities_ends(void)
{
	unsigned char config[PCI_CONFIG_MAX];

	make_config(config, PCI_PORT_DOWNSTREAM, -1);
	put16(config + 0x148, 0x0002);
	put16(config + 0x14a, 0x1000 | 1); /* back to 0x100 */
	CHECK_EQ(pci_acs_control(config, sizeof(config)), -1);
	config[0x61] = 0x48; /* the old list as well, with another last kind */
	config[0x60] = 0x05;
	CHECK_EQ(pci_port_kind(config, sizeof(config)), -1);
}

static void random_bytes_are_read_within_bounds(void)
{
	struct random random = random_seeded(7);
	size_t round, i;

	for (round = 0; round < 2000; round++) {
		size_t len = random_below(&random, PCI_CONFIG_MAX) + 1;
		/* Of its own length, so that the sanitizers see a step outside. */
		CLEANUP(freep) unsigned char *config = xcalloc(len, 1);

		for (i = 0; i < len; i++)
			config[i] = (unsigned char)random_next(&random);
		CHECK(pci_acs_control(config, len) <= 0xffff);
		CHECK(pci_port_kind(config, len) <= 0xf);
	}
}

static void addresses_are_found_in_any_spelling(void)
{
	static const struct {
		const char *text, *address; /* NULL: there is none */
	} cases[] = {
		{ "0000:1b:00.0", "0000:1b:00.0" },
		{ "PCI:0000:1b:00", "0000:1b:00.0" },
		{ "00000000:1B:00.7", "0000:1b:00.7" },
		{ "10000:e1:00.1", "10000:e1:00.1" },
		{ "mlx5_core 0000:3b:00.1: bad", "0000:3b:00.1" },
		{ "dead 0000:3b:00.1", "0000:3b:00.1" },
		{ "0000:1b:00.9", "0000:1b:00.0" },
		{ "pci0000:15", NULL },
		{ "1b:00.0", NULL },
		{ "0000:1b", NULL },
		{ "0000:1:00.0", NULL },
		{ "eth0", NULL },
		{ "", NULL },
		{ "aa:bb:cc:dd:ee:ff", NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char address[PCI_ADDRESS_SIZE];
		bool found = pci_find_address(cases[i].text, address);

		CHECK_STR(found ? address : NULL, cases[i].address);
	}
}

static void speeds_are_read(void)
{
	CHECK_NEAR(pci_parse_speed("16.0 GT/s PCIe"), 16, 1e-9);
	CHECK_NEAR(pci_parse_speed("2.5 GT/s"), 2.5, 1e-9);
	CHECK_NEAR(pci_parse_speed("Unknown"), 0, 0);
	CHECK_NEAR(pci_parse_speed("Unknown speed"), 0, 0);
	CHECK_NEAR(pci_parse_speed(""), 0, 0);
	CHECK_NEAR(pci_parse_speed("inf GT/s"), 0, 0);
	CHECK_NEAR(pci_parse_speed("-8 GT/s"), 0, 0);
}

static void aer_counts_are_summed(void)
{
	static const struct {
		const char *text;
		uint64_t total;
		const char *types;
	} cases[] = {
		{ "RxErr 1\nBadTLP 12\nTimeout 0\nTOTAL_ERR_COR 13\n", 13, "RxErr 1, BadTLP 12" },
		{ "RxErr 0\nTOTAL_ERR_COR 0\n", 0, "" },
		{ "RxErr 3\nBadTLP 4", 7, "RxErr 3, BadTLP 4" },
		{ "", 0, "" },
		{ "\n\nnonsense\n x", 0, "" },
		{ "A 18446744073709551615\nTOTAL_X 18446744073709551615\n", UINT64_MAX,
		  "A 18446744073709551615" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf types = STRBUF_INIT(64);

		CHECK_EQ(aer_total(cases[i].text, &types), cases[i].total);
		CHECK_STR(strbuf_text(&types), cases[i].types);
	}
}

static void the_kernel_command_line_tells_the_mode(void)
{
	static const struct {
		const char *cmdline;
		size_t n_groups;
		const char *mode;
	} cases[] = {
		{ "", 0, "default" },
		{ "", 40, "on" },
		{ "quiet intel_iommu=on", 0, "on" },
		{ "intel_iommu=on,sm_on iommu=pt\n", 40, "pt" },
		{ "iommu=pt intel_iommu=on", 40, "pt" },
		{ "iommu=pt iommu=nopt", 40, "on" },
		{ "iommu.passthrough=1", 40, "pt" },
		{ "amd_iommu=off iommu=pt", 0, "off" },
		{ "iommu=ptx", 0, "default" },
		{ "xiommu=pt", 0, "default" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_STR(iommu_mode(cases[i].cmdline, cases[i].n_groups), cases[i].mode);
}

static const struct test tests[] = {
	TEST(the_acs_control_word_is_found),
	TEST(the_control_words_of_the_device_and_of_ats_are_found),
	TEST(without_acs_or_the_right_to_read_it_there_is_none),
	TEST(a_dead_device_has_no_capabilities),
	TEST(a_circle_of_capabilities_ends),
	TEST(random_bytes_are_read_within_bounds),
	TEST(addresses_are_found_in_any_spelling),
	TEST(speeds_are_read),
	TEST(aer_counts_are_summed),
	TEST(the_kernel_command_line_tells_the_mode),
};

TEST_SUITE(tests);
