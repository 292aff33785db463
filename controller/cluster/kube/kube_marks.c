/* SPDX-License-Identifier: Apache-2.0 */
/* What we write on nodes, and how it is read back. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube_node.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static const char no_schedule[] = "NoSchedule";

enum { HOLD_DIGITS_MAX = 13 }; /* of seconds; more would not fit into microseconds */

/* --- the mark --- */

char *kube_mark_text(const struct cluster_mark *mark)
{
	CLEANUP(json_freep) json_t *value = cluster_mark_encode(mark);
	CLEANUP(freep) char *text = json_line(value);

	if (strlen(text) <= KUBE_MARK_MAX)
		return TAKE(text);
	(void)json_object_del(value, "evidence");
	return json_line(value);
}

struct cluster_mark *kube_mark_read(const char *text)
{
	size_t len = text ? strnlen(text, KUBE_MARK_MAX + 1) : 0;
	CLEANUP(json_freep) json_t *value = NULL;

	if (len == 0 || len > KUBE_MARK_MAX || json_parse(text, len, "cordon", &value, NULL) < 0)
		return NULL;
	return cluster_mark_decode(value);
}

/* --- override-until --- */

char *kube_override_text(uint64_t until_us)
{
	char stamp[CLOCK_STAMP_SIZE];

	clock_stamp(until_us, stamp);
	return xstrdup(stamp);
}

uint64_t kube_override_read(const char *text)
{
	uint64_t until_us = 0;

	return text && clock_parse_stamp(text, &until_us) == 0 ? until_us : 0;
}

/* --- the hold --- */

/* What may stand within a value; its ends are alphanumeric. */
static char mended(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.' ? c : '-';
}

json_t *kube_hold_taint(const struct cluster_names *names, uint64_t until_us, const char *by)
{
	uint64_t seconds = until_us / USEC_PER_SEC + (until_us % USEC_PER_SEC != 0);
	CLEANUP(freep)
	char *value =
		xasprintf("%" PRIu64 ".%.*s", seconds, KUBE_TAINT_VALUE_MAX - 21, by ? by : "");
	size_t len = strlen(value), i;

	for (i = 0; i < len; i++)
		value[i] = mended(value[i]);
	while (len > 0 && !isalnum((unsigned char)value[len - 1]))
		value[--len] = '\0';
	return json_pack("{s:s, s:s, s:s}", "key", names->testing, "value", value, "effect",
			 no_schedule);
}

bool kube_hold_read(const json_t *taint, uint64_t *ret_until_us, char **ret_by)
{
	const char *value = json_string_value(json_object_get(taint, "value"));
	size_t digits = value ? strspn(value, "0123456789") : 0;
	uint64_t seconds;

	if (digits == 0 || digits > HOLD_DIGITS_MAX ||
	    (value[digits] != '.' && value[digits] != '\0') ||
	    !streq(json_string_value(json_object_get(taint, "effect")), no_schedule))
		return false;
	seconds = strtoull(value, NULL, 10);
	if (seconds == 0)
		return false;
	*ret_until_us = seconds * USEC_PER_SEC;
	*ret_by = xstrdup(value[digits] == '.' ? value + digits + 1 : "");
	return true;
}

json_t *kube_node_taints(const json_t *object, const struct cluster_names *names, uint64_t until_us,
			 const char *by)
{
	const json_t *taints = json_object_get(json_object_get(object, "spec"), "taints");
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < json_array_size(taints); i++) {
		json_t *one = json_array_get(taints, i);

		if (!streq(json_string_value(json_object_get(one, "key")), names->testing))
			(void)json_array_append(all, one);
	}
	if (until_us)
		(void)json_array_append_new(all, kube_hold_taint(names, until_us, by));
	return all;
}
