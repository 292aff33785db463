/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/diagnosis_record.h"

#include <stdlib.h>

#include "lib/json/json.h"

const char *const diagnosis_record_phases[] = { "stopping", "hosts", "groups", "done", NULL };

const char *diagnosis_record_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

void diagnosis_record_put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

bool diagnosis_record_is_in(const struct investigation *inv, int phase)
{
	return streq(diagnosis_record_text(inv->diagnosis, "phase"), diagnosis_record_phases[phase]);
}

void diagnosis_record_go_to(struct investigation *inv, int phase)
{
	diagnosis_record_put(inv->diagnosis, "phase", json_string(diagnosis_record_phases[phase]));
}

void diagnosis_record_note(struct investigation *inv, uint64_t now_us, char *text)
{
	json_t *timeline = json_object_get(inv->diagnosis, "timeline");

	if (json_array_size(timeline) < DIAGNOSIS_RECORD_LINES_MAX)
		(void)json_array_append_new(
			timeline, json_pack("{s:o, s:s}", "at", json_stamp(now_us), "text", text));
	free(inv->sentence);
	inv->sentence = text;
}

void diagnosis_record_say(struct investigation_host *host, int state, char *sentence)
{
	host->state = state;
	free(host->sentence);
	host->sentence = sentence;
}

json_t *diagnosis_record_names(const struct investigation *inv)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < inv->n_hosts; i++)
		(void)json_array_append_new(names, json_string(inv->hosts[i].name));
	return names;
}
