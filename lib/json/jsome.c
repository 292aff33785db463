/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jsome.h"

#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

static int text_of(const struct jval *v, const char **ret_text, struct err *err)
{
	*ret_text = json_string_value(v->value);
	return *ret_text ? 0 : jval_fail(v, err, "expected a string, not %s", jval_type_name(v));
}

int jsome_text(const struct jval *v, void *member, struct err *err)
{
	char **place = member;
	const char *text;
	int r = text_of(v, &text, err);

	if (r < 0)
		return r;
	if (!*text)
		return jval_fail(v, err, "must not be empty");
	free(*place);
	*place = xstrdup(text);
	return 0;
}

int jsome_time(const struct jval *v, void *member, struct err *err)
{
	struct err why = ERR_INIT;
	const char *text;
	uint64_t us = 0;
	int r = text_of(v, &text, err);

	if (r < 0)
		return r;
	if (duration_parse(text, &us, &why) < 0)
		return jval_fail(v, err, "%s", why.msg);
	if (us == 0)
		return jval_fail(v, err, "must be longer than 0");
	*(uint64_t *)member = us;
	return 0;
}
