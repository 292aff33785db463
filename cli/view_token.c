/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl token create, join-command: a join token, and the command line to join a host. */
#include <errno.h>
#include <stdlib.h>

#include "cli/act.h"
#include "cli/command.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/link_words.h"
#include "cli/view.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static json_t *body_of(const struct settings *s)
{
	const char *by = act_login_name();
	char duration[CLOCK_DURATION_SIZE];
	json_t *body = json_object();

	if (by)
		(void)json_object_set_new(body, "by", json_string(by));
	if (s->reason)
		(void)json_object_set_new(body, "reason", json_string(s->reason));
	if (s->names)
		(void)json_object_set_new(body, "names", json_string(s->names));
	if (s->hosts)
		(void)json_object_set_new(body, "hosts", json_integer((json_int_t)s->hosts));
	if (s->for_us != SPAN_NOT_SAID) {
		duration_format(s->for_us, duration);
		(void)json_object_set_new(body, "for", json_string(duration));
	}
	return body;
}

/* It will be pasted into a root shell: letters, digits, '-' and '_' only. */
static bool is_word(const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	return strspn(text, plain) == strlen(text);
}

/* Uses the shell's builtin `printf`, so that the token is never in a process's arguments. */
static char *command_of(const char *base, const json_t *answer)
{
	const char *sum = raw_at(answer, "ca_sha256");
	CLEANUP(freep) char *pin = *sum ? xasprintf(" --ca-hash sha256:%s", sum) : xstrdup("");

	return xasprintf("printf %%s %s | sudo assay join --controller %s%s --token-file -",
			 raw_at(answer, "token"), base, pin);
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	CLEANUP(json_freep) json_t *body = body_of(&request->settings);
	CLEANUP(freep) char *command = NULL;
	CLEANUP(freep) char *base = NULL;
	int r = link_words_base(request->settings.controller, &base, err);

	if (r == 0)
		r = link_post(link, "/v1/join-tokens", body, &ret->document, err);
	if (r < 0)
		return r;
	if (!is_word(raw_at(ret->document, "token")) ||
	    !is_word(raw_at(ret->document, "ca_sha256")))
		return err_set(err, EBADMSG,
			       "the answer is not a join token; is this a controller?");
	command = command_of(base, ret->document);
	(void)json_object_set_new(ret->document, "command", json_string(command));
	return 0;
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	CLEANUP(freep) char *id = job_words_count(picture->document, "id");
	CLEANUP(freep) char *names = text_at(picture->document, "names");
	CLEANUP(freep) char *hosts = job_words_count(picture->document, "hosts");
	CLEANUP(freep) char *expires = text_at(picture->document, "expires");

	return xasprintf(
		"join token %s, shown this once: for %s host%s with names like %s, until %s", id,
		hosts, streq(hosts, "1") ? "" : "s", names, expires);
}

static void show(const struct picture *picture, struct page *page)
{
	CLEANUP(freep) char *token = text_at(picture->document, "token");
	CLEANUP(freep) char *command = text_at(picture->document, "command");

	(void)fprintf(page->out, "%s\n\non each host:\n  %s\n", token, command);
	if (!*raw_at(picture->document, "ca_sha256"))
		(void)fputs("add --ca-hash or --ca if it is https: controller.yaml has no `ca`\n",
			    page->out);
}

const struct view view_token = { fetch, summary, show, NULL };

static void show_command(const struct picture *picture, struct page *page)
{
	CLEANUP(freep) char *command = text_at(picture->document, "command");

	(void)fprintf(page->out, "%s\n", command);
}

const struct view view_join_command = { fetch, NULL, show_command, NULL };
