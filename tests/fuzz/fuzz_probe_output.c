/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a probe: the same samples however the bytes are split. */
#include <stdlib.h>

#include "agents/run/probe_output.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/fuzz/fuzz.h"

static void take(struct probe_output *out, const char *bytes, size_t n, size_t piece)
{
	size_t at;

	probe_output_init(out);
	for (at = 0; at < n; at += piece)
		(void)probe_output_feed(out, bytes + at, MIN(piece, n - at));
	probe_output_end(out);
}

static char *text_of(const struct probe_output *out)
{
	CLEANUP(json_freep) json_t *all = json_array();
	size_t i;

	for (i = 0; i < out->n_samples; i++)
		FUZZ_CHECK(json_array_append_new(all, sample_encode(&out->samples[i])) == 0);
	return fuzz_json(all);
}

static void check_words(const struct probe_output *out)
{
	CLEANUP(freep) char *words = NULL;
	json_t *text;

	if (probe_output_verdict(out, &words) < 0) {
		FUZZ_CHECK(out->n_samples > 0 && out->n_garbage == 0);
		return;
	}
	text = json_string(words);
	FUZZ_CHECK(text); /* valid UTF-8: it goes into the report */
	json_decref(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *bytes = fuzz_bytes(data, size);
	CLEANUP(probe_output_release) struct probe_output whole, pieces;
	CLEANUP(freep) char *first = NULL;
	CLEANUP(freep) char *second = NULL;

	take(&whole, bytes, size, size + 1);
	take(&pieces, bytes, size, size ? 1 + data[0] % 16U : 1);
	first = text_of(&whole);
	second = text_of(&pieces);
	FUZZ_CHECK(streq(first, second));
	FUZZ_CHECK(whole.n_garbage == pieces.n_garbage && whole.n_lines == pieces.n_lines);
	check_words(&whole);
	probe_output_abort(&pieces);
	check_words(&pieces);
	return 0;
}
