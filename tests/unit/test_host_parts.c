/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

#define A "gpu:GPU-1cd89253-cb0a-093d-9298-4f7c05eb5124"
#define B "gpu:GPU-2ab00000-cb0a-093d-9298-4f7c05eb5124"

static json_t *json(const char *text)
{
	json_t *value = NULL;
	CLEANUP(freep) char *copy = xstrdup(text);
	char *at;

	for (at = copy; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	CHECK_EQ(json_parse(copy, strlen(copy), "test", &value, NULL), 0);
	return value;
}

static struct host_parts parts_of(const char *text)
{
	CLEANUP(json_freep) json_t *list = json(text);
	struct host_parts parts;

	host_parts_decode(list, &parts);
	return parts;
}

/* Take over one sample that says so; was it news? */
static bool learn(struct host_parts *parts, const char *text)
{
	struct sample s = sample_init();
	const struct report report = { .samples = &s, .n_samples = 1 };
	bool news;

	s.parts = json(text);
	news = host_parts_learn(parts, &report);
	sample_release(&s);
	return news;
}

static char *all(const struct host_parts *parts)
{
	char *text = xstrdup("");
	size_t i;

	for (i = 0; i < parts->n; i++) {
		CLEANUP(freep) char *before = text;
		CLEANUP(freep) char *line = host_part_line(&parts->all[i]);

		text = xasprintf("%s%s\n", before, line);
	}
	return text;
}

#define CHECK_TEXT(made, text)                       \
	do {                                         \
		CLEANUP(freep) char *said_ = (made); \
		CHECK_STR(said_, text);              \
	} while (0)

#define TWO                                                                                       \
	"[{'id':'" A "','index':3,'pci':'0000:4e:00.0','serial':'1650123','slot':'5','module':7," \
	"'number':'900-1'},{'id':'" B "','index':11,'pci':'0000:1b:00.0'},"                       \
	"{'id':'mlx5_3:1','pci':'0000:5e:00.0','slot':'PCIe Slot 7','rail':3},"                   \
	"{'id':'mlx5_4:1','pci':'0000:5f:00.0'},{'id':'mlx5_4:2','pci':'0000:5f:00.0'}]"

static void a_part_has_a_short_name_and_a_line_to_hand_over(void)
{
	CLEANUP(host_parts_release) struct host_parts parts = parts_of(TWO);

	CHECK_TEXT(all(&parts), "gpu 3, PCI 0000:4e:00.0, slot 5, serial 1650123, part number "
				"900-1, UUID GPU-1cd89253-cb0a-093d-9298-4f7c05eb5124, module 7\n"
				"gpu 11, PCI 0000:1b:00.0, UUID "
				"GPU-2ab00000-cb0a-093d-9298-4f7c05eb5124\n"
				"mlx5_3 port 1, PCI 0000:5e:00.0, PCIe Slot 7, rail 3\n"
				"mlx5_4 port 1, PCI 0000:5f:00.0\n"
				"mlx5_4 port 2, PCI 0000:5f:00.0\n");
}

static void lists_go_round_and_what_is_not_understood_is_left_out(void)
{
	CLEANUP(host_parts_release) struct host_parts parts = parts_of(TWO), odd, again;
	CLEANUP(json_freep) json_t *list = host_parts_encode(&parts);
	CLEANUP(json_freep) json_t *back = NULL;
	size_t i;

	host_parts_decode(list, &again);
	back = host_parts_encode(&again);
	CHECK(json_equal(list, back));
	odd = parts_of("[{'id':'" A "','index':-2,'pci':7,'slot':'\\u001b[2J','tomorrow':[]},"
		       "{'index':4},7,{'id':'" A "','index':9},{'id':''}]");
	CHECK_EQ(odd.n, 1);
	CHECK_EQ(odd.all[0].index, -1);
	CHECK_STR(odd.all[0].slot, "?[2J");
	host_parts_release(&odd);
	odd = parts_of("{'id':'x'}");
	CHECK_EQ(odd.n, 0);
	json_decref(list);
	list = json_array();
	for (i = 0; i < 1000; i++)
		(void)json_array_append_new(
			list, json_pack("{s:o}", "id", json_sprintf("mlx5_%zu:1", i)));
	host_parts_decode(list, &odd);
	CHECK_EQ(odd.n, HOST_PARTS_MAX);
}

static void a_text_says_the_short_names(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ A " runs at 3 of 9", "gpu 3 runs at 3 of 9" },
		{ "fail: " A ": rows failed", "fail: gpu 3: rows failed" },
		{ "mlx5_0:1>" A, "mlx5_0:1 > gpu 3" },
		{ A ">" B, "gpu 3 > gpu 11" },
		{ A ">numa:0 is slow", "gpu 3 > numa:0 is slow" },
		{ "all of (" A "," B ").", "all of (gpu 3,gpu 11)." },
		{ "pci:0000:4e:00.0: Xid 79", "gpu 3: Xid 79" },
		{ "pci:0000:5e:00.0 replays", "mlx5_3 replays" },
		{ "gpu:0000:4e:00.0", "gpu 3" },
		{ "gpu:0000:5e:00.0", "gpu:0000:5e:00.0" }, /* no GPU */
		{ "GPU 0000:4e:00.0's PCIe link", "gpu 3's PCIe link" },
		{ "pci:0000:4e:00.1", "pci:0000:4e:00.1" },
		{ "gpu:GPU-1cd89253", "gpu:GPU-1cd89253" },
		{ A "0 is another", A "0 is another" },
		{ "node-b/" A, "node-b/" A },
		{ "xgpu:0000:4e:00.0", "xgpu:0000:4e:00.0" },
		{ "mlx5_3:1 is down", "mlx5_3:1 is down" },
		{ "gpu:", "gpu:" },
		{ "", "" },
	};
	CLEANUP(host_parts_release) struct host_parts parts = parts_of(TWO);
	const struct host_parts none = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_TEXT(host_parts_words(&parts, rows[i].text), rows[i].words);
		CHECK_TEXT(host_parts_words(&none, rows[i].text), rows[i].text);
		CHECK_TEXT(host_parts_words(NULL, rows[i].text), rows[i].text);
	}
	CHECK_TEXT(host_parts_words(&parts, NULL), NULL);
}

static void a_subject_names_its_parts_and_a_sentence_those_in_it(void)
{
	CLEANUP(host_parts_release) struct host_parts parts = parts_of(TWO);
	CLEANUP(json_freep) json_t *both = host_parts_named(&parts, "mlx5_3:1>" A "*3");
	CLEANUP(json_freep) json_t *told = host_parts_told(&parts, "fail: gpu 3: it is lost");

	CHECK_EQ(json_array_size(both), 2);
	CHECK_STR(json_string_value(json_object_get(json_array_get(both, 0), "name")),
		  "mlx5_3 port 1");
	CHECK_STR(json_string_value(json_object_get(json_array_get(both, 1), "id")), A);
	CHECK(!host_parts_named(&parts, "numa:0>numa:1"));
	CHECK(!host_parts_named(&parts, NULL));
	CHECK_EQ(json_array_size(told), 1);
	/* "gpu 1" is not in "gpu 11", nor "gpu 11" in "gpu 110". */
	CHECK(!host_parts_told(&parts, "gpu 110 and gpu 1, mlx5_3:10"));
}

static void two_gpus_that_are_swapped_change_names_and_keep_what_is_written_on_them(void)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };

	CHECK(learn(&parts, TWO));
	CHECK(!learn(&parts, TWO));
	CHECK(learn(&parts, "[{'id':'" B "','index':3,'pci':'0000:4e:00.0','slot':'5'},"
			    "{'id':'" A "','index':11,'pci':'0000:1b:00.0'}]"));
	CHECK_TEXT(host_parts_words(&parts, B " " A), "gpu 3 gpu 11");
	/* The serial number goes with the board, the slot and the module stay with the place. */
	CHECK_STR(parts.all[1].serial, "1650123");
	CHECK_STR(parts.all[1].slot, "");
	CHECK_EQ(parts.all[1].module, -1);
	CHECK_EQ(parts.n, 5); /* ports were not asked, and are there */
	CHECK(!parts.all[4].gone);
}

static void a_gpu_that_does_not_answer_keeps_its_slot(void)
{
	CLEANUP(host_parts_release) struct host_parts parts = parts_of(TWO);

	CHECK(!learn(&parts, "[{'id':'" A "','index':3,'pci':'0000:4e:00.0'},"
			     "{'id':'" B "','index':11}]"));
	CHECK_STR(parts.all[0].slot, "5");
	CHECK_STR(parts.all[1].pci, "0000:1b:00.0");
}

static void a_gpu_that_is_lost_keeps_its_name_until_another_has_it(void)
{
	CLEANUP(host_parts_release) struct host_parts parts = parts_of(TWO);

	CHECK(learn(&parts, "[{'id':'" B "','index':11,'pci':'0000:1b:00.0'}]"));
	CHECK(parts.all[4].gone);
	CHECK_TEXT(host_parts_words(&parts, A), "gpu 3");
	CHECK_TEXT(host_part_line(&parts.all[4]),
		   "gpu 3, PCI 0000:4e:00.0, slot 5, serial 1650123, part number 900-1, UUID "
		   "GPU-1cd89253-cb0a-093d-9298-4f7c05eb5124, module 7; absent from the last run");
	/* After a reboot the others move up. */
	CHECK(learn(&parts, "[{'id':'" B "','index':3,'pci':'0000:1b:00.0'}]"));
	CHECK_TEXT(host_parts_words(&parts, A " " B), "gpu at 0000:4e:00.0 gpu 3");
	/* And another one is put in its place. */
	CHECK(learn(&parts, "[{'id':'" B "','index':3,'pci':'0000:1b:00.0'},"
			    "{'id':'gpu:GPU-new','index':4,'pci':'0000:4e:00.0'}]"));
	CHECK_TEXT(host_parts_words(&parts, A), A);
	CHECK_TEXT(host_parts_words(&parts, "pci:0000:4e:00.0"), "gpu 4");
}

static void a_person_may_say_a_part_in_many_ways(void)
{
	static const struct {
		const char *words, *id, *refusal;
	} rows[] = {
		{ "gpu 3", A, NULL },
		{ "gpu3", A, NULL },
		{ "GPU:3", A, NULL },
		{ "GPU-1cd89253", A, NULL },
		{ A, A, NULL },
		{ "4e:00.0", A, NULL },
		{ "pci:0000:4E:00.0", A, NULL },
		{ "1650123", A, NULL },
		{ "slot 5", A, NULL },
		{ "gpu 11", B, NULL },
		{ "mlx5_3", "mlx5_3:1", NULL },
		{ "mlx5_4:2", "mlx5_4:2", NULL },
		{ "mlx5_4 port 1", "mlx5_4:1", NULL },
		{ "mlx5_4", NULL, "'mlx5_4' may be mlx5_4 port 1, mlx5_4 port 2: say which" },
		{ "gpu 1", NULL,
		  "this host has no 'gpu 1'; it has gpu 3, gpu 11, mlx5_3 port 1, mlx5_4 port 1, "
		  "mlx5_4 port 2" },
		{ "GPU-", NULL, NULL },
		{ "gpu 3x", NULL, NULL },
		{ "gpu -3", NULL, NULL },
		{ "", NULL, NULL },
	};
	CLEANUP(host_parts_release) struct host_parts parts = parts_of(TWO);
	const struct host_parts none = { 0 };
	const struct host_part *found;
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		err = (struct err)ERR_INIT;
		found = NULL;
		CHECK_EQ(host_parts_find(&parts, rows[i].words, &found, &err) == 0,
			 rows[i].id != NULL);
		CHECK_STR(found ? found->id : NULL, rows[i].id);
		if (rows[i].refusal)
			CHECK_STR(err.msg, rows[i].refusal);
	}
	CHECK_EQ(host_parts_find(&none, "gpu 3", &found, &err), -ENOENT);
	CHECK_STR(err.msg, "'gpu 3': this host has not reported the names of its parts yet");
}

static const struct test tests[] = {
	TEST(a_part_has_a_short_name_and_a_line_to_hand_over),
	TEST(lists_go_round_and_what_is_not_understood_is_left_out),
	TEST(a_text_says_the_short_names),
	TEST(a_subject_names_its_parts_and_a_sentence_those_in_it),
	TEST(two_gpus_that_are_swapped_change_names_and_keep_what_is_written_on_them),
	TEST(a_gpu_that_does_not_answer_keeps_its_slot),
	TEST(a_gpu_that_is_lost_keeps_its_name_until_another_has_it),
	TEST(a_person_may_say_a_part_in_many_ways),
};

TEST_SUITE(tests);
