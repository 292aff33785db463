/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/dmi.h"
#include "lib/sys/sysfs.h"
#include "probes/harness/known.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

/* "A=x B=y" as devices (id, model); how many. */
static size_t devices(const char *text, struct known *ret)
{
	size_t n = 0;

	memset(ret, 0, 8 * sizeof(*ret));
	while (*text) {
		size_t len = strcspn(text, " "), id = strcspn(text, "=");

		memcpy(ret[n].id, text, id);
		memcpy(ret[n].model, text + id + 1, len - id - 1);
		n++;
		text += len + (text[len] == ' ');
	}
	return n;
}

static void what_was_there_and_is_gone_is_lost(void)
{
	static const struct {
		const char *past, *now, *lost;
	} cases[] = {
		{ "", "A=x B=x", "" },
		{ "A=x B=x", "A=x B=x", "" },
		{ "A=x B=x", "B=x A=x C=y", "" },
		{ "A=x B=x", "A=x", "B=x" },
		{ "A=x B=x", "", "A=x B=x" },
		/* moved to another address */
		{ "A=x B=x", "C=x D=x", "" },
		{ "A=x B=x", "C=x", "B=x" },
		/* another model in its place is another device */
		{ "A=x", "A=y", "A=x" },
		{ "A=x B=x", "A=x C=y", "B=x" },
		/* names that are not unique are counted */
		{ "A=x A=x", "A=x A=x", "" },
		{ "A=x A=x", "A=x", "A=x" },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct known past[8], now[8], lost[8], want[8];
		size_t n_past = devices(cases[i].past, past);
		size_t n_now = devices(cases[i].now, now);
		size_t n_want = devices(cases[i].lost, want);
		CLEANUP(json_freep) json_t *kept = known_encode(past, n_past, NULL, 0);

		CHECK_EQ(known_lost(kept, now, n_now, lost, ARRAY_SIZE(lost)), n_want);
		for (k = 0; k < n_want; k++) {
			CHECK_STR(lost[k].id, want[k].id);
			CHECK_STR(lost[k].model, want[k].model);
		}
	}
}

static void a_lost_device_stays_lost_until_it_is_back(void)
{
	struct known both[8], one[8], lost[8];
	size_t n_both = devices("A=x B=x", both), n_one = devices("A=x", one), n_lost;
	CLEANUP(json_freep) json_t *first = known_encode(both, n_both, NULL, 0);
	CLEANUP(json_freep) json_t *second = NULL;

	n_lost = known_lost(first, one, n_one, lost, ARRAY_SIZE(lost));
	CHECK_EQ(n_lost, 1);
	second = known_encode(one, n_one, lost, n_lost);
	CHECK_EQ(known_lost(second, one, n_one, lost, ARRAY_SIZE(lost)), 1);
	CHECK_STR(lost[0].id, "B");
	CHECK_EQ(known_lost(second, both, n_both, lost, ARRAY_SIZE(lost)), 0);
}

static void a_spoilt_list_counts_as_empty(void)
{
	CLEANUP(json_freep) json_t *text = json_string("A");
	CLEANUP(json_freep)
	json_t *list = json_pack("[i, {}, {s:s}, {s:i, s:s}, {s:s, s:s}]", 7, "id", "A", "id", 7,
				 "model", "x", "id", "", "model", "x");
	struct known lost[8];

	CHECK_EQ(known_lost(NULL, NULL, 0, lost, ARRAY_SIZE(lost)), 0);
	CHECK_EQ(known_lost(text, NULL, 0, lost, ARRAY_SIZE(lost)), 0);
	CHECK_EQ(known_lost(list, NULL, 0, lost, ARRAY_SIZE(lost)), 0);
}

/* --- DMI --------------------------------------------------------------------- */

struct table {
	unsigned char bytes[4096];
	size_t len;
};

static void add(struct table *t, const void *bytes, size_t n)
{
	memcpy(t->bytes + t->len, bytes, n);
	t->len += n;
}

/* A memory device of `len` formatted bytes; `strings` ends with two NULs of its own. */
static void add_module(struct table *t, unsigned size, uint32_t extended_mib, size_t len)
{
	unsigned char s[0x28] = { 17, (unsigned char)len, 1, 0 };

	s[0x0c] = (unsigned char)(size & 0xff);
	s[0x0d] = (unsigned char)(size >> 8);
	s[0x10] = 1;
	s[0x11] = 2;
	memcpy(s + 0x1c, &extended_mib, sizeof(extended_mib));
	add(t, s, len);
	add(t, "A1\0BANK 0\0", 11);
}

static void modules_are_read_with_their_sizes(void)
{
	struct dmi_module m[8];
	struct table t = { .len = 0 };

	add(&t, "\x00\x04\x00\x00\0", 6); /* another structure, no strings */
	add_module(&t, 16384, 0, 0x28);
	add_module(&t, 0, 0, 0x28);	     /* empty slot */
	add_module(&t, 0xffff, 0, 0x28);     /* size not known */
	add_module(&t, 0x7fff, 65536, 0x28); /* 64 GiB */
	add_module(&t, 0x8000 | 512, 0, 0x28);
	add(&t, "\x7f\x04\x00\x00\0", 6); /* end */
	add_module(&t, 16384, 0, 0x28);	  /* not read any more */
	CHECK_EQ(dmi_modules(t.bytes, t.len, m, ARRAY_SIZE(m)), 3);
	CHECK_EQ(m[0].bytes, UINT64_C(16) << 30);
	CHECK_STR(m[0].name, "BANK 0/A1");
	CHECK_EQ(m[1].bytes, UINT64_C(64) << 30);
	CHECK_EQ(m[2].bytes, 512 << 10);
	CHECK_EQ(dmi_modules(t.bytes, t.len, m, 2), 2);
}

static void a_short_structure_has_no_extended_size(void)
{
	struct dmi_module m[8];
	struct table t = { .len = 0 };

	add_module(&t, 0x7fff, 65536, 0x1b);
	CHECK_EQ(dmi_modules(t.bytes, t.len, m, ARRAY_SIZE(m)), 1);
	CHECK_EQ(m[0].bytes, UINT64_C(0x7fff) << 20);
}

static void a_cut_table_is_read_as_far_as_it_is_whole(void)
{
	struct dmi_module m[8];
	struct table t = { .len = 0 };
	size_t len, whole;

	add_module(&t, 16384, 0, 0x28);
	whole = t.len;
	add_module(&t, 16384, 0, 0x28);
	for (len = 0; len <= t.len; len++) {
		CLEANUP(freep) unsigned char *cut = xcalloc(len + 1, 1);
		size_t n = (len >= whole ? 1U : 0U) + (len >= t.len ? 1U : 0U);

		memcpy(cut, t.bytes, len);
		CHECK_EQ(dmi_modules(cut, len, m, ARRAY_SIZE(m)), n);
	}
}

/* System slot: designation, segment, bus, device and function. */
static void add_slot(struct table *t, unsigned char bus, unsigned char device_function,
		     unsigned char len)
{
	unsigned char s[0x11] = { 9, len, 0, 0, 1 };

	s[0x0d] = 1;
	s[0x0f] = bus;
	s[0x10] = device_function;
	add(t, s, len);
	add(t, "PCIe Slot 5\0", 13);
}

static void slots_are_read_with_their_addresses(void)
{
	struct dmi_slot slots[8];
	struct table t = { .len = 0 };

	add_module(&t, 16384, 0, 0x28);
	add_slot(&t, 0x4e, 3 << 3 | 1, 0x11);
	add_slot(&t, 0xff, 0xff, 0x11); /* on no bus of its own */
	add_slot(&t, 0x4e, 0, 0x0d);	/* before SMBIOS 2.6: no address */
	CHECK_EQ(dmi_slots(t.bytes, t.len, slots, ARRAY_SIZE(slots)), 1);
	CHECK_STR(slots[0].name, "PCIe Slot 5");
	CHECK_STR(slots[0].pci, "0001:4e:03.1");
}

static void random_tables_are_read_within_bounds(void)
{
	struct random random = random_seeded(11);
	size_t round, i;

	for (round = 0; round < 5000; round++) {
		struct dmi_slot slots[8];
		struct dmi_module m[8];
		size_t len = random_below(&random, 200) + 1;
		CLEANUP(freep) unsigned char *bytes = xcalloc(len, 1);

		/* Mostly small numbers, so that lengths and ends of strings make sense. */
		for (i = 0; i < len; i++)
			bytes[i] = (unsigned char)(random_below(&random, 4)
							   ? random_below(&random, 32)
							   : random_next(&random));
		bytes[0] = 17;
		CHECK(dmi_modules(bytes, len, m, ARRAY_SIZE(m)) <= ARRAY_SIZE(m));
		bytes[0] = 9;
		CHECK(dmi_slots(bytes, len, slots, ARRAY_SIZE(slots)) <= ARRAY_SIZE(slots));
	}
}

/* --- lists of CPUs ------------------------------------------------------------- */

static void lists_of_cpus_are_read(void)
{
	static const struct {
		const char *text;
		int n; /* -1: refused */
	} cases[] = {
		{ "", 0 },	  { "0", 1 },	 { "0-3", 4 },		{ "0-3,8", 5 },
		{ "0-3,2-5", 6 }, { "0,0", 1 },	 { "8191", 1 },		{ "8192", -1 },
		{ "0-8192", -1 }, { "3-1", -1 }, { "a", -1 },		{ "-1", -1 },
		{ "1-", -1 },	  { "1 2", -1 }, { "99999999999", -1 }, { " 1", -1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) bool *set = xcalloc(SYS_CPUS_MAX, sizeof(bool));

		CHECK_EQ(cpulist_parse(cases[i].text, set), cases[i].n);
	}
}

static const struct test tests[] = {
	TEST(what_was_there_and_is_gone_is_lost),
	TEST(a_lost_device_stays_lost_until_it_is_back),
	TEST(a_spoilt_list_counts_as_empty),
	TEST(modules_are_read_with_their_sizes),
	TEST(a_short_structure_has_no_extended_size),
	TEST(a_cut_table_is_read_as_far_as_it_is_whole),
	TEST(slots_are_read_with_their_addresses),
	TEST(random_tables_are_read_within_bounds),
	TEST(lists_of_cpus_are_read),
};

TEST_SUITE(tests);
