/* SPDX-License-Identifier: Apache-2.0 */
/* The report on the module in a port's cage, and the kernel queries for it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "probes/rnic_state/dcb.h"
#include "probes/rnic_state/module_ask.h"
#include "tests/unit/rnic_fixture.h"
#include "tests/unit/rnic_modules.h"
#include "tests/unit/test.h"

static struct module_image cage;
static bool latched; /* the flags of the lower part end when they are read */

static int module_of(void *context UNUSED, const char *netdev UNUSED,
		     const struct module_place *place, uint8_t ret[static NIC_MODULE_BYTES])
{
	size_t i;

	for (i = 0; i < PARTS; i++) {
		if (memcmp(&module_places[i], place, sizeof(*place)) == 0 && cage.there[i]) {
			memcpy(ret, cage.bytes[i], MODULE_PART_SIZE);
			if (latched && i == PART_LOWER)
				memset(&cage.bytes[i][3], 0, 12);
			return 0;
		}
	}
	return -EINVAL;
}

static void open_cage(struct rnic_fixture *f, void (*fill)(struct module_image *))
{
	fixture_open(f);
	f->nic.module = module_of;
	fill(&cage);
}

static void a_healthy_module_is_good(void)
{
	struct rnic_fixture f;
	const struct sample *s;
	size_t i;

	open_cage(&f, image_qsfp28);
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(f.n_samples, 7);
	for (i = 0; i < f.n_samples; i++)
		CHECK(f.samples[i].ok != TRI_NO);
	s = fixture_find(&f, "rnic.rx_power");
	CHECK_NEAR(s->value, 0, 1e-9);
	CHECK_NEAR(s->min, 0, 1e-9);
	CHECK_NEAR(s->max, module_dbm(1.3), 1e-9);
	CHECK_EQ(s->n, 4);
	CHECK_HAS(s->note, "lane 1: received 0.0 dBm (1 mW); all lanes 0.0 0.4 0.8 1.1");
	CHECK_HAS(s->note, "alarm below -14.0 and above 5.4");
	CHECK_NEAR(fixture_find(&f, "rnic.module_temperature")->value, 35.5, 1e-9);
	CHECK_STR(json_string_value(
			  json_object_get(fixture_find(&f, "rnic.module_type")->params, "setting")),
		  "Mellanox MMA1B00-C100D");
	fixture_close(&f);
}

static void a_lane_with_little_light_is_named(void)
{
	struct rnic_fixture f;
	const struct sample *s;

	open_cage(&f, image_qsfp28);
	image_u16(&cage, PART_LOWER, 38, 100); /* lane 3: 0.01 mW */
	image_u16(&cage, PART_LOWER, 34, 600); /* lane 1: 0.06 mW, a warning */
	fixture_run(&f, rnic_optics, 10);
	s = fixture_find(&f, "rnic.rx_power");
	CHECK(s->ok == TRI_NO && s->severity == SEVERITY_WARN);
	CHECK_STR(s->code, "alarm");
	CHECK_NEAR(s->value, -20, 1e-9);
	CHECK_HAS(s->note, "lane 3: received -20.0 dBm (0.01 mW), below its alarm limit");
	image_u16(&cage, PART_LOWER, 38, 12000);
	fixture_run(&f, rnic_optics, 20);
	s = fixture_find(&f, "rnic.rx_power");
	CHECK(s->ok == TRI_NO && s->severity == SEVERITY_INFO);
	CHECK_HAS(s->note, "lane 1");
	fixture_close(&f);
}

/* The first look of a boot finds what was noted before the link was up; later ones what was since. */
static void what_was_noted_before_the_first_look_is_no_fault(void)
{
	struct rnic_fixture f;

	open_cage(&f, image_qsfp28);
	latched = true;
	image_byte(&cage, PART_LOWER, 3, 0x0f); /* no light on any lane */
	image_byte(&cage, PART_LOWER, 9, 0x40); /* lane 1: power below its alarm limit */
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(fixture_find(&f, "rnic.lanes")->ok, TRI_YES);
	CHECK_EQ(fixture_find(&f, "rnic.rx_power")->ok, TRI_YES);
	image_byte(&cage, PART_LOWER, 3, 0x0f);
	image_byte(&cage, PART_LOWER, 9, 0x40);
	fixture_run(&f, rnic_optics, 20);
	CHECK_EQ(fixture_find(&f, "rnic.lanes")->ok, TRI_NO);
	CHECK_EQ(fixture_find(&f, "rnic.rx_power")->ok, TRI_NO);
	fixture_close(&f);

	/* What stays after it was read is so. */
	open_cage(&f, image_qsfp28);
	latched = false;
	image_byte(&cage, PART_LOWER, 3, 0x0f);
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(fixture_find(&f, "rnic.lanes")->ok, TRI_NO);
	fixture_close(&f);
}

static void a_port_that_is_down_has_no_light_to_judge(void)
{
	struct rnic_fixture f;

	open_cage(&f, image_qsfp28);
	f.port.active = false;
	image_u16(&cage, PART_LOWER, 38, 0);
	image_byte(&cage, PART_LOWER, 3, 0x0f);
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(fixture_find(&f, "rnic.rx_power")->ok, TRI_UNKNOWN);
	CHECK_EQ(fixture_find(&f, "rnic.lanes")->ok, TRI_UNKNOWN);
	image_byte(&cage, PART_LOWER, 4, 1 << 2); /* a laser fails whatever comes in */
	fixture_run(&f, rnic_optics, 20);
	CHECK_EQ(fixture_find(&f, "rnic.lanes")->ok, TRI_NO);
	CHECK_HAS(fixture_find(&f, "rnic.lanes")->note, "lane 3: its laser failed");
	fixture_close(&f);
}

static void a_hot_module_warns(void)
{
	struct rnic_fixture f;
	const struct sample *s;

	open_cage(&f, image_osfp);
	image_u16(&cage, PART_LOWER, 14, 80 * 256);
	fixture_run(&f, rnic_optics, 10);
	s = fixture_find(&f, "rnic.module_temperature");
	CHECK(s->ok == TRI_NO && s->severity == SEVERITY_WARN);
	CHECK_HAS(s->note, "80.0 C, above its alarm limit; alarm below -5.0 and above 75.0");
	fixture_close(&f);
}

static void a_cage_without_module_says_nothing(void)
{
	struct rnic_fixture f;

	open_cage(&f, image_qsfp28);
	cage.there[PART_LOWER] = false;
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(f.n_samples, 0);
	fixture_close(&f);
}

static void without_time_the_slow_modules_wait(void)
{
	struct rnic_fixture f;

	open_cage(&f, image_qsfp28);
	f.deadline_us = 1;
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(f.n_samples, 0);
	fixture_close(&f);
}

/* The real kernel, and a device that it does not have. */
static void a_network_device_that_is_not_there_is_an_error(void)
{
	uint8_t bytes[NIC_MODULE_BYTES];
	struct nic_stats stats = { 0 };
	struct nic_driver driver;
	struct nic_link link;
	struct dcb dcb;
	bool rx, tx;

	CHECK_EQ(nic_kernel.stats(NULL, "not-there", &stats), -ENODEV);
	CHECK_EQ(nic_kernel.link(NULL, "not-there", &link), -ENODEV);
	CHECK_EQ(nic_kernel.driver(NULL, "not-there", &driver), -ENODEV);
	CHECK_EQ(nic_kernel.pause(NULL, "not-there", &rx, &tx), -ENODEV);
	CHECK_EQ(nic_kernel.dcb(NULL, "not-there", &dcb), -ENODEV);
	CHECK_EQ(nic_kernel.module(NULL, "not-there", &module_places[PART_LOWER], bytes), -ENODEV);
}

static const struct test tests[] = {
	TEST(a_healthy_module_is_good),
	TEST(a_lane_with_little_light_is_named),
	TEST(what_was_noted_before_the_first_look_is_no_fault),
	TEST(a_port_that_is_down_has_no_light_to_judge),
	TEST(a_hot_module_warns),
	TEST(a_cage_without_module_says_nothing),
	TEST(without_time_the_slow_modules_wait),
	TEST(a_network_device_that_is_not_there_is_an_error),
};

TEST_SUITE(tests);
