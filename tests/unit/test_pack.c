/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "controller/http/api_body.h"
#include "controller/http/api_gzip.h"
#include "controller/store/pack.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

enum { SIZE = 10000 };

static char *text_make(void)
{
	char *text = xcalloc(1, SIZE + 1);

	memset(text, 'a', SIZE);
	return text;
}

static void what_is_packed_comes_out_again(void)
{
	CLEANUP(freep) char *text = text_make();
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(SIZE);
	CLEANUP(freep) void *memory = NULL;
	struct packed packed;
	struct err err = ERR_INIT;

	CHECK_EQ(pack_close(text, SIZE, &memory, &packed), 0);
	CHECK_EQ(pack_open(&packed, &out, &err), 0);
	CHECK_EQ(out.len, SIZE);
	CHECK_STR(strbuf_text(&out), text);
}

static void what_browsers_take_comes_out_again(void)
{
	CLEANUP(freep) char *text = text_make();
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(SIZE);
	struct packed packed = { .coding = PACK_GZIP };
	CLEANUP(freep) char *memory = api_gzip(text, SIZE, API_GZIP_MANY, &packed.length);
	struct err err = ERR_INIT;

	packed.bytes = memory;
	if (!memory) /* without zlib nothing is packed */
		return;
	CHECK(packed.length < SIZE / 10);
	CHECK_EQ(pack_open(&packed, &out, &err), 0);
	CHECK_STR(strbuf_text(&out), text);
	CHECK(!api_gzip("{}", 2, API_GZIP_MANY, &packed.length));
	CHECK(!api_gzip("", 0, API_GZIP_MANY, &packed.length));
}

static void what_is_short_stays_as_it_is(void)
{
	CLEANUP(freep) void *memory = NULL;
	struct packed packed;

	CHECK_EQ(pack_close("{}", 2, &memory, &packed), 0);
	CHECK_EQ(packed.coding, PACK_PLAIN);
	CHECK_EQ(packed.length, 2);
	CHECK(memory == NULL);
}

static void nothing_is_unpacked_past_the_limit(void)
{
	CLEANUP(freep) char *text = text_make();
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(SIZE - 1);
	CLEANUP(freep) void *memory = NULL;
	struct packed packed;
	struct err err = ERR_INIT;

	CHECK_EQ(pack_close(text, SIZE, &memory, &packed), 0);
	CHECK_EQ(pack_open(&packed, &out, &err), -E2BIG);
	CHECK_HAS(err.msg, "9999 bytes");
}

static void broken_bytes_are_refused(void)
{
	static const int codings[] = { PACK_GZIP, PACK_ZSTD, 99 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(codings); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(SIZE);
		struct packed packed = { codings[i], "no such thing", 13 };
		struct err err = ERR_INIT;
		int r = pack_open(&packed, &out, &err);

		CHECK(r == -EINVAL || r == -EOPNOTSUPP);
		CHECK(err.msg[0] != '\0');
	}
}

static const struct test tests[] = {
	TEST(what_is_packed_comes_out_again), TEST(what_browsers_take_comes_out_again),
	TEST(what_is_short_stays_as_it_is),   TEST(nothing_is_unpacked_past_the_limit),
	TEST(broken_bytes_are_refused),
};

TEST_SUITE(tests);
