// SPDX-License-Identifier: Apache-2.0
/**
 * The fleet: a sentence that names the worst host in service, a map with a cell per host, and beside it the worst hosts, what
 * may still be taken out of service, and whether Assay acts.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from './html.js';
import { byWorst, GROUPS, matches, rowsOf } from './fleet_data.js';
import { FleetSide, problemsOf } from './fleet_side.js';
import { Grid } from './grid.js';
import { useLive } from './live.js';
import { usePhone } from './width.js';
import { agentWord, brief, clock, count, many, plain, sentence } from './text.js';
import { Choice, Command, Glyph, hostLink, HostLink, Lead, Mark, Said, Table, WORDS } from './ui.js';

const CELL = { w: 23, h: 18, gap: 2, group: 8, groupGap: 6, left: 46, top: 24, right: 176 };
/** Cell size for small fleets, and the limit of what counts as small. */
const LARGE = { w: 42, h: 26 }, FEW = { columns: 16, rows: 20 };
/** Hosts per row on a phone, and the space for the note after it. */
const PHONE = { row: 8, right: 96 };
/** Names shown after a row; more are counted. */
const NAMED = 3;
/** How many silent hosts of a rack, and what share of all silent hosts, make the rack the suspect. */
const TOGETHER = 4, TOGETHER_SHARE = 0.5;

/** Filters: class of the glyph, label, predicate of hosts, and key in counts(). */
const KINDS = [
	['fail', 'fail', (h) => h.kind === 'fail', 'fail'], ['warn', 'warn', (h) => h.kind === 'warn', 'warn'], ['unsure', 'cannot tell', (h) => h.kind === 'unsure', 'unsure'],
	['none', 'no answer', (h) => h.kind === 'none', 'none'], ['pass', 'pass', (h) => h.kind === 'pass', 'pass'], ['out', 'out of service', (h) => h.out, 'out'],
	['sus', 'suspected', (h) => h.suspected, 'suspected'], ['gone', 'agent gone', (h) => h.gone, 'gone'],
];

const FILLS = { pass: 'pass-cell', fail: 'fail', warn: 'warn', unsure: 'unsure', none: 'ground' };

/** Spoken name of a host. */
function spoken(h, said) {
	return [h.name, WORDS[h.kind], h.out ? (h.life && h.life !== 'healthy' ? h.life : 'out of service') : h.suspected ? h.life : '', h.gone ? 'agent gone' : '', said ? brief(said.sentence, h.name) : '', h.domain ? `rack ${h.domain}` : ''].filter(Boolean).join(', ');
}

/** @returns {import('./grid_paint.js').Cell} */
function cellOf(h, said, shown) {
	const plain = h.kind === 'pass' || h.kind === 'none';
	return {
		name: () => spoken(h, said), fill: FILLS[h.kind], ink: plain ? 'ink' : `on-${h.kind}`, glyph: plain ? undefined : h.kind, hatch: h.kind === 'none',
		ring: h.out ? 'solid' : h.suspected ? 'dashed' : undefined, corner: h.gone, dim: shown ? !shown(h) : false,
	};
}

/** Note after a row: failing hosts, and what many of them share. */
function noteOf(row) {
	const bad = row.hosts.filter((h) => h.kind === 'fail').map((h) => h.name), silent = row.hosts.filter((h) => h.kind === 'none').length;
	const warn = row.hosts.filter((h) => h.kind === 'warn').length, parts = [];
	if (bad.length)
		parts.push(bad.length <= NAMED ? bad.join(', ') : `${bad.slice(0, NAMED - 1).join(', ')} and ${bad.length - NAMED + 1} more`);
	if (silent >= TOGETHER)
		parts.push(`${silent} no answer`);
	if (warn >= TOGETHER)
		parts.push(`${warn} warn`);
	return parts.join('; ');
}

/** A sentence on a rack with most of the silent hosts, or ''. */
function silentTogether(hosts, label) {
	const silent = hosts.filter((h) => h.kind === 'none'), by = new Map();
	for (const h of silent)
		by.set(h.domain, (by.get(h.domain) || 0) + 1);
	const most = [...by].filter(([name]) => name !== null).sort((a, b) => b[1] - a[1])[0];
	if (!silent.length)
		return '';
	if (most && most[1] >= TOGETHER && most[1] >= silent.length * TOGETHER_SHARE)
		return `No answer from ${many(most[1], 'host')} of ${label} ${most[0]}: look at what they share there first, not at the hosts.`;
	return `No answer from ${silent.length <= NAMED ? silent.map((h) => h.name).join(', ') : many(silent.length, 'host')}.`;
}

/** The sentence: {glyph, title, name}. */
function headline(live) {
	const { fleet } = live, worst = fleet.said.worst, inService = (verdict) => worst.find((w) => w.verdict === verdict && w.in_service !== false && !(fleet.host(w.node) || {}).stale);
	const bad = inService('fail') || inService('warn'), n = fleet.counts();
	if (live.stale)
		return { glyph: 'none', title: `Nothing has been heard from the fleet since ${clock(new Date(live.heard).toISOString(), Date.now(), true)} UTC.` };
	if (bad)
		return {
			glyph: bad.verdict, name: `${bad.node} is the worst host in service`,
			title: html`<a href=${hostLink(bad.node)}><${Said}>${bad.node}<//></a> ${bad.verdict === 'fail' ? 'is the worst host in service' : 'warns, and nothing in service fails'}: <${Said}>${sentence(brief(bad.sentence, bad.node))}<//>`,
		};
	if (!fleet.hosts.length)
		return { glyph: 'none', title: 'No host has reported yet.' };
	if (n.fail)
		return { glyph: 'wait', title: `Nothing in service fails; ${many(n.fail, 'failing host')} ${n.fail === 1 ? 'is' : 'are'} out of service.` };
	return n.none || n.unsure
		? { glyph: 'unsure', title: `Nothing fails, but nothing is known about ${many(n.none + n.unsure, 'host')} of ${count(fleet.hosts.length)}.` }
		: { glyph: 'pass', title: fleet.hosts.length === 1 ? 'The one host passes.' : `All ${count(fleet.hosts.length)} hosts pass.` };
}

function summary(fleet) {
	const n = fleet.counts();
	return `${n.fail ? `${count(n.fail)} of ${many(fleet.hosts.length, 'host')} ${n.fail === 1 ? 'fails' : 'fail'}` : `${many(fleet.hosts.length, 'host')}`}; ${count(n.pass)} pass${fleet.hosts.length === 1 ? 'es' : ''}.`;
}

function Legend({ only, onOnly, fleet }) {
	const n = fleet.counts();
	return html`<div class="key" role="group" aria-label="Show only">${KINDS.map(([key, word, , counted]) => html`<button key=${key} type="button" aria-pressed=${String(only === key)} onClick=${() => onOnly(only === key ? null : key)}>
		<span class=${`sw ${key}`} aria-hidden="true">${['fail', 'warn', 'unsure'].includes(key) && html`<${Mark} name=${key} />`}</span>${word} <b>${count(n[counted])}</b></button>`)}</div>`;
}

function HostTip({ host, said }) {
	return html`<h3><${Glyph} name=${host.kind} /><${Said}>${host.name}<//><span class="dim">${host.domain ? html`rack <${Said}>${host.domain}<//>` : ''}</span></h3>
		<p><${Said}>${said ? sentence(plain(said.sentence, host.name)) : host.kind === 'pass' ? 'Nothing below its floor.' : host.kind === 'none' ? 'No report for 16 minutes.' : sentence(WORDS[host.kind])}<//></p>
		<dl><dt>life</dt><dd>${host.life || 'not in the cluster'}${host.service && host.service !== 'in-service' ? `, ${host.service}` : ''}</dd>
		<dt>SKU</dt><dd><${Said}>${host.sku || 'not known'}<//></dd><dt>incidents</dt><dd>${host.incidents || 'none'}</dd><dt>agent</dt><dd>${agentWord(host.connection)}</dd></dl>
		<footer><span><kbd>arrows</kbd> move</span><span><kbd>Enter</kbd> open</span><span><kbd>c</kbd> cordon</span></footer>`;
}

function FleetMap({ phone, fleet, rows, by, shown, stale, said }) {
	const at = (r, c) => rows[r] && rows[r].hosts[c];
	const first = rows.findIndex((row) => row.hosts.some((h) => h.kind === 'fail' && !h.out));
	const columns = Math.max(1, ...rows.map((row) => row.hosts.length));
	const width = Math.max(...rows.map((row) => row.label.length), 4) * 6.5 + 12;
	return html`<${Grid} label=${`${many(fleet.hosts.length, 'host')}, one row a ${GROUPS[by].word}`} rows=${rows.length} columns=${columns} size=${{ ...CELL, ...(!phone && columns <= FEW.columns && rows.length <= FEW.rows ? LARGE : {}), left: Math.min(Math.ceil(width), phone ? 56 : 168), ...(phone ? { right: PHONE.right } : {}) }}
		stale=${stale} corner=${GROUPS[by].word} noteHead=${phone ? '' : 'fails, and what a rack shares'} cell=${(r, c) => (at(r, c) ? cellOf(at(r, c), said.get(at(r, c).name), shown) : null)}
		rowHead=${(r) => ({ text: rows[r].label.slice(0, 24), strong: rows[r].hosts.some((h) => h.kind === 'fail') })} columnHead=${(c) => (c % 8 ? null : { text: String(c), left: true })} note=${(r) => noteOf(rows[r])}
		start=${first < 0 ? null : [first, rows[first].hosts.findIndex((h) => h.kind === 'fail' && !h.out)]}
		onOpen=${(r, c) => { location.hash = hostLink(at(r, c).name); }} onKey=${(e, r, c) => e.key === 'c' && (location.hash = `${hostLink(at(r, c).name)}?act=cordon`)}
		tip=${(r, c) => at(r, c) && html`<${HostTip} host=${at(r, c)} said=${said.get(at(r, c).name)} />`} />`;
}

const TABLE = [
	{ head: 'host', cell: (h) => html`<${HostLink} name=${h.name} />`, className: 'nowrap' },
	{ head: 'verdict', cell: (h) => html`<span class="nowrap"><${Glyph} name=${h.kind} /> ${WORDS[h.kind]}</span>` },
	{ head: 'life', cell: (h) => h.life || 'not in the cluster' }, { head: 'service', cell: (h) => h.service || '–' },
	{ head: 'agent', cell: (h) => agentWord(h.connection) }, { head: 'rack', cell: (h) => html`<${Said}>${h.domain || '–'}<//>` },
	{ head: 'SKU', cell: (h) => html`<${Said}>${h.sku || '–'}<//>` }, { head: 'incidents', cell: (h) => h.incidents || '', num: true },
];

function Filter({ value, onInput }) {
	return html`<label class="filter"><span class="vh">Filter hosts by name, rack, SKU, life</span><input id="filter" type="search" placeholder="filter" spellcheck=${false} value=${value} onInput=${(e) => onInput(e.target.value)} /></label>`;
}

function saidOf(fleet) {
	return new Map(fleet.said.worst.map((w) => [w.node, w]));
}

/** Was the first map of this tab drawn? The side panel waits for that. */
let mapShown = false;

function useMapShown(known) {
	const [, set] = useState(mapShown);
	useEffect(() => {
		if (!known || mapShown)
			return undefined;
		const t = setTimeout(() => {
			mapShown = true;
			set(true);
		});
		return () => clearTimeout(t);
	}, [known]);
	return mapShown;
}

export function FleetView({ query }) {
	const live = useLive(), { fleet } = live;
	const [form, setForm] = useState(query.get('form') === 'table' ? 'Table' : 'Map'), [by, setBy] = useState('rack');
	const phone = usePhone(), [only, setOnly] = useState(query.get('only')), [words, setWords] = useState(query.get('filter') || '');
	const rows = useMemo(() => rowsOf(fleet.hosts, by, phone ? PHONE.row : undefined), [fleet.shape, by, phone]);
	const beside = useMapShown(Boolean(fleet.said));
	if (!fleet.said)
		return html`<${Lead} title=${live.problem ? 'The controller does not answer.' : 'Asking the controller.'} glyph="none" />`;
	const kind = KINDS.find(([key]) => key === only), wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
	const shown = kind || wanted.length ? (h) => (!kind || kind[2](h)) && matches(h, wanted) : null;
	const said = saidOf(fleet), head = headline(live), label = fleet.said.policy.domain_label ? 'rack' : 'group';
	const left = shown ? fleet.hosts.filter(shown) : fleet.hosts;
	return html`<${Lead} ...${head} prose=${html`<${Said}>${[problemsOf(fleet), silentTogether(fleet.hosts, label), summary(fleet)].filter(Boolean).join(' ')}<//>`}
		tools=${html`<${Choice} label="Form" value=${form} choices=${['Map', 'Table']} onChoose=${setForm} /><${Command} words=${['nodes']} />`} />
	<div class="cols fleet-cols"><section class=${`sec ${live.stale ? 'stale' : ''}`}><header><h2 class="vh">Hosts by ${GROUPS[by].word}</h2><${Legend} only=${only} onOnly=${setOnly} fleet=${fleet} />
		<span class="right"><${Filter} value=${words} onInput=${setWords} /><label class="by">by <select value=${by} onChange=${(e) => setBy(e.target.value)}>${Object.keys(GROUPS).map((g) => html`<option key=${g} value=${g}>${g}</option>`)}</select></label></span></header>
		${shown && html`<p class="two" role="status">${many(left.length, 'host')} of ${count(fleet.hosts.length)} shown. <button class="btn quiet" type="button" onClick=${() => { setOnly(null); setWords(''); }}>Show all</button></p>`}
		${form === 'Map' ? html`<${FleetMap} phone=${phone} fleet=${fleet} rows=${rows} by=${by} shown=${shown} stale=${live.stale} said=${said} />`
			: html`<${Table} label="Hosts" columns=${TABLE} rows=${[...left].sort(byWorst)} keyOf=${(h) => h.name} empty="No host matches." />`}</section>
		<${FleetSide} live=${live} shown=${beside} /></div>`;
}
