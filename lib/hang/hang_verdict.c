/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_verdict.h"

#include <stdarg.h>
#include <stdio.h>

static void insert(uint32_t *ranks, size_t *n, size_t *more, uint32_t rank)
{
	size_t i = 0;

	while (i < *n && ranks[i] < rank)
		i++;
	if (i < *n && ranks[i] == rank)
		return;
	if (*n == HANG_NAMED_MAX) {
		(*more)++;
		return;
	}
	memmove(ranks + i + 1, ranks + i, (*n - i) * sizeof(*ranks));
	ranks[i] = rank;
	(*n)++;
}

bool hang_verdict_blames(const struct hang_verdict *verdict, uint32_t rank)
{
	size_t i;

	for (i = 0; i < verdict->n_ranks; i++)
		if (verdict->ranks[i] == rank)
			return true;
	return false;
}

void hang_verdict_blame(struct hang_verdict *verdict, uint32_t rank)
{
	size_t i = 0;

	while (i < verdict->n_suspects && verdict->suspects[i] != rank)
		i++;
	if (i < verdict->n_suspects)
		memmove(verdict->suspects + i, verdict->suspects + i + 1,
			(--verdict->n_suspects - i) * sizeof(*verdict->suspects));
	insert(verdict->ranks, &verdict->n_ranks, &verdict->n_more, rank);
}

void hang_verdict_suspect(struct hang_verdict *verdict, uint32_t rank)
{
	if (!hang_verdict_blames(verdict, rank))
		insert(verdict->suspects, &verdict->n_suspects, &verdict->n_more, rank);
}

void hang_verdict_say(struct hang_sentences *sentences, const char *fmt, ...)
{
	va_list args;

	if (sentences->n == HANG_SENTENCES_MAX) {
		sentences->left_out++;
		return;
	}
	va_start(args, fmt);
	(void)vsnprintf(sentences->text[sentences->n++], HANG_SENTENCE_SIZE, fmt, args);
	va_end(args);
}
