/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/authz.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/auth/tokens.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define ACCOUNT "system:serviceaccount:"

static const char usual_account[] = "assay-agent";

static bool is_word(const char *text, size_t length)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";

	return length > 0 && strspn(text, allowed) >= length;
}

/* "NAMESPACE:NAME" */
static bool is_account(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon && is_word(text, (size_t)(colon - text)) &&
	       is_word(colon + 1, strlen(colon + 1));
}

bool authz_account(const char *user, char **ret_namespace, char **ret_name)
{
	const char *account = user + strlen(ACCOUNT);
	const char *colon;

	if (!starts_with(user, ACCOUNT) || !is_account(account))
		return false;
	colon = strchr(account, ':');
	*ret_namespace = xstrndup(account, (size_t)(colon - account));
	*ret_name = xstrdup(colon + 1);
	return true;
}

/* Takes ownership of `user`. */
static int add(struct authz *authz, const struct jval *at, char *user, int role, struct err *err)
{
	CLEANUP(freep) char *owned = user;

	if (authz_find(authz, user))
		return jval_fail(at, err, "%.80s is listed twice", user);
	if (authz->n >= AUTHZ_MAX)
		return jval_fail(at, err, "more than %d", AUTHZ_MAX);
	authz->users = xrealloc(authz->users, authz->n + 1, sizeof(*authz->users));
	authz->users[authz->n++] = (struct trusted){ .user = TAKE(owned), .role = role };
	return 0;
}

int authz_decode_agents(const struct jval *v, void *member, struct err *err)
{
	struct authz *authz = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);
		const char *text = json_string_value(item.value);

		if (text && starts_with(text, ACCOUNT))
			text += strlen(ACCOUNT);
		if (!text || strlen(text) > AUTHZ_USER_MAX || !is_account(text))
			r = jval_fail(&item, err, "expected NAMESPACE:NAME of a service account");
		else
			r = add(authz, &item, xasprintf(ACCOUNT "%s", text), ROLE_NODE, err);
	}
	authz->agents_told = true;
	return r;
}

static const struct jfield trusted_fields[] = {
	{ "user", J_STRING, offsetof(struct trusted, user), J_REQUIRED },
	{ "role", J_CUSTOM, offsetof(struct trusted, role), J_REQUIRED,
	  .decode = tokens_decode_role },
	{ "name", J_STRING, offsetof(struct trusted, name), 0 },
};

static void trusted_release(struct trusted *one)
{
	free(one->user);
	free(one->name);
}

static int decode_identity(const struct jval *v, struct authz *authz, struct err *err)
{
	CLEANUP(trusted_release) struct trusted one = { 0 };
	int r = jval_decode(v, trusted_fields, ARRAY_SIZE(trusted_fields), JVAL_STRICT, &one, err);
	struct jval user = jval_get(v, "user"), name = jval_get(v, "name");

	if (r < 0)
		return r;
	if (!one.user || !*one.user || strlen(one.user) > AUTHZ_USER_MAX)
		return jval_fail(&user, err, "expected a user name of at most %d bytes",
				 AUTHZ_USER_MAX);
	if (one.name && !tokens_name_ok(one.name))
		return jval_fail(&name, err, "expected 1 to %d letters, digits, '.', '-', '_', '@'",
				 ACCESS_NAME_MAX);
	r = add(authz, v, TAKE(one.user), one.role, err);
	if (r == 0)
		authz->users[authz->n - 1].name = TAKE(one.name);
	return r;
}

int authz_decode_identities(const struct jval *v, void *member, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		r = decode_identity(&item, member, err);
	}
	return r;
}

void authz_usual(struct authz *authz, const char *namespace)
{
	char *user = xasprintf(ACCOUNT "%s:%s", namespace, usual_account);

	if (authz->agents_told || authz_find(authz, user)) {
		free(user);
		return;
	}
	authz->users = xrealloc(authz->users, authz->n + 1, sizeof(*authz->users));
	authz->users[authz->n++] = (struct trusted){ .user = user, .role = ROLE_NODE };
}

struct authz authz_copy(const struct authz *authz)
{
	struct authz copy = *authz;
	size_t i;

	copy.users = xcalloc(authz->n + 1, sizeof(*copy.users));
	for (i = 0; i < authz->n; i++) {
		const struct trusted *one = &authz->users[i];

		copy.users[i] =
			(struct trusted){ xstrdup(one->user), one->role, xstrdup(one->name) };
	}
	return copy;
}

bool authz_same(const struct authz *a, const struct authz *b)
{
	size_t i;

	if (a->n != b->n || a->agents_told != b->agents_told || a->for_us != b->for_us)
		return false;
	for (i = 0; i < a->n; i++) {
		if (!streq(a->users[i].user, b->users[i].user) ||
		    a->users[i].role != b->users[i].role ||
		    !streq(a->users[i].name, b->users[i].name))
			return false;
	}
	return true;
}

void authz_release(struct authz *authz)
{
	size_t i;

	for (i = 0; i < authz->n; i++)
		trusted_release(&authz->users[i]);
	free(authz->users);
	*authz = (struct authz){ 0 };
}

const struct trusted *authz_find(const struct authz *authz, const char *user)
{
	size_t i;

	for (i = 0; i < authz->n; i++) {
		if (streq(authz->users[i].user, user))
			return &authz->users[i];
	}
	return NULL;
}
