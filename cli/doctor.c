/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/doctor_acts.h"
#include "cli/doctor_reach.h"
#include "cli/doctor_visit.h"
#include "cli/link_words.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/net/url.h"
#include "lib/sys/file.h"

enum { FILE_MOST = 4 * 1024 * 1024 }; /* bytes of CA certificates: a system's have 250 KiB */

static void check_controller(struct doctor_visit *d)
{
	const struct settings *s = &d->request->settings;
	const char *source = doctor_visit_source(d, OPTION_CONTROLLER);
	struct err err = ERR_INIT;

	if (link_words_base(s->controller, &d->base, &err) < 0)
		checklist_say(
			&d->list, CHECK_BAD, "controller",
			"'%.80s' (%s) is not a URL: export ASSAY_CONTROLLER=https://HOST:9470",
			s->controller, source);
	else if (s->token_file && url_is_open(d->base))
		checklist_say(&d->list, CHECK_WARN, "controller",
			      "%s (%s): the token is sent unencrypted: use https", d->base, source);
	else
		checklist_say(&d->list, CHECK_OK, "controller", "%s (%s)", d->base, source);
}

/* Read a file given by option; reports failure. The caller frees the text; NULL on failure. */
static char *read_named(struct doctor_visit *d, const char *item, const char *path,
			const char *source)
{
	struct err err = ERR_INIT;
	char *text = NULL;

	if (file_read(AT_FDCWD, path, FILE_MOST, &text, NULL, &err) == 0)
		return text;
	checklist_say(&d->list, CHECK_BAD, item, "%s (%s): mend %s", err.msg, source,
		      source[0] == '-' ? "the option" : "the variable, or the file's mode");
	free(TAKE(d->base));
	return NULL;
}

static void check_token(struct doctor_visit *d)
{
	const char *path = d->request->settings.token_file;
	const char *source = doctor_visit_source(d, OPTION_TOKEN_FILE);
	CLEANUP(freep) char *text = NULL;
	struct stat st;

	if (!path) {
		checklist_say(
			&d->list, CHECK_SKIPPED, "token",
			"none: export ASSAY_TOKEN_FILE=FILE, unless the controller asks for none");
		return;
	}
	text = read_named(d, "token", path, source);
	if (text && strspn(text, " \t\r\n") == strlen(text)) {
		checklist_say(&d->list, CHECK_BAD, "token",
			      "%s (%s): is empty: put the token there", path, source);
		free(TAKE(d->base));
	} else if (text && stat(path, &st) == 0 && st.st_mode & S_IROTH) {
		checklist_say(&d->list, CHECK_WARN, "token",
			      "%s (%s): readable by everyone on this machine: chmod 600 %s", path,
			      source, path);
	} else if (text) {
		checklist_say(&d->list, CHECK_OK, "token", "%s (%s)", path, source);
	}
}

static void check_authority(struct doctor_visit *d)
{
	const char *path = d->request->settings.ca_file;
	const char *source = doctor_visit_source(d, OPTION_CACERT);
	CLEANUP(freep) char *text = NULL;

	if (!path && starts_with(d->request->settings.controller, "https://"))
		checklist_say(&d->list, CHECK_OK, "authority",
			      "the system's CAs (ASSAY_CACERT names another file)");
	if (!path)
		return;
	text = read_named(d, "authority", path, source);
	if (text && !strstr(text, "-----BEGIN CERTIFICATE-----")) {
		checklist_say(&d->list, CHECK_BAD, "authority",
			      "%s (%s): is not a PEM certificate: use the controller's ca.pem",
			      path, source);
		free(TAKE(d->base));
	} else if (text) {
		checklist_say(&d->list, CHECK_OK, "authority", "%s (%s)", path, source);
	}
}

int doctor_run(const struct request *request)
{
	struct doctor_visit d = { .request = request };
	bool bad;

	(void)signal(SIGPIPE, SIG_IGN);
	check_controller(&d);
	check_token(&d);
	check_authority(&d);
	if (d.base)
		doctor_reach(&d);
	else
		checklist_say(&d.list, CHECK_SKIPPED, "reach",
			      "not checked until the above is fixed");
	if (d.may_ask)
		doctor_acts(&d);
	bad = checklist_end(&d.list);
	free(d.base);
	json_decref(d.who);
	return bad ? STATUS_NO : STATUS_GOOD;
}
