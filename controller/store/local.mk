# SPDX-License-Identifier: Apache-2.0
# controller/store: SQLite: rows, their codecs, retention; sql/ has its statements, and the schema, one file per step. Included by Makefile.am.
libcontroller_a_SOURCES += controller/store/coverage_codec.c controller/store/coverage_codec.h controller/store/db.h \
	controller/store/db_sqlite.c controller/store/db_sqlite.h controller/store/pack.c \
	controller/store/pack.h controller/store/retention.c controller/store/retention.h controller/store/retention_job.c \
	controller/store/retention_job.h controller/store/standing_codec.c controller/store/standing_codec.h \
	controller/store/store.c controller/store/store.h controller/store/store_advices.c controller/store/store_advices.h controller/store/store_actions.c controller/store/store_actions.h \
	controller/store/store_alerts.c controller/store/store_alerts.h \
	controller/store/store_backup.c controller/store/store_backup.h controller/store/store_baselines.c \
	controller/store/store_campaigns.c controller/store/store_campaigns.h controller/store/store_cluster.c \
	controller/store/store_cluster.h controller/store/store_findings.c controller/store/store_fleet.c controller/store/store_fleet.h \
	controller/store/store_investigations.c controller/store/store_investigations.h controller/store/store_jobs.c \
	controller/store/store_jobs.h controller/store/store_joins.c controller/store/store_joins.h controller/store/store_list.c \
	controller/store/store_metrics.c controller/store/store_metrics.h controller/store/store_open.c controller/store/store_part_names.c \
	controller/store/store_part_names.h controller/store/store_past.c controller/store/store_placements.c controller/store/store_placements.h \
	controller/store/store_places.c controller/store/store_places.h controller/store/store_predictions.c \
	controller/store/store_predictions.h controller/store/store_read.c controller/store/store_restore.c \
	controller/store/store_restore.h controller/store/store_series.c controller/store/store_series.h controller/store/store_sessions.c controller/store/store_sessions.h \
	controller/store/store_sql.h controller/store/store_sums.c \
	controller/store/store_sums.h controller/store/store_thin.c controller/store/store_topology.c \
	controller/store/store_topology.h controller/store/store_upkeep.c controller/store/store_upkeep.h \
	controller/store/store_write.c
nodist_libcontroller_a_SOURCES += controller/store/sql/schema.h controller/store/sql/statements.c \
	controller/store/sql/statements.h
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
BUILT_SOURCES += controller/store/sql/schema.h controller/store/sql/statements.h
endif
endif
endif

# The schema migrations of the store as C strings.
SCHEMAS = controller/store/sql/schema-1.sql controller/store/sql/schema-2.sql controller/store/sql/schema-3.sql \
	controller/store/sql/schema-4.sql controller/store/sql/schema-5.sql controller/store/sql/schema-6.sql \
	controller/store/sql/schema-7.sql controller/store/sql/schema-8.sql controller/store/sql/schema-9.sql \
	controller/store/sql/schema-10.sql controller/store/sql/schema-11.sql controller/store/sql/schema-12.sql \
	controller/store/sql/schema-13.sql controller/store/sql/schema-14.sql controller/store/sql/schema-15.sql \
	controller/store/sql/schema-16.sql controller/store/sql/schema-17.sql controller/store/sql/schema-18.sql \
	controller/store/sql/schema-19.sql controller/store/sql/schema-20.sql controller/store/sql/schema-21.sql \
	controller/store/sql/schema-22.sql controller/store/sql/schema-23.sql

controller/store/sql/schema.h: $(SCHEMAS) Makefile
	$(AM_V_GEN)$(MKDIR_P) controller/store/sql && { \
		echo '/* Made from controller/store/sql/schema-*.sql. */' && echo 'static const char *const schema_steps[] = {' && \
		for f in $(SCHEMAS); do \
			$(SED) -e 's/[\\"]/\\&/g' -e 's/^/	"/' -e 's/$$/\\n"/' $(srcdir)/$$f && echo '	,' || exit 1; \
		done && echo '};'; } >$@.tmp && mv -f $@.tmp $@

# Its statements as structs and strings.
STATEMENTS = controller/store/sql/actions.sql controller/store/sql/alerts.sql controller/store/sql/baselines.sql controller/store/sql/campaigns.sql \
	controller/store/sql/cluster.sql controller/store/sql/findings.sql controller/store/sql/investigations.sql \
	controller/store/sql/jobs.sql controller/store/sql/joins.sql controller/store/sql/nodes.sql \
	controller/store/sql/part_names.sql controller/store/sql/placements.sql \
	controller/store/sql/predictions.sql \
	controller/store/sql/reports.sql controller/store/sql/sessions.sql controller/store/sql/store.sql controller/store/sql/thin.sql \
	controller/store/sql/topology.sql
MAKE_STATEMENTS = $(MKDIR_P) controller/store/sql && ( cd $(srcdir) && \
	$(AWK) -v what=$(@:controller/store/sql/statements.%=%) -f controller/store/sql/statements.awk $(STATEMENTS) ) \
	>$@.tmp && mv -f $@.tmp $@

controller/store/sql/statements.h: $(STATEMENTS) controller/store/sql/statements.awk Makefile
	$(AM_V_GEN)$(MAKE_STATEMENTS)

controller/store/sql/statements.c: $(STATEMENTS) controller/store/sql/statements.awk Makefile
	$(AM_V_GEN)$(MAKE_STATEMENTS)

EXTRA_DIST += $(SCHEMAS) $(STATEMENTS) controller/store/sql/statements.awk
CLEANFILES += controller/store/sql/schema.h controller/store/sql/statements.c controller/store/sql/statements.h
