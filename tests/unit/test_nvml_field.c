/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/nvml_field.h"
#include "tests/unit/test.h"

static void each_type_is_read_by_its_own_member(void)
{
	static const struct {
		struct nvml_field field;
		uint64_t number;
	} rows[] = {
		{ { .type = NVML_DOUBLE, .value.d = 66.9 }, 66 },
		{ { .type = NVML_DOUBLE, .value.d = -1 }, 0 },
		{ { .type = NVML_U32, .value.u32 = UINT32_MAX }, UINT32_MAX },
		{ { .type = NVML_ULONG, .value.ul = 7 }, 7 },
		{ { .type = NVML_U64, .value.u64 = UINT64_MAX }, UINT64_MAX },
		{ { .type = NVML_S64, .value.s64 = INT64_MAX }, INT64_MAX },
		{ { .type = NVML_S64, .value.s64 = -1 }, 0 },
		{ { .type = NVML_S32, .value.s32 = 95 }, 95 },
		{ { .type = NVML_S32, .value.s32 = -40 }, 0 },
		{ { .type = NVML_U16, .value.u16 = UINT16_MAX }, UINT16_MAX },
		{ { .type = 99, .value.u64 = 5 }, 5 }, /* of a driver to come */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(nvml_field_number(&rows[i].field), rows[i].number);
}

static const struct test tests[] = {
	TEST(each_type_is_read_by_its_own_member),
};

TEST_SUITE(tests);
