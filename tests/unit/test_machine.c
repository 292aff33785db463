/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/machine.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define ID "3d1219c7c4c5404aaa1f6d2a48adfda4"
#define UUID "4c4c4544-0035-4a10-8052-b4c04f4a3132"

static void the_hardware_counts_more_than_the_installation(void)
{
	static const struct {
		const char *serial, *uuid, *id;
		char kind; /* 0: nothing tells */
	} rows[] = {
		{ "CN7016345", UUID, ID, 'b' },
		{ "CN7016345", NULL, ID, 'b' },
		{ NULL, UUID, NULL, 'b' },
		{ NULL, NULL, ID, 'm' },
		{ "To be filled by O.E.M.", "00000000-0000-0000-0000-000000000000", ID, 'm' },
		{ "Default string", "03000200-0400-0500-0006-000700080009", ID, 'm' },
		{ "0123456789", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", ID, 'm' },
		{ "None", "", "", 0 },
		{ "..", NULL, NULL, 0 },
		{ NULL, NULL, NULL, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *m = machine_of(rows[i].serial, rows[i].uuid, rows[i].id);

		CHECK_EQ(m ? m[0] : 0, rows[i].kind);
		CHECK(!m || strlen(m) + 1 == MACHINE_SIZE);
		CHECK(!m || !rows[i].serial || !strstr(m, rows[i].serial));
	}
}

static void machines_differ_only_by_numbers_of_one_kind(void)
{
	CLEANUP(freep) char *a = machine_of("CN7016345", UUID, ID);
	CLEANUP(freep) char *reinstalled = machine_of("CN7016345", UUID, "x" ID);
	CLEANUP(freep) char *b = machine_of("CN7016346", UUID, ID);
	CLEANUP(freep) char *moved = machine_of("CN7016345U", "UID", ID);
	CLEANUP(freep) char *not_root = machine_of(NULL, NULL, ID);

	CHECK(!machine_differs(a, a));
	CHECK(!machine_differs(a, reinstalled));
	CHECK(machine_differs(a, b));
	CHECK(machine_differs(a, moved));
	CHECK(!machine_differs(a, not_root));
	CHECK(!machine_differs(a, NULL));
	CHECK(!machine_differs(NULL, NULL));
	CHECK(!machine_differs("", ""));
}

static const struct test tests[] = {
	TEST(the_hardware_counts_more_than_the_installation),
	TEST(machines_differ_only_by_numbers_of_one_kind),
};

TEST_SUITE(tests);
