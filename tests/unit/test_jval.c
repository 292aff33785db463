/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* One member of every type. */
struct all {
	char *text;
	bool flag;
	int tri;
	uint64_t count;
	double real;
	uint64_t wait_us;
	int colour;
	json_t *any;
	struct jreals w;
	char **words;
};

static const char *const colours[] = { "red", "green", "blue", NULL };

static int decode_words(const struct jval *v, void *member, struct err *err)
{
	char ***words = member;

	strv_free(*words);
	*words = NULL;
	return jval_strv(v, 3, words, err);
}

static json_t *encode_words(const void *member)
{
	char *const *words = *(char *const *const *)member;
	json_t *array = words ? json_array() : NULL;
	size_t i;

	for (i = 0; words && words[i]; i++)
		json_array_append_new(array, json_string(words[i]));
	return array;
}

#define AT(m) offsetof(struct all, m)

static const struct jfield fields[] = {
	{ "text", J_STRING, AT(text), J_REQUIRED },
	{ "flag", J_BOOL, AT(flag), 0 },
	{ "tri", J_TRISTATE, AT(tri), J_NULL },
	{ "count", J_U64, AT(count), 0, .min = 1, .max = 4096 },
	{ "real", J_REAL, AT(real), J_NULL },
	{ "wait", J_DURATION, AT(wait_us), 0 },
	{ "colour", J_ENUM, AT(colour), 0, .names = colours },
	{ "any", J_JSON, AT(any), 0 },
	{ "w", J_REALS, AT(w), 0, .max = 4 },
	{ "words", J_CUSTOM, AT(words), 0, .decode = decode_words, .encode = encode_words },
};

static void all_release(struct all *a)
{
	free(a->text);
	json_decref(a->any);
	free(a->w.v);
	strv_free(a->words);
	*a = (struct all){ 0 };
}

static int decode(const char *text, unsigned flags, struct all *out, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = json_parse(text, strlen(text), "f", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "f.yaml");
	return jval_decode(&root, fields, ARRAY_SIZE(fields), flags, out, err);
}

static void every_type_goes_round(void)
{
	static const char text[] =
		"{\"text\":\"a\",\"flag\":true,\"tri\":false,\"count\":7,\"real\":0.5,\"wait\":"
		"\"90s\","
		"\"colour\":\"blue\",\"any\":{\"k\":[1]},\"w\":[1.0,2.5],\"words\":[\"x\",\"y\"]}";
	CLEANUP(all_release) struct all a = { 0 };
	CLEANUP(json_freep) json_t *back = NULL;
	CLEANUP(freep) char *line = NULL;

	CHECK_EQ(decode(text, JVAL_STRICT, &a, NULL), 0);
	CHECK_EQ(a.wait_us, 90 * USEC_PER_SEC);
	CHECK_EQ(a.colour, 2);
	CHECK_EQ(a.tri, 0);
	CHECK_EQ(a.w.n, 2);
	CHECK_EQ(strv_len(a.words), 2);
	back = jval_encode(fields, ARRAY_SIZE(fields), &a);
	line = json_line(back);
	CHECK_STR(line, text);
}

static void absent_members_keep_their_defaults(void)
{
	CLEANUP(all_release)
	struct all a = { .count = 9, .real = 1.5, .tri = -1, .text = xstrdup("old") };

	CHECK_EQ(decode("{\"text\":\"new\"}", 0, &a, NULL), 0);
	CHECK_STR(a.text, "new");
	CHECK_EQ(a.count, 9);
	CHECK_NEAR(a.real, 1.5, 0);
	CHECK_EQ(a.tri, -1);
}

static void null_is_unknown_where_it_is_allowed(void)
{
	CLEANUP(all_release) struct all a = { .real = 1, .tri = 1 };
	CLEANUP(json_freep) json_t *back = NULL;

	CHECK_EQ(decode("{\"text\":\"a\",\"real\":null,\"tri\":null}", 0, &a, NULL), 0);
	CHECK(isnan(a.real));
	CHECK_EQ(a.tri, -1);
	back = jval_encode(fields, ARRAY_SIZE(fields), &a);
	CHECK(json_is_null(json_object_get(back, "real")));
	CHECK(json_is_null(json_object_get(back, "tri")));
	CHECK(!json_object_get(back, "any"));
}

static void a_null_string_is_freed(void)
{
	static const struct jfield one[] = { { "text", J_STRING, AT(text), J_NULL } };
	CLEANUP(all_release) struct all a = { .text = xstrdup("old") };
	CLEANUP(json_freep) json_t *value = json_pack("{s:n}", "text");
	struct jval root = jval_root(value, "f");

	CHECK_EQ(jval_decode(&root, one, 1, 0, &a, NULL), 0);
	CHECK(!a.text);
}

static void each_complaint_names_its_place(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "[]", "f.yaml: expected an object, not a list" },
		{ "{}", "f.yaml: text: missing" },
		{ "{\"text\":1}", "f.yaml: text: expected a string, not a number" },
		{ "{\"text\":null}", "f.yaml: text: expected a string, not null" },
		{ "{\"text\":\"a\",\"flag\":\"yes\"}",
		  "f.yaml: flag: expected true or false, not a string" },
		{ "{\"text\":\"a\",\"tri\":0}",
		  "f.yaml: tri: expected true or false, not a number" },
		{ "{\"text\":\"a\",\"count\":-1}", "f.yaml: count: -1 is negative" },
		{ "{\"text\":\"a\",\"count\":0}", "f.yaml: count: 0 is outside 1 to 4096" },
		{ "{\"text\":\"a\",\"count\":4097}", "f.yaml: count: 4097 is outside 1 to 4096" },
		{ "{\"text\":\"a\",\"count\":1.5}", "f.yaml: count: 1.5 is not a whole number" },
		{ "{\"text\":\"a\",\"count\":\"7\"}",
		  "f.yaml: count: expected a whole number, not a string" },
		{ "{\"text\":\"a\",\"real\":\"1\"}",
		  "f.yaml: real: expected a number, not a string" },
		{ "{\"text\":\"a\",\"wait\":45}",
		  "f.yaml: wait: expected a duration such as 45s, not a number" },
		{ "{\"text\":\"a\",\"wait\":\"-45s\"}", "f.yaml: wait: '-45s' is not a duration" },
		{ "{\"text\":\"a\",\"colour\":\"pink\"}",
		  "f.yaml: colour: 'pink' is not one of red, green, blue" },
		{ "{\"text\":\"a\",\"colour\":2}",
		  "f.yaml: colour: expected one of red, green, blue, not a number" },
		{ "{\"text\":\"a\",\"w\":[1,2,3,4,5]}", "f.yaml: w: 5 numbers, more than 4" },
		{ "{\"text\":\"a\",\"w\":[1,null]}", "f.yaml: w[1]: expected a number, not null" },
		{ "{\"text\":\"a\",\"w\":{}}", "f.yaml: w: expected a list, not an object" },
		{ "{\"text\":\"a\",\"words\":[\"a\",\"b\",\"c\",\"d\"]}",
		  "f.yaml: words: 4 items, more than 3" },
		{ "{\"text\":\"a\",\"words\":[\"a\",true]}",
		  "f.yaml: words[1]: expected a string, not true" },
		{ "{\"text\":\"a\",\"extra\":1}", "f.yaml: extra: unknown key" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(all_release) struct all a = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(decode(cases[i].text, JVAL_STRICT, &a, &err), -EINVAL);
		CHECK_HAS(err.msg, cases[i].sentence);
	}
}

static void unknown_keys_of_programs_are_ignored(void)
{
	CLEANUP(all_release) struct all a = { 0 };

	CHECK_EQ(decode("{\"text\":\"a\",\"extra\":1}", 0, &a, NULL), 0);
}

static void paths_run_through_lists_and_objects(void)
{
	CLEANUP(json_freep) json_t *doc = json_pack("{s:[n,{s:{s:i}}]}", "a", "b", "c", 1);
	struct jval root = jval_root(doc, "f");
	struct jval a = jval_get(&root, "a"), a1 = jval_at(&a, 1), b = jval_get(&a1, "b");
	struct jval c = jval_get(&b, "c"), gone = jval_get(&c, "d"), past = jval_at(&a, 7);
	struct err err = ERR_INIT;

	jval_fail(&c, &err, "bad");
	CHECK_STR(err.msg, "f: a[1].b.c: bad");
	CHECK(!gone.value);
	CHECK_STR(jval_type_name(&gone), "nothing");
	CHECK_EQ(jval_need_object(&gone, &err), -EINVAL);
	CHECK_STR(err.msg, "f: a[1].b.c.d: expected an object, not nothing");
	CHECK_EQ(jval_need_array(&past, &err), -EINVAL);
	CHECK_STR(err.msg, "f: a[7]: expected a list, not nothing");
	jval_fail(&root, &err, "all of it");
	CHECK_STR(err.msg, "f: all of it");
}

static void a_path_too_long_is_cut(void)
{
	CLEANUP(freep) char *key = xcalloc(2001, 1);
	CLEANUP(json_freep) json_t *doc = json_object();
	struct jval root = jval_root(doc, "f"), v, below;
	struct err err = ERR_INIT;

	memset(key, 'k', 2000);
	v = jval_get(&root, key);
	below = jval_get(&v, key);
	CHECK_EQ(jval_fail(&below, &err, "bad"), -EINVAL);
	CHECK_HAS(err.msg, "kkk: bad");
}

static void an_empty_list_of_strings_is_no_null(void)
{
	CLEANUP(json_freep) json_t *empty = json_array();
	CLEANUP(strv_freep) char **words = NULL;
	struct jval root = jval_root(empty, "f");

	CHECK_EQ(jval_strv(&root, 3, &words, NULL), 0);
	CHECK(words != NULL);
	CHECK_EQ(strv_len(words), 0);
	CHECK_EQ(strv_len(NULL), 0);
	strv_free(NULL);
}

/* What is required is written even when it is empty, or no reader takes it. */
static void an_empty_list_of_numbers_is_written_where_it_is_required(void)
{
	static const struct jfield required[] = { { "w", J_REALS, AT(w), J_REQUIRED } };
	static const struct jfield free_to_lack[] = { { "w", J_REALS, AT(w), 0 } };
	CLEANUP(json_freep) json_t *whole = NULL;
	CLEANUP(json_freep) json_t *bare = NULL;
	struct all a = { 0 };
	struct jval root;

	whole = jval_encode(required, 1, &a);
	bare = jval_encode(free_to_lack, 1, &a);
	CHECK_EQ(json_array_size(json_object_get(whole, "w")), 0);
	CHECK(json_is_array(json_object_get(whole, "w")));
	CHECK_EQ(json_object_size(bare), 0);
	root = jval_root(whole, "f");
	CHECK_EQ(jval_decode(&root, required, 1, 0, &a, NULL), 0);
	CHECK_EQ(a.w.n, 0);
}

static void any_json_is_a_copy(void)
{
	CLEANUP(all_release) struct all a = { 0 };
	CLEANUP(json_freep) json_t *doc = json_pack("{s:s, s:{s:i}}", "text", "a", "any", "k", 1);
	struct jval root = jval_root(doc, "f");

	CHECK_EQ(jval_decode(&root, fields, ARRAY_SIZE(fields), 0, &a, NULL), 0);
	json_object_clear(json_object_get(doc, "any"));
	CHECK_EQ(json_integer_value(json_object_get(a.any, "k")), 1);
}

static const struct test tests[] = {
	TEST(every_type_goes_round),
	TEST(absent_members_keep_their_defaults),
	TEST(null_is_unknown_where_it_is_allowed),
	TEST(a_null_string_is_freed),
	TEST(each_complaint_names_its_place),
	TEST(unknown_keys_of_programs_are_ignored),
	TEST(paths_run_through_lists_and_objects),
	TEST(a_path_too_long_is_cut),
	TEST(an_empty_list_of_strings_is_no_null),
	TEST(an_empty_list_of_numbers_is_written_where_it_is_required),
	TEST(any_json_is_a_copy),
};

TEST_SUITE(tests);
