/* SPDX-License-Identifier: Apache-2.0 */
/* The output of py-spy for a process. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_stack.h"
#include "tests/fuzz/fuzz.h"

/* One line that is safe for a terminal, and terminated within its array. */
static void check_where(const char where[static HANG_WHERE_SIZE])
{
	size_t i;

	FUZZ_CHECK(memchr(where, '\0', HANG_WHERE_SIZE));
	for (i = 0; where[i]; i += utf8_length(where + i)) {
		const size_t n = utf8_length(where + i);

		FUZZ_CHECK(n > 0 && !utf8_is_unsafe(utf8_point(where + i, n)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) void *bytes = fuzz_bytes(data, size);
	struct hang_stack stack;
	struct err err = ERR_INIT;
	const int r = hang_stack_read(bytes, size, &stack, &err);

	if (r < 0) {
		FUZZ_CHECK(r == -EINVAL || r == -E2BIG);
		fuzz_refused(r, &err);
		return 0;
	}
	check_where(stack.where);
	return 0;
}
