/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/pair_record.h"

#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { WORDS_MAX = 512 };

const char *const pair_record_ends[] = {
	[END_UNKNOWN] = "unknown",
	[END_GOOD] = "good",
	[END_BAD] = "bad",
	[END_BETWEEN] = "between",
	NULL,
};

const char *const pair_record_kinds[] = {
	[PAIR_RECORD_LINK] = "link",
	[PAIR_RECORD_GROUP] = "group",
	NULL,
};

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

char *pair_record_names(const json_t *names)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);
	const size_t n = json_array_size(names);
	size_t i;

	for (i = 0; i < n; i++)
		(void)strbuf_printf(&words, "%s%s",
				    i == 0	 ? ""
				    : i + 1 == n ? " and "
						 : ", ",
				    json_string_value(json_array_get(names, i)));
	return xstrdup(strbuf_text(&words));
}

int pair_record_kind(const json_t *entry)
{
	int kind = PAIR_RECORD_KINDS - 1;

	while (kind > PAIR_RECORD_LINK && !streq(text_of(entry, "kind"), pair_record_kinds[kind]))
		kind--;
	return kind;
}

uint64_t pair_record_began_us(const json_t *entry)
{
	return MAX(json_stamp_us(json_object_get(entry, "since")),
		   json_stamp_us(json_object_get(entry, "began")));
}

json_t *pair_record_new(int kind, const json_t *ends, uint64_t now_us)
{
	return json_pack("{s:s, s:o, s:o, s:[], s:n, s:n, s:[], s:{}, s:{}, s:n, s:n}", "kind",
			 pair_record_kinds[kind], "ends", json_deep_copy(ends), "since",
			 json_stamp(now_us), "thirds", "campaign", "began", "runs", "verdicts",
			 "tells", "over", "text");
}

bool pair_record_is_end(const json_t *entry, const char *host)
{
	return json_has_text(json_object_get(entry, "ends"), host);
}

bool pair_record_has(const json_t *pairs, const char *host)
{
	size_t i = 0;

	while (i < json_array_size(pairs) && !pair_record_is_end(json_array_get(pairs, i), host))
		i++;
	return i < json_array_size(pairs);
}

const json_t *pair_record_find(const json_t *investigations, const char *host, uint64_t since_us)
{
	size_t i, j;

	for (i = 0; i < json_array_size(investigations); i++) {
		const json_t *pairs = json_object_get(json_array_get(investigations, i), "pairs");

		for (j = json_array_size(pairs); j-- > 0;) {
			const json_t *entry = json_array_get(pairs, j);

			if (pair_record_is_end(entry, host) &&
			    json_stamp_us(json_object_get(entry, "since")) >= since_us)
				return entry;
		}
	}
	return NULL;
}

static int end_of(const char *word)
{
	int end = ENDS - 1;

	while (end > END_UNKNOWN && !streq(word, pair_record_ends[end]))
		end--;
	return end;
}

int pair_record_end(const json_t *entry, const char *host)
{
	return end_of(text_of(json_object_get(entry, "verdicts"), host));
}

bool pair_record_is_over(const json_t *entry, const char *host)
{
	const char *verdict = text_of(json_object_get(entry, "verdicts"), host);

	return json_is_string(json_object_get(entry, "over")) ||
	       (verdict && end_of(verdict) != END_BAD);
}

const char *pair_record_tells(const json_t *entry, const char *host)
{
	return text_of(json_object_get(entry, "tells"), host);
}

const char *pair_record_text(const json_t *entry)
{
	return text_of(entry, "text");
}

size_t pair_record_failed(const json_t *entry, const char *host, uint64_t *times, size_t n,
			  uint64_t *ret_began_us)
{
	const json_t *runs = json_object_get(entry, "runs");
	size_t found = 0, i;

	*ret_began_us = 0;
	for (i = 0; i < json_array_size(runs); i++) {
		const json_t *run = json_array_get(runs, i);
		const char *said = text_of(json_object_get(run, "ends"), host);

		/* Not measured. */
		if (!said || end_of(said) == END_UNKNOWN)
			continue;
		if (end_of(said) != END_BAD) {
			found = 0;
			*ret_began_us = 0;
			continue;
		}
		if (*ret_began_us == 0)
			*ret_began_us = json_stamp_us(json_object_get(run, "at"));
		if (found < n)
			times[found++] = json_stamp_us(json_object_get(run, "done"));
	}
	return found;
}

void pair_record_say(json_t *entry, const char *host, int end, const char *tells)
{
	(void)json_object_set_new(json_object_get(entry, "verdicts"), host,
				  json_string(pair_record_ends[end]));
	if (tells)
		(void)json_object_set_new(json_object_get(entry, "tells"), host, json_string(tells));
	else
		(void)json_object_del(json_object_get(entry, "tells"), host);
}

void pair_record_note(json_t *entry, char *text)
{
	(void)json_object_set_new(entry, "text", json_string(text));
	free(text);
}
