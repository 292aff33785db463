/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel log: records in pieces as read(2) may return them, each matched
 * against the patterns of policies/. Devices control the text of their messages.
 */
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/kernel_match.h"
#include "lib/sys/kernel_rules.h"
#include "lib/sys/kmsg.h"
#include "tests/fuzz/fuzz.h"

struct source {
	const uint8_t *data;
	size_t size, at, piece;
};

static ssize_t give(void *context, void *bytes, size_t n)
{
	struct source *s = context;
	size_t room = MIN(n, s->piece), count = MIN(room, s->size - s->at);

	memcpy(bytes, s->data + s->at, count);
	s->at += count;
	return (ssize_t)count;
}

static const struct kernel_rules *rules(void)
{
	static struct kernel_rules table;
	struct err err = ERR_INIT;

	if (table.n_patterns == 0)
		FUZZ_CHECK(kernel_rules_load(FUZZ_POLICY_DIR, &table, &err) == 0);
	return &table;
}

static void check_text(const char *text)
{
	struct kernel_match match;
	const char *at;

	for (at = text; *at; at++)
		FUZZ_CHECK(*at >= ' ' && *at <= '~');
	if (!kernel_match_line(rules(), text, &match))
		return;
	FUZZ_CHECK(match.pattern < rules()->n_patterns);
	FUZZ_CHECK(strnlen(match.code, sizeof(match.code)) < sizeof(match.code));
	FUZZ_CHECK(match.subject[0] &&
		   strnlen(match.subject, sizeof(match.subject)) < sizeof(match.subject));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = { data, size, 0, size && data[0] < 64 ? 1U + data[0] : size + 1 };
	CLEANUP(freep) struct kmsg *kmsg = xcalloc(1, sizeof(*kmsg));
	struct kmsg_record record;
	size_t n = 0;

	kmsg->read = give;
	kmsg->context = &source;
	while (kmsg_next(kmsg, &record) > 0) {
		FUZZ_CHECK(record.level < 8 && ++n <= size);
		check_text(record.text);
	}
	FUZZ_CHECK(kmsg->n_bytes == size);
	return 0;
}
