# SPDX-License-Identifier: Apache-2.0
# plugins/nccl: libassay-nccl-profiler.so, loaded by NCCL into jobs; it links only libc. Included by Makefile.am.
NCCL_PLUGIN_C = plugins/nccl/profiler_again.c plugins/nccl/profiler_comm.c plugins/nccl/profiler_entry.c plugins/nccl/profiler_handover.c \
	plugins/nccl/profiler_record.c plugins/nccl/profiler_version.c lib/ring/ring_func.c
NCCL_PLUGIN_H = plugins/nccl/profiler_again.h plugins/nccl/profiler_api.h plugins/nccl/profiler_comm.h plugins/nccl/profiler_entry.h plugins/nccl/profiler_handle.h \
	plugins/nccl/profiler_handover.h plugins/nccl/profiler_record.h plugins/nccl/profiler_version.h \
	lib/base/macro.h lib/ring/ring_func.h lib/ring/ring_layout.h
EXTRA_DIST += plugins/nccl/local.mk $(NCCL_PLUGIN_C) $(NCCL_PLUGIN_H)

# It is never unloaded (nodelete): NCCL calls dlclose() while its threads may still be in a call.
NCCL_PLUGIN_FLAGS = $(DEFS) -include config.h -I$(srcdir) $(DIRECTORY_CPPFLAGS) $(CPPFLAGS) -std=gnu11 -pthread $(WARN_CFLAGS)
NCCL_PLUGIN_SHARED = -fPIC -fvisibility=hidden -shared -Wl,-z,nodelete
# Undefined symbols are link errors, except with sanitizers, whose runtime is in the program.
if !SANITIZERS
NCCL_PLUGIN_SHARED += -Wl,-z,defs
endif
NCCL_PLUGIN_FILES = $(srcdir)/plugins/nccl/profiler_again.c $(srcdir)/plugins/nccl/profiler_comm.c $(srcdir)/plugins/nccl/profiler_entry.c \
	$(srcdir)/plugins/nccl/profiler_handover.c $(srcdir)/plugins/nccl/profiler_record.c $(srcdir)/plugins/nccl/profiler_version.c \
	$(srcdir)/lib/ring/ring_func.c
NCCL_PLUGIN = libassay-nccl-profiler.so

$(NCCL_PLUGIN): $(NCCL_PLUGIN_C) $(NCCL_PLUGIN_H) config.h
	$(AM_V_CCLD)$(CC) $(NCCL_PLUGIN_FLAGS) $(HARDEN_CFLAGS) $(CFLAGS) $(NCCL_PLUGIN_SHARED) $(HARDEN_LDFLAGS) $(LDFLAGS) \
		-o $@ $(NCCL_PLUGIN_FILES)

# NCCL searches for NCCL_PROFILER_PLUGIN=assay as libnccl-profiler-assay.so.
ncclplugindir = $(libdir)
ncclplugin_DATA = $(NCCL_PLUGIN)
CLEANFILES += $(NCCL_PLUGIN)
install-data-local:
	$(MKDIR_P) "$(DESTDIR)$(libdir)"
	rm -f "$(DESTDIR)$(libdir)/libnccl-profiler-assay.so"
	ln -s $(NCCL_PLUGIN) "$(DESTDIR)$(libdir)/libnccl-profiler-assay.so"
uninstall-local:
	rm -f "$(DESTDIR)$(libdir)/libnccl-profiler-assay.so"
