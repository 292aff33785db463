# SPDX-License-Identifier: Apache-2.0
# tests/nccl: tests of the NCCL profiler plug-in, called as NCCL does. Included by Makefile.am.
NCCL_HARNESS_C = tests/nccl/fake_assayd.c tests/nccl/fake_nccl.c tests/nccl/harness.c tests/nccl/harness_again.c tests/nccl/harness_lives.c tests/nccl/harness_orders.c
NCCL_HARNESS_H = tests/nccl/fake_assayd.h tests/nccl/fake_nccl.h tests/nccl/harness.h
EXTRA_DIST += $(NCCL_HARNESS_C) $(NCCL_HARNESS_H) tests/nccl/bench.c
NCCL_HARNESS_FILES = $(srcdir)/tests/nccl/fake_assayd.c $(srcdir)/tests/nccl/fake_nccl.c $(srcdir)/tests/nccl/harness.c \
	$(srcdir)/tests/nccl/harness_again.c $(srcdir)/tests/nccl/harness_lives.c $(srcdir)/tests/nccl/harness_orders.c
NCCL_BENCH_FILES = $(srcdir)/tests/nccl/fake_assayd.c $(srcdir)/tests/nccl/fake_nccl.c $(srcdir)/tests/nccl/bench.c \
	$(srcdir)/plugins/nccl/profiler_handover.c
# The plug-in finds ncclGetVersion() and statvfs() in the program.
NCCL_HARNESS_LINK = $(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) $(NCCL_PLUGIN_FLAGS) -rdynamic -o $@
NCCL_HARNESSES = tests/nccl/harness tests/nccl/address/harness tests/nccl/address/plugin.so tests/nccl/thread/harness \
	tests/nccl/thread/plugin.so
NCCL_ADDRESS = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
# It does not support fences: those here are for readers in other processes.
NCCL_THREAD = -O1 -g -fsanitize=thread -Wno-error -Wno-tsan

tests/nccl/harness: $(NCCL_HARNESS_C) $(NCCL_HARNESS_H) $(NCCL_PLUGIN_H) config.h
	$(NCCL_HARNESS_LINK) $(HARDEN_CFLAGS) $(CFLAGS) $(NCCL_HARNESS_FILES)

tests/nccl/bench: $(NCCL_HARNESS_C) tests/nccl/bench.c $(NCCL_HARNESS_H) $(NCCL_PLUGIN_H) config.h
	$(NCCL_HARNESS_LINK) $(HARDEN_CFLAGS) $(CFLAGS) $(NCCL_BENCH_FILES)

# The plug-in and the harness again with sanitizers, by the compiler of the build.
tests/nccl/address/harness: $(NCCL_HARNESS_C) $(NCCL_HARNESS_H) $(NCCL_PLUGIN_H) config.h
	$(NCCL_HARNESS_LINK) $(NCCL_ADDRESS) $(NCCL_HARNESS_FILES)

tests/nccl/address/plugin.so: $(NCCL_PLUGIN_C) $(NCCL_PLUGIN_H) config.h
	$(NCCL_HARNESS_LINK) $(NCCL_ADDRESS) -fPIC -fvisibility=hidden -shared -Wl,-z,nodelete $(NCCL_PLUGIN_FILES)

tests/nccl/thread/harness: $(NCCL_HARNESS_C) $(NCCL_HARNESS_H) $(NCCL_PLUGIN_H) config.h
	$(NCCL_HARNESS_LINK) $(NCCL_THREAD) $(NCCL_HARNESS_FILES)

tests/nccl/thread/plugin.so: $(NCCL_PLUGIN_C) $(NCCL_PLUGIN_H) config.h
	$(NCCL_HARNESS_LINK) $(NCCL_THREAD) -fPIC -fvisibility=hidden -shared -Wl,-z,nodelete $(NCCL_PLUGIN_FILES)

# Built when a test needs them.
.PHONY: nccl-harnesses
nccl-harnesses: $(NCCL_HARNESSES)
CLEANFILES += $(NCCL_HARNESSES) tests/nccl/bench
