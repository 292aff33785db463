/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/report/host_parts_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"

enum {
	WORDS_MAX = 64 * 1024, /* bytes of a text with names in it */
	LIST_MAX_SIZE = 1024,
	PREFIX_MIN = 4, /* least length of a UUID prefix that somebody types */
};

/* The prefixes of subjects that name a part, and their length. */
static const char gpu[] = "gpu:", pci[] = "pci:", link_end[] = "GPU "; /* link_words.h */
enum { KIND_LENGTH = 4 };

/* --- names in a text --------------------------------------------------------------------------- */

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '/' || c == ':' ||
	       c == '.';
}

/* True if something that may name a part begins there. */
static bool names_one(const char *at)
{
	return starts_with(at, gpu) || starts_with(at, pci) || starts_with(at, link_end);
}

/* Length of the subject at `at`, without punctuation of the sentence. */
static size_t subject_length(const char *at)
{
	size_t n = KIND_LENGTH;

	while (is_of_word(at[n]) && at[n] != '/')
		n++;
	while (n > KIND_LENGTH && (at[n - 1] == ':' || at[n - 1] == '.'))
		n--;
	return n;
}

static bool is_at(const char *text, size_t length, const char *name)
{
	return name[0] && strlen(name) == length && strncmp(text, name, length) == 0;
}

/* The part for a subject of `length` bytes: by its name, else by its address. */
static const struct host_part *part_at(const struct host_parts *parts, const char *at, size_t length)
{
	const bool gpus_only = starts_with(at, gpu) || starts_with(at, link_end);
	size_t i;

	for (i = 0; i < parts->n; i++) {
		if (is_at(at, length, parts->all[i].id))
			return &parts->all[i];
	}
	/* Parts that are gone come last: another one may be at their address. */
	for (i = 0; i < parts->n && (gpus_only || starts_with(at, pci)); i++) {
		const struct host_part *part = &parts->all[i];

		if (is_at(at + KIND_LENGTH, length - KIND_LENGTH, part->pci) &&
		    (host_part_is_gpu(part) || !gpus_only))
			return part;
	}
	return NULL;
}

/* A PCI function is a whole device, whatever ports it has. */
static char *short_name(const struct host_part *part)
{
	return host_part_is_gpu(part) ? host_part_name(part)
				      : xstrndup(part->id, (size_t)host_part_device_length(part));
}

/* Names contain spaces, so an arrow before one gets spaces too. */
static void add_name(struct strbuf *to, const struct host_part *part)
{
	CLEANUP(freep) char *name = short_name(part);

	if (to->len > 0 && strbuf_text(to)[to->len - 1] == '>') {
		to->data[--to->len] = '\0';
		(void)strbuf_puts(to, " > ");
	}
	(void)strbuf_puts(to, name);
}

/* Copies what is at `at`, by name if it is a part. Returns how many bytes of the text were used. */
static size_t take(const struct host_parts *parts, const char *text, const char *at,
		   struct strbuf *to)
{
	const bool begins = at == text || !is_of_word(at[-1]);
	const struct host_part *part = NULL;
	size_t n = 1;

	if (begins && names_one(at)) {
		n = subject_length(at);
		part = part_at(parts, at, n);
	}
	if (!part) {
		(void)strbuf_add(to, at, n);
		return n;
	}
	add_name(to, part);
	if (at[n] != '>')
		return n;
	(void)strbuf_puts(to, " > ");
	return n + 1;
}

bool host_parts_may_be_in(const char *text)
{
	return text && (strstr(text, gpu) || strstr(text, pci) || strstr(text, link_end));
}

char *host_parts_words(const struct host_parts *parts, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf to = STRBUF_INIT(WORDS_MAX);
	const char *at;

	if (!parts || parts->n == 0 || !host_parts_may_be_in(text))
		return xstrdup(text);
	for (at = text; *at;)
		at += take(parts, text, at, &to);
	return xstrdup(strbuf_ok(&to) ? strbuf_text(&to) : text);
}

json_t *host_parts_named(const struct host_parts *parts, const char *subject)
{
	json_t *list = NULL;
	const char *at = subject;

	while (at && *at) {
		const size_t length = strcspn(at, ">*, ");
		const struct host_part *part = length > KIND_LENGTH ? part_at(parts, at, length)
								    : NULL;

		if (part) {
			list = list ? list : json_array();
			(void)json_array_append_new(list, host_part_encode(part));
		}
		at += length;
		at += strspn(at, ">*, ");
	}
	return list;
}

/* True if the name occurs as a whole word. */
static bool is_told(const char *text, const char *name)
{
	const size_t n = strlen(name);
	const char *at;

	for (at = strstr(text, name); at; at = strstr(at + 1, name)) {
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[n]))
			return true;
	}
	return false;
}

json_t *host_parts_told(const struct host_parts *parts, const char *text)
{
	json_t *list = NULL;
	size_t i;

	for (i = 0; text && i < parts->n; i++) {
		const struct host_part *part = &parts->all[i];
		CLEANUP(freep) char *name = host_part_name(part);

		if (!is_told(text, host_part_is_gpu(part) ? name : part->id))
			continue;
		list = list ? list : json_array();
		(void)json_array_append_new(list, host_part_encode(part));
	}
	return list;
}

/* --- input from people ---------------------------------------------------------------------- */

/* "gpu 3", "gpu3", "gpu:3", "gpu-3". */
static bool is_index(const struct host_part *part, const char *words)
{
	char *end = NULL;
	long index;

	if (!host_part_is_gpu(part) || part->index < 0 || strncasecmp(words, "gpu", 3) != 0)
		return false;
	words += 3;
	words += strspn(words, " :-") == 1;
	if (!isdigit((unsigned char)*words))
		return false;
	index = strtol(words, &end, 10);
	return *end == '\0' && index == part->index;
}

static bool is_uuid(const struct host_part *part, const char *words)
{
	const char *uuid = part->id + KIND_LENGTH;
	const size_t n = strlen(words);

	if (!host_part_is_gpu(part))
		return false;
	if (starts_with(words, gpu))
		return is_uuid(part, words + KIND_LENGTH);
	return n >= PREFIX_MIN + strlen("GPU-") && strncasecmp(words, uuid, n) == 0;
}

/* Also without the domain, as lspci prints it. */
static bool is_address(const struct host_part *part, const char *words)
{
	const char *at = starts_with(words, pci) ? words + KIND_LENGTH : words;
	const char *bus = strchr(part->pci, ':');

	return part->pci[0] &&
	       (strcasecmp(part->pci, at) == 0 || (bus && strcasecmp(bus + 1, at) == 0));
}

static bool is_meant(const struct host_part *part, const char *words)
{
	CLEANUP(freep) char *name = host_part_name(part);
	const size_t n = strlen(words);

	return streq(part->id, words) || strcasecmp(name, words) == 0 || is_index(part, words) ||
	       is_uuid(part, words) || is_address(part, words) ||
	       (part->serial[0] && streq(part->serial, words)) ||
	       (part->slot[0] && starts_with(words, "slot ") && streq(part->slot, words + 5)) ||
	       (!host_part_is_gpu(part) && (int)n == host_part_device_length(part) &&
		starts_with(part->id, words));
}

/* "gpu 0, gpu 1, mlx5_0 port 1" of the parts that `words` matches; all if NULL. */
static char *list(const struct host_parts *parts, const char *words)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(LIST_MAX_SIZE);
	size_t n = 0, i;

	for (i = 0; i < parts->n; i++) {
		CLEANUP(freep) char *name = host_part_name(&parts->all[i]);

		if (!words || is_meant(&parts->all[i], words))
			(void)strbuf_printf(&names, "%s%s", n++ ? ", " : "", name);
	}
	return xstrdup(strbuf_text(&names));
}

int host_parts_find(const struct host_parts *parts, const char *words,
		    const struct host_part **ret_part, struct err *err)
{
	const struct host_part *found = NULL;
	CLEANUP(freep) char *names = NULL;
	size_t n = 0, i;

	for (i = 0; i < parts->n; i++) {
		if (!is_meant(&parts->all[i], words))
			continue;
		found = found ? found : &parts->all[i];
		n++;
	}
	if (n == 1) {
		*ret_part = found;
		return 0;
	}
	names = list(parts, n ? words : NULL);
	if (n > 1)
		return err_set(err, EINVAL, "'%.80s' may be %s: say which", words, names);
	if (parts->n == 0)
		return err_set(err, ENOENT,
			       "'%.80s': this host has not reported the names of its parts yet",
			       words);
	return err_set(err, ENOENT, "this host has no '%.80s'; it has %s", words, names);
}
