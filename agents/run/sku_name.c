/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/sku_name.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/run/sku_host.h"
#include "lib/base/distance.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"

static const char tail[] = ".yaml";

/* Length of the name before ".yaml"; 0: not such a file. */
static size_t name_length(const char *file)
{
	return sku_host_is_file(file) ? strlen(file) - (sizeof(tail) - 1) : 0;
}

static int is_sku(const struct dirent *entry)
{
	return name_length(entry->d_name) > 0;
}

json_t *sku_name_list(void)
{
	CLEANUP(freep) char *policy = paths_policy();
	CLEANUP(freep) char *dir = xasprintf("%s/sku", policy);
	json_t *names = json_array();
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, is_sku, alphasort), i;

	for (i = 0; i < n; i++) {
		json_array_append_new(
			names, json_stringn(entries[i]->d_name, name_length(entries[i]->d_name)));
		free(entries[i]);
	}
	free(entries);
	return names;
}

/* The name most similar to `given`; NULL: none is similar. Borrowed. */
static const char *nearest(const json_t *names, const char *given)
{
	const char *best = NULL;
	size_t i;

	for (i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (distance_is_near(given, name) &&
		    (!best || distance_between(given, name) < distance_between(given, best)))
			best = name;
	}
	return best;
}

int sku_name_path(const char *given, char **ret_path, struct err *err)
{
	CLEANUP(freep) char *policy = paths_policy();
	CLEANUP(freep) char *path = xasprintf("%s/sku/%s%s", policy, given, tail);
	json_t *names;
	const char *near;

	if (access(given, F_OK) == 0) {
		*ret_path = xstrdup(given);
		return 0;
	}
	if (strchr(given, '/'))
		return err_set(err, EINVAL, "%s: No such file or directory (--sku)", given);
	if (access(path, F_OK) == 0) {
		*ret_path = TAKE(path);
		return 0;
	}
	names = sku_name_list();
	near = nearest(names, given);
	if (near)
		(void)err_set(err, EINVAL,
			      "%.100s: neither a file nor the name of a SKU (--sku); did you mean "
			      "%s?",
			      given, near);
	else
		(void)err_set(err, EINVAL,
			      "%.100s: neither a file nor the name of a SKU (--sku); `assay list "
			      "--skus` prints the names",
			      given);
	json_decref(names);
	return -EINVAL;
}
