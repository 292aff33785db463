/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed bodies: gzip from clients, zstd in the store (FUZZ_CODING). */
#include <errno.h>
#include <stdlib.h>

#include "controller/store/pack.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 64 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) void *bytes = fuzz_bytes(data, size);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT(TEXT_MAX);
	CLEANUP(freep) void *memory = NULL;
	struct packed packed = { FUZZ_CODING, bytes, size };
	struct err err = ERR_INIT;
	int r = pack_open(&packed, &text, &err);

	FUZZ_CHECK(text.len <= TEXT_MAX);
	if (r < 0) {
		fuzz_refused(r, &err);
		FUZZ_CHECK(r == -EINVAL || r == -E2BIG || r == -EOPNOTSUPP);
		return 0;
	}
	FUZZ_CHECK(pack_close(strbuf_text(&text), text.len, &memory, &packed) == 0);
	FUZZ_CHECK(packed.length <= text.len);
	FUZZ_CHECK(pack_open(&packed, &again, &err) == 0 && again.len == text.len);
	FUZZ_CHECK(memcmp(strbuf_text(&again), strbuf_text(&text), text.len) == 0);
	return 0;
}
