/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/job_log_match.h"

#include <errno.h>
#include <stdlib.h>

#include "agents/assayd/yaml_child.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/paths.h"

/* --- the patterns --- */

struct words {
	char *name, *text, *says;
};

static void words_release(struct words *w)
{
	free(w->name);
	free(w->text);
	free(w->says);
}

static bool is_printable(const char *text)
{
	CLEANUP(freep) char *clean = utf8_clean(text);

	return streq(clean, text);
}

static int copy_word(const struct jval *v, const char *key, const char *text, char *ret,
		     size_t size, struct err *err)
{
	const struct jval at = jval_get(v, key);

	if (!text[0] || strlen(text) >= size || !is_printable(text))
		return jval_fail(&at, err, "expected a text of 1 to %zu printable bytes", size - 1);
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

static int decode_pattern(const struct jval *v, struct job_log_pattern *ret, struct err *err)
{
	static const struct jfield rows[] = {
		{ "name", J_STRING, offsetof(struct words, name), J_REQUIRED },
		{ "text", J_STRING, offsetof(struct words, text), J_REQUIRED },
		{ "says", J_STRING, offsetof(struct words, says), J_REQUIRED },
	};
	CLEANUP(words_release) struct words w = { 0 };
	int r = jval_decode(v, rows, ARRAY_SIZE(rows), JVAL_STRICT, &w, err);

	if (r == 0)
		r = copy_word(v, "name", w.name, ret->name, sizeof(ret->name), err);
	if (r == 0)
		r = copy_word(v, "text", w.text, ret->text, sizeof(ret->text), err);
	if (r == 0)
		r = copy_word(v, "says", w.says, ret->says, sizeof(ret->says), err);
	return r;
}

static int decode_patterns(const struct jval *v, void *member, struct err *err)
{
	struct job_log_patterns *out = member;
	const size_t n = json_array_size(v->value);
	size_t i;
	int r = 0;

	if (!json_is_array(v->value) || n < 1 || n > JOB_LOG_PATTERNS_MAX)
		return jval_fail(v, err, "expected a list of 1 to %d patterns",
				 JOB_LOG_PATTERNS_MAX);
	out->all = xcalloc(n, sizeof(*out->all));
	out->n = n;
	for (i = 0; r == 0 && i < n; i++) {
		const struct jval item = jval_at(v, i);

		r = decode_pattern(&item, &out->all[i], err);
	}
	return r;
}

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	return json_integer_value(v->value) == 1 ? 0 : jval_fail(v, err, "expected 1");
}

int job_log_match_decode(const struct jval *root, struct job_log_patterns *ret, struct err *err)
{
	static const struct jfield rows[] = {
		{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
		{ "patterns", J_CUSTOM, 0, J_REQUIRED, .decode = decode_patterns },
	};
	struct job_log_patterns patterns = { 0 };
	int r = jval_decode(root, rows, ARRAY_SIZE(rows), JVAL_STRICT, &patterns, err);

	if (r < 0)
		job_log_match_release(&patterns);
	else
		*ret = patterns;
	return r;
}

int job_log_match_read(const char *path, struct job_log_patterns *ret, struct err *err)
{
	CLEANUP(freep) char *dir = paths_policy();
	CLEANUP(freep) char *own = xasprintf("%s/job-log.yaml", dir);
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = yaml_child_read(path ? path : own, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path ? path : own);
	return job_log_match_decode(&root, ret, err);
}

void job_log_match_release(struct job_log_patterns *patterns)
{
	free(patterns->all);
	*patterns = (struct job_log_patterns){ 0 };
}

/* --- the lines --- */

static void end_line(struct job_log_match *m, const struct job_log_patterns *patterns)
{
	size_t i;

	for (i = 0; i < patterns->n; i++) {
		const char *text = patterns->all[i].text;

		if (memmem(m->line, m->n, text, strlen(text))) {
			m->counts[i]++;
			break;
		}
	}
	m->n = 0;
}

void job_log_match_add(struct job_log_match *match, const struct job_log_patterns *patterns,
		       const char *bytes, size_t n)
{
	while (n > 0) {
		const char *end = memchr(bytes, '\n', n);
		const size_t length = end ? (size_t)(end - bytes) : n;
		const size_t room = MIN(length, sizeof(match->line) - match->n);

		memcpy(match->line + match->n, bytes, room);
		match->n += room;
		if (!end)
			return;
		end_line(match, patterns);
		bytes = end + 1;
		n -= length + 1;
	}
}
