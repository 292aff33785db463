/* SPDX-License-Identifier: Apache-2.0 */
/* An InfiniBand port without a network device: bits and module, by registers of its device. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "probes/rnic_state/fwctl.h"
#include "probes/rnic_state/mlx5_register.h"
#include "tests/unit/rnic_fixture.h"
#include "tests/unit/rnic_modules.h"
#include "tests/unit/test.h"

enum { PMLP = 0x5002, PPCNT = 0x5008, MCIA = 0x9014, MODULE = 3 };

/* The device of the test. */
static struct {
	uint64_t bits, wrong, corrected;
	struct module_image cage;
	unsigned asked;
	int error;	/* of each question, or 0 */
	uint8_t status; /* of the module */
} device;

static void put_64(uint8_t *at, uint64_t value)
{
	size_t i;

	for (i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> (56 - 8 * i));
}

static void say_counters(uint8_t *data)
{
	CHECK_EQ(data[3], 0x16);
	memset(data + 8, 0xff, 248); /* what nobody is to read */
	put_64(data + 16, device.bits);
	put_64(data + 24, device.wrong);
	put_64(data + 32, device.corrected);
}

static void say_module(uint8_t *data)
{
	const unsigned offset = (unsigned)data[6] << 8 | data[7], size = data[11];
	size_t i;

	CHECK_EQ(data[1], MODULE);
	CHECK(size == 32 && offset % size == 0);
	data[3] = device.status;
	for (i = 0; i < PARTS; i++) {
		const struct module_place *p = &module_places[i];

		if (p->address == data[4] && p->page == data[5] && p->offset == (offset & 0x80) &&
		    device.cage.there[i])
			memcpy(data + 16, device.cage.bytes[i] + offset % MODULE_PART_SIZE, size);
	}
}

static int read_register(void *context UNUSED, const char *pci, uint16_t id, uint8_t *data,
			 size_t size)
{
	CHECK_STR(pci, "0000:1b:00.0");
	device.asked++;
	if (device.error)
		return device.error;
	CHECK_EQ(size, id == PPCNT ? 256 : 64);
	if (id == PPCNT)
		say_counters(data);
	else if (id == MCIA)
		say_module(data);
	else
		CHECK_EQ(id, PMLP);
	if (id == PMLP)
		data[7] = MODULE;
	if (id != MCIA)
		CHECK_EQ(data[1], 1); /* the port */
	return 0;
}

static void open_port(struct rnic_fixture *f)
{
	memset(&device, 0, sizeof(device));
	fixture_open(f);
	f->port.ethernet = false;
	f->port.netdev[0] = '\0';
	(void)snprintf(f->port.pci, sizeof(f->port.pci), "0000:1b:00.0");
	f->nic.read_register = read_register;
}

static void bits_that_stay_wrong_are_told_as_of_a_network_device(void)
{
	static const struct {
		uint64_t bits, wrong;
		int ok;
	} cases[] = {
		{ UINT64_C(120000000000000), 10, TRI_YES },
		{ UINT64_C(120000000000000), 12000, TRI_NO },
		{ 1000, 1, TRI_UNKNOWN }, /* too few of them */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rnic_fixture f;
		const struct sample *s;

		open_port(&f);
		device.bits = 77;
		device.wrong = 3;
		fixture_run(&f, rnic_counters, 100);
		CHECK_EQ(f.n_samples, 1); /* rnic.counters: there is no growth yet */
		device.bits += cases[i].bits;
		device.wrong += cases[i].wrong;
		device.corrected = 4000;
		fixture_run(&f, rnic_counters, 400);
		if (cases[i].ok == TRI_UNKNOWN) {
			CHECK_EQ(f.n_samples, 1);
		} else {
			s = fixture_find(&f, "rnic.fec");
			CHECK_EQ(s->ok, cases[i].ok);
			CHECK_NEAR(s->value, (double)cases[i].wrong / (double)cases[i].bits, 1e-18);
			CHECK_HAS(s->note, "3.3e-11 of the bits were corrected");
		}
		fixture_close(&f);
	}
}

static void its_module_is_read_in_pieces(void)
{
	struct rnic_fixture f;

	open_port(&f);
	image_qsfp28(&device.cage);
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(f.n_samples, 7);
	CHECK_NEAR(fixture_find(&f, "rnic.module_temperature")->value, 35.5, 1e-9);
	CHECK_NEAR(fixture_find(&f, "rnic.rx_power")->max, module_dbm(1.3), 1e-9);
	CHECK_STR(json_string_value(
			  json_object_get(fixture_find(&f, "rnic.module_type")->params, "setting")),
		  "Mellanox MMA1B00-C100D");
	fixture_close(&f);
	/* IPoIB, where it is there, does not know of modules. */
	open_port(&f);
	image_qsfp28(&device.cage);
	(void)snprintf(f.port.netdev, sizeof(f.port.netdev), "eth2");
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(f.n_samples, 7);
	fixture_close(&f);
}

static void who_is_refused_says_nothing(void)
{
	static const int errors[] = { -ENODEV, -EACCES, -EREMOTEIO, -EBADMSG };
	struct rnic_fixture f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		open_port(&f);
		image_qsfp28(&device.cage);
		device.error = errors[i];
		fixture_run(&f, rnic_optics, 10);
		CHECK_EQ(f.n_samples, 0);
		fixture_run(&f, rnic_counters, 400);
		CHECK_EQ(f.n_samples, 1);
		CHECK_STR(f.samples[0].check, "rnic.counters");
		fixture_close(&f);
	}
	open_port(&f); /* nothing in the cage */
	device.status = 1;
	fixture_run(&f, rnic_optics, 10);
	CHECK_EQ(f.n_samples, 0);
	fixture_close(&f);
}

static void only_infiniband_of_mlx5_is_asked_so(void)
{
	struct rnic_fixture f;
	size_t i;

	for (i = 0; i < 4; i++) {
		open_port(&f);
		f.port.ethernet = i == 0;
		f.port.software = i == 1;
		if (i == 2)
			f.port.pci[0] = '\0';
		if (i == 3)
			(void)snprintf(f.port.device, sizeof(f.port.device), "hfi1_0");
		fixture_run(&f, rnic_optics, 10);
		fixture_run(&f, rnic_counters, 20);
		CHECK_EQ(device.asked, 0);
		fixture_close(&f);
	}
}

/* access_register_in and _out of mlx5_ifc.h, big-endian. */
static void the_command_reads_and_its_status_is_heeded(void)
{
	static const uint8_t expected[] = { 0x0b, 0x0c, 0, 0, 0, 0, 0, 1, 0, 0,
					    0x50, 0x08, 0, 0, 0, 0, 9, 8, 7, 6 };
	const uint8_t data[] = { 9, 8, 7, 6 };
	uint8_t command[FWCTL_HEAD_SIZE + sizeof(data)], back[sizeof(data)] = { 0 };
	uint8_t answer[sizeof(command)] = { [FWCTL_HEAD_SIZE] = 1, 2, 3, 4 };

	fwctl_encode(PPCNT, data, sizeof(data), command);
	CHECK(memcmp(command, expected, sizeof(expected)) == 0);
	CHECK_EQ(fwctl_decode(answer, sizeof(back), back), 0);
	CHECK(back[0] == 1 && back[3] == 4);
	answer[0] = 5; /* bad resource state, or any other */
	CHECK_EQ(fwctl_decode(answer, sizeof(back), back), -EREMOTEIO);
}

static void without_fwctl_there_is_no_such_device(void)
{
	uint8_t data[64] = { 0 };

	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	CHECK_EQ(fwctl_read_register(NULL, "0000:1b:00.0", PMLP, data, sizeof(data)), -ENODEV);
}

static const struct test tests[] = {
	TEST(bits_that_stay_wrong_are_told_as_of_a_network_device),
	TEST(its_module_is_read_in_pieces),
	TEST(who_is_refused_says_nothing),
	TEST(only_infiniband_of_mlx5_is_asked_so),
	TEST(the_command_reads_and_its_status_is_heeded),
	TEST(without_fwctl_there_is_no_such_device),
};

TEST_SUITE(tests);
