/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"
#include "lib/sys/file.h"

void targets_release(struct targets *targets)
{
	size_t i;

	for (i = 0; i < targets->n; i++)
		free(targets->names[i]);
	free(targets->names);
	*targets = (struct targets){ 0 };
}

bool targets_are_many(const struct request *request)
{
	const struct settings *s = &request->settings;

	return request->command->argument.many &&
	       (request->n_arguments > 1 || s->file || s->sku || s->rack || s->selector.n > 0);
}

/* --- matching --- */

const char *targets_path(const struct settings *settings)
{
	return settings->selector.n > 0 ? "/v1/nodes?labels=1" : "/v1/nodes";
}

bool targets_match(const json_t *node, const struct settings *s)
{
	if (s->sku && !streq(s->sku, raw_at(node, "sku")))
		return false;
	if (s->rack && !streq(s->rack, raw_at(node, "domain")))
		return false;
	return selector_matches(&s->selector, json_object_get(node, "labels"));
}

int targets_check(const json_t *nodes, const struct settings *s, struct err *err)
{
	const json_t *first = json_array_get(nodes, 0);

	if (first && s->rack && !json_object_get(first, "domain"))
		return err_set(err, ENOTSUP,
			       "--rack: this controller is too old: it does not report racks");
	if (first && s->selector.n > 0 && !json_object_get(first, "labels"))
		return err_set(err, ENOTSUP,
			       "--selector: this controller is too old: it does not report labels");
	return 0;
}

/* --- collecting names --- */

struct gathering {
	json_t *seen; /* object with the names as keys */
	struct targets targets;
	size_t room;
};

static void gathering_release(struct gathering *g)
{
	json_decref(g->seen);
	targets_release(&g->targets);
}

static int add(struct gathering *g, const char *name, struct err *err)
{
	struct targets *t = &g->targets;

	if (json_object_get(g->seen, name))
		return 0;
	if (t->n == TARGETS_MAX)
		return err_set(err, EINVAL, "more than %d hosts at once", TARGETS_MAX);
	if (t->n == g->room) {
		g->room = MAX(2 * g->room, (size_t)16);
		t->names = xrealloc(t->names, g->room, sizeof(*t->names));
	}
	t->names[t->n++] = xstrdup(name);
	(void)json_object_set_new(g->seen, name, json_true());
	return 0;
}

static int add_matching(struct gathering *g, struct link *link, const struct request *request,
			struct err *err)
{
	const struct settings *s = &request->settings;
	CLEANUP(json_freep) json_t *all = NULL;
	const json_t *node;
	size_t i;
	int r = link_list(link, targets_path(s), &all, err);

	if (r == 0)
		r = targets_check(all, s, err);
	json_array_foreach(all, i, node)
	{
		if (r == 0 && *raw_at(node, "node") && targets_match(node, s))
			r = add(g, raw_at(node, "node"), err);
	}
	if (r == 0 && g->targets.n == 0)
		return err_set(err, ENOENT, "none of %zu hosts matches", json_array_size(all));
	return r;
}

/* --- a file --- */

static int read_stdin(char **ret_text, struct err *err)
{
	CLEANUP(freep) char *text = xcalloc(TARGETS_FILE_MAX + 2, 1);
	size_t n = fread(text, 1, TARGETS_FILE_MAX + 1, stdin);

	if (ferror(stdin))
		return err_set(err, EINVAL, "standard input cannot be read");
	if (n > TARGETS_FILE_MAX)
		return err_set(err, EINVAL, "standard input: more than %d bytes", TARGETS_FILE_MAX);
	text[n] = '\0';
	*ret_text = TAKE(text);
	return 0;
}

/* The first word of a line; "#" begins a comment. */
static int add_line(struct gathering *g, const char *line, size_t length, struct err *err)
{
	const char *at = line + strspn(line, " \t");
	const size_t end = length - MIN(length, (size_t)(at - line));
	size_t n = MIN(strcspn(at, " \t\r\n#"), end);
	CLEANUP(freep) char *name = xstrndup(at, n);
	const char *rest = at + n + strspn(at + n, " \t\r");

	if (n == 0)
		return 0;
	if (!node_name_ok(name) || (rest < line + length && *rest != '#'))
		return err_set(err, EINVAL, "'%.*s' is not a host name", (int)MIN(end, (size_t)80),
			       at);
	return add(g, name, err);
}

static int add_named_in(struct gathering *g, const char *file, struct err *err)
{
	const bool is_stdin = streq(file, "-");
	const char *name = is_stdin ? "standard input" : file;
	CLEANUP(freep) char *text = NULL;
	const char *at;
	unsigned line = 1;
	int r = is_stdin ? read_stdin(&text, err)
			 : file_read(AT_FDCWD, file, TARGETS_FILE_MAX, &text, NULL, err);

	if (r < 0)
		return -EINVAL;
	for (at = text; *at; line++) {
		size_t length = strcspn(at, "\n");

		if (add_line(g, at, length, err) < 0)
			return err_wrap(err, -EINVAL, "%s: line %u", name, line);
		at += length + (at[length] == '\n');
	}
	return g->targets.n ? 0 : err_set(err, ENOENT, "%s names no host", name);
}

int targets_find(struct link *link, const struct request *request, struct targets *ret,
		 struct err *err)
{
	CLEANUP(gathering_release) struct gathering g = { .seen = json_object() };
	size_t i;
	int r = 0;

	if (request->settings.file)
		r = add_named_in(&g, request->settings.file, err);
	else if (request->n_arguments == 0)
		r = add_matching(&g, link, request, err);
	for (i = 0; r == 0 && i < request->n_arguments; i++)
		r = add(&g, request->arguments[i], err);
	if (r < 0)
		return r;
	*ret = g.targets;
	g.targets = (struct targets){ 0 };
	return 0;
}
