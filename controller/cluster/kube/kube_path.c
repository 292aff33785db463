/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_path.h"

#include <errno.h>
#include <stdarg.h>

#include "controller/cluster/kube/kube.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/subdomain.h"
#include "lib/base/xalloc.h"

static int add_name(struct strbuf *path, const char *name, struct err *err)
{
	if (!is_subdomain(name))
		return err_set(err, EINVAL, "'%s' is not a valid Kubernetes name", name ? name : "");
	(void)strbuf_puts(path, name); /* has nothing to encode */
	return 0;
}

int kube_path(char *ret, struct err *err, const char *format, ...)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(KUBE_PATH_MAX - 1);
	const char *whole = format;
	va_list names;
	int r = 0;

	va_start(names, format);
	while (*format && r == 0) {
		const size_t plain = strcspn(format, "%");

		(void)strbuf_add(&path, format, plain);
		format += plain;
		if (!*format)
			break;
		r = format[1] == 's' ? add_name(&path, va_arg(names, const char *), err)
				     : err_set(err, EINVAL, "not a name in a path: %s", whole);
		format += 2;
	}
	va_end(names);
	if (r == 0 && !strbuf_ok(&path))
		r = err_set(err, EINVAL, "a path of more than %d bytes", KUBE_PATH_MAX - 1);
	if (r == 0)
		memcpy(ret, strbuf_text(&path), path.len + 1);
	return r;
}

/* RFC 3986 2.3: unreserved characters. */
static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~", c));
}

char *kube_encode(const char *text)
{
	char *encoded = xcalloc(strlen(text) * 3 + 1, 1), *to = encoded;

	for (; *text; text++) {
		static const char digits[] = "0123456789ABCDEF";
		const unsigned char byte = (unsigned char)*text;

		if (is_unreserved(*text)) {
			*to++ = *text;
			continue;
		}
		*to++ = '%';
		*to++ = digits[byte >> 4];
		*to++ = digits[byte & 15];
	}
	return encoded;
}
