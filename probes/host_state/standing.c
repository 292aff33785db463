/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/host_state/standing.h"

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

static const char list_key[] = "kmsg_standing";

static const char *text(const json_t *item, const char *key)
{
	const char *value = json_string_value(json_object_get(item, key));

	return value ? value : "";
}

/* An entry that was edited or damaged is ignored. */
static bool is_whole(const json_t *item)
{
	return text(item, "code")[0] && text(item, "subject")[0];
}

json_t *standing_load(const struct host *h)
{
	const json_t *kept = h->same_boot ? json_object_get(h->past, list_key) : NULL;
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < json_array_size(kept) && i < STANDING_MAX; i++) {
		json_t *item = json_array_get(kept, i);

		if (is_whole(item))
			json_array_append(list, item);
	}
	return list;
}

bool standing_has(const json_t *list, const char *code, const char *subject)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (streq(text(item, "code"), code) && streq(text(item, "subject"), subject))
			return true;
	}
	return false;
}

void standing_add(json_t *list, const char *code, const char *subject, const char *line)
{
	char since[CLOCK_STAMP_SIZE];

	if (standing_has(list, code, subject) || json_array_size(list) >= STANDING_MAX)
		return;
	clock_stamp(clock_real_us(), since);
	json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "code", code, "subject",
					      subject, "line", line, "since", since));
}

int standing_emit(struct host *h, const char *check, const json_t *list, const json_t *told)
{
	size_t i;
	int r = 0;

	for (i = 0; i < json_array_size(list) && r == 0; i++) {
		const json_t *item = json_array_get(list, i);
		const char *code = text(item, "code"), *subject = text(item, "subject");
		struct sample s;

		if (standing_has(told, code, subject))
			continue;
		s = host_sample(check, subject, 0);
		s.code = xstrdup(code);
		s.params = json_pack("{s:s}", "pattern", "standing");
		r = host_emit(
			h, &s, FINDING_FATAL,
			"logged before %s and still in effect: cleared by a reboot or, after a "
			"reset of the device, by removing the state file probe/host-state.json: %s",
			text(item, "since"), text(item, "line"));
	}
	return r;
}

void standing_save(struct host *h, const json_t *list, const json_t *told)
{
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		json_array_append(all, json_array_get(list, i));
	for (i = 0; i < json_array_size(told); i++) {
		json_t *item = json_array_get(told, i);

		if (!standing_has(list, text(item, "code"), text(item, "subject")) &&
		    json_array_size(all) < STANDING_MAX)
			json_array_append(all, item);
	}
	(void)json_object_set_new(h->next, list_key, all);
}
