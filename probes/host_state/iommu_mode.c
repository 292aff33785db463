/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/host_state/iommu_mode.h"

#include <string.h>

#include "lib/base/macro.h"

enum said { SAID_OFF, SAID_ON, SAID_TRANSLATE, SAID_PASS, SAID_NOTHING };

static const struct {
	const char *word;
	enum said said;
} words[] = {
	{ "intel_iommu=off", SAID_OFF },  { "amd_iommu=off", SAID_OFF },
	{ "iommu=off", SAID_OFF },	  { "intel_iommu=on", SAID_ON },
	{ "amd_iommu=on", SAID_ON },	  { "iommu=force", SAID_ON },
	{ "iommu=pt", SAID_PASS },	  { "iommu.passthrough=1", SAID_PASS },
	{ "iommu=nopt", SAID_TRANSLATE }, { "iommu.passthrough=0", SAID_TRANSLATE },
};

/* Classify one word of `len` bytes; "intel_iommu=on,sm_on" by its first part. */
static enum said said_by(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i].word);

		if (len >= n && strncmp(word, words[i].word, n) == 0 && (len == n || word[n] == ','))
			return words[i].said;
	}
	return SAID_NOTHING;
}

const char *iommu_mode(const char *cmdline, size_t n_groups)
{
	bool off = false, on = n_groups > 0, pass = false;

	while (*cmdline) {
		size_t len = strcspn(cmdline, " \n");
		enum said said = said_by(cmdline, len);

		off = off || said == SAID_OFF;
		on = on || said == SAID_ON;
		if (said == SAID_PASS || said == SAID_TRANSLATE)
			pass = said == SAID_PASS;
		cmdline += len + (cmdline[len] != '\0');
	}
	if (off)
		return "off";
	if (pass)
		return "pt";
	return on ? "on" : "default";
}
