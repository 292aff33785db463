/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/verdict_counts.h"

#include <string.h>

#include "lib/judge/verdict.h"

const char *const verdict_count_names[] = {
	[COUNT_PASS] = "pass", [COUNT_MEASURED] = "measured", [COUNT_INCONCLUSIVE] = "inconclusive",
	[COUNT_WARN] = "warn", [COUNT_FAIL] = "fail",	      NULL,
};

enum verdict_count verdict_count_of(const struct verdict_item *item)
{
	switch ((enum verdict_level)item->level) {
	case VERDICT_PASS:
		return item->unjudged ? COUNT_MEASURED : COUNT_PASS;
	case VERDICT_INCONCLUSIVE:
		return COUNT_INCONCLUSIVE;
	case VERDICT_WARN:
		return COUNT_WARN;
	case VERDICT_FAIL:
		break;
	}
	return COUNT_FAIL;
}

void verdict_count(const struct verdict *v, size_t ret[static COUNTS])
{
	size_t i;

	memset(ret, 0, COUNTS * sizeof(*ret));
	for (i = 0; i < v->n_items; i++)
		ret[verdict_count_of(&v->items[i])]++;
}
