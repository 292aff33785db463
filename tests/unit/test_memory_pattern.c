/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/pattern.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/memory/buffer.h"
#include "probes/memory/numa.h"
#include "probes/memory/team.h"
#include "probes/memory/verify.h"
#include "tests/unit/test.h"

enum { WORDS = 64 * 1024, FLIPS = 1000 };

static uint64_t random_state = 42;

static uint64_t random_u64(void)
{
	random_state = pattern_key(random_state);
	return random_state;
}

static void every_flipped_bit_is_found(void)
{
	CLEANUP(freep) uint64_t *words = xcalloc(WORDS, sizeof(*words));
	unsigned found = 0, i;

	for (i = 0; i < FLIPS; i++) {
		const struct pattern p = { pattern_key(i / 2), i % 2 ? UINT64_MAX : 0 };
		const uint64_t first = random_u64() >> 24, at = random_u64() % WORDS;
		const uint64_t bit = UINT64_C(1) << random_u64() % 64;
		struct pattern_fault fault = { 0 };

		pattern_fill(&p, words, WORDS, first);
		words[at] ^= bit;
		pattern_check(&p, words, WORDS, first, &fault);
		found += fault.wrong == 1 && fault.index == first + at &&
			 fault.expected == pattern_word(&p, first + at) &&
			 fault.got == (fault.expected ^ bit);
	}
	CHECK_EQ(found, FLIPS);
}

static void what_was_written_is_right(void)
{
	static const size_t sizes[] = { 0, 1, 511, 512, 513, 1025, WORDS };
	CLEANUP(freep) uint64_t *words = xcalloc(WORDS, sizeof(*words));
	const struct pattern p = { pattern_key(1), UINT64_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct pattern_fault fault = { 0 };

		pattern_fill(&p, words, sizes[i], 77);
		pattern_check(&p, words, sizes[i], 77, &fault);
		CHECK_EQ(fault.wrong, 0);
	}
}

static void a_wrong_address_is_found(void)
{
	CLEANUP(freep) uint64_t *words = xcalloc(WORDS, sizeof(*words));
	const struct pattern p = { pattern_key(1), 0 };
	unsigned line;

	/* Address bit `line` stuck at 0: the word lands where another belongs. */
	for (line = 0; (1U << line) < WORDS; line++) {
		struct pattern_fault fault = { 0 };
		size_t i;

		for (i = 0; i < WORDS; i++)
			words[i & ~(size_t)(1U << line)] = pattern_word(&p, i);
		pattern_check(&p, words, WORDS, 0, &fault);
		CHECK(fault.wrong >= WORDS / 2);
	}
}

static void all_wrong_words_are_counted_and_the_first_is_kept(void)
{
	CLEANUP(freep) uint64_t *words = xcalloc(WORDS, sizeof(*words));
	const struct pattern p = { pattern_key(9), 0 };
	struct pattern_fault fault = { 0 };

	pattern_fill(&p, words, WORDS, 0);
	words[5000] = 0;
	words[700] ^= 1;
	words[WORDS - 1] = 3;
	pattern_check(&p, words, WORDS, 0, &fault);
	CHECK_EQ(fault.wrong, 3);
	CHECK_EQ(fault.index, 700);
}

static void seeds_and_places_give_different_words(void)
{
	const struct pattern a = { pattern_key(1), 0 }, b = { pattern_key(2), 0 };
	const struct pattern c = { pattern_key(1), UINT64_MAX };

	CHECK(pattern_word(&a, 0) != pattern_word(&b, 0));
	CHECK(pattern_word(&a, 0) != pattern_word(&a, UINT64_C(1) << 40));
	CHECK_EQ(pattern_word(&a, 5), ~pattern_word(&c, 5));
}

/* A word of which bits are stuck. */
struct stuck {
	uint64_t *at;
	uint64_t ones, zeros;
	unsigned times; /* how often more it breaks */
};

static void stick(void *context, uint64_t *words, size_t n)
{
	struct stuck *stuck = context;

	if (stuck->times == 0 || stuck->at < words || stuck->at >= words + n)
		return;
	stuck->times--;
	*stuck->at = (*stuck->at | stuck->ones) & ~stuck->zeros;
}

static void stuck_bits_come_again(void)
{
	CLEANUP(freep) uint64_t *words = xcalloc(512, sizeof(*words));
	unsigned bit;

	for (bit = 0; bit < 64; bit++) {
		struct stuck one = { words + random_u64() % 512, UINT64_C(1) << bit, 0, 1000 };
		struct stuck zero = { words + random_u64() % 512, 0, UINT64_C(1) << bit, 1000 };

		CHECK(pattern_reproduces(words, 512, bit, stick, &one));
		CHECK(pattern_reproduces(words, 512, bit, stick, &zero));
	}
	CHECK(!pattern_reproduces(words, 512, 1, NULL, NULL));
	CHECK(!pattern_reproduces(words, 1, 1, NULL, NULL));
}

/* --- an arena with real threads --- */

enum { ARRAY_BYTES = 4 << 20 };

struct fixture {
	struct team *team;
	struct buffer buffer;
	struct arena arena;
};

static void set_up(struct fixture *f)
{
	CLEANUP(cpu_list_release) struct cpu_list cpus = { 0 };
	const struct numa_node node = { .id = 0 };
	unsigned twice[2];
	struct err err = ERR_INIT;

	*f = (struct fixture){ 0 };
	CHECK_EQ(cpu_list_allowed(&cpus, &err), 0);
	twice[0] = cpus.v[0];
	twice[1] = cpus.v[cpus.n - 1];
	CHECK_EQ(team_new(twice, 2, &f->team, &err), 0);
	CHECK_EQ(buffer_open(&node, true, ARRAY_BYTES, &f->buffer, &err), 0);
	CHECK_STR(err.msg, "");
	arena_init(&f->arena, f->team, &f->buffer);
	f->arena.array_bytes = ARRAY_BYTES;
	CHECK_EQ(arena_touch(&f->arena, ARRAY_BYTES, UINT64_MAX), 0);
}

static void tear_down(struct fixture *f)
{
	arena_release(&f->arena);
	buffer_close(&f->buffer);
	team_free(f->team);
}

static uint64_t *word_at(const struct fixture *f, size_t array, size_t word)
{
	void *at = f->buffer.arrays[array] + word;

	return at;
}

static void an_arena_that_is_good_passes_whole(void)
{
	struct fixture f;
	struct verify v;

	set_up(&f);
	CHECK_EQ(verify_arena(&f.arena, 1, 60 * USEC_PER_SEC, 1e12, NULL, &v), 0);
	CHECK_EQ(v.words, 3 * ARRAY_BYTES / 8);
	CHECK_EQ(v.fault.wrong, 0);
	CHECK(!v.reproduced);
	tear_down(&f);
}

static void faults_are_warned_of_once_and_sure_when_they_come_again(void)
{
	static const struct {
		unsigned times; /* it breaks */
		bool reproduced;
	} cases[] = { { 1, false }, { 1000, true } };
	struct fixture f;
	size_t i;

	set_up(&f);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		/* Beyond the first page of a part: array 2, in the part of the second thread. */
		const size_t word = ARRAY_BYTES / 8 - 1000;
		struct stuck stuck = { .at = word_at(&f, 2, word), .times = cases[i].times };
		const struct verify_hook hook = { .settle = stick, .context = &stuck };
		const struct pattern p = { .key = pattern_key(7) };
		const uint64_t index = 2 * (ARRAY_BYTES / 8) + word;
		struct verify v;

		/* The lowest bit that the pattern sets there stays 0. */
		stuck.zeros = pattern_word(&p, index) & -pattern_word(&p, index);
		CHECK_EQ(verify_arena(&f.arena, 7, 60 * USEC_PER_SEC, 1e12, &hook, &v), 0);
		CHECK_EQ(v.fault.wrong, 1);
		CHECK_EQ(v.array, 2);
		CHECK_EQ(v.offset, word * 8);
		CHECK_EQ(v.fault.expected, pattern_word(&p, index));
		CHECK_EQ(v.fault.got, v.fault.expected & ~stuck.zeros);
		CHECK_EQ(v.reproduced, cases[i].reproduced);
	}
	tear_down(&f);
}

static void little_time_checks_a_part_and_none_is_said(void)
{
	struct fixture f;
	struct verify v = { .words = 99 };

	set_up(&f);
	/* Time for 4 MiB moved, of which each word is moved four times. */
	CHECK_EQ(verify_arena(&f.arena, 1, USEC_PER_SEC, (4 << 20) / 0.7, NULL, &v), 0);
	CHECK(v.words > 0 && v.words <= (4 << 20) / 8 / 4);
	v.words = 99;
	CHECK_EQ(verify_arena(&f.arena, 1, 1, 1e3, NULL, &v), -ETIME);
	CHECK_EQ(v.words, 99);
	tear_down(&f);
}

static const struct test tests[] = {
	TEST(every_flipped_bit_is_found),
	TEST(what_was_written_is_right),
	TEST(a_wrong_address_is_found),
	TEST(all_wrong_words_are_counted_and_the_first_is_kept),
	TEST(seeds_and_places_give_different_words),
	TEST(stuck_bits_come_again),
	TEST(an_arena_that_is_good_passes_whole),
	TEST(faults_are_warned_of_once_and_sure_when_they_come_again),
	TEST(little_time_checks_a_part_and_none_is_said),
};

TEST_SUITE(tests);
