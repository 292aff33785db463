/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/dmi.h"

#include <stdio.h>

#include "lib/sys/sysfs.h"

enum {
	HEADER = 4,
	TYPE_SLOT = 9,
	TYPE_MEMORY_DEVICE = 17,
	TYPE_END = 127,
	/* memory device */
	SIZE = 0x0c,
	LOCATOR = 0x10,
	BANK = 0x11,
	EXTENDED_SIZE = 0x1c,
	SIZE_UNKNOWN = 0xffff,
	SIZE_EXTENDED = 0x7fff,
	SIZE_IN_KIB = 0x8000,
	/* slot */
	DESIGNATION = 0x04,
	SEGMENT = 0x0d,
	BUS = 0x0f,
	DEVICE_FUNCTION = 0x10,
	NO_BUS = 0xff,
};

/* One structure: its formatted part, then its strings. */
struct structure {
	const unsigned char *at;
	size_t len;	     /* of the formatted part */
	const char *strings; /* each NUL-terminated, with one more NUL after the last */
	const char *end;     /* the final NUL */
};

static uint64_t little(const unsigned char *at, size_t n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | at[n];
	return value;
}

/* Parses the structure at `table`; returns its size, 0 if it is malformed. */
static size_t read_structure(const unsigned char *table, size_t len, struct structure *ret)
{
	size_t at;

	if (len < HEADER || table[1] < HEADER)
		return 0;
	for (at = table[1]; at + 1 < len; at++) {
		if (table[at] || table[at + 1])
			continue;
		*ret = (struct structure){
			.at = table,
			.len = table[1],
			.strings = (const char *)table + table[1],
			.end = (const char *)table + at,
		};
		return at + 2;
	}
	return 0;
}

/* String `number` (from 1), "" if there is none. */
static const char *string(const struct structure *s, unsigned number)
{
	const char *at = s->strings;

	while (number > 1 && at < s->end) {
		at += strlen(at) + 1;
		number--;
	}
	return number == 1 && at < s->end ? at : "";
}

static uint64_t module_bytes(const struct structure *s)
{
	uint64_t size;

	if (s->len < SIZE + 2)
		return 0;
	size = little(s->at + SIZE, 2);
	if (size == SIZE_UNKNOWN)
		return 0;
	if (size == SIZE_EXTENDED && s->len >= EXTENDED_SIZE + 4)
		return (little(s->at + EXTENDED_SIZE, 4) & 0x7fffffff) << 20;
	return size & SIZE_IN_KIB ? (size & 0x7fff) << 10 : size << 20;
}

static void name_module(const struct structure *s, struct dmi_module *module)
{
	const char *locator = s->len > LOCATOR ? string(s, s->at[LOCATOR]) : "";
	const char *bank = s->len > BANK ? string(s, s->at[BANK]) : "";

	(void)snprintf(module->name, sizeof(module->name), "%.30s%s%.30s", bank,
		       *bank && *locator ? "/" : "", locator);
	(void)ascii_clean(module->name);
}

size_t dmi_modules(const unsigned char *table, size_t len, struct dmi_module *ret, size_t max)
{
	struct structure s;
	size_t n = 0, size;

	while (n < max && (size = read_structure(table, len, &s)) > 0) {
		if (s.at[0] == TYPE_END)
			break;
		if (s.at[0] == TYPE_MEMORY_DEVICE && module_bytes(&s) > 0) {
			ret[n].bytes = module_bytes(&s);
			name_module(&s, &ret[n]);
			n++;
		}
		table += size;
		len -= size;
	}
	return n;
}

/* A slot without a device on a bus of its own has 0xff in all bytes of the address. */
static bool read_slot(const struct structure *s, struct dmi_slot *slot)
{
	const unsigned char *at = s->at;

	if (s->len <= DEVICE_FUNCTION || at[BUS] == NO_BUS)
		return false;
	(void)snprintf(slot->name, sizeof(slot->name), "%.60s", string(s, at[DESIGNATION]));
	(void)ascii_clean(slot->name);
	(void)snprintf(slot->pci, sizeof(slot->pci), "%04x:%02x:%02x.%x",
		       (unsigned)little(at + SEGMENT, 2), at[BUS], at[DEVICE_FUNCTION] >> 3,
		       at[DEVICE_FUNCTION] & 7);
	return slot->name[0] != '\0';
}

size_t dmi_slots(const unsigned char *table, size_t len, struct dmi_slot *ret, size_t max)
{
	struct structure s;
	size_t n = 0, size;

	while (n < max && (size = read_structure(table, len, &s)) > 0 && s.at[0] != TYPE_END) {
		n += s.at[0] == TYPE_SLOT && read_slot(&s, &ret[n]);
		table += size;
		len -= size;
	}
	return n;
}
