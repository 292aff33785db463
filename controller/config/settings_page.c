/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config/settings_page.h"

#include "controller/auth/tokens.h"
#include "controller/http/api.h"
#include "lib/json/json.h"

static const struct jfield fields[] = {
	{ "proxy", J_CUSTOM, offsetof(struct settings_page, proxy), 0, .decode = page_proxy_decode },
	{ "role", J_CUSTOM, offsetof(struct settings_page, role), 0, .decode = tokens_decode_role },
};

struct settings_page settings_page_init(void)
{
	return (struct settings_page){ .role = ROLE_READ };
}

void settings_page_release(struct settings_page *page)
{
	page_proxy_release(&page->proxy);
}

int settings_page_decode(const struct jval *v, void *member, struct err *err)
{
	CLEANUP(settings_page_release) struct settings_page fresh = settings_page_init();
	struct settings_page *page = member;
	int r = 0;

	fresh.on = !json_is_false(v->value);
	if (json_is_object(v->value))
		r = jval_decode(v, fields, ARRAY_SIZE(fields), JVAL_STRICT, &fresh, err);
	else if (!json_is_boolean(v->value))
		r = jval_fail(v, err, "expected true, false or {role: ...}");
	if (r < 0)
		return r;
	settings_page_release(page);
	*page = fresh;
	fresh = settings_page_init();
	return 0;
}
