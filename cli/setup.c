/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/act.h"
#include "cli/command.h"
#include "cli/setup_cert.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/net/pem_sum.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"

enum { PEM_MAX = 64 * 1024 };

#define GROUP "assay-controller" /* of the unit's user, which reads the key */

/* The files, in the order in which they are written. */
enum file {
	FILE_CA_KEY,
	FILE_CA,
	FILE_KEY,
	FILE_CERT,
	FILE_ADMIN,
	FILE_TOKENS,
	FILE_SETTINGS,
	N_FILES
};

static const struct {
	const char *name;
	mode_t mode;
	bool of_group; /* readable by the controller */
} files[N_FILES] = {
	[FILE_CA_KEY] = { "ca.key", 0600, false },
	[FILE_CA] = { "ca.pem", 0644, false },
	[FILE_KEY] = { "controller.key", 0640, true },
	[FILE_CERT] = { "controller.pem", 0644, false },
	[FILE_ADMIN] = { "admin.token", 0600, false },
	[FILE_TOKENS] = { "tokens.yaml", 0640, true },
	[FILE_SETTINGS] = { "controller.yaml", 0644, false },
};

static char *path_of(const char *dir, enum file which)
{
	return xasprintf("%s/%s", dir, files[which].name);
}

/* Check that none of the files exists and all can be created. */
static int check_free(const char *dir, struct err *err)
{
	int i, r = file_mkdirs(dir, err);

	for (i = 0; r == 0 && i < N_FILES; i++) {
		CLEANUP(freep) char *path = path_of(dir, (enum file)i);

		if (access(path, F_OK) == 0)
			return err_set(err, EEXIST,
				       "%s: already exists: move it away, or give --dir", path);
	}
	if (r == 0 && access(dir, W_OK) != 0)
		return err_set(err, errno, "%s: cannot write there: run it as root", dir);
	return r;
}

static int put(const char *dir, enum file which, const char *text, struct err *err)
{
	CLEANUP(freep) char *path = path_of(dir, which);
	const struct group *group = files[which].of_group ? getgrnam(GROUP) : NULL;
	/* Without the group its files are readable by root only. */
	const mode_t nobodys = files[which].of_group && !group ? 0070U : 0;
	const mode_t before = umask(0777 & ~(files[which].mode & ~nobodys));
	int r = file_replace(AT_FDCWD, path, text, strlen(text), err);

	(void)umask(before);
	if (r == 0 && group &&
	    (chown(path, (uid_t)-1, group->gr_gid) != 0 || chmod(path, files[which].mode) != 0))
		return err_errno(err, errno, "%s: cannot be given to the group " GROUP, path);
	return r;
}

/* --- names --- */

struct names {
	char *text; /* owned; the names point into it */
	const char *of[SETUP_NAMES_MAX];
	size_t n;
};

static void names_release(struct names *n)
{
	free(n->text);
}

/* Parse --names; by default this host's names and the usual local ones. */
static int read_names(const struct settings *s, struct names *ret, struct err *err)
{
	CLEANUP(freep) char *host = host_name();
	char *rest = NULL, *word;

	ret->text = s->names ? xstrdup(s->names) : xasprintf("%s,localhost,127.0.0.1", host);
	for (word = strtok_r(ret->text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (ret->n == SETUP_NAMES_MAX)
			return err_set(err, EINVAL, "--names: more than %d", SETUP_NAMES_MAX);
		ret->of[ret->n++] = word;
	}
	return ret->n > 0 ? 0 : err_set(err, EINVAL, "--names: expected NAME,NAME");
}

/* --- file contents --- */

static char *tokens_text(const char *token)
{
	const char *who = act_login_name();
	char sum[SHA256_HEX_SIZE];

	sha256_of_text(token, sum);
	return xasprintf(
		"# Who may ask the controller what; docs/controller.md has the roles. Only sums "
		"of tokens:\n"
		"#   printf %%s TOKEN | sha256sum\n"
		"# Hosts need no row: they join by `assayctl join-command`.\n"
		"v: 1\n"
		"tokens:\n"
		"  - {sha256: %s, role: admin, name: %s}\n",
		sum,
		who && strspn(who, "abcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(who)
			? who
			: "admin");
}

static char *settings_text(const char *dir)
{
	return xasprintf(
		"# Written by `assayctl setup controller`. docs/controller.md has every key.\n"
		"v: 1\n"
		"listen: \"0.0.0.0:9470\"\n"
		"tokens: \"%s/tokens.yaml\"\n"
		"tls-cert: \"%s/controller.pem\"\n"
		"tls-key: \"%s/controller.key\"\n"
		"ca: \"%s/ca.pem\"               # told to hosts that join\n"
		"mode: observe                 # then dry-run, then enforce: docs/acting.md\n"
		"#policy: \"%s/policy.yaml\"     # default: the one that is installed\n",
		dir, dir, dir, dir, dir);
}

/* --- the commands --- */

static int fail(const struct err *err)
{
	(void)fprintf(stderr, "assayctl: %s\n", err->msg);
	return STATUS_USAGE;
}

static char *dir_of(const struct settings *s)
{
	return s->dir ? xstrdup(s->dir) : paths_conf();
}

static int write_all(const char *dir, const char *const texts[static N_FILES], struct err *err)
{
	int i, r = 0;

	for (i = 0; r == 0 && i < N_FILES; i++)
		r = put(dir, (enum file)i, texts[i], err);
	return r;
}

static int set_up(const char *dir, const struct names *names, char ret_sum[static SHA256_HEX_SIZE],
		  struct err *err)
{
	CLEANUP(setup_cert_release) struct setup_cert_pair ca = { 0 };
	CLEANUP(setup_cert_release) struct setup_cert_pair server = { 0 };
	CLEANUP(freep) char *settings = settings_text(dir);
	CLEANUP(freep) char *tokens = NULL;
	char token[RANDOM_TOKEN_LETTERS + 1];
	int r = check_free(dir, err);

	if (r == 0)
		r = setup_cert_authority(names->of[0], &ca, err);
	if (r == 0)
		r = setup_cert_server(&ca, names->of, names->n, &server, err);
	if (r == 0)
		r = random_token(token, RANDOM_TOKEN_LETTERS, clock_mono_us() + 10 * USEC_PER_SEC,
				 err);
	if (r == 0)
		r = pem_sum(ca.cert, ret_sum, err);
	if (r < 0)
		return r;
	tokens = tokens_text(token);
	return write_all(dir,
			 (const char *const[N_FILES]){
				 [FILE_CA_KEY] = ca.key,
				 [FILE_CA] = ca.cert,
				 [FILE_KEY] = server.key,
				 [FILE_CERT] = server.cert,
				 [FILE_ADMIN] = token,
				 [FILE_TOKENS] = tokens,
				 [FILE_SETTINGS] = settings,
			 },
			 err);
}

int setup_controller(const struct request *request)
{
	CLEANUP(freep) char *dir = dir_of(&request->settings);
	CLEANUP(names_release) struct names names = { 0 };
	char sum[SHA256_HEX_SIZE];
	struct err err = ERR_INIT;
	size_t i;

	if (read_names(&request->settings, &names, &err) < 0 || set_up(dir, &names, sum, &err) < 0)
		return fail(&err);
	(void)printf("in %s:\n", dir);
	for (i = 0; i < N_FILES; i++)
		(void)printf("  %s\n", files[i].name);
	(void)printf("\nnext:\n"
		     "  systemctl enable --now assay-controller\n"
		     "  export ASSAY_CONTROLLER=https://%s:9470 ASSAY_CACERT=%s/ca.pem "
		     "ASSAY_TOKEN_FILE=%s/admin.token\n"
		     "  assayctl join-command --hosts N      # the line to run on each host\n"
		     "\nkeep ca.key elsewhere: it signs the next certificate (assayctl setup "
		     "certificate)\n",
		     names.of[0], dir, dir);
	if (!getgrnam(GROUP))
		(void)printf("no such group: " GROUP
			     " yet: once it is there, chgrp it and chmod 640: %s/controller.key "
			     "and %s/tokens.yaml\n",
			     dir, dir);
	return STATUS_GOOD;
}

static int read_pair(const char *dir, struct setup_cert_pair *ret, struct err *err)
{
	CLEANUP(freep) char *cert = path_of(dir, FILE_CA);
	CLEANUP(freep) char *key = path_of(dir, FILE_CA_KEY);
	int r = file_read(AT_FDCWD, cert, PEM_MAX, &ret->cert, NULL, err);

	return r == 0 ? file_read(AT_FDCWD, key, PEM_MAX, &ret->key, NULL, err) : r;
}

int setup_certificate(const struct request *request)
{
	CLEANUP(freep) char *dir = dir_of(&request->settings);
	CLEANUP(setup_cert_release) struct setup_cert_pair server = { 0 };
	CLEANUP(setup_cert_release) struct setup_cert_pair ca = { 0 };
	CLEANUP(names_release) struct names names = { 0 };
	struct err err = ERR_INIT;
	int r = read_names(&request->settings, &names, &err);

	if (r == 0)
		r = read_pair(dir, &ca, &err);
	if (r == 0)
		r = setup_cert_server(&ca, names.of, names.n, &server, &err);
	if (r == 0)
		r = put(dir, FILE_KEY, server.key, &err);
	if (r == 0)
		r = put(dir, FILE_CERT, server.cert, &err);
	if (r < 0)
		return fail(&err);
	(void)printf("%s/controller.pem and its key are new, for %d days: systemctl reload "
		     "assay-controller\n",
		     dir, SETUP_CERT_DAYS);
	return STATUS_GOOD;
}
