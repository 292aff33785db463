/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/nvml_process.h"
#include "tests/unit/test.h"

static void the_drivers_that_fill_the_wide_form_are_known(void)
{
	static const struct {
		const char *driver;
		bool wide;
	} rows[] = {
		{ "535.43.02", true },	{ "535.54.03", true },	{ "535.86.10", true },
		{ "535.42", false },	{ "535.98", false },	{ "535.129.03", false },
		{ "530.54.03", false }, { "580.65.06", false }, { "545.54.03", false },
		{ "", false },		{ "535", false },	{ "x535.54", false },
		{ "535.", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(nvml_process_is_wide(rows[i].driver), rows[i].wide);
}

static void each_number_is_read_in_its_place(void)
{
	const struct nvml_process usual[] = { { .pid = 11 }, { .pid = 12 }, { .pid = 13 } };
	const struct nvml_wide_process wide[] = { { { .pid = 21 }, 7 }, { { .pid = 22 }, 8 } };

	_Static_assert(sizeof(usual[0]) == 24 && sizeof(wide[0]) == 32, "layouts of NVML");
	CHECK_EQ(nvml_process_pid(usual, false, 2), 13);
	CHECK_EQ(nvml_process_pid(wide, true, 0), 21);
	CHECK_EQ(nvml_process_pid(wide, true, 1), 22);
}

static const struct test tests[] = {
	TEST(the_drivers_that_fill_the_wide_form_are_known),
	TEST(each_number_is_read_in_its_place),
};

TEST_SUITE(tests);
