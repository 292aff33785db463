/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/trust.h"

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

bool trust_account(const char *user, char **ret_namespace, char **ret_name)
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

/* Takes `user`. */
static int add(struct trust *trust, const struct jval *at, char *user, int role, struct err *err)
{
	CLEANUP(freep) char *owned = user;

	if (trust_find(trust, user))
		return jval_fail(at, err, "%.80s is there twice", user);
	if (trust->n >= TRUST_MAX)
		return jval_fail(at, err, "more than %d", TRUST_MAX);
	trust->users = xrealloc(trust->users, trust->n + 1, sizeof(*trust->users));
	trust->users[trust->n++] = (struct trusted){ .user = TAKE(owned), .role = role };
	return 0;
}

int trust_decode_agents(const struct jval *v, void *member, struct err *err)
{
	struct trust *trust = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);
		const char *text = json_string_value(item.value);

		if (text && starts_with(text, ACCOUNT))
			text += strlen(ACCOUNT);
		if (!text || strlen(text) > TRUST_USER_MAX || !is_account(text))
			r = jval_fail(&item, err, "want NAMESPACE:NAME of a service account");
		else
			r = add(trust, &item, xasprintf(ACCOUNT "%s", text), ROLE_NODE, err);
	}
	trust->agents_told = true;
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

static int decode_identity(const struct jval *v, struct trust *trust, struct err *err)
{
	CLEANUP(trusted_release) struct trusted one = { 0 };
	int r = jval_decode(v, trusted_fields, ARRAY_SIZE(trusted_fields), JVAL_STRICT, &one, err);
	struct jval user = jval_get(v, "user"), name = jval_get(v, "name");

	if (r < 0)
		return r;
	if (!one.user || !*one.user || strlen(one.user) > TRUST_USER_MAX)
		return jval_fail(&user, err, "want the name of a user, of at most %d bytes",
				 TRUST_USER_MAX);
	if (one.name && !tokens_name_ok(one.name))
		return jval_fail(&name, err, "want 1 to %d letters, digits, '.', '-', '_', '@'",
				 ACCESS_NAME_MAX);
	r = add(trust, v, TAKE(one.user), one.role, err);
	if (r == 0)
		trust->users[trust->n - 1].name = TAKE(one.name);
	return r;
}

int trust_decode_identities(const struct jval *v, void *member, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		r = decode_identity(&item, member, err);
	}
	return r;
}

void trust_usual(struct trust *trust, const char *namespace)
{
	char *user = xasprintf(ACCOUNT "%s:%s", namespace, usual_account);

	if (trust->agents_told || trust_find(trust, user)) {
		free(user);
		return;
	}
	trust->users = xrealloc(trust->users, trust->n + 1, sizeof(*trust->users));
	trust->users[trust->n++] = (struct trusted){ .user = user, .role = ROLE_NODE };
}

struct trust trust_copy(const struct trust *trust)
{
	struct trust copy = *trust;
	size_t i;

	copy.users = xcalloc(trust->n + 1, sizeof(*copy.users));
	for (i = 0; i < trust->n; i++) {
		const struct trusted *one = &trust->users[i];

		copy.users[i] =
			(struct trusted){ xstrdup(one->user), one->role, xstrdup(one->name) };
	}
	return copy;
}

bool trust_same(const struct trust *a, const struct trust *b)
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

void trust_release(struct trust *trust)
{
	size_t i;

	for (i = 0; i < trust->n; i++)
		trusted_release(&trust->users[i]);
	free(trust->users);
	*trust = (struct trust){ 0 };
}

const struct trusted *trust_find(const struct trust *trust, const char *user)
{
	size_t i;

	for (i = 0; i < trust->n; i++) {
		if (streq(trust->users[i].user, user))
			return &trust->users[i];
	}
	return NULL;
}
