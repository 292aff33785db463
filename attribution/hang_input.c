/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/hang_input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_dump.h"
#include "lib/hang/hang_fr.h"
#include "lib/hang/hang_json.h"
#include "lib/hang/hang_pickle.h"
#include "lib/hang/hang_ras.h"
#include "lib/hang/hang_stack.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"

struct input {
	struct hang_case *c;
	struct hang_fr *fr; /* owned */
	size_t n_files, n_taken;
	struct hang_head head; /* from the first document that states its job and run */
	struct err broken;     /* the first unreadable one */
};

static void input_release(struct input *input)
{
	hang_fr_free(input->fr);
}

/* Note a dump that exists but is unusable. */
static void take_broken(struct input *input, const struct err *why)
{
	hang_fr_broken(input->fr, why->msg);
	if (!input->broken.code)
		input->broken = *why;
}

static int take_dump(struct input *input, const char *path, const char *bytes, size_t n,
		     struct err *err)
{
	struct err own = ERR_INIT;
	int r = hang_fr_add(input->fr, path, bytes, n, &own);

	if (r == -ENODATA) {
		take_broken(input, &own);
		return 0;
	}
	if (r < 0)
		return err_set(err, -r, "%s", own.msg);
	input->n_taken++;
	return 0;
}

static int take_stack(struct input *input, const char *path, const char *text, size_t n,
		      struct err *err)
{
	int64_t number = hang_dump_name_rank(path);
	struct hang_stack stack;
	struct hang_rank *rank = NULL;
	int r = hang_stack_read(text, n, &stack, err);

	if (r < 0)
		return err_wrap(err, r, "%s", path);
	if (number < 0)
		return err_set(err, EINVAL,
			       "%s: whose stack is it? The name of the file must end with "
			       "the rank",
			       path);
	r = hang_case_rank(input->c, number, &rank, err);
	if (r < 0)
		return err_wrap(err, r, "%s", path);
	rank->sources |= HANG_STACK;
	memcpy(rank->where, stack.where, sizeof(rank->where));
	input->n_taken++;
	return 0;
}

static int take_ras(struct input *input, const char *path, const char *text, size_t n,
		    struct err *err)
{
	struct hang_ras_told told;
	int r = hang_ras_read(text, n, NULL, input->c, &told, err);

	if (r < 0)
		return err_wrap(err, r, "%s", path);
	input->n_taken++;
	return 0;
}

/* Numbers of different jobs or runs cannot be compared. */
static int check_job(struct input *input, const char *path, const struct hang_head *head,
		     struct err *err)
{
	const struct hang_head *first = &input->head;

	if (!head->job[0])
		return 0;
	if (!first->job[0])
		input->head = *head;
	if (!streq(first->job, head->job))
		return err_set(err, EINVAL, "%s: it belongs to job '%s', another file to '%s'",
			       path, head->job, first->job);
	if (first->run == HANG_UNKNOWN)
		input->head.run = head->run;
	if (head->run != HANG_UNKNOWN && head->run != first->run)
		return err_set(err, EINVAL,
			       "%s: it belongs to run %" PRId64
			       " of the job, another file to run %" PRId64,
			       path, head->run, first->run);
	return 0;
}

static int take_document(struct input *input, const char *path, const json_t *json, struct err *err)
{
	struct jval root = jval_root(json, path);
	struct hang_head head;
	int r = hang_json_add(input->c, &root, &head, err);

	if (r == 0)
		r = check_job(input, path, &head, err);
	input->n_taken += r == 0;
	return r;
}

/* Invalid JSON is a truncated dump, or output of RAS versions that omit a comma. */
static int take_bad_json(struct input *input, const char *path, const char *text, size_t n,
			 const struct err *why, struct err *err)
{
	if (strstr(text, "\"communicators\""))
		return take_ras(input, path, text, n, err);
	if (hang_dump_name_rank(path) < 0)
		return err_set(err, EINVAL, "%s", why->msg);
	take_broken(input, why);
	return 0;
}

static int take_json(struct input *input, const char *path, const char *text, size_t n, bool named,
		     struct err *err)
{
	CLEANUP(json_freep) json_t *json = NULL;
	struct err own = ERR_INIT;

	if (json_parse(text, n, path, &json, &own) < 0)
		return take_bad_json(input, path, text, n, &own, err);
	if (json_is_array(json) && (named || json_object_get(json_array_get(json, 0), "frames")))
		return take_stack(input, path, text, n, err);
	if (hang_json_is(json))
		return take_document(input, path, json, err);
	if (json_object_get(json, "communicators"))
		return take_ras(input, path, text, n, err);
	if (json_object_get(json, "entries"))
		return take_dump(input, path, text, n, err);
	return named ? err_set(err, EINVAL, "%s: JSON, but of no kind that describes a hang", path)
		     : 0;
}

static int take_bytes(struct input *input, const char *path, const char *bytes, size_t n,
		      bool named, struct err *err)
{
	struct err own = ERR_INIT;
	size_t first = strspn(bytes, " \t\r\n");

	if (hang_pickle_is(bytes, n))
		return take_dump(input, path, bytes, n, err);
	if (n == 0 && (named || hang_dump_name_rank(path) >= 0)) {
		(void)err_set(&own, ENODATA, "%s: it is empty", path);
		take_broken(input, &own);
		return 0;
	}
	if (bytes[first] == '{' || bytes[first] == '[')
		return take_json(input, path, bytes, n, named, err);
	/* In job logs this comes later. */
	if (starts_with(bytes + first, "NCCL version"))
		return take_ras(input, path, bytes, n, err);
	if (!named)
		return 0;
	return err_set(err, EINVAL,
		       "%s: neither a flight recorder dump, nor assay-hang/1, an answer from RAS "
		       "or a py-spy stack",
		       path);
}

static int take_file(struct input *input, const char *path, bool named, struct err *err)
{
	CLEANUP(freep) char *bytes = NULL;
	size_t n = 0;
	int r;

	if (++input->n_files > HANG_INPUT_FILES_MAX)
		return err_set(err, E2BIG, "%s: more than %d files", path, HANG_INPUT_FILES_MAX);
	r = file_read(AT_FDCWD, path, HANG_INPUT_BYTES_MAX, &bytes, &n, err);
	return r < 0 ? r : take_bytes(input, path, bytes, n, named, err);
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int take_folder(struct input *input, const char *path, struct err *err)
{
	struct dirent **entries = NULL;
	int i, r = 0, n = scandir(path, &entries, is_shown, alphasort);

	if (n < 0)
		return err_errno(err, errno, "%s", path);
	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *file = xasprintf("%s/%s", path, entries[i]->d_name);
		struct stat st;

		if (r == 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode))
			r = take_file(input, file, false, err);
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int take_path(struct input *input, const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_errno(err, errno, "%s", path);
	return S_ISDIR(st.st_mode) ? take_folder(input, path, err)
				   : take_file(input, path, true, err);
}

int hang_input_read(char *const *paths, size_t n, struct hang_case *c, struct err *err)
{
	CLEANUP(input_release)
	struct input input = { .c = c, .fr = hang_fr_new(), .broken = ERR_INIT };
	size_t i;
	int r = 0;

	for (i = 0; i < n && r == 0; i++)
		r = take_path(&input, paths[i], err);
	if (r < 0)
		return r;
	if (input.n_taken == 0)
		return input.broken.code ? err_set(err, EINVAL, "%s", input.broken.msg)
					 : err_set(err, EINVAL,
						   "%s: nothing in it describes a hang", paths[0]);
	return hang_fr_put(input.fr, c, err);
}
