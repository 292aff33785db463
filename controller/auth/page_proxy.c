/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/page_proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "controller/auth/tokens.h"
#include "controller/http/api.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/jsome.h"
#include "lib/json/json.h"

/* Headers that everybody sends, or with another meaning. */
static const char *const taken[] = { "Authorization",  "Cookie", "Host",	 "Origin",
				     "Sec-Fetch-Site", "Accept", "Assay-Request" };

/* Letters, digits and '-': other names may mean different things to a proxy and to us. */
static int decode_header(const struct jval *v, void *member, struct err *err)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";
	const char *text = json_string_value(v->value);
	size_t i;

	if (!text || !*text || text[strspn(text, plain)])
		return jval_fail(
			v, err,
			"expected the name of a header line, as X-Forwarded-Email: letters, "
			"digits and '-'");
	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		if (strcasecmp(text, taken[i]) == 0)
			return jval_fail(v, err, "%s is already used for something else", text);
	}
	return jsome_text(v, member, err);
}

static int decode_roles(const struct jval *v, void *member, struct err *err)
{
	struct page_proxy *proxy = member;
	const char *group;
	json_t *value;
	int r = jval_need_object(v, err);

	if (r < 0)
		return r;
	if (json_object_size(v->value) == 0 || json_object_size(v->value) > PAGE_PROXY_ROLES_MAX)
		return jval_fail(v, err, "expected 1 to %d groups", PAGE_PROXY_ROLES_MAX);
	proxy->roles = xcalloc(PAGE_PROXY_ROLES_MAX, sizeof(*proxy->roles));
	json_object_foreach((json_t *)(uintptr_t)v->value, group, value)
	{
		const struct jval item = jval_get(v, group);
		struct page_proxy_role *row = &proxy->roles[proxy->n];

		if (!*group || strlen(group) > PAGE_PROXY_GROUP_MAX || strpbrk(group, ", \t"))
			return jval_fail(&item, err,
					 "expected a group of 1 to %d bytes, without ',' or blanks",
					 PAGE_PROXY_GROUP_MAX);
		r = tokens_decode_role(&item, &row->role, err);
		if (r < 0)
			return r;
		row->group = xstrdup(group);
		proxy->n++;
	}
	return 0;
}

static const struct jfield fields[] = {
	{ "certificate", J_CUSTOM, offsetof(struct page_proxy, certificate), J_REQUIRED,
	  .decode = jsome_text },
	{ "user", J_CUSTOM, offsetof(struct page_proxy, user), J_REQUIRED, .decode = decode_header },
	{ "groups", J_CUSTOM, offsetof(struct page_proxy, groups), J_REQUIRED,
	  .decode = decode_header },
	{ "roles", J_CUSTOM, 0, J_REQUIRED, .decode = decode_roles },
};

int page_proxy_decode(const struct jval *v, void *member, struct err *err)
{
	struct page_proxy *proxy = member;
	int r;

	page_proxy_release(proxy);
	r = jval_decode(v, fields, ARRAY_SIZE(fields), JVAL_STRICT, proxy, err);
	if (r == 0 && strcasecmp(proxy->user, proxy->groups) == 0)
		r = jval_fail(v, err, "user and groups: expected two lines, not one");
	if (r < 0)
		page_proxy_release(proxy);
	return r;
}

void page_proxy_release(struct page_proxy *proxy)
{
	size_t i;

	for (i = 0; i < proxy->n; i++)
		free(proxy->roles[i].group);
	free(proxy->roles);
	free(proxy->certificate);
	free(proxy->user);
	free(proxy->groups);
	*proxy = (struct page_proxy){ .n = 0 };
}

bool page_proxy_same(const struct page_proxy *a, const struct page_proxy *b)
{
	bool same = a->n == b->n && streq(a->certificate, b->certificate) &&
		    streq(a->user, b->user) && streq(a->groups, b->groups);
	size_t i;

	for (i = 0; same && i < a->n; i++)
		same = streq(a->roles[i].group, b->roles[i].group) &&
		       a->roles[i].role == b->roles[i].role;
	return same;
}

static int role_of(const struct page_proxy *proxy, const char *group, size_t length)
{
	size_t i;

	for (i = 0; i < proxy->n; i++) {
		if (strlen(proxy->roles[i].group) == length &&
		    strncmp(proxy->roles[i].group, group, length) == 0)
			return proxy->roles[i].role;
	}
	return ROLE_ANYBODY;
}

int page_proxy_role(const struct page_proxy *proxy, const char *groups)
{
	static const char between[] = ", \t";
	int role = ROLE_ANYBODY;

	while (groups && *(groups += strspn(groups, between))) {
		const size_t length = strcspn(groups, between);

		role = MAX(role, role_of(proxy, groups, length));
		groups += length;
	}
	return role;
}
