/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/kv.h"

#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static void print_leaf(const json_t *value, const char *path, FILE *out)
{
	CLEANUP(freep) char *text = json_line(value);
	size_t len = strlen(text);

	if (json_is_null(value))
		(void)fprintf(out, "%s=\n", path);
	else if (json_is_string(value)) /* without the surrounding quotes */
		(void)fprintf(out, "%s=%.*s\n", path, (int)len - 2, text + 1);
	else
		(void)fprintf(out, "%s=%s\n", path, text);
}

/* `path` and `key` joined by a dot; what would break the line is escaped as in JSON. */
static char *below(const char *path, const char *key)
{
	CLEANUP(json_freep) json_t *string = json_string(key);
	CLEANUP(freep) char *quoted = json_line(string);

	return xasprintf("%s%s%.*s", path, path[0] ? "." : "", (int)strlen(quoted) - 2, quoted + 1);
}

static void print_at(const json_t *value, const char *path, FILE *out)
{
	json_t *object;
	const char *key;
	json_t *item;
	size_t i;

	memcpy(&object, &value, sizeof(object)); /* the iterators take non-const */
	if (json_is_object(value)) {
		json_object_foreach(object, key, item)
		{
			CLEANUP(freep) char *at = below(path, key);

			print_at(item, at, out);
		}
	} else if (json_is_array(value)) {
		json_array_foreach(object, i, item)
		{
			CLEANUP(freep) char *at = xasprintf("%s%s%zu", path, path[0] ? "." : "", i);

			print_at(item, at, out);
		}
	} else {
		print_leaf(value, path, out);
	}
}

void kv_print(const json_t *value, FILE *out)
{
	print_at(value, "", out);
}
