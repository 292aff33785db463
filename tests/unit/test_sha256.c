/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/sha256.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static void hash(const char *text, size_t n, char ret[static SHA256_HEX_SIZE])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, text, n);
	sha256_hex(&s, ret);
}

/* FIPS 180-4 example values (csrc.nist.gov, "SHA256.pdf") and the empty message. */
static void the_vectors_of_the_standard_come_out(void)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
		  "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	char text[SHA256_HEX_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		hash(rows[i].text, strlen(rows[i].text), text);
		CHECK_STR(text, rows[i].digest);
	}
}

static void a_million_letters_come_out(void)
{
	enum { N = 1000000 };
	CLEANUP(freep) char *letters = xcalloc(N, 1);
	char text[SHA256_HEX_SIZE];

	memset(letters, 'a', N);
	hash(letters, N, text);
	CHECK_STR(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The padding changes shape at 55, 56, 63 and 64 bytes: digests of so many 'a', by sha256sum. */
static void the_edges_of_a_block_come_out(void)
{
	static const struct {
		size_t n;
		const char *digest;
	} rows[] = {
		{ 1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" },
		{ 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
		{ 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
		{ 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34" },
		{ 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
		{ 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0" },
		{ 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb" },
		{ 120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c" },
		{ 128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e" },
	};
	char letters[128], text[SHA256_HEX_SIZE];
	size_t i;

	memset(letters, 'a', sizeof(letters));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		hash(letters, rows[i].n, text);
		CHECK_STR(text, rows[i].digest);
	}
}

static void pieces_of_any_size_give_the_same_digest(void)
{
	char bytes[300], whole[SHA256_HEX_SIZE], text[SHA256_HEX_SIZE];
	struct sha256 s;
	size_t piece, i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	hash(bytes, sizeof(bytes), whole);
	for (piece = 1; piece <= 130; piece++) {
		sha256_init(&s);
		for (i = 0; i < sizeof(bytes); i += piece)
			sha256_add(&s, bytes + i, MIN(piece, sizeof(bytes) - i));
		sha256_hex(&s, text);
		CHECK_STR(text, whole);
	}
}

static void where_texts_are_cut_matters(void)
{
	char one[SHA256_HEX_SIZE], two[SHA256_HEX_SIZE];
	struct sha256 s;

	sha256_init(&s);
	sha256_add_text(&s, "ab");
	sha256_add_text(&s, "c");
	sha256_hex(&s, one);
	sha256_init(&s);
	sha256_add_text(&s, "a");
	sha256_add_text(&s, "bc");
	sha256_hex(&s, two);
	CHECK(!streq(one, two));
	hash("ab\0c", 5, two);
	CHECK_STR(one, two);
	sha256_init(&s);
	sha256_add_text(&s, NULL);
	sha256_hex(&s, one);
	hash("", 1, two);
	CHECK_STR(one, two);
}

static const struct test tests[] = {
	TEST(the_vectors_of_the_standard_come_out), TEST(a_million_letters_come_out),
	TEST(the_edges_of_a_block_come_out),	    TEST(pieces_of_any_size_give_the_same_digest),
	TEST(where_texts_are_cut_matters),
};

TEST_SUITE(tests);
