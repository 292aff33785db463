/* SPDX-License-Identifier: Apache-2.0 */
/* EEPROMs of modules: each layout, values beyond limits, and nonsense bytes. */
#include <errno.h>
#include <linux/ethtool.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/rnic_state/module_ask.h"
#include "tests/unit/random.h"
#include "tests/unit/rnic_modules.h"
#include "tests/unit/test.h"

static void check_limits(const struct module_limits *l, double high_alarm, double low_alarm,
			 double high_warning, double low_warning)
{
	CHECK_NEAR(l->high_alarm, high_alarm, 1e-6);
	CHECK_NEAR(l->low_alarm, low_alarm, 1e-6);
	CHECK_NEAR(l->high_warning, high_warning, 1e-6);
	CHECK_NEAR(l->low_warning, low_warning, 1e-6);
}

/* --- the layouts --------------------------------------------------------------------------- */

static void a_qsfp28_is_read(void)
{
	struct module_image image;
	struct module m;
	unsigned i;

	image_qsfp28(&image);
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK_EQ(m.kind, MODULE_SFF8636);
	CHECK_STR(m.vendor, "Mellanox");
	CHECK_STR(m.part, "MMA1B00-C100D");
	CHECK_STR(m.serial, "MT1234");
	CHECK(!m.copper);
	CHECK_NEAR(m.temperature.value, 35.5, 1e-9);
	CHECK_NEAR(m.voltage.value, 3.3, 1e-9);
	CHECK_EQ(m.n_lanes, 4);
	for (i = 0; i < 4; i++) {
		CHECK_NEAR(m.lanes[i].monitors[MONITOR_RX_POWER].value, 1 + 0.1 * i, 1e-9);
		CHECK_NEAR(m.lanes[i].monitors[MONITOR_TX_POWER].value, 0.9, 1e-9);
		CHECK_NEAR(m.lanes[i].monitors[MONITOR_TX_BIAS].value, 7, 1e-9);
		CHECK_EQ(module_beyond(&m.lanes[i].monitors[MONITOR_RX_POWER],
				       &m.limits[MONITOR_RX_POWER]),
			 0);
		CHECK(!m.lanes[i].rx_los && !m.lanes[i].tx_fault && !m.lanes[i].rx_lol);
	}
	check_limits(&m.temperature_limits, 75, -5, 70, 0);
	check_limits(&m.voltage_limits, 3.63, 2.97, 3.465, 3.135);
	check_limits(&m.limits[MONITOR_RX_POWER], 3.4674, 0.0398, 2.1878, 0.1);
	check_limits(&m.limits[MONITOR_TX_BIAS], 13, 1, 12, 2);
}

static void flags_of_a_qsfp28_are_of_their_lanes(void)
{
	struct module_image image;
	struct module m;

	image_qsfp28(&image);
	image_byte(&image, PART_LOWER, 3, 1 << 1 | 1 << 6); /* RX lane 2; TX lane 3, not ours */
	image_byte(&image, PART_LOWER, 4, 1 << 3);
	image_byte(&image, PART_LOWER, 5, 1 << 0);
	image_byte(&image, PART_LOWER, 6, 1 << 7);	    /* temperature, high alarm */
	image_byte(&image, PART_LOWER, 7, 1 << 4);	    /* voltage, low warning */
	image_byte(&image, PART_LOWER, 9, 1 << 6 | 1 << 1); /* RX 1 low alarm, 2 high warning */
	image_byte(&image, PART_LOWER, 10, 1 << 3);	    /* RX 4 high alarm */
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK(m.lanes[1].rx_los && !m.lanes[0].rx_los && !m.lanes[2].rx_los);
	CHECK(m.lanes[3].tx_fault && m.lanes[0].rx_lol);
	CHECK_EQ(m.temperature.flags, FLAG_HIGH_ALARM);
	CHECK_EQ(m.voltage.flags, FLAG_LOW_WARNING);
	CHECK_EQ(m.lanes[0].monitors[MONITOR_RX_POWER].flags, FLAG_LOW_ALARM);
	CHECK_EQ(m.lanes[1].monitors[MONITOR_RX_POWER].flags, FLAG_HIGH_WARNING);
	CHECK_EQ(m.lanes[2].monitors[MONITOR_RX_POWER].flags, 0);
	CHECK_EQ(m.lanes[3].monitors[MONITOR_RX_POWER].flags, FLAG_HIGH_ALARM);
}

static void an_osfp_is_read(void)
{
	struct module_image image;
	struct module m;
	unsigned i;

	image_osfp(&image);
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK_EQ(m.kind, MODULE_CMIS);
	CHECK_STR(m.vendor, "NVIDIA");
	CHECK_STR(m.part, "MMA4Z00-NS400");
	CHECK_STR(m.serial, "MT2345");
	CHECK_NEAR(m.temperature.value, 45, 1e-9);
	CHECK_NEAR(m.voltage.value, 3.25, 1e-9);
	CHECK_EQ(m.n_lanes, 8);
	for (i = 0; i < 8; i++) {
		CHECK_NEAR(m.lanes[i].monitors[MONITOR_RX_POWER].value, 1, 1e-9);
		CHECK_NEAR(m.lanes[i].monitors[MONITOR_TX_POWER].value, 1.5, 1e-9);
		CHECK_NEAR(m.lanes[i].monitors[MONITOR_TX_BIAS].value, 60, 1e-9);
	}
	check_limits(&m.temperature_limits, 75, -5, 70, 0);
	check_limits(&m.limits[MONITOR_TX_BIAS], 160, 10, 140, 20);
	check_limits(&m.limits[MONITOR_RX_POWER], 3.4674, 0.0398, 2.1878, 0.1);
}

static void flags_of_an_osfp_are_of_their_lanes(void)
{
	struct module_image image;
	struct module m;

	image_osfp(&image);
	image_byte(&image, PART_LOWER, 9,
		   1 << 1 | 1 << 6); /* temperature low alarm, V high warning */
	image_byte(&image, PART_PAGE_11H, 135, 1 << 7);
	image_byte(&image, PART_PAGE_11H, 147, 1 << 4);
	image_byte(&image, PART_PAGE_11H, 148, 1 << 2);
	image_byte(&image, PART_PAGE_11H, 140, 1 << 0); /* TX power low alarm */
	image_byte(&image, PART_PAGE_11H, 145, 1 << 1); /* bias high warning */
	image_byte(&image, PART_PAGE_11H, 152, 1 << 5); /* RX power low warning */
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK_EQ(m.temperature.flags, FLAG_LOW_ALARM);
	CHECK_EQ(m.voltage.flags, FLAG_HIGH_WARNING);
	CHECK(m.lanes[7].tx_fault && m.lanes[4].rx_los && m.lanes[2].rx_lol);
	CHECK_EQ(m.lanes[0].monitors[MONITOR_TX_POWER].flags, FLAG_LOW_ALARM);
	CHECK_EQ(m.lanes[1].monitors[MONITOR_TX_BIAS].flags, FLAG_HIGH_WARNING);
	CHECK_EQ(m.lanes[5].monitors[MONITOR_RX_POWER].flags, FLAG_LOW_WARNING);
	CHECK_EQ(m.lanes[6].monitors[MONITOR_RX_POWER].flags, 0);
}

static void a_module_of_four_lanes_has_four(void)
{
	struct module_image image;
	struct module m;

	image_osfp(&image);
	image_byte(&image, PART_PAGE_0, 210, 0xf0);
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK_EQ(m.n_lanes, 4);
}

static void an_sfp28_is_read(void)
{
	struct module_image image;
	struct module m;

	image_sfp28(&image);
	image_byte(&image, PART_A2, 110, 1 << 2 | 1 << 1);
	image_byte(&image, PART_A2, 113, 1 << 6); /* RX power low alarm */
	image_byte(&image, PART_A2, 116, 1 << 3); /* bias high warning */
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK_EQ(m.kind, MODULE_SFF8472);
	CHECK_STR(m.vendor, "FINISAR CORP.");
	CHECK_EQ(m.n_lanes, 1);
	CHECK_NEAR(m.temperature.value, 30, 1e-9);
	CHECK_NEAR(m.voltage.value, 3.3, 1e-9);
	CHECK_NEAR(m.lanes[0].monitors[MONITOR_RX_POWER].value, 0.5, 1e-9);
	CHECK_NEAR(m.lanes[0].monitors[MONITOR_TX_POWER].value, 0.6, 1e-9);
	CHECK_NEAR(m.lanes[0].monitors[MONITOR_TX_BIAS].value, 6, 1e-9);
	CHECK(m.lanes[0].tx_fault && m.lanes[0].rx_los);
	CHECK_EQ(m.lanes[0].monitors[MONITOR_RX_POWER].flags, FLAG_LOW_ALARM);
	CHECK_EQ(m.lanes[0].monitors[MONITOR_TX_BIAS].flags, FLAG_HIGH_WARNING);
	check_limits(&m.limits[MONITOR_TX_BIAS], 13, 1, 12, 2);
}

static void an_sfp_calibrated_outside_is_computed(void)
{
	struct module_image image;
	struct module m;

	image_sfp28(&image);
	image_byte(&image, PART_LOWER, 92, 1 << 6 | 1 << 4);
	/* RX power: 2 raw + 100, as singles: 2.0f and 100.0f. */
	image_u16(&image, PART_A2, 68, 0x4000);
	image_u16(&image, PART_A2, 72, 0x42c8);
	image_u16(&image, PART_A2, 76, 0x0180); /* bias: 1.5 raw */
	image_u16(&image, PART_A2, 80, 0x0100);
	image_u16(&image, PART_A2, 82, 0xff9c); /* TX power: raw - 100 */
	image_u16(&image, PART_A2, 84, 0x0100);
	image_u16(&image, PART_A2, 86, 256); /* temperature: 1 C more */
	image_u16(&image, PART_A2, 88, 0x0100);
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK_NEAR(m.temperature.value, 31, 1e-9);
	CHECK_NEAR(m.voltage.value, 3.3, 1e-9);
	CHECK_NEAR(m.lanes[0].monitors[MONITOR_RX_POWER].value, 1.01, 1e-6);
	CHECK_NEAR(m.lanes[0].monitors[MONITOR_TX_POWER].value, 0.59, 1e-9);
	CHECK_NEAR(m.lanes[0].monitors[MONITOR_TX_BIAS].value, 9, 1e-9);
}

/* --- what is not there ------------------------------------------------------------------------- */

static void copper_has_no_light(void)
{
	struct module_image image;
	struct module m;

	image_qsfp28(&image);
	image_byte(&image, PART_PAGE_0, 147, 0xa0);
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK(m.copper && m.n_lanes == 0 && isnan(m.temperature.value));
	image_osfp(&image);
	image_byte(&image, PART_PAGE_0, 212, 0x0a);
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK(m.copper && m.n_lanes == 0);
	image_sfp28(&image);
	image_byte(&image, PART_LOWER, 8, 1 << 2);
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK(m.copper && m.n_lanes == 0);
}

static void an_unknown_or_absent_module_is_none(void)
{
	struct module_image image = { .there = { false } };
	struct module m;

	CHECK_EQ(module_decode(&image, &m), -ENODATA);
	image_byte(&image, PART_LOWER, 0, 0x02);
	CHECK_EQ(module_decode(&image, &m), -ENODATA);
	image_byte(&image, PART_LOWER, 0, 0xff);
	CHECK_EQ(module_decode(&image, &m), -ENODATA);
}

static void without_its_limits_a_module_is_judged_by_its_flags(void)
{
	struct module_image image;
	struct module m;

	image_qsfp28(&image);
	image.there[PART_PAGE_3] = false;
	image_byte(&image, PART_LOWER, 9, 1 << 6);
	CHECK_EQ(module_decode(&image, &m), 0);
	CHECK(isnan(m.limits[MONITOR_RX_POWER].low_alarm));
	CHECK_EQ(module_beyond(&m.lanes[0].monitors[MONITOR_RX_POWER], &m.limits[MONITOR_RX_POWER]),
		 FLAG_LOW_ALARM);
	CHECK_EQ(module_beyond(&m.lanes[1].monitors[MONITOR_RX_POWER], &m.limits[MONITOR_RX_POWER]),
		 0);
}

static void what_is_wanted_depends_on_the_layout(void)
{
	enum module_part wanted[PARTS + 1];
	struct module_image image;

	image_qsfp28(&image);
	module_wants(&image, wanted);
	CHECK(wanted[0] == PART_PAGE_3 && wanted[1] == PARTS);
	image_byte(&image, PART_LOWER, 2, 1 << 2);
	module_wants(&image, wanted);
	CHECK_EQ(wanted[0], PARTS);
	image_osfp(&image);
	module_wants(&image, wanted);
	CHECK(wanted[0] == PART_PAGE_1 && wanted[1] == PART_PAGE_2 && wanted[2] == PART_PAGE_11H &&
	      wanted[3] == PARTS);
	image_byte(&image, PART_LOWER, 2, 1 << 7);
	module_wants(&image, wanted);
	CHECK_EQ(wanted[0], PARTS);
	image_sfp28(&image);
	module_wants(&image, wanted);
	CHECK(wanted[0] == PART_A2 && wanted[1] == PARTS);
}

static void limits_are_kept_or_not(void)
{
	static const struct module_limits l = { 10, 2, 9, 3 }, none = { 0, 0, 0, 0 };
	static const struct {
		double value;
		unsigned beyond;
	} cases[] = {
		{ 5, 0 },
		{ 3, 0 },
		{ 9, 0 },
		{ 9.5, FLAG_HIGH_WARNING },
		{ 2.5, FLAG_LOW_WARNING },
		{ 10.5, FLAG_HIGH_ALARM | FLAG_HIGH_WARNING },
		{ 1, FLAG_LOW_ALARM | FLAG_LOW_WARNING },
		{ NAN, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct module_value v = { cases[i].value, 0 };

		CHECK_EQ(module_beyond(&v, &l), cases[i].beyond);
		CHECK_EQ(module_beyond(&v, &none), 0);
		v.flags = FLAG_LOW_ALARM;
		CHECK(module_beyond(&v, &none) == FLAG_LOW_ALARM);
	}
	CHECK_NEAR(module_dbm(1), 0, 1e-9);
	CHECK_NEAR(module_dbm(0.5), -3.0103, 1e-4);
	CHECK_NEAR(module_dbm(0), -40, 0);
	CHECK_NEAR(module_dbm(-1), -40, 0);
	CHECK_NEAR(module_dbm(NAN), -40, 0);
}

/* Whatever the bytes: numbers are finite or unknown, texts are short and printable. */
static void any_bytes_make_a_module_or_none(void)
{
	struct random seed = random_seeded(7);
	int i;

	for (i = 0; i < 20000; i++) {
		static const uint8_t identifiers[] = { 0x03, 0x11, 0x19, 0x18, 0x0d };
		struct module_image image;
		struct module m;
		size_t p, b;
		unsigned k;

		for (p = 0; p < PARTS; p++) {
			image.there[p] = p == PART_LOWER || random_next(&seed) % 4;
			for (b = 0; b < MODULE_PART_SIZE; b++)
				image.bytes[p][b] = (uint8_t)random_next(&seed);
		}
		image.bytes[PART_LOWER][0] = identifiers[i % (int)ARRAY_SIZE(identifiers)];
		CHECK_EQ(module_decode(&image, &m), 0);
		CHECK(m.n_lanes <= MODULE_LANES_MAX && strlen(m.vendor) < MODULE_TEXT_SIZE);
		for (k = 0; k < m.n_lanes * MONITORS; k++)
			CHECK(!isinf(m.lanes[k / MONITORS].monitors[k % MONITORS].value));
	}
}

/* --- where the older ioctl has it --------------------------------------------------------------- */

static void places_are_found_in_the_flat_image(void)
{
	static const struct {
		uint32_t type;
		enum module_part part;
		int offset;
	} cases[] = {
		{ ETH_MODULE_SFF_8636, PART_LOWER, 0 },
		{ ETH_MODULE_SFF_8636, PART_PAGE_0, 128 },
		{ ETH_MODULE_SFF_8636, PART_PAGE_3, 512 },
		{ ETH_MODULE_SFF_8436, PART_PAGE_1, 256 },
		{ ETH_MODULE_SFF_8636, PART_A2, -1 },
		{ ETH_MODULE_SFF_8472, PART_LOWER, 0 },
		{ ETH_MODULE_SFF_8472, PART_A2, 256 },
		{ ETH_MODULE_SFF_8472, PART_PAGE_3, -1 },
		{ ETH_MODULE_SFF_8079, PART_PAGE_0, 128 },
		{ ETH_MODULE_SFF_8079, PART_A2, -1 },
		{ 77, PART_LOWER, -1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(module_flat_offset(cases[i].type, &module_places[cases[i].part]),
			 cases[i].offset);
}

static const struct test tests[] = {
	TEST(a_qsfp28_is_read),
	TEST(flags_of_a_qsfp28_are_of_their_lanes),
	TEST(an_osfp_is_read),
	TEST(flags_of_an_osfp_are_of_their_lanes),
	TEST(a_module_of_four_lanes_has_four),
	TEST(an_sfp28_is_read),
	TEST(an_sfp_calibrated_outside_is_computed),
	TEST(copper_has_no_light),
	TEST(an_unknown_or_absent_module_is_none),
	TEST(without_its_limits_a_module_is_judged_by_its_flags),
	TEST(what_is_wanted_depends_on_the_layout),
	TEST(limits_are_kept_or_not),
	TEST(any_bytes_make_a_module_or_none),
	TEST(places_are_found_in_the_flat_image),
};

TEST_SUITE(tests);
