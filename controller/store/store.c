/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store.h"

#include <errno.h>
#include <math.h>

#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* As action_of_row() of store_actions.c reads them. */
#define ACTION_COLUMNS                                                                 \
	"id, node, kind, state, who, rule, incident, reason, evidence, undo, result, " \
	"break_glass, until_us, epoch, decided_us, done_us"

/*
 * What is said of a host `n` is the worst of two: what its own runs add up to, and an open incident
 * of tests with others, which no run of its own can find or end (controller/actions/actor_paired.c
 * says their subjects). Of enum verdict_level a higher one is worse. Joined as it is read, here
 * alone, so it ends when the incident does, however that ends.
 */
#define WITH_OTHERS(what)                                                                         \
	"(SELECT " what " FROM incidents i WHERE i.node = n.node AND i.closed_us IS NULL"         \
	" AND (i.subject = 'fabric' OR i.subject GLOB 'rail:[0-9]') ORDER BY i.level DESC LIMIT " \
	"1)"
#define NODE_LEVEL "max(n.verdict, coalesce(" WITH_OTHERS("i.level") ", 0))"
#define NODE_SENTENCE                                                                      \
	"CASE WHEN coalesce(" WITH_OTHERS("i.level") ", 0) > n.verdict THEN " WITH_OTHERS( \
		"CASE i.level WHEN 3 THEN 'fail: ' WHEN 2 THEN 'warn: ' ELSE '' END || "   \
		"i.sentence") " ELSE n.sentence END"

const char *const store_texts[SQL_LAST_] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_SEAL] = "UPDATE seal SET commits = ?1",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_NODE_FIND] = "SELECT id, boot, seq FROM nodes WHERE node = ?1",
	[SQL_NODE_ADD] = "INSERT INTO nodes (node, boot, seq, first_us, seen_us, verdict)"
			 " VALUES (?1, 0, 0, ?2, ?2, 1)",
	[SQL_NODE_UPDATE] = "UPDATE nodes SET boot = ?2, seq = ?3, time = ?4, seen_us = ?5,"
			    " profile = ?6, agent = ?7, sku = ?8, topology = ?9, env = ?10,"
			    " verdict = ?11, sentence = ?12 WHERE id = ?1",
	[SQL_NODE_RESTATE] = "UPDATE nodes SET verdict = ?2, sentence = ?3 WHERE node = ?1",
	[SQL_BOOT_FIND] = "SELECT id FROM boots WHERE node = ?1 AND boot_id = ?2",
	[SQL_BOOT_ADD] = "INSERT INTO boots (node, boot_id, first_us) VALUES (?1, ?2, ?3)",
	[SQL_REPORT_FIND] = "SELECT 1 FROM reports WHERE boot = ?1 AND seq = ?2",
	[SQL_REPORT_ADD] = "INSERT INTO reports (boot, seq, node, seen_us, time, profile, verdict,"
			   " sentence, coding, body)"
			   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[SQL_ITEM_ADD] = "INSERT INTO items VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
			 " ?12, ?13, ?14, ?15, ?16)",
	[SQL_RUN_PUT] = "INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_RUNS] = "SELECT r.profile, r.time, r.verdict, r.measured, r.report, r.kept"
		     " FROM runs r, nodes n"
		     " WHERE n.node = ?1 AND r.node = n.id ORDER BY r.report DESC LIMIT ?2",
	[SQL_RUN_ITEMS] =
		"SELECT check_name, subject, level, value, unit, expected, floor, source,"
		" n, fatal, sentence, link, facts FROM items WHERE report = ?1 ORDER BY nth",
	[SQL_COUNT_NODES] = "SELECT count(*) FROM nodes",
	[SQL_NODES] = "SELECT n.node, " NODE_LEVEL ", " NODE_SENTENCE
		      ", n.sku, n.profile, n.time, n.agent,"
		      " b.boot_id, n.seen_us, n.seq, n.first_us, n.topology, n.env"
		      " FROM nodes n LEFT JOIN boots b ON b.id = n.boot"
		      " WHERE n.node > ?1 ORDER BY n.node LIMIT ?2",
	[SQL_NODE] = "SELECT n.node, " NODE_LEVEL ", " NODE_SENTENCE
		     ", n.sku, n.profile, n.time, n.agent,"
		     " b.boot_id, n.seen_us, n.seq, n.first_us, n.topology, n.env"
		     " FROM nodes n LEFT JOIN boots b ON b.id = n.boot WHERE n.node = ?1",
	[SQL_REPORTS] = "SELECT r.id, b.boot_id, r.seq, r.time, r.seen_us, r.profile, r.verdict,"
			" r.sentence FROM reports r JOIN nodes n ON n.id = r.node"
			" LEFT JOIN boots b ON b.id = r.boot"
			" WHERE n.node = ?1 AND r.id < ?2 ORDER BY r.id DESC LIMIT ?3",
	[SQL_BAD_REPORTS] =
		"SELECT r.id, b.boot_id, r.seq, r.time, r.seen_us, r.profile, i.level, i.value FROM"
		" (SELECT id, boot, seq, time, seen_us, profile FROM reports"
		"  WHERE node = (SELECT id FROM nodes WHERE node = ?1) ORDER BY id DESC LIMIT ?4) r"
		" JOIN items i ON i.report = r.id LEFT JOIN boots b ON b.id = r.boot"
		" WHERE i.check_name = ?2 AND i.subject = ?3 ORDER BY r.id DESC LIMIT ?5",
	[SQL_BODIES] = "SELECT p.coding, p.body FROM runs r JOIN nodes n ON n.id = r.node"
		       " JOIN reports p ON p.id = r.report WHERE n.node = ?1"
		       " ORDER BY r.report DESC LIMIT ?2",
	[SQL_PAST] = "SELECT r.id, n.node, n.sku, r.profile, r.seen_us, r.verdict"
		     " FROM reports r JOIN nodes n ON n.id = r.node"
		     " WHERE r.id > ?1 AND r.id <= ?1 + ?2 AND r.seen_us >= ?3"
		     " ORDER BY r.id LIMIT ?4",
	[SQL_PAST_LAST] = "SELECT coalesce(max(id), 0) FROM reports",
	[SQL_ENVS] = "SELECT node, sku, env FROM nodes WHERE node > ?3"
		     " AND seen_us BETWEEN ?1 AND ?2 ORDER BY node LIMIT ?4",
	[SQL_WINDOWS] =
		"SELECT check_name, subject, bits, seen, k, n, since_us, last_us, severity, source,"
		" born, parts_bad, parts, score, class, code, sentence FROM windows"
		" WHERE node = ?1 LIMIT ?2",
	[SQL_WINDOW_PUT] = "INSERT OR REPLACE INTO windows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
			   " ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
	[SQL_WINDOW_DROP] = "DELETE FROM windows WHERE node = ?1 AND check_name = ?2 AND"
			    " subject = ?3",
	[SQL_INCIDENT_UPDATE] = "UPDATE incidents SET subject = ?3, level = ?4, fatal = ?5,"
				" rule = ?6, action = ?7, sentence = ?8, last_us = ?9"
				" WHERE node = ?1 AND check_name = ?2 AND closed_us IS NULL",
	[SQL_INCIDENT_ADD] = "INSERT INTO incidents (node, check_name, subject, level, fatal, rule,"
			     " action, sentence, opened_us, last_us, since_us)"
			     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10)",
	[SQL_INCIDENT_CLOSE] = "UPDATE incidents SET closed_us = ?3"
			       " WHERE node = ?1 AND check_name = ?2 AND closed_us IS NULL",
	[SQL_INCIDENTS_CLOSE] = "UPDATE incidents SET closed_us = ?2"
				" WHERE node = ?1 AND closed_us IS NULL",
	[SQL_WINDOWS_DROP] = "DELETE FROM windows WHERE node = ?1",
	/* All but that of the report that has just come. */
	[SQL_RUNS_DROP] = "DELETE FROM runs WHERE node = (SELECT id FROM nodes WHERE node = ?1)"
			  " AND report < (SELECT max(r.report) FROM runs r, nodes n"
			  " WHERE n.node = ?1 AND r.node = n.id)",
	[SQL_RUNS_DROP_ALL] =
		"DELETE FROM runs WHERE node = (SELECT id FROM nodes WHERE node = ?1)",
	[SQL_INCIDENTS] = "SELECT id, node, check_name, subject, level, fatal, rule, action,"
			  " sentence, opened_us, last_us, closed_us FROM incidents"
			  " WHERE id < ?1 AND (?2 = 0 OR closed_us IS NULL)"
			  " ORDER BY id DESC LIMIT ?3",
	[SQL_INCIDENTS_OF_NODE] = "SELECT id, node, check_name, subject, level, fatal, rule,"
				  " action, sentence, opened_us, last_us, closed_us FROM incidents"
				  " WHERE node = ?1 AND closed_us IS NULL ORDER BY id",
	[SQL_INCIDENT] = "SELECT id, node, check_name, subject, level, fatal, rule, action,"
			 " sentence, opened_us, last_us, closed_us FROM incidents WHERE id = ?1",
	[SQL_COUNT_INCIDENTS] = "SELECT count(*) FROM incidents WHERE closed_us IS NULL",
	[SQL_COUNT_VERDICTS] = "SELECT CASE WHEN n.seen_us BETWEEN ?1 AND ?2 THEN " NODE_LEVEL
			       " ELSE 1 END"
			       " AS now, count(*) FROM nodes n GROUP BY now",
	/* length() of a body reads none of it. */
	[SQL_THIN_REPORTS] = "SELECT id, node, seen_us, profile, verdict, length(body) FROM reports"
			     " WHERE id > ?1 ORDER BY id LIMIT ?2",
	[SQL_THIN_NEWEST] = "SELECT 1 FROM runs WHERE node = ?1 AND report = ?2",
	[SQL_THIN_EVIDENCE] = "SELECT 1 FROM nodes n CROSS JOIN incidents i ON i.node = n.node"
			      " AND i.closed_us IS NULL JOIN items t ON t.report = ?2"
			      " AND t.check_name = i.check_name"
			      " WHERE n.id = ?1 AND ?3 BETWEEN i.since_us AND i.opened_us",
	[SQL_THIN_BODY] = "UPDATE reports SET body = NULL WHERE id = ?1",
	[SQL_THIN_ITEMS] = "DELETE FROM items WHERE report = ?1 AND nth >= ?2",
	[SQL_THIN_REPORT] = "DELETE FROM reports WHERE id = ?1",
	[SQL_THIN_BOOTS] = "SELECT b.id, b.first_us < ?3 AND NOT EXISTS (SELECT 1 FROM reports"
			   " WHERE boot = b.id) AND NOT EXISTS (SELECT 1 FROM nodes n"
			   " WHERE n.id = b.node AND n.boot = b.id) FROM boots b"
			   " WHERE b.id > ?1 ORDER BY b.id LIMIT ?2",
	[SQL_THIN_BOOT] = "DELETE FROM boots WHERE id = ?1",
	[SQL_THIN_INCIDENTS] = "SELECT id, closed_us < ?3 OR (closed_us IS NOT NULL AND"
			       " (id <= (SELECT max(id) FROM incidents) - ?4 OR EXISTS"
			       " (SELECT 1 FROM incidents j WHERE j.node = i.node AND j.id > i.id"
			       " LIMIT 1 OFFSET ?5))) FROM incidents i"
			       " WHERE id > ?1 ORDER BY id LIMIT ?2",
	[SQL_THIN_INCIDENT] = "DELETE FROM incidents WHERE id = ?1",
	[SQL_THIN_NODES] = "SELECT id, seen_us < ?3 FROM nodes WHERE id > ?1 ORDER BY id LIMIT ?2",
	[SQL_THIN_NODE] = "DELETE FROM nodes WHERE id = ?1",
	[SQL_THIN_RUNS] = "DELETE FROM runs WHERE node = ?1 AND report NOT IN (SELECT report"
			  " FROM runs WHERE node = ?1 ORDER BY report DESC LIMIT ?2)",
	[SQL_THIN_WINDOWS] = "DELETE FROM windows WHERE node = ?1 AND last_us < ?2",
	[SQL_THIN_CLOSE] = "UPDATE incidents SET closed_us = ?3 WHERE node = ?1"
			   " AND closed_us IS NULL AND last_us < ?2",
	[SQL_NODE_NAME] = "SELECT node FROM nodes WHERE id = ?1",
	[SQL_NODE_REPORTS] = "SELECT id FROM reports WHERE node = ?1 ORDER BY id LIMIT ?2",
	[SQL_NODE_BOOTS] = "DELETE FROM boots WHERE node = ?1",
	[SQL_MARK_GET] = "SELECT value FROM marks WHERE name = ?1",
	[SQL_MARK_PUT] = "INSERT OR REPLACE INTO marks VALUES (?1, ?2)",
	[SQL_BASELINE_PUT] = "INSERT INTO baselines (key, saved_us, hosts) VALUES (?1, ?2, ?3)"
			     " ON CONFLICT (key) DO UPDATE SET saved_us = ?2, hosts = ?3",
	[SQL_BASELINE_DROP] = "DELETE FROM baselines WHERE key = ?1",
	[SQL_BASELINES] = "SELECT key, hosts, saved_us FROM baselines WHERE saved_us >= ?1",
	[SQL_USUALS_PUT] = "INSERT OR REPLACE INTO usuals (key, hosts) VALUES (?1, ?2)",
	[SQL_USUALS_DROP] = "DELETE FROM usuals WHERE key = ?1",
	[SQL_USUALS] = "SELECT key, u.hosts FROM usuals u JOIN baselines USING (key)"
		       " WHERE saved_us >= ?1",
	[SQL_PAGES] = "PRAGMA page_count",
	[SQL_PAGES_FREE] = "PRAGMA freelist_count",
	[SQL_PAGE_SIZE] = "PRAGMA page_size",
	[SQL_TOPOLOGY_FIND] = "SELECT 1 FROM topologies WHERE digest = ?1",
	[SQL_TOPOLOGY_COUNT] = "SELECT count(*) FROM topologies",
	/* Many at once: finding them costs a walk over all hosts. */
	[SQL_TOPOLOGY_DROP] = "DELETE FROM topologies WHERE id IN"
			      " (SELECT id FROM topologies WHERE digest NOT IN"
			      " (SELECT topology FROM nodes WHERE topology IS NOT NULL)"
			      " ORDER BY id LIMIT 64)",
	[SQL_TOPOLOGY_ADD] = "INSERT INTO topologies (digest, seen_us, coding, body, heard)"
			     " VALUES (?1, ?2, ?3, ?4, 1)",
	[SQL_TOPOLOGY_GET] = "SELECT coding, body FROM topologies WHERE digest = ?1",
	[SQL_TOPOLOGY_UNHEARD] = "SELECT coding, body, id FROM topologies WHERE heard = 0"
				 " ORDER BY id LIMIT 1",
	[SQL_TOPOLOGY_HEARD] = "UPDATE topologies SET heard = 1 WHERE id = ?1",
	[SQL_SWITCH_ADD] = "INSERT OR REPLACE INTO switches VALUES (?1, ?2, ?3)",
	[SQL_SWITCHES] = "SELECT s.rail, s.name FROM topologies t JOIN switches s"
			 " ON s.topology = t.id WHERE t.digest = ?1",
	[SQL_SWITCHES_DROP] = "DELETE FROM switches WHERE topology NOT IN"
			      " (SELECT id FROM topologies)",
	[SQL_PLACES] = "SELECT n.node, EXISTS (SELECT 1 FROM topologies t JOIN switches s"
		       " ON s.topology = t.id AND s.name = ?1 WHERE t.digest = n.topology)"
		       " FROM nodes n ORDER BY n.node",
	[SQL_CLUSTER_NODE_PUT] = "INSERT OR REPLACE INTO cluster_nodes VALUES (?1, ?2, ?3, ?4, ?5,"
				 " ?6, ?7, ?8)",
	[SQL_CLUSTER_NODE_DROP] = "DELETE FROM cluster_nodes WHERE node = ?1",
	[SQL_CLUSTER_NODES] = "SELECT node, uid, version, unschedulable, mark, override_us, hold,"
			      " condition FROM cluster_nodes ORDER BY node",
	[SQL_LEDGER_GET] = "SELECT version, text FROM cluster_ledger WHERE id = 1",
	[SQL_LEDGER_PUT] = "INSERT OR REPLACE INTO cluster_ledger VALUES (1, ?1, ?2)",
	[SQL_EVENT_ADD] = "INSERT INTO cluster_events (node, at_us, warning, reason, message)"
			  " VALUES (?1, ?2, ?3, ?4, ?5)",
	[SQL_EVENTS_DROP] = "DELETE FROM cluster_events WHERE id <="
			    " (SELECT max(id) FROM cluster_events) - ?1",
	[SQL_ACTION_ADD] = "INSERT INTO actions (node, kind, state, who, rule, incident, reason,"
			   " evidence, undo, break_glass, until_us, epoch, decided_us)"
			   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
	[SQL_ACTION_STATE] = "UPDATE actions SET state = ?2, result = ?3, done_us = ?4"
			     " WHERE id = ?1",
	[SQL_ACTIONS] = "SELECT " ACTION_COLUMNS " FROM actions WHERE id < ?1"
			" ORDER BY id DESC LIMIT ?2",
	[SQL_ACTIONS_OF_NODE] = "SELECT " ACTION_COLUMNS " FROM actions WHERE node = ?3 AND id < ?1"
				" ORDER BY id DESC LIMIT ?2",
	[SQL_ACTIONS_OPEN] = "SELECT " ACTION_COLUMNS " FROM actions WHERE done_us IS NULL"
			     " ORDER BY id",
	[SQL_ACTION] = "SELECT " ACTION_COLUMNS " FROM actions WHERE id = ?1",
	/* The oldest that are over, a few at a time. */
	[SQL_ACTIONS_DROP] = "DELETE FROM actions WHERE id IN (SELECT id FROM actions WHERE"
			     " id <= (SELECT max(id) FROM actions) - ?1 AND done_us IS NOT NULL"
			     " ORDER BY id LIMIT 64)",
	[SQL_LIFE_PUT] = "INSERT OR REPLACE INTO lives VALUES (?1, ?2, ?3)",
	[SQL_LIFE_DROP] = "DELETE FROM lives WHERE node = ?1",
	[SQL_LIVES] = "SELECT node, record, findings FROM lives",
	[SQL_PART_PUT] = "INSERT OR REPLACE INTO parts VALUES (?1, ?2)",
	[SQL_PARTS] = "SELECT serial, cordons FROM parts",
	[SQL_TRANSITION_ADD] =
		"INSERT INTO transitions (node, at_us, before, after, who, why,"
		" evidence, undo, event) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[SQL_TRANSITIONS] =
		"SELECT id, node, at_us, before, after, who, why, evidence, undo,"
		" event FROM transitions WHERE node = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2",
	[SQL_TRANSITIONS_DROP] = "DELETE FROM transitions WHERE id <="
				 " (SELECT max(id) FROM transitions) - ?1",
	[SQL_FINDINGS_OPEN] = "SELECT id, node, check_name FROM incidents WHERE closed_us IS NULL",
	[SQL_RUN_BEFORE] = "SELECT 1 FROM reports r JOIN nodes n ON n.id = r.node WHERE n.node = ?1"
			   " AND r.profile = ?2 LIMIT 1 OFFSET 1",
	[SQL_NODES_BRIEF] =
		"SELECT n.node, n.sku, n.seen_us, n.verdict, n.topology, n.first_us,"
		" (SELECT p.seen_us FROM runs r JOIN reports p ON p.id = r.report"
		" WHERE r.node = n.id AND r.profile = 'full') FROM nodes n ORDER BY n.node",
	[SQL_RUN_ACTIVE] =
		"SELECT b.boot_id, p.seen_us, p.verdict, r.profile, i.check_name, i.source"
		" FROM nodes n JOIN runs r ON r.node = n.id JOIN reports p ON p.id = r.report"
		" JOIN boots b ON b.id = p.boot LEFT JOIN items i ON i.report = p.id AND i.nth = 0"
		" WHERE n.node = ?1 AND r.profile IN ('quick', 'full') ORDER BY r.report DESC "
		"LIMIT 1",
	[SQL_CAMPAIGN_PUT] =
		"INSERT OR REPLACE INTO campaigns (id, ended_us, body) VALUES (?1, ?2, ?3)",
	[SQL_CAMPAIGN_LAST] = "SELECT coalesce(max(id), 0) FROM campaigns",
	[SQL_CAMPAIGNS] = "SELECT id, body FROM campaigns WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
	[SQL_CAMPAIGN] = "SELECT id, body FROM campaigns WHERE id = ?1",
	[SQL_CAMPAIGNS_OPEN] = "SELECT id FROM campaigns WHERE ended_us IS NULL ORDER BY id",
	[SQL_CAMPAIGNS_DROP] =
		"DELETE FROM campaigns WHERE ended_us IS NOT NULL AND id <= (SELECT id"
		" FROM campaigns ORDER BY id DESC LIMIT 1 OFFSET ?1)",
};

/* An errno for what a person or a retry can do about it. */
static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return EBUSY;
	case SQLITE_NOMEM:
		return ENOMEM;
	case SQLITE_CONSTRAINT:
		return EEXIST;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return EROFS;
	case SQLITE_CANTOPEN:
		return ENOENT;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return EINVAL;
	default:
		return EIO;
	}
}

int store_fail(struct store *s, const char *what, struct err *err)
{
	return err_set(err, errno_of(sqlite3_extended_errcode(s->db)), "store: %s: %s", what,
		       sqlite3_errmsg(s->db));
}

sqlite3_stmt *store_statement(struct store *s, enum statement which)
{
	sqlite3_stmt *st = s->statements[which];

	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
	return st;
}

int store_step_row(struct store *s, sqlite3_stmt *st, const char *what, struct err *err)
{
	int code = sqlite3_step(st);

	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : store_fail(s, what, err);
}

int store_step_done(struct store *s, sqlite3_stmt *st, const char *what, struct err *err)
{
	int r = store_step_row(s, st, what, err);

	(void)sqlite3_reset(st);
	return r < 0 ? r : 0;
}

void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	(void)sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

void bind_int(sqlite3_stmt *st, int at, int64_t value)
{
	(void)sqlite3_bind_int64(st, at, value);
}

void bind_real(sqlite3_stmt *st, int at, double value)
{
	if (isfinite(value))
		(void)sqlite3_bind_double(st, at, value);
	else
		(void)sqlite3_bind_null(st, at);
}

const char *column_text(sqlite3_stmt *st, int at)
{
	return (const char *)sqlite3_column_text(st, at);
}

double column_real(sqlite3_stmt *st, int at)
{
	return sqlite3_column_type(st, at) == SQLITE_NULL ? NAN : sqlite3_column_double(st, at);
}
