/* SPDX-License-Identifier: Apache-2.0 */
/* What store*.c share: the open file and its prepared statements. */
#pragma once

#include <sqlite3.h>

#include "controller/store/store.h"
#include "controller/store/store_sums.h"

enum statement {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_SEAL,
	SQL_ROLLBACK,
	SQL_NODE_FIND,
	SQL_NODE_ADD,
	SQL_NODE_UPDATE,
	SQL_NODE_RESTATE,
	SQL_BOOT_FIND,
	SQL_BOOT_ADD,
	SQL_REPORT_FIND,
	SQL_REPORT_ADD,
	SQL_ITEM_ADD,
	SQL_RUN_PUT,
	SQL_RUNS,
	SQL_RUN_ITEMS,
	SQL_COUNT_NODES,
	SQL_COUNT_VERDICTS,
	SQL_NODES,
	SQL_NODE,
	SQL_REPORTS,
	SQL_BODIES,
	SQL_BAD_REPORTS,
	SQL_PAST,
	SQL_PAST_LAST,
	SQL_ENVS,
	SQL_WINDOWS,
	SQL_WINDOW_PUT,
	SQL_WINDOW_DROP,
	SQL_INCIDENT_UPDATE,
	SQL_INCIDENT_ADD,
	SQL_INCIDENT_CLOSE,
	SQL_INCIDENTS_CLOSE,
	SQL_WINDOWS_DROP,
	SQL_RUNS_DROP,
	SQL_RUNS_DROP_ALL,
	SQL_INCIDENTS,
	SQL_INCIDENTS_OF_NODE,
	SQL_INCIDENT,
	SQL_COUNT_INCIDENTS,
	SQL_THIN_REPORTS,
	SQL_THIN_NEWEST,
	SQL_THIN_EVIDENCE,
	SQL_THIN_BODY,
	SQL_THIN_ITEMS,
	SQL_THIN_REPORT,
	SQL_THIN_BOOTS,
	SQL_THIN_BOOT,
	SQL_THIN_INCIDENTS,
	SQL_THIN_INCIDENT,
	SQL_THIN_NODES,
	SQL_THIN_NODE,
	SQL_THIN_RUNS,
	SQL_THIN_WINDOWS,
	SQL_THIN_CLOSE,
	SQL_NODE_NAME,
	SQL_NODE_REPORTS,
	SQL_NODE_BOOTS,
	SQL_MARK_GET,
	SQL_MARK_PUT,
	SQL_BASELINE_PUT,
	SQL_BASELINE_DROP,
	SQL_BASELINES,
	SQL_USUALS_PUT,
	SQL_USUALS_DROP,
	SQL_USUALS,
	SQL_PAGES,
	SQL_PAGES_FREE,
	SQL_PAGE_SIZE,
	SQL_TOPOLOGY_FIND,
	SQL_TOPOLOGY_COUNT,
	SQL_TOPOLOGY_DROP,
	SQL_TOPOLOGY_ADD,
	SQL_TOPOLOGY_GET,
	SQL_TOPOLOGY_UNHEARD,
	SQL_TOPOLOGY_HEARD,
	SQL_SWITCH_ADD,
	SQL_SWITCHES,
	SQL_SWITCHES_DROP,
	SQL_PLACES,
	SQL_CLUSTER_NODE_PUT,
	SQL_CLUSTER_NODE_DROP,
	SQL_CLUSTER_NODES,
	SQL_LEDGER_GET,
	SQL_LEDGER_PUT,
	SQL_EVENT_ADD,
	SQL_EVENTS_DROP,
	SQL_ACTION_ADD,
	SQL_ACTION_STATE,
	SQL_ACTIONS,
	SQL_ACTIONS_OF_NODE,
	SQL_ACTIONS_OPEN,
	SQL_ACTION,
	SQL_ACTIONS_DROP,
	SQL_LIFE_PUT,
	SQL_LIFE_DROP,
	SQL_LIVES,
	SQL_PART_PUT,
	SQL_PARTS,
	SQL_TRANSITION_ADD,
	SQL_TRANSITIONS,
	SQL_TRANSITIONS_DROP,
	SQL_FINDINGS_OPEN,
	SQL_RUN_BEFORE,
	SQL_NODES_BRIEF,
	SQL_RUN_ACTIVE,
	SQL_CAMPAIGN_PUT,
	SQL_CAMPAIGN_LAST,
	SQL_CAMPAIGNS,
	SQL_CAMPAIGN,
	SQL_CAMPAIGNS_OPEN,
	SQL_CAMPAIGNS_DROP,
	SQL_LAST_, /* not a statement: how many there are */
};

/* Their texts, in the order of the enum. */
extern const char *const store_texts[SQL_LAST_];

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[SQL_LAST_];
	bool open_transaction;
	struct sums *sums;
	struct sums_note note; /* of the last commit */
	uint64_t last_report;  /* the highest number of one, in the open transaction too */
	struct store_health health;
	struct backup *backup;	   /* of store_backup.c, or NULL */
	uint64_t incident_changes; /* counts up with each */
};

/* Open the transaction that store_commit() ends, unless it is. */
int store_begin(struct store *s, struct err *err);

/* The statement, reset and without values. */
sqlite3_stmt *store_statement(struct store *s, enum statement which);

/* Reset when it leaves its scope, so that it holds no lock. */
static inline void statement_resetp(sqlite3_stmt **st)
{
	(void)sqlite3_reset(*st);
}

/* Set "store: what: words of SQLite"; returns the negative errno of the result. */
int store_fail(struct store *s, const char *what, struct err *err);

/* Step a statement that gives no rows, and reset it. */
int store_step_done(struct store *s, sqlite3_stmt *st, const char *what, struct err *err);

/* Step a query: 1 with a row, 0 at its end, or a negative errno. */
int store_step_row(struct store *s, sqlite3_stmt *st, const char *what, struct err *err);

/* The items of a report at `v`, texts in `pool`; leaves room for `more` beyond them. */
int store_read_items(struct store *s, int64_t report, size_t more, struct pool *pool,
		     struct verdict *v, struct err *err);

/* Bind; parameters count from 1. Text is borrowed until the reset; NULL and NAN are NULL. */
void bind_text(sqlite3_stmt *st, int at, const char *text);
void bind_int(sqlite3_stmt *st, int at, int64_t value);
void bind_real(sqlite3_stmt *st, int at, double value);

/* Values as the API gives them. New references. */
json_t *column_json_text(sqlite3_stmt *st, int at);
json_t *column_json_stamp(sqlite3_stmt *st, int at); /* null for NULL */
json_t *column_json_level(sqlite3_stmt *st, int at);

/* A query whose rows become the items of a page; its limit is one more than the page's. */
struct listing {
	struct store *s;
	sqlite3_stmt *st;
	json_t *(*item)(sqlite3_stmt *st, uint64_t now_us);
	uint64_t now_us;
	size_t limit;
	int cursor_at; /* column that the next page begins after */
};

int store_read_page(const struct listing *list, struct store_page *ret, struct err *err);

/* A cursor that counts; the largest number when it says nothing. */
int64_t store_cursor_number(const struct store_range *range);

/* Columns count from 0. NULL is NULL, NAN. */
const char *column_text(sqlite3_stmt *st, int at);
double column_real(sqlite3_stmt *st, int at);

/*
 * What each reference said of an item as one number: known_by and low_by, 8 bits each, usual (2
 * bits), impossible (1), and one bit that says that all of it is there.
 */
struct verdict_item;
int64_t store_facts(const struct verdict_item *item);
void store_set_facts(struct verdict_item *item, int64_t facts);
