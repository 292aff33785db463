/* SPDX-License-Identifier: Apache-2.0 */
/* assay-controller: options, signals and the event loop. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "controller/actions/burns.h"
#include "controller/actions/remediation.h"
#include "controller/actions/remediation_kube.h"
#include "controller/alerts/alert_sender_http.h"
#include "controller/alerts/alerting.h"
#include "controller/campaign/campaigns.h"
#include "controller/config/token_review_kube.h"
#include "controller/controller.h"
#include "controller/job/beats.h"
#include "controller/job/hangs.h"
#include "controller/job/job_restarts.h"
#include "controller/job/jobs.h"
#include "controller/routes/metrics_walk.h"
#include "controller/routes/process_use.h"
#include "controller/routes/routes.h"
#include "controller/routes/routes_advice.h"
#include "controller/routes/routes_changes.h"
#include "controller/store/store_restore.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/policy/policy.h"
#include "lib/sys/paths.h"
#include "lib/sys/usage.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

enum {
	OPT_CONFIG = 0x100,
	OPT_CHECK,
	OPT_LISTEN,
	OPT_DB,
	OPT_CLUSTER,
	OPT_KUBECONFIG,
	OPT_MODE,
	OPT_TOKENS,
	OPT_TLS_CERT,
	OPT_TLS_KEY,
	OPT_CLIENT_CA,
	OPT_RESTORE,
	OPT_INSECURE,
};

static const struct argp_option option_table[] = {
	{ "config", OPT_CONFIG, "FILE", 0, "Settings (default $ASSAY_CONF_DIR/controller.yaml)", 0 },
	{ "check", OPT_CHECK, NULL, 0, "Check the settings and the files they name, then exit", 0 },
	{ "listen", OPT_LISTEN, "ADDR:PORT", 0,
	  "Where to listen (default 127.0.0.1:9470; port 0: any free port, which is printed)", 0 },
	{ "db", OPT_DB, "FILE", 0, "The store (default $ASSAY_STATE_DIR/assay.db)", 0 },
	{ "cluster", OPT_CLUSTER, "KIND", 0, "embedded (default) or kubernetes", 0 },
	{ "kubeconfig", OPT_KUBECONFIG, "FILE", 0, "kubeconfig of the cluster", 0 },
	{ "mode", OPT_MODE, "MODE", 0, "observe (default), dry-run or enforce", 0 },
	{ "tokens", OPT_TOKENS, "FILE", 0, "Tokens and their roles (tokens.yaml)", 0 },
	{ "tls-cert", OPT_TLS_CERT, "FILE", 0, "Certificate (PEM)", 0 },
	{ "tls-key", OPT_TLS_KEY, "FILE", 0, "Its key (PEM)", 0 },
	{ "client-ca", OPT_CLIENT_CA, "FILE", 0, "CA that signs the certificates of hosts (PEM)",
	  0 },
	{ "restore", OPT_RESTORE, "FILE", 0, "Replace the store with this copy, then exit", 0 },
	{ "insecure", OPT_INSECURE, NULL, 0, "Listen on other addresses without TLS or tokens", 0 },
	{ 0 },
};

/* Options are stored first and applied after the settings file, which they override. */
struct options {
	const char *config;
	const char *texts[OPT_INSECURE - OPT_CONFIG + 1]; /* by key; NULL: not given */
	bool check, insecure;
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
	case OPT_INSECURE:
		o->insecure = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%.80s': takes no arguments", arg);
		return EINVAL;
	default:
		if (key < OPT_CONFIG || key > OPT_INSECURE)
			return ARGP_ERR_UNKNOWN;
		o->texts[key - OPT_CONFIG] = arg;
		return 0;
	}
}

static int set_name(const char *text, const char *const *names, const char *option, int *ret,
		    struct err *err)
{
	CLEANUP(freep) char *known = NULL;
	int i;

	for (i = 0; text && names[i]; i++) {
		CLEANUP(freep) char *before = TAKE(known);

		if (streq(names[i], text)) {
			*ret = i;
			return 0;
		}
		known = xasprintf("%s%s%s", before ? before : "", before ? ", " : "", names[i]);
	}
	return text ? err_set(err, EINVAL, "--%s: '%.40s' is not one of %s", option, text, known)
		    : 0;
}

static int apply_options(const struct options *o, struct settings *s, struct err *err)
{
	const struct {
		int key;
		const char *name;
		char **member;
	} rows[] = {
		{ OPT_LISTEN, "listen", &s->listen },
		{ OPT_DB, "db", &s->db },
		{ OPT_KUBECONFIG, "kubeconfig", &s->kubeconfig },
		{ OPT_TOKENS, "tokens", &s->tokens },
		{ OPT_TLS_CERT, "tls-cert", &s->tls_cert },
		{ OPT_TLS_KEY, "tls-key", &s->tls_key },
		{ OPT_CLIENT_CA, "client-ca", &s->client_ca },
	};
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text = o->texts[rows[i].key - OPT_CONFIG];

		/* Probably an unset variable; an empty --db would open a temporary store. */
		if (text && !*text)
			return err_set(err, EINVAL, "--%s: must not be empty", rows[i].name);
		if (text) {
			free(*rows[i].member);
			*rows[i].member = xstrdup(text);
		}
	}
	s->insecure |= o->insecure;
	r = set_name(o->texts[OPT_CLUSTER - OPT_CONFIG], cluster_names, "cluster", &s->cluster, err);
	if (r == 0)
		r = set_name(o->texts[OPT_MODE - OPT_CONFIG], policy_mode_names, "mode", &s->mode,
			     err);
	return r;
}

static bool any_text(const struct options *o)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(o->texts); i++)
		if (o->texts[i])
			return true;
	return false;
}

static int read_settings(const struct options *o, struct settings *s, struct err *err)
{
	CLEANUP(freep) char *dir = paths_conf();
	CLEANUP(freep) char *usual = xasprintf("%s/controller.yaml", dir);
	const char *file = o->config ? o->config : access(usual, F_OK) == 0 ? usual : NULL;
	int r = file ? settings_read(file, s, err) : 0;

	if (r == 0)
		r = apply_options(o, s, err);
	if (r < 0)
		return r;
	r = settings_check(s, err);
	/* Errors from options and file combined are not attributed to the file. */
	return r < 0 && file && !any_text(o) ? err_wrap(err, r, "%s", file) : r;
}

static int check_cluster(const struct settings *s, struct err *err)
{
	return s->cluster == CLUSTER_KUBERNETES ? remediation_kube.check(s, err) : 0;
}

static int check_alertmanagers(const struct settings *s, struct err *err)
{
	int r = s->alerts.n > 0 ? alert_sender_http.check(err) : 0;

	r = r == 0 ? settings_alerts_check(&s->alerts, err) : r;
	return r < 0 && s->read_from ? err_wrap(err, r, "%s", s->read_from) : r;
}

/* Each agent holds a connection: raise the limit of file descriptors to the maximum. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* The running service and its options. */
struct running {
	struct options options;
	struct settings settings;
	struct service *service;
};

static int reload(struct running *running, char **ret_others, struct err *err)
{
	CLEANUP(settings_release) struct settings fresh = settings_init();

	if (read_settings(&running->options, &fresh, err) < 0) {
		running->service->counts.reload_failures++;
		return -EINVAL;
	}
	return service_reload(running->service, &fresh, ret_others, err);
}

/* Logs one line on success or failure; a bad file changes nothing. */
static int on_reload(sd_event_source *source UNUSED, const struct signalfd_siginfo *info UNUSED,
		     void *context)
{
	CLEANUP(freep) char *others = NULL;
	struct err err = ERR_INIT;

	(void)sd_notify(0, "RELOADING=1");
	if (reload(context, &others, &err) < 0)
		log_error("reload failed, nothing changed: %s", err.msg);
	else if (others)
		log_warning("reloaded, but these need a restart: %s", others);
	else
		log_info("reloaded");
	(void)sd_notify(0, "READY=1");
	return 0;
}

static int make_loop(struct running *running, sd_event **ret_loop, struct err *err)
{
	static const int stops[] = { SIGTERM, SIGINT };
	CLEANUP(sd_event_unrefp) sd_event *loop = NULL;
	sigset_t set;
	size_t i;
	int r;

	/* Closed peers and the file size limit are reported as errors of the call instead. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(stops); i++)
		(void)sigaddset(&set, stops[i]);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD); /* analyses: the loop waits for the children */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	r = sd_event_new(&loop);
	for (i = 0; r >= 0 && i < ARRAY_SIZE(stops); i++)
		r = sd_event_add_signal(loop, NULL, stops[i], NULL, NULL); /* ends the loop */
	if (r >= 0)
		r = sd_event_add_signal(loop, NULL, SIGHUP, on_reload, running);
	if (r >= 0)
		r = sd_event_set_watchdog(loop, true);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	*ret_loop = TAKE(loop);
	return 0;
}

/* Log what was started, and which of the two modes (option and policy) is in effect. */
static void tell_start(const struct running *running)
{
	const int ours = running->settings.mode, rules = running->service->rules.policy.mode;
	CLEANUP(freep)
	char *why = ours == rules ? xstrdup("")
				  : xasprintf(": the policy says %s, the settings say %s: the more "
					      "cautious one applies",
					      policy_mode_names[rules], policy_mode_names[ours]);

	(void)printf("version=" PACKAGE_VERSION " mode=%s cluster=%s policy=%s%s\n",
		     policy_mode_names[MIN(ours, rules)], cluster_names[running->settings.cluster],
		     running->service->rules.version, why);
}

static int serve(struct running *running, struct err *err)
{
	CLEANUP(sd_event_unrefp) sd_event *loop = NULL;
	CLEANUP(freep) char *address = NULL;
	int r = make_loop(running, &loop, err);

	raise_descriptors();
	if (r == 0)
		r = service_open(running->service, loop, &address, err);
	if (r == 0) {
		(void)printf("listening on %s\n", address);
		tell_start(running);
		(void)fflush(stdout);
		(void)sd_notifyf(0, "READY=1\nSTATUS=listening on %s", address);
		r = sd_event_loop(loop);
		if (r < 0)
			(void)err_errno(err, -r, "event loop");
		(void)sd_notify(0, "STOPPING=1");
	}
	return r;
}

/* No prefix: the message begins with the file or option at fault. */
static int bad_input(const struct err *err)
{
	(void)fprintf(stderr, "%s\n", err->msg);
	return STATUS_USAGE;
}

/* Exit status of a failed start: unusable input from the operator, or another failure. */
static int serve_failed(const struct err *err)
{
	if (err->code == EINVAL || err->code == EROFS || err->code == EACCES)
		return bad_input(err);
	log_error("%s", err->msg);
	return STATUS_FAILED;
}

static int restore(const struct running *running)
{
	const char *from = running->options.texts[OPT_RESTORE - OPT_CONFIG];
	const char *db = running->settings.db;
	struct store_restored done = { 0 };
	struct err err = ERR_INIT;

	if (store_restore(db, from, &done, &err) < 0)
		return serve_failed(&err);
	(void)printf("restored %s from %s: it has %" PRIu64 " reports; ", db, from, done.reports);
	if (done.carried)
		(void)printf("%" PRIu64
			     " reports that came after it are lost; cordons, life cycles, actions "
			     "and incidents are kept from the previous store",
			     done.lost);
	else
		(void)printf("nothing could be carried over from the previous store, "
			     "not even cordons");
	(void)printf("; that is %s-before\n", db);
	return 0;
}

/* Anyone who can read the key can impersonate this controller and collect the hosts' tokens. */
static void tell_key(const struct settings *settings)
{
	struct stat st;

	if (settings->tls_key && stat(settings->tls_key, &st) == 0 && st.st_mode & S_IROTH)
		log_warning("tls-key: %s: readable by everyone on this host: chmod o-r %s",
			    settings->tls_key, settings->tls_key);
}

/* For --check: errors in the certificates, and warnings such as a near expiry. */
static int check_tls(const struct running *running, struct err *err)
{
	const char *file = running->settings.read_from;
	struct err soon = ERR_INIT;
	int r = controller_check_tls(running->service, &soon, err);

	if (r == 0 && soon.msg[0])
		(void)fprintf(stderr, "%s\n", soon.msg);
	return r < 0 && file && !any_text(&running->options) ? err_wrap(err, r, "%s", file) : r;
}

static void running_release(struct running *running)
{
	service_close(running->service);
	free(running->service);
	settings_release(&running->settings);
}

/* In the order of opening: campaigns use the actor. */
static const struct controller_part *const parts[] = { &remediation_part,
						       &burns_part,
						       &campaigns_part,
						       &jobs_part,
						       &beats_part,
						       &hangs_part,
						       &job_restarts_part,
						       &alerting_part,
						       &metrics_part,
						       &routes_changes_part,
						       NULL };

static const struct controller_wiring wiring = {
	.parts = parts,
	.set_routes = routes_set,
	.orders_changed = orders_wake,
	.advice_changed = routes_advice_wake,
};

const char *argp_program_version = "assay-controller " PACKAGE_VERSION;

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.doc = "Receives reports from hosts, judges them, and says why.",
	};
	CLEANUP(running_release)
	struct running running = { .settings = settings_init(),
				   .service = xcalloc(1, sizeof(struct service)) };
	struct err err = ERR_INIT;
	int r;

	running.service->wiring = &wiring;
	log_init("assay-controller", LOG_INFO);
	process_use_begin();
	argp_err_exit_status = STATUS_USAGE;
	(void)usage_parse(&argp, argc, argv, 0, NULL, &running.options);
	if (read_settings(&running.options, &running.settings, &err) < 0 ||
	    check_cluster(&running.settings, &err) < 0 ||
	    check_alertmanagers(&running.settings, &err) < 0 ||
	    service_read(running.service, &running.settings, &err) < 0)
		return bad_input(&err);
	if (running.options.check && check_tls(&running, &err) < 0)
		return bad_input(&err);
	tell_key(&running.settings);
	if (running.options.check)
		return 0;
	if (running.options.texts[OPT_RESTORE - OPT_CONFIG])
		return restore(&running);
	running.service->token_review_open = token_review_kube_open;
	running.service->kubernetes = &remediation_kube;
	running.service->alert_sender = &alert_sender_http;
	r = serve(&running, &err);
	if (r < 0)
		return serve_failed(&err);
	return r > 0 ? STATUS_FAILED : 0; /* the loop ended because of an error, which was logged */
}
