/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/pool.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { BLOCK_SIZE = 16 * 1024, ALIGNMENT = 8 };

struct pool_block {
	struct pool_block *next;
};

char *pool_bytes(struct pool *a, size_t size)
{
	char *bytes = a->at;

	if (!bytes || size > (size_t)(a->end - bytes)) {
		size_t room = MAX(size, (size_t)BLOCK_SIZE);
		struct pool_block *block = xrealloc(NULL, 1, sizeof(*block) + room);

		block->next = a->blocks;
		a->blocks = block;
		bytes = (char *)(block + 1);
		a->end = bytes + room;
	}
	a->at = bytes + size;
	return bytes;
}

void *pool_take(struct pool *a, size_t size)
{
	size_t past = (uintptr_t)a->at % ALIGNMENT, skip = past ? ALIGNMENT - past : 0;

	/* A new block starts aligned. */
	if (a->at && skip <= (size_t)(a->end - a->at))
		a->at += skip;
	return memset(pool_bytes(a, size), 0, size);
}

char *pool_text(struct pool *a, const char *bytes, size_t length)
{
	char *text = pool_bytes(a, length + 1);

	memcpy(text, bytes, length);
	text[length] = '\0';
	return text;
}

void pool_release(struct pool *a)
{
	struct pool_block *block = a->blocks;

	while (block) {
		struct pool_block *next = block->next;

		free(block);
		block = next;
	}
	*a = (struct pool){ 0 };
}
