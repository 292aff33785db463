# SPDX-License-Identifier: Apache-2.0
# agents: libraries with files in several directories of agents/. Included by Makefile.am.
noinst_LIBRARIES += libcommands.a
libcommands_a_SOURCES =
COMMAND_LIBS = libcommands.a libtopologycommand.a libagent.a $(KEEP_LIBS) $(TOPOLOGY_LIBS)
