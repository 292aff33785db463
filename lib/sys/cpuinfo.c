/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/cpuinfo.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

/* From arch/arm64/include/asm/cputype.h. */
static const struct {
	unsigned implementer, part;
	const char *name;
} arm64_models[] = {
	{ 0x41, 0xd0c, "Neoverse-N1" }, { 0x41, 0xd49, "Neoverse-N2" },
	{ 0x41, 0xd8e, "Neoverse-N3" }, { 0x41, 0xd40, "Neoverse-V1" },
	{ 0x41, 0xd4f, "Neoverse-V2" }, { 0x41, 0xd84, "Neoverse-V3" },
	{ 0x48, 0xd01, "TSV110" },	{ 0x46, 0x001, "A64FX" },
	{ 0xc0, 0xac3, "Ampere-1" },	{ 0xc0, 0xac4, "Ampere-1a" },
};

/* The text after `key` and its colon, if the line at `at` has that key. */
static const char *value_at(const char *at, const char *key)
{
	if (!starts_with(at, key))
		return NULL;
	at += strlen(key);
	at += strspn(at, " \t");
	return *at == ':' ? at + 1 + strspn(at + 1, " \t") : NULL;
}

char *cpuinfo_value(const char *text, const char *key)
{
	const char *at = text;

	while (at) {
		const char *value = value_at(at, key);

		if (value)
			return xstrndup(value, strcspn(value, "\n"));
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return NULL;
}

static bool read_hex(const char *text, const char *key, unsigned *ret)
{
	CLEANUP(freep) char *value = cpuinfo_value(text, key);
	char *end = NULL;
	unsigned long number;

	if (!value || !starts_with(value, "0x"))
		return false;
	errno = 0;
	number = strtoul(value, &end, 16);
	if (errno || *end || number > 0xffff)
		return false;
	*ret = (unsigned)number;
	return true;
}

char *cpuinfo_model(const char *text)
{
	char *model = cpuinfo_value(text, "model name");
	unsigned implementer, part;
	size_t i;

	if (model && *model)
		return model;
	free(model);
	if (!read_hex(text, "CPU implementer", &implementer) || !read_hex(text, "CPU part", &part))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(arm64_models); i++) {
		if (arm64_models[i].implementer == implementer && arm64_models[i].part == part)
			return xstrdup(arm64_models[i].name);
	}
	return xasprintf("arm64 0x%02x:0x%03x", implementer, part);
}
