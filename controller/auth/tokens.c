/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/tokens.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/glob.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

static const char *const role_names[] = {
	[ROLE_ANYBODY] = "",  [ROLE_NODE] = "",		  [ROLE_SUBMIT] = "submit",
	[ROLE_READ] = "read", [ROLE_OPERATE] = "operate", [ROLE_ADMIN] = "admin",
};

/* Is it a role from `least` on? */
static bool find_role(const struct jval *v, int least, void *member)
{
	const char *text = json_string_value(v->value);
	int i;

	for (i = least; text && i <= ROLE_ADMIN; i++) {
		if (streq(text, role_names[i])) {
			*(int *)member = i;
			return true;
		}
	}
	return false;
}

int tokens_decode_role(const struct jval *v, void *member, struct err *err)
{
	return find_role(v, ROLE_READ, member)
		       ? 0
		       : jval_fail(v, err, "expected read, operate or admin");
}

static int decode_any_role(const struct jval *v, void *member, struct err *err)
{
	return find_role(v, ROLE_SUBMIT, member)
		       ? 0
		       : jval_fail(v, err, "expected read, operate, admin or submit");
}

static int decode_hex(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);

	if (!text || strlen(text) != SHA256_HEX_SIZE - 1 ||
	    strspn(text, "0123456789abcdef") != SHA256_HEX_SIZE - 1)
		return jval_fail(v, err,
				 "expected 64 lower-case hexadecimal digits, as from `printf %%s "
				 "TOKEN | sha256sum`");
	memcpy(member, text, SHA256_HEX_SIZE);
	return 0;
}

static const struct jfield token_fields[] = {
	{ "sha256", J_CUSTOM, offsetof(struct tokens_one, hex), J_REQUIRED, .decode = decode_hex },
	{ "node", J_STRING, offsetof(struct tokens_one, node), 0 },
	{ "name", J_STRING, offsetof(struct tokens_one, name), 0 },
	{ "jobs", J_STRING, offsetof(struct tokens_one, jobs), 0 },
	{ "role", J_CUSTOM, offsetof(struct tokens_one, role), 0, .decode = decode_any_role },
};

bool tokens_name_ok(const char *name)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_@";
	size_t length = strlen(name);

	return length > 0 && length <= ACCESS_NAME_MAX && strspn(name, plain) == length;
}

static int decode_token(const struct jval *v, struct tokens_one *token, struct err *err)
{
	int r = jval_decode(v, token_fields, ARRAY_SIZE(token_fields), JVAL_STRICT, token, err);
	struct jval node = jval_get(v, "node"), name = jval_get(v, "name");

	if (r < 0)
		return r;
	if (!token->node == !token->role)
		return jval_fail(v, err, "expected either node or role");
	if (token->node && !node_name_ok(token->node))
		return jval_fail(&node, err,
				 "expected a host name of letters, digits, '.', '-', '_'");
	if (token->name && !tokens_name_ok(token->name))
		return jval_fail(&name, err, "expected 1 to %d letters, digits, '.', '-', '_', '@'",
				 ACCESS_NAME_MAX);
	if ((token->jobs && token->jobs[0]) != (token->role == ROLE_SUBMIT))
		return jval_fail(
			v, err,
			"jobs (a pattern of job names) can only be used with the role submit");
	if (token->jobs && !glob_ok(token->jobs))
		return jval_fail(v, err,
				 "jobs: expected a pattern of at most %d characters besides *",
				 GLOB_STEPS_MAX);
	if (token->node)
		token->role = ROLE_NODE;
	return 0;
}

static int compare_tokens(const void *a, const void *b)
{
	return strcmp(((const struct tokens_one *)a)->hex, ((const struct tokens_one *)b)->hex);
}

/* Sort, and refuse duplicates. */
static int sort_tokens(struct tokens *a, const struct jval *at, struct err *err)
{
	size_t i;

	qsort(a->tokens, a->n_tokens, sizeof(*a->tokens), compare_tokens);
	for (i = 1; i < a->n_tokens; i++) {
		if (streq(a->tokens[i - 1].hex, a->tokens[i].hex))
			return jval_fail(at, err, "%.12s... is listed twice", a->tokens[i].hex);
	}
	return 0;
}

static int decode_tokens(const struct jval *v, void *member, struct err *err)
{
	struct tokens *a = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > ACCESS_TOKENS_MAX)
		r = jval_fail(v, err, "more than %d", ACCESS_TOKENS_MAX);
	if (r < 0)
		return r;
	a->tokens = xcalloc(n + 1, sizeof(*a->tokens));
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		r = decode_token(&item, &a->tokens[a->n_tokens++], err);
	}
	return r == 0 ? sort_tokens(a, v, err) : r;
}

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	return json_is_integer(v->value) && json_integer_value(v->value) == 1
		       ? 0
		       : jval_fail(v, err, "expected 1: this program reads version 1 only");
}

struct document {
	struct tokens tokens;
};

static const struct jfield fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "tokens", J_CUSTOM, offsetof(struct document, tokens), J_REQUIRED,
	  .decode = decode_tokens },
};

int tokens_read(const char *path, struct tokens *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct document document = { 0 };
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	r = jval_decode(&root, fields, ARRAY_SIZE(fields), JVAL_STRICT, &document, err);
	if (r < 0)
		tokens_release(&document.tokens);
	else
		*ret = document.tokens;
	return r;
}

void tokens_release(struct tokens *a)
{
	size_t i;

	for (i = 0; i < a->n_tokens; i++) {
		free(a->tokens[i].node);
		free(a->tokens[i].name);
		free(a->tokens[i].jobs);
	}
	free(a->tokens);
	*a = (struct tokens){ 0 };
}

const struct tokens_one *tokens_find(const struct tokens *a, const char *sha256)
{
	struct tokens_one key = { .role = 0 };

	if (strlen(sha256) >= sizeof(key.hex))
		return NULL;
	memcpy(key.hex, sha256, strlen(sha256) + 1);
	return a->n_tokens ? bsearch(&key, a->tokens, a->n_tokens, sizeof(key), compare_tokens)
			   : NULL;
}

static const struct tokens_one *find_token(const struct tokens *a, const char *token)
{
	char hex[SHA256_HEX_SIZE];

	sha256_of_text(token, hex);
	return tokens_find(a, hex);
}

int tokens_role_of(const char *name)
{
	int i;

	for (i = ROLE_SUBMIT; i <= ROLE_ADMIN; i++) {
		if (streq(role_names[i], name))
			return i;
	}
	return ROLE_ANYBODY;
}

bool tokens_lists(const struct tokens *a, const char *node)
{
	size_t i;

	for (i = 0; i < a->n_tokens; i++) {
		if (a->tokens[i].node && streq(a->tokens[i].node, node))
			return true;
	}
	return false;
}

const char *tokens_role_name(int role)
{
	return role_names[role];
}

bool tokens_identify(const struct tokens *a, const char *token, const char *peer,
		     struct identity *ret)
{
	const struct tokens_one *found = token ? find_token(a, token) : NULL;

	if (a->open)
		*ret = (struct identity){ .role = ROLE_ADMIN };
	else if (found)
		*ret = (struct identity){ found->role, found->node, found->name, found->jobs };
	else if (!token && peer && a->certificates && node_name_ok(peer))
		*ret = (struct identity){ .role = ROLE_NODE, .node = peer };
	else
		return false;
	return true;
}
