/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/host_state/pcie_aer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"

uint64_t aer_total(const char *text, struct strbuf *ret_types)
{
	uint64_t total = 0, sum = 0;
	bool has_total = false;

	while (*text) {
		size_t len = strcspn(text, "\n"), name = strcspn(text, " \n");
		uint64_t count = name < len ? strtoull(text + name, NULL, 10) : 0;
		CLEANUP(freep) char *type = ascii_clean(xstrndup(text, name));

		if (starts_with(type, "TOTAL_")) {
			total = count;
			has_total = true;
		} else {
			sum += count;
			if (count)
				(void)strbuf_printf(ret_types, "%s%s %" PRIu64,
						    ret_types->len ? ", " : "", type, count);
		}
		text += len + (text[len] == '\n');
	}
	return has_total ? total : sum;
}
