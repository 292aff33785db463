/* SPDX-License-Identifier: Apache-2.0 */
/* assayd: parses options and runs struct daemon in an event loop. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "agents/assayd/assayd_check.h"
#include "agents/assayd/assayd_config.h"
#include "agents/assayd/daemon.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/sys/usage.h"

enum { OPT_CONFIG = 0x100, OPT_CHECK };
enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

struct options {
	const char *config; /* NULL: $CONF/assayd.yaml, if it exists */
	bool check;
};

const char *argp_program_version = "assayd " PACKAGE_VERSION;

static const struct argp_option option_table[] = {
	{ "config", OPT_CONFIG, "FILE", 0, "Configuration (default: assayd.yaml in /etc/assay)", 0 },
	{ "check", OPT_CHECK, NULL,
	  0, "Check the configuration, ask the controller whether it accepts reports from this host, and exit",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_CONFIG:
		o->config = arg;
		return 0;
	case OPT_CHECK:
		o->check = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%.80s': takes no arguments", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info UNUSED,
		   void *context UNUSED)
{
	(void)sd_notify(0, "STOPPING=1");
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int on_reload(sd_event_source *source UNUSED, const struct signalfd_siginfo *info UNUSED,
		     void *context)
{
	daemon_reload(context);
	return 0;
}

/* Call before starting threads: they inherit the mask. */
static void block_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static int loop(sd_event *event, struct daemon *daemon, struct err *err)
{
	int r = sd_event_add_signal(event, NULL, SIGTERM, on_stop, daemon);

	if (r >= 0)
		r = sd_event_add_signal(event, NULL, SIGINT, on_stop, daemon);
	if (r >= 0)
		r = sd_event_add_signal(event, NULL, SIGHUP, on_reload, daemon);
	if (r >= 0)
		r = sd_event_set_watchdog(event, 1);
	if (r < 0)
		return err_errno(err, -r, "cannot set up signals");
	r = daemon_start(daemon, err);
	if (r < 0)
		return r;
	(void)sd_notify(0, "READY=1");
	r = sd_event_loop(event);
	return r < 0 ? err_errno(err, -r, "the event loop failed") : 0;
}

static int serve(const struct options *o, struct assayd_config *config, struct err *err)
{
	CLEANUP(sd_event_unrefp) sd_event *event = NULL;
	struct daemon *daemon;
	int r = sd_event_default(&event);

	if (r < 0)
		return err_errno(err, -r, "cannot create an event loop");
	daemon = daemon_new(event, o->config, config);
	r = loop(event, daemon, err);
	daemon_free(daemon);
	return r;
}

static int check(const struct assayd_config *config, struct err *err)
{
	struct err said = ERR_INIT;
	int r;

	assayd_check_environment(config);
	r = assayd_config_check_files(config, err);
	if (r == 0)
		r = assayd_config_check_patterns(config, err);
	if (r == 0)
		r = assayd_check(config, &said, err);
	if (r < 0)
		return r;
	assayd_warn(config);
	(void)fprintf(stderr, "%s\n", said.msg);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.doc = "Sends this host's reports to the controller and carries out its "
		       "orders.\vExit "
		       "status: 0 ended by a signal, 1 failed, 2 usage or bad configuration.",
	};
	CLEANUP(assayd_config_release) struct assayd_config config = { 0 };
	struct options o = { 0 };
	struct err err = ERR_INIT;
	int r;

	log_init("assayd", LOG_INFO);
	argp_err_exit_status = STATUS_USAGE;
	if (usage_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return STATUS_USAGE;
	block_signals();
	r = assayd_config_read(o.config, &config, &err);
	if (r == 0 && o.check)
		r = check(&config, &err);
	if (r < 0) {
		/* No prefix: it begins with the name of the bad file. */
		(void)fprintf(stderr, "%s\n", err.msg);
		return STATUS_USAGE;
	}
	if (o.check)
		return 0;
	r = serve(&o, &config, &err);
	if (r < 0)
		log_error("%s", err.msg);
	return r < 0 ? STATUS_FAILED : 0;
}
