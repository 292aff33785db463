/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay join: makes this host one of a controller's (controller/auth/join.h). It creates a token,
 * verifies the CA certificate by its checksum, sends the checksum of its token with the join
 * token, writes assayd.yaml and enables the units. A separate program, so that `assay`, which
 * runs before each job, does not link libcurl.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/join/join_ask.h"
#include "agents/join/join_files.h"
#include "lib/base/err.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/net/pem_sum.h"
#include "lib/net/url.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/usage.h"

enum { STATUS_JOINED = 0, STATUS_NO = 1, STATUS_USAGE = 2, STATUS_UNKNOWN = 3 };

enum {
	OPT_CONTROLLER = 256,
	OPT_CA_HASH,
	OPT_CA,
	OPT_TOKEN_FILE,
	OPT_TOKEN,
	OPT_NODE,
	OPT_NO_START
};

struct asked {
	const char *controller, *ca_hash, *ca_file, *token_file, *token, *node;
	bool no_start;
};

static const struct argp_option options[] = {
	{ "controller", OPT_CONTROLLER, "URL", 0, "URL of the controller, https://HOST:PORT", 0 },
	{ "ca-hash", OPT_CA_HASH, "SHA256", 0,
	  "The SHA-256 of its certificate authority, as `assayctl join-command` prints it", 0 },
	{ "ca", OPT_CA, "FILE", 0, "Or the authority's certificate, PEM", 0 },
	{ "token-file", OPT_TOKEN_FILE, "FILE", 0, "The join token, one line; - is standard input",
	  0 },
	{ "token", OPT_TOKEN, "TOKEN", 0,
	  "The join token itself: other users of this host can see it while it runs", 0 },
	{ "node", OPT_NODE, "NAME", 0,
	  "The name of this host (default: ASSAY_NODE, else the host name)", 0 },
	{ "no-start", OPT_NO_START, NULL, 0, "Do not enable and start the units", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *a = state->input;
	const struct {
		int key;
		const char **to;
	} texts[] = {
		{ OPT_CONTROLLER, &a->controller },
		{ OPT_CA_HASH, &a->ca_hash },
		{ OPT_CA, &a->ca_file },
		{ OPT_TOKEN_FILE, &a->token_file },
		{ OPT_TOKEN, &a->token },
		{ OPT_NODE, &a->node },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (key == texts[i].key) {
			*texts[i].to = arg;
			return 0;
		}
	}
	if (key == OPT_NO_START)
		a->no_start = true;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

/* Only characters that need no escape in a double-quoted YAML string. */
static bool is_plain(const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789:/.-_[]%~";

	return strspn(text, plain) == strlen(text);
}

static int check(const struct asked *a, struct err *err)
{
	const bool tls = a->controller && starts_with(a->controller, "https://");

	if (!a->controller)
		return err_set(err, EINVAL,
			       "give --controller, --ca-hash and --token-file: `assayctl "
			       "join-command` prints the whole line");
	if (!is_plain(a->controller) ||
	    (!tls && (!starts_with(a->controller, "http://") || url_is_open(a->controller))))
		return err_set(
			err, EINVAL,
			"--controller: expected https://HOST:PORT: over plain HTTP others could "
			"read the join token");
	if (tls && !a->ca_hash == !a->ca_file)
		return err_set(
			err, EINVAL,
			"give --ca-hash or --ca, so that nothing is sent to the wrong controller");
	if (!a->token_file == !a->token)
		return err_set(err, EINVAL, "give --token-file (- is standard input)");
	return 0;
}

/* Parse 64 hexadecimal digits, with or without "sha256:" and colons, into lower case. */
static int read_sum(const char *text, char ret[static SHA256_HEX_SIZE], struct err *err)
{
	size_t n = 0;

	if (starts_with(text, "sha256:"))
		text += strlen("sha256:");
	for (; *text && n < SHA256_HEX_SIZE - 1; text++) {
		if (*text != ':')
			ret[n++] = (char)(*text >= 'A' && *text <= 'F' ? *text + 'a' - 'A' : *text);
	}
	ret[n] = '\0';
	if (*text || n != SHA256_HEX_SIZE - 1 || strspn(ret, "0123456789abcdef") != n)
		return err_set(err, EINVAL, "--ca-hash: expected 64 hexadecimal digits");
	return 0;
}

/* The CA to trust: NULL for plain HTTP on this host. The caller frees it. */
static int find_ca(const struct asked *a, char **ret_pem, struct err *err)
{
	char sum[SHA256_HEX_SIZE];
	int r;

	if (!starts_with(a->controller, "https://"))
		return 0;
	if (!a->ca_file) {
		r = read_sum(a->ca_hash, sum, err);
		return r < 0 ? r : join_ask_ca(a->controller, sum, ret_pem, err);
	}
	r = file_read(AT_FDCWD, a->ca_file, JOIN_CA_MAX, ret_pem, NULL, err);
	if (r == 0)
		r = pem_sum(*ret_pem, sum, err);
	return r < 0 ? err_wrap(err, -EINVAL, "--ca") : 0;
}

static int join(const struct asked *a, const struct join_files *files, const char *node,
		char **ret_sentence, struct err *err)
{ /* lint: allow parameters: who joins, by what, and what is said of it */
	CLEANUP(freep) char *config = NULL;
	CLEANUP(freep) char *ticket = NULL;
	CLEANUP(freep) char *token = NULL;
	CLEANUP(freep) char *pem = NULL;
	char sum[SHA256_HEX_SIZE];
	int r;

	config = join_files_config(files, a->controller, node,
				   starts_with(a->controller, "https://"));
	r = join_files_check(files, config, err);
	if (r == 0 && a->token)
		ticket = xstrdup(a->token);
	else if (r == 0)
		r = join_files_line(a->token_file, &ticket, err);
	if (r == 0)
		r = find_ca(a, &pem, err);
	if (r == 0)
		r = join_files_token(files, &token, err);
	if (r < 0)
		return r;
	sha256_of_text(token, sum);
	r = join_ask(&(struct join_request){ .controller = a->controller,
					     .ca_pem = pem,
					     .node = node,
					     .join_token = ticket,
					     .sha256 = sum },
		     ret_sentence, err);
	return r == 0 ? join_files_write(files, pem, config, err) : r;
}

/* Run systemctl. False on failure. */
static bool systemctl(const char *const line[])
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execvp(line[0], (char *const *)(uintptr_t)line);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* Enable and start the units if systemd runs. False on failure. */
static bool start_units(void)
{
	static const char *const enable[] = { "systemctl",
					      "enable",
					      "--now",
					      "assayd.service",
					      "assay-passive.timer",
					      "assay-quick.timer",
					      "assay-full.timer",
					      NULL };

	return systemctl(enable);
}

/*
 * Send the first report now: the timer may take nine minutes, and the person who joins a host
 * waits for it.
 */
static bool start_first_run(void)
{
	static const char *const start[] = { "systemctl", "start", "--no-block",
					     "assay-passive.service", NULL };

	return systemctl(start);
}

static int started(const struct asked *a)
{
	static const char units[] =
		"systemctl enable --now assayd assay-passive.timer assay-quick.timer "
		"assay-full.timer";

	if (a->no_start || access("/run/systemd/system", F_OK) != 0) {
		(void)printf("next: %s\n", units);
		return STATUS_JOINED;
	}
	if (start_units()) {
		(void)printf("assayd and its test timers are enabled and started; the first report "
			     "follows %s\n",
			     start_first_run() ? "in a moment" : "within ten minutes");
		return STATUS_JOINED;
	}
	(void)fprintf(stderr, "assay join: joined, but the units could not be started: %s\n", units);
	return STATUS_UNKNOWN;
}

/* Exit status for a failure. */
static int status_of(int r)
{
	switch (-r) {
	case EACCES:
	case EKEYREJECTED:
		return STATUS_NO;
	case EINVAL:
	case EEXIST:
	case ENOENT:
	case EROFS:
	case EISDIR:
		return STATUS_USAGE;
	default:
		return STATUS_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Joins this host to a controller: writes its token, the CA and assayd.yaml, "
		       "and starts the units.\vAn admin prints the whole line "
		       "with `assayctl join-command`. Running it again changes nothing.\n\nExit "
		       "status: 0 joined, 1 refused, 2 usage or bad input, 3 "
		       "could not tell: ask again.",
	};
	CLEANUP(join_files_release) struct join_files files = join_files_init();
	CLEANUP(freep) char *sentence = NULL;
	CLEANUP(freep) char *node = NULL;
	struct err err = ERR_INIT;
	struct asked asked = { 0 };
	bool was_there;
	int r;

	argp_err_exit_status = STATUS_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	if (usage_parse(&argp, argc, argv, 0, NULL, &asked) != 0)
		return STATUS_USAGE;
	node = asked.node ? xstrdup(asked.node) : host_name();
	r = check(&asked, &err);
	if (r == 0 && !host_name_ok(node))
		r = err_set(&err, EINVAL, "'%.80s' cannot be the name of a host: give --node", node);
	if (r == 0 && asked.token)
		(void)fputs("assay join: --token: other users of this host can see it: use "
			    "--token-file instead\n",
			    stderr);
	was_there = access(files.config, F_OK) == 0;
	if (r == 0)
		r = join(&asked, &files, node, &sentence, &err);
	if (r < 0) {
		(void)fprintf(stderr, "assay join: %s\n", err.msg);
		return status_of(r);
	}
	(void)printf("%s; %s %s\n", sentence, files.config,
		     was_there ? "is unchanged" : "is written");
	return started(&asked);
}
