// SPDX-License-Identifier: Apache-2.0
/**
 * The data of /v1/fleet, kept up to date by /v1/changes: columns by name, and the grouping into rows of the map. Pure: no
 * clock, no requests.
 */
import { byName, nameKey } from './text.js';

/** Hosts per row of the map: racks are rarely larger; other groups wrap. */
export const ROW_MAX = 32;

const OUT = new Set(['cordoned', 'drained', 'in-repair', 'verifying', 'sticky']);
/** Word `i` of a table; null for negative indexes. */
const word = (table, i) => (i < 0 ? null : table[i]);
/** Worst first. */
const RANK = { fail: 0, warn: 1, unsure: 2, none: 3, pass: 4 };

/** @typedef {{name: string, key: string, verdict: string, kind: 'fail'|'warn'|'unsure'|'none'|'pass', stale: boolean, life: string|null, service: string|null, connection: string, domain: string|null, sku: string|null, incidents: number, out: boolean, suspected: boolean, gone: boolean}} Host */

/** A host keeps its object while it is known, and changes are written into it, so that a change of 500 hosts costs 500 and not all. */
export class Fleet {
	constructor() {
		/** @type {Map<string, Host>} */
		this.named = new Map();
		/** @type {Host[]} by name */
		this.hosts = [];
		this.tables = { verdicts: [], lives: [], services: [], connections: [], domains: [], skus: [] };
		/** The last answer, without the columns. */
		this.said = null;
		/** Replaced whenever rows of the map may change: on new hosts, racks, SKUs and life-cycle states. */
		this.shape = {};
		this.counted = null;
	}

	get version() {
		return this.said && this.said.version;
	}

	/** Merge an answer of either route; false if it says that our state is no longer valid. */
	take(answer) {
		if (answer.reset)
			return false;
		for (const key of Object.keys(this.tables))
			if (answer[key])
				this.tables[key] = answer[key];
		if (answer.whole) {
			this.named = new Map();
			this.hosts = [];
			this.shape = {};
		}
		const n = answer.nodes, before = this.hosts.length;
		for (let k = 0; k < n.names.length; k++)
			this.put(n.names[k], n, k);
		if (this.hosts.length > before)
			this.sort();
		if (n.names.length || answer.whole)
			this.counted = null;
		this.said = { ...answer, nodes: null, worst: answer.worst || (this.said && this.said.worst) || [] };
		return true;
	}

	put(name, n, k) {
		let h = this.named.get(name);
		if (!h) {
			h = { name, key: nameKey(name), verdict: null, kind: 'none', stale: false, life: null, service: null, connection: null, domain: null, sku: null, incidents: 0, out: false, suspected: false, gone: false };
			this.named.set(name, h);
			this.hosts.push(h);
		}
		const t = this.tables, verdict = word(t.verdicts, n.verdict[k]), life = word(t.lives, n.life[k]), domain = word(t.domains, n.domain[k]), sku = word(t.skus, n.sku[k]);
		if (h.life !== life || h.domain !== domain || h.sku !== sku)
			this.shape = {};
		h.verdict = verdict;
		h.stale = n.stale[k] === 1;
		h.kind = h.stale || verdict === null ? 'none' : verdict === 'inconclusive' ? 'unsure' : verdict;
		h.life = life;
		h.service = word(t.services, n.service[k]);
		h.connection = word(t.connections, n.connection[k]);
		h.domain = domain;
		h.sku = sku;
		h.incidents = n.incidents[k];
		h.out = h.service === 'cordoned' || OUT.has(life);
		h.suspected = life === 'suspected' || life === 'retesting';
		h.gone = h.connection === 'suspect';
	}

	sort() {
		this.shape = {};
		this.hosts.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.name < b.name ? -1 : 1));
	}

	/** @returns {Host|null} */
	host(name) {
		return this.named.get(name) || null;
	}

	/** Counts, computed once per change: {fail, warn, unsure, none, pass, out, suspected, gone, incidents} */
	counts() {
		if (!this.counted) {
			const n = { fail: 0, warn: 0, unsure: 0, none: 0, pass: 0, out: 0, suspected: 0, gone: 0, incidents: 0 };
			for (const h of this.hosts) {
				n[h.kind]++;
				n.out += h.out;
				n.suspected += h.suspected;
				n.gone += h.gone;
				n.incidents += h.incidents;
			}
			this.counted = n;
		}
		return this.counted;
	}
}

/** Groupings for the rows of the map: key -> value of a host. */
export const GROUPS = {
	rack: { word: 'rack', of: (h) => h.domain },
	SKU: { word: 'SKU', of: (h) => h.sku },
	life: { word: 'life', of: (h) => h.life || 'not in the cluster' },
};

/**
 * Rows of the map: the hosts of a group, sorted by name, wrapped if they do not fit a row.
 * @param {Host[]} hosts @param {keyof GROUPS} by @param {number} [most] per row
 * @returns {{label: string, group: string|null, hosts: Host[]}[]}
 */
export function rowsOf(hosts, by, most = ROW_MAX) {
	const groups = new Map();
	for (const h of hosts) {
		const of = GROUPS[by].of(h);
		if (!groups.has(of))
			groups.set(of, []);
		groups.get(of).push(h);
	}
	const names = [...groups.keys()].sort((a, b) => (a === null) - (b === null) || byName(a || '', b || ''));
	const rows = [];
	for (const name of names) {
		const all = groups.get(name);
		for (let k = 0; k < all.length; k += most)
			rows.push({ label: k ? '' : name === null ? '–' : name, group: name, hosts: all.slice(k, k + most) });
	}
	return rows;
}

/** Worst first: failing, warning, unknown; in service before out of it. */
export function byWorst(a, b) {
	return RANK[a.kind] - RANK[b.kind] || a.out - b.out || (a.key < b.key ? -1 : 1);
}

/** Does a host match the search: its name, rack, SKU or life? All words must match. */
export function matches(host, words) {
	const has = `${host.name} ${host.domain || ''} ${host.sku || ''} ${host.life || ''} ${host.kind}`.toLowerCase();
	return words.every((word) => has.includes(word));
}
