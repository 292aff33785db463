/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/gpu_users.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"

enum { COMMAND_MAX = 64 };

#define AT(m) offsetof(struct gpu_user, m)
static const struct jfield row_fields[] = {
	{ "command", J_STRING, AT(command), J_REQUIRED },
	{ "clients", J_TRISTATE, AT(clients), 0 },
	{ "note", J_STRING, AT(note), 0 },
	{ "source", J_STRING, AT(source), 0 },
};
#undef AT

struct document {
	uint64_t version;
	json_t *allowed;
};

static void document_release(struct document *d)
{
	json_decref(d->allowed);
}

static int take_row(const struct jval *v, struct gpu_users *users, struct err *err)
{
	/* Counted before it is complete, so that it is released on errors. */
	struct gpu_user *row = &users->rows[users->n++];
	struct jval command = jval_get(v, "command");
	int r = jval_decode(v, row_fields, ARRAY_SIZE(row_fields), JVAL_STRICT, row, err);
	size_t i;

	if (r < 0)
		return r;
	if (!row->command[0] || strlen(row->command) > COMMAND_MAX || strchr(row->command, '/'))
		return jval_fail(&command, err, "expected the name of a program of 1 to %d bytes",
				 COMMAND_MAX);
	for (i = 0; i + 1 < users->n; i++) {
		if (strncmp(users->rows[i].command, row->command, GPU_USER_COMM_MAX) == 0)
			return jval_fail(&command, err,
					 "given twice (the kernel keeps %d characters of it)",
					 GPU_USER_COMM_MAX);
	}
	return 0;
}

int gpu_users_take(const json_t *doc, const char *file, struct gpu_users *ret, struct err *err)
{
	static const struct jfield fields[] = {
		{ "v", J_U64, offsetof(struct document, version), J_REQUIRED },
		{ "allowed", J_JSON, offsetof(struct document, allowed), J_REQUIRED },
	};
	CLEANUP(document_release) struct document d = { 0 };
	struct jval root = jval_root(doc, file);
	struct jval version = jval_get(&root, "v"), list = jval_get(&root, "allowed");
	struct gpu_users users = { 0 };
	int r = jval_decode(&root, fields, ARRAY_SIZE(fields), JVAL_STRICT, &d, err);
	size_t i, n;

	if (r == 0 && d.version != 1)
		r = jval_fail(&version, err, "expected 1: this program reads version 1 only");
	if (r == 0)
		r = jval_need_array(&list, err);
	n = r == 0 ? json_array_size(list.value) : 0;
	if (n > GPU_USERS_MAX)
		r = jval_fail(&list, err, "%zu rows, more than %d", n, GPU_USERS_MAX);
	if (r < 0)
		return r;
	users.rows = xcalloc(n + 1, sizeof(*users.rows));
	for (i = 0; r == 0 && i < n; i++) {
		struct jval row = jval_at(&list, i);

		r = take_row(&row, &users, err);
	}
	if (r < 0)
		gpu_users_release(&users);
	else
		*ret = users;
	return r;
}

int gpu_users_load(struct gpu_users *ret, struct err *err)
{
	CLEANUP(freep) char *dir = paths_policy();
	CLEANUP(freep) char *path = xasprintf("%s/gpu-users.yaml", dir);
	CLEANUP(json_freep) json_t *doc = NULL;

	if (access(path, F_OK) < 0 && errno == ENOENT) {
		*ret = (struct gpu_users){ 0 };
		return 0;
	}
	/* Any problem with our own file is bad input: exit status 2. */
	if (yaml_read_file(path, &doc, err) < 0)
		return -EINVAL;
	return gpu_users_take(doc, path, ret, err);
}

void gpu_users_release(struct gpu_users *users)
{
	size_t i;

	for (i = 0; i < users->n; i++) {
		free(users->rows[i].command);
		free(users->rows[i].note);
		free(users->rows[i].source);
	}
	free(users->rows);
	*users = (struct gpu_users){ 0 };
}

const struct gpu_user *gpu_users_find(const struct gpu_users *users, const char *comm)
{
	size_t i;

	for (i = 0; comm && comm[0] && i < users->n; i++) {
		if (strncmp(users->rows[i].command, comm, GPU_USER_COMM_MAX) == 0)
			return &users->rows[i];
	}
	return NULL;
}
