# SPDX-License-Identifier: Apache-2.0
# agents/assay: the commands of assay and their output. Included by Makefile.am.

# `assay topology`.
noinst_LIBRARIES += libtopologycommand.a
libtopologycommand_a_SOURCES = agents/assay/cmd_topology.c agents/assay/topology_draw.c agents/assay/topology_draw.h \
	agents/assay/topology_matrix.c agents/assay/topology_matrix.h
bin_PROGRAMS += assay
libcommands_a_SOURCES += agents/assay/cmd_admit.c agents/assay/cmd_completion.c agents/assay/cmd_config.c agents/assay/cmd_explain.c \
	agents/assay/cmd_keep.c agents/assay/cmd_list.c agents/assay/cmd_localise.c agents/assay/cmd_run.c \
	agents/assay/command_output.c agents/assay/commands.h agents/assay/explain.c agents/assay/explain.h \
	agents/assay/explain_input.c agents/assay/explain_input.h \
	agents/assay/sensitivity_host.c agents/assay/sensitivity_host.h agents/assay/show_burn.c agents/assay/show_burn.h agents/assay/show_explain.c agents/assay/show_heat.c \
	agents/assay/show_heat.h agents/assay/show_localise.c agents/assay/show_localise.h agents/assay/show_run.c \
	agents/assay/show_run.h agents/assay/show_sensitivity.c agents/assay/show_sensitivity.h
assay_SOURCES = agents/assay/assay.c
assay_LDADD = $(COMMAND_LIBS) $(BASE_LIBS)
if RUNS_HERE
# The program generates the completions, if it can run on the build host.
ASSAY_MADE = agents/assay/completion/assay agents/assay/completion/_assay agents/assay/completion/assay.fish
assaybashcompdir = $(datadir)/bash-completion/completions
assayzshcompdir = $(datadir)/zsh/site-functions
assayfishcompdir = $(datadir)/fish/vendor_completions.d
nodist_assaybashcomp_DATA = agents/assay/completion/assay
nodist_assayzshcomp_DATA = agents/assay/completion/_assay
nodist_assayfishcomp_DATA = agents/assay/completion/assay.fish
CLEANFILES += $(ASSAY_MADE)

agents/assay/completion/assay: assay$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) agents/assay/completion && $(EMULATOR) ./assay completion bash >$@.tmp && mv -f $@.tmp $@

agents/assay/completion/_assay: assay$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) agents/assay/completion && $(EMULATOR) ./assay completion zsh >$@.tmp && mv -f $@.tmp $@

agents/assay/completion/assay.fish: assay$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) agents/assay/completion && $(EMULATOR) ./assay completion fish >$@.tmp && mv -f $@.tmp $@
endif
