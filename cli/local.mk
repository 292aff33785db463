# SPDX-License-Identifier: Apache-2.0
# cli: assayctl. Included by Makefile.am.
noinst_LIBRARIES += libctl.a
libctl_a_SOURCES = cli/act.c cli/act.h cli/ask.c cli/ask.h cli/bulk.c cli/bulk.h cli/change.c cli/change.h cli/command.h cli/commands.c \
	cli/completion.c cli/confirm.c cli/confirm.h cli/doctor.c cli/doctor.h cli/doctor_acts.c cli/doctor_acts.h cli/doctor_reach.h cli/doctor_visit.c cli/doctor_visit.h cli/evidence.c cli/evidence.h cli/fanout.c cli/fanout.h cli/heat.c cli/heat.h cli/help.c cli/help.h cli/host.c cli/host.h cli/items.c cli/items.h \
	cli/job_exclude.c cli/job_exclude.h cli/job_name.c cli/job_name.h cli/job_outlook.c cli/job_outlook.h cli/job_ranks.c cli/job_ranks.h cli/job_words.c cli/job_words.h cli/life.c cli/life.h cli/link.h cli/link_words.c cli/link_words.h cli/manual.c cli/near.c cli/near.h cli/option.c \
	cli/option.h cli/parts.c cli/parts.h cli/patience.c cli/patience.h cli/policy_check.c cli/request.c cli/request.h cli/screen.c cli/screen.h cli/selector.c cli/selector.h cli/setup.c cli/setup.h cli/setup_cert.h cli/targets.c cli/targets.h cli/ticket.c cli/ticket.h \
	cli/trace_file.c cli/trace_file.h \
	cli/view.c cli/view.h cli/view_actions.c cli/view_actions.h cli/view_baselines.c cli/view_beat.c cli/view_breaker.c \
	cli/view_campaign.c cli/view_campaigns.c cli/view_coverage.c cli/view_diagnose.c cli/view_drift.c cli/view_evidence.c \
	cli/view_incidents.c cli/view_investigation.c cli/view_investigations.c cli/view_job.c cli/view_job.h cli/view_jobs.c cli/view_node.c cli/view_nodes.c cli/view_orders.c cli/view_plan.c cli/view_replay.c \
	cli/view_sessions.c cli/view_submit.c cli/view_token.c cli/view_tokens.c cli/view_why.c cli/watch.c cli/watch.h \
	cli/why.h cli/words.c
libctl_a_CFLAGS = $(AM_CFLAGS)
CTL_LIBS = libctl.a $(JUDGE_LIBS)
if HAVE_GNUTLS
libctl_a_SOURCES += cli/setup_cert.c
libctl_a_CFLAGS += $(GNUTLS_CFLAGS)
CTL_LIBS += $(GNUTLS_LIBS)
else
libctl_a_SOURCES += cli/setup_cert_none.c
endif
if HAVE_CURL
if HAVE_SYSTEMD
libctl_a_SOURCES += cli/doctor_reach.c cli/link.c
libctl_a_CFLAGS += $(SYSTEMD_CFLAGS)
CTL_LIBS += $(HTTP_LIBS)
else
libctl_a_SOURCES += cli/doctor_none.c cli/link_none.c
endif
else
libctl_a_SOURCES += cli/doctor_none.c cli/link_none.c
endif
bin_PROGRAMS += assayctl
assayctl_SOURCES = cli/assayctl.c
assayctl_LDADD = $(CTL_LIBS) $(BASE_LIBS)
if RUNS_HERE
# The program generates the manual page and the completions, if it can run on the build host.
CTL_MADE = cli/assayctl.1 cli/assayctl cli/_assayctl cli/assayctl.fish
nodist_man1_MANS = cli/assayctl.1
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
fishcompdir = $(datadir)/fish/vendor_completions.d
nodist_bashcomp_DATA = cli/assayctl
nodist_zshcomp_DATA = cli/_assayctl
nodist_fishcomp_DATA = cli/assayctl.fish
CLEANFILES += $(CTL_MADE)

cli/assayctl.1: assayctl$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) cli && $(EMULATOR) ./assayctl man >$@.tmp && mv -f $@.tmp $@

cli/assayctl: assayctl$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) cli && $(EMULATOR) ./assayctl completion bash >$@.tmp && mv -f $@.tmp $@

cli/_assayctl: assayctl$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) cli && $(EMULATOR) ./assayctl completion zsh >$@.tmp && mv -f $@.tmp $@

cli/assayctl.fish: assayctl$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) cli && $(EMULATOR) ./assayctl completion fish >$@.tmp && mv -f $@.tmp $@
endif
