/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/cpuinfo.h"
#include "tests/unit/test.h"

#define X86                                                                    \
	"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\n"          \
	"model name\t: Intel(R) Xeon(R) Platinum 8480C\nmicrocode\t: 0x2b\n\n" \
	"processor\t: 1\nmodel name\t: another\n"
#define ARM(implementer, part)                                                 \
	"processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: " implementer \
	"\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: " part "\nCPU revision\t: 0\n"

static void the_model_is_named(void)
{
	static const struct {
		const char *text, *model;
	} rows[] = {
		{ X86, "Intel(R) Xeon(R) Platinum 8480C" },
		{ ARM("0x41", "0xd4f"), "Neoverse-V2" },
		{ ARM("0xc0", "0xac3"), "Ampere-1" },
		{ ARM("0x41", "0xfff"), "arm64 0x41:0xfff" },
		{ ARM("0x4e", "0x004"), "arm64 0x4e:0x004" },
		{ ARM("0x41", ""), NULL },
		{ ARM("65", "0xd4f"), NULL },
		{ ARM("0x41", "0xd4f x"), NULL },
		{ ARM("0x41", "0x10000"), NULL },
		{ ARM("0x41", "0xffffffffffffffffff"), NULL },
		{ "model name\t:\n" ARM("0x41", "0xd40"), "Neoverse-V1" },
		{ "model name", NULL },
		{ "CPU implementer\t: 0x41", NULL },
		{ "", NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *model = cpuinfo_model(rows[i].text);

		CHECK_STR(model, rows[i].model);
	}
}

static void a_value_is_that_of_its_own_key(void)
{
	static const struct {
		const char *key, *value;
	} rows[] = {
		{ "model", "143" },
		{ "microcode", "0x2b" },
		{ "processor", "0" },
		{ "cpu MHz", NULL },
		{ "mod", NULL },
		{ "vendor_id", "GenuineIntel" },
		{ "model name", "Intel(R) Xeon(R) Platinum 8480C" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *value = cpuinfo_value(X86, rows[i].key);

		CHECK_STR(value, rows[i].value);
	}
}

static const struct test tests[] = {
	TEST(the_model_is_named),
	TEST(a_value_is_that_of_its_own_key),
};

TEST_SUITE(tests);
