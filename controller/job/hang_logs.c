/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_logs.h"

#include <math.h>

#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* One entry of a host; its content is untrusted. */
static void read_line(json_t *lines, const char *node, const json_t *one)
{
	const char *pattern = json_string_value(json_object_get(one, "pattern"));
	const char *says = json_string_value(json_object_get(one, "says"));
	const double last_s = json_number_value(json_object_get(one, "last_s"));
	const json_int_t count = json_integer_value(json_object_get(one, "count"));
	CLEANUP(freep) char *clean = NULL;

	if (!pattern || !says || strlen(says) > HANG_LOGS_WORDS_MAX ||
	    strlen(pattern) > HANG_LOGS_WORDS_MAX || count < 1 || !isfinite(last_s) || last_s < 0)
		return;
	clean = xasprintf("%s: %s (%s, %" JSON_INTEGER_FORMAT " line%s, %.0f s ago)", node, says,
			  pattern, count, count == 1 ? "" : "s", last_s);
	(void)utf8_clean_in_place(clean);
	(void)json_array_append_new(lines, json_string(clean));
}

json_t *hang_logs_read(const json_t *doc, const char *node)
{
	const json_t *logs = json_object_get(doc, "logs");
	CLEANUP(json_freep) json_t *lines = json_array();
	size_t i;

	for (i = 0; i < MIN(json_array_size(logs), (size_t)HANG_LOGS_OF_HOST_MAX); i++)
		read_line(lines, node, json_array_get(logs, i));
	return json_array_size(lines) > 0 ? TAKE(lines) : NULL;
}

size_t hang_logs_bytes(const json_t *lines)
{
	size_t i, n = 0;

	for (i = 0; i < json_array_size(lines); i++)
		n += json_string_length(json_array_get(lines, i));
	return n;
}

static void tell_of(void *context, void *item)
{
	const struct hang_said *said = item;
	json_t *lines = context;
	size_t i;

	for (i = 0; i < json_array_size(said->words.logs) && json_array_size(lines) < HANG_LOGS_MAX;
	     i++)
		(void)json_array_append(lines, json_array_get(said->words.logs, i));
}

json_t *hang_logs_tell(const struct hang_docs *docs)
{
	json_t *lines = json_array();

	map_each(&docs->hosts, tell_of, lines);
	return lines;
}
