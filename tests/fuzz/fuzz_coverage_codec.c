/* SPDX-License-Identifier: Apache-2.0 */
/* The stored form of the good items of a run. */
#include <stdlib.h>

#include "controller/store/coverage_codec.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	CLEANUP(freep) char *again = NULL;
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(verdict_release) struct verdict v = { .borrows = true };
	size_t most = coverage_codec_count(text);

	v.items = xcalloc(most + 1, sizeof(*v.items));
	coverage_codec_decode(text, &pool, &v);
	FUZZ_CHECK(v.n_items <= most);
	again = coverage_codec_encode(&v);
	FUZZ_CHECK(coverage_codec_count(again) <= v.n_items);
	/* Complete lines are written back unchanged. */
	if (v.n_items == most && coverage_codec_count(again) == most)
		FUZZ_CHECK(strncmp(text, again, strlen(again)) == 0);
	return 0;
}
