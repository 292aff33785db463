# SPDX-License-Identifier: Apache-2.0
# controller/store: SQLite: rows, their codecs, retention; sql/ has the schema, a file a step. Included by Makefile.am.
libcontroller_a_SOURCES += controller/store/kept_list.c controller/store/kept_list.h controller/store/pack.c \
	controller/store/pack.h controller/store/retention.c controller/store/retention.h controller/store/run_list.c \
	controller/store/run_list.h controller/store/store.c controller/store/store.h controller/store/store_actions.c \
	controller/store/store_actions.h controller/store/store_backup.c controller/store/store_backup.h \
	controller/store/store_baselines.c controller/store/store_campaigns.c controller/store/store_campaigns.h \
	controller/store/store_cluster.c controller/store/store_cluster.h controller/store/store_findings.c \
	controller/store/store_list.c controller/store/store_open.c controller/store/store_past.c \
	controller/store/store_places.c controller/store/store_places.h controller/store/store_read.c \
	controller/store/store_restore.c controller/store/store_restore.h controller/store/store_sql.h \
	controller/store/store_sums.c controller/store/store_sums.h controller/store/store_thin.c \
	controller/store/store_topology.c controller/store/store_topology.h controller/store/store_write.c \
	controller/store/thinner.c controller/store/thinner.h
nodist_libcontroller_a_SOURCES += controller/store/sql/schema.h
if HAVE_ZLIB
libcontroller_a_SOURCES += controller/store/gzip.c
else
libcontroller_a_SOURCES += controller/store/gzip_none.c
endif
if HAVE_ZSTD
libcontroller_a_SOURCES += controller/store/zstd.c
else
libcontroller_a_SOURCES += controller/store/zstd_none.c
endif
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
BUILT_SOURCES += controller/store/sql/schema.h
endif
endif
endif

# The steps from version to version of the store as C texts.
SCHEMAS = controller/store/sql/schema-1.sql controller/store/sql/schema-2.sql controller/store/sql/schema-3.sql \
	controller/store/sql/schema-4.sql controller/store/sql/schema-5.sql controller/store/sql/schema-6.sql controller/store/sql/schema-7.sql controller/store/sql/schema-8.sql controller/store/sql/schema-9.sql \
	controller/store/sql/schema-10.sql controller/store/sql/schema-11.sql

controller/store/sql/schema.h: $(SCHEMAS) Makefile
	$(AM_V_GEN)$(MKDIR_P) controller/store/sql && { \
		echo '/* Made from controller/store/sql/schema-*.sql. */' && echo 'static const char *const schema_steps[] = {' && \
		for f in $(SCHEMAS); do \
			$(SED) -e 's/[\\"]/\\&/g' -e 's/^/	"/' -e 's/$$/\\n"/' $(srcdir)/$$f && echo '	,' || exit 1; \
		done && echo '};'; } >$@.tmp && mv -f $@.tmp $@

EXTRA_DIST += $(SCHEMAS)
CLEANFILES += controller/store/sql/schema.h
