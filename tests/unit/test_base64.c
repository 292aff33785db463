/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/base64.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

/* RFC 4648 section 10, and what is between two of its groups. */
static const struct {
	const char *text, *bytes;
} vectors[] = {
	{ "", "" },
	{ "Zg==", "f" },
	{ "Zm8=", "f\157" },
	{ "Zm9v", "foo" },
	{ "Zm9vYg==", "foob" },
	{ "Zm9vYmE=", "fooba" },
	{ "Zm9vYmFy", "foobar" },
	{ "Zm9v\r\nYmFy\n", "foobar" },
	{ "Zm9vYg=\n=\n", "foob" },
	{ "/+7/", "\xff\xee\xff" },
};

static void what_the_rfc_encodes_is_read(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		CLEANUP(freep) char *bytes = NULL;
		size_t len = 0;

		CHECK_EQ(base64_decode(vectors[i].text, &bytes, &len), 0);
		CHECK_STR(bytes, vectors[i].bytes);
		CHECK_EQ(len, strlen(vectors[i].bytes));
	}
}

static void a_nul_is_a_byte_as_any_other(void)
{
	CLEANUP(freep) char *bytes = NULL;
	size_t len = 0;

	CHECK_EQ(base64_decode("AAEA", &bytes, &len), 0);
	CHECK_EQ(len, 3);
	CHECK(bytes && memcmp(bytes, "\0\1\0", 4) == 0);
}

static void what_is_no_base64_is_refused(void)
{
	static const char *const bad[] = { "Z",	       "Zg",	"Zg=",	   "Zm8",   "Zm9vY",
					   "Zm9v=",    "====",	"Zg===",   "Z g==", "Zg-_",
					   "Zg==Zg==", "Zm8=x", "\xc3\xa4" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		char *bytes = NULL;
		size_t len = 7;

		CHECK_EQ(base64_decode(bad[i], &bytes, &len), -EINVAL);
		CHECK(!bytes);
		CHECK_EQ(len, 7);
	}
}

static void what_is_encoded_is_read_as_it_was(void)
{
	/* RFC 4648 section 10. */
	static const char *const rows[][2] = { { "", "" },
					       { "f", "Zg==" },
					       { "foo", "Zm9v" },
					       { "foob", "Zm9vYg==" },
					       { "fooba", "Zm9vYmE=" },
					       { "foobar", "Zm9vYmFy" } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *text = base64_encode(rows[i][0], strlen(rows[i][0]));

		CHECK_STR(text, rows[i][1]);
	}
}

static const struct test tests[] = {
	TEST(what_the_rfc_encodes_is_read),
	TEST(a_nul_is_a_byte_as_any_other),
	TEST(what_is_no_base64_is_refused),
	TEST(what_is_encoded_is_read_as_it_was),
};

TEST_SUITE(tests);
