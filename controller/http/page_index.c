/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/page_index.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/http/page_files.h"
#include "lib/base/base64.h"
#include "lib/base/err.h"
#include "lib/base/sha256.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"

static const char map_begin[] = "<script type=\"importmap\">", map_end[] = "</script>";

int page_index_fill(const char *html, const char *version, char **ret, struct err *err)
{
	struct strbuf out = STRBUF_INIT(PAGE_FILE_MAX);
	const char *mark;

	for (; (mark = strstr(html, PAGE_INDEX_MARK)); html = mark + strlen(PAGE_INDEX_MARK)) {
		(void)strbuf_add(&out, html, (size_t)(mark - html));
		(void)strbuf_puts(&out, version);
	}
	(void)strbuf_puts(&out, html);
	if (!strbuf_ok(&out)) {
		strbuf_release(&out);
		return err_set(err, EFBIG, "more than %d bytes", PAGE_FILE_MAX);
	}
	*ret = xstrdup(strbuf_text(&out));
	strbuf_release(&out);
	return 0;
}

/* Number of inline scripts: those without src. */
static size_t count_inline(const char *html)
{
	const char *at, *end;
	size_t n = 0;

	for (at = html; (at = strstr(at, "<script")); at = end) {
		end = at + strcspn(at, ">");
		n += !memmem(at, (size_t)(end - at), " src=", strlen(" src="));
	}
	return n;
}

/* "'sha256-BASE64'" of the import map, or ""; new memory. */
static char *source_of_map(const char *html)
{
	const char *begin = strstr(html, map_begin);
	const char *end = begin ? strstr(begin, map_end) : NULL;
	unsigned char digest[SHA256_SIZE];
	CLEANUP(freep) char *text = NULL;
	struct sha256 sum;

	if (!end)
		return xstrdup("");
	begin += strlen(map_begin);
	sha256_init(&sum);
	sha256_add(&sum, begin, (size_t)(end - begin));
	sha256_digest(&sum, digest);
	text = base64_encode(digest, sizeof(digest));
	return xasprintf(" 'sha256-%s'", text);
}

int page_index_policy(const char *html, char **ret, struct err *err)
{
	CLEANUP(freep) char *map = source_of_map(html);

	if (count_inline(html) > (*map ? 1 : 0))
		return err_set(err, EINVAL,
			       "an inline script in the page would not run: only one %s is allowed",
			       map_begin);
	*ret = xasprintf("default-src 'none'; script-src 'self'%s; style-src 'self'; "
			 "img-src 'self'; connect-src 'self'; base-uri 'none'; "
			 "form-action 'self'; frame-ancestors 'none'; "
			 "require-trusted-types-for 'script'; trusted-types 'none'",
			 map);
	return 0;
}
