// SPDX-License-Identifier: Apache-2.0
/** A host: a sentence on what is wrong with it, the evidence, what clears it; its paths, parts, checks, life cycle. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { segment } from './api.js';
import { Acting, mayAct } from './acting.js';
import { Charts } from './host_charts.js';
import { Life } from './host_life.js';
import { Mesh } from './host_mesh.js';
import { Parts } from './host_parts.js';
import { Tree } from './host_tree.js';
import { ActionTable, IncidentTable } from './records.js';
import { live, useCall, useLive, useTurn } from './live.js';
import { age, agentWord, brief, clock, count, many, ofExpected, SEEN, sentence, text } from './text.js';
import { Command, Glyph, hangLink, jobLink, kindOf, Lead, Said, Section, Table, Trouble, WORDS } from './ui.js';

/** Polling interval in milliseconds: reports may come without a change of the verdict. */
const AGAIN_MS = 15000;

function headline(why, stale) {
	const worst = why.items[0], kind = why.stale ? 'none' : kindOf(why.verdict);
	if (stale)
		return { glyph: 'none', title: 'its present state is unknown.' };
	if (why.stale)
		return { glyph: 'none', title: `no answer for ${age(why.age_s)}. Its last report: ${sentence(brief(why.sentence, why.node))}` };
	return { glyph: kind, title: sentence(brief((worst || why).sentence, why.node)) };
}

/** The evidence, and what clears it. */
function how(why) {
	const worst = why.items[0], said = [];
	if (!worst)
		return why.stale ? 'Look first at what it shares with others that do not answer.' : `${many(why.measured, 'check')}, nothing below its floor.`;
	const explained = why.items.filter((i) => i.link === worst.subject).length, others = why.items.length - 1 - explained;
	const seen = SEEN.exec(text(worst.sentence));
	if (seen)
		said.push(sentence(seen[1].replace(/^s/, 'S')));
	if (explained)
		said.push(`It explains ${many(explained, 'slow path')}; ${others ? `${count(others)} more ${others === 1 ? 'has' : 'have'} findings` : 'nothing else is slow'}.`);
	else if (others)
		said.push(`${many(others, 'more check')} ${others === 1 ? 'has findings' : 'have findings'}.`);
	if (worst.windows)
		said.push(`Bad in ${worst.windows.bad} of the last ${many(worst.windows.of, 'run')}, since ${clock(worst.windows.since)}.`, sentence(worst.windows.clears.replace(/^clears/, 'Clears')));
	return said.join(' ');
}

function facts(why) {
	const life = why.life, service = why.service, jobs = why.jobs.slice(0, 3);
	return [
		['SKU', html`<${Said}>${why.sku || 'not known'}<//>`],
		['life', life ? html`${life.state} since ${clock(life.since)}${service && service.state !== 'in-service' ? `, ${service.state}` : ', in service'}` : 'not in the cluster: judged, never acted on'],
		['kept by', service && service.by && html`<${Said}>${service.by}${service.reason ? `: ${service.reason}` : ''}<//>`],
		['slows', jobs.length && jobs.map((j) => html`<a key=${j.id} class="link" href=${jobLink(j.id)}><${Said}>${j.job}<//></a> `)],
		['named by', why.hangs && why.hangs.length > 0 && why.hangs.slice(0, 3).map((h) => html`<a key=${h.job} class="link" href=${hangLink(h.id || h.job)}>the hang of <${Said}>${h.job}<//></a> `)],
		['silenced', life && life.silence_until && `until ${clock(life.silence_until)}`], ['kept in service', life && life.override_until && `until ${clock(life.override_until)}`],
		['never touched', life && life.hands_off && html`<${Said}>${life.hands_off}<//>`],
		['newest', `${why.profile || 'no'} run ${clock(why.time)}, ${many(why.measured, 'check')}, ${count(why.items.length)} with findings`],
		['agent', html`<${Said}>assayd ${why.agent || '?'}<//>, heard ${age(why.age_s)} ago, ${agentWord(why.connection)}`],
		['lost', why.lost_reports ? many(why.lost_reports, 'report') : null],
	];
}

/** A link's name from its sentence: its id is made of two addresses. */
const partName = (i) => i.name || (i.check.endsWith('.link') && text(i.sentence).split(': ')[0]) || i.subject;

const FOUND = [
	{ head: 'check', cell: (i) => html`<span class="nowrap"><${Glyph} name=${kindOf(i.verdict)} label=${WORDS[kindOf(i.verdict)]} /> <${Said}>${i.check}<//></span>` },
	{ head: 'part', cell: (i) => html`<${Said}>${partName(i)}<//>` },
	{ head: 'seen', cell: (i) => (typeof i.value === 'number' ? ofExpected(i.value, i.expected, i.unit) : '–'), className: 'nowrap' },
	{ head: 'what', cell: (i) => html`<${Said}>${i.sentence}<//>` },
	{ head: 'how often', cell: (i) => (i.windows ? `${i.windows.bad} of ${many(i.windows.of, 'run')}` : ''), className: 'nowrap' },
	{ head: 'clears', cell: (i) => (i.link ? html`with <${Said}>${i.link}<//>` : i.windows ? html`<${Said}>${i.windows.clears.replace(/^clears /, '')}<//>` : '') },
];

/** Problems found; what a link explains is folded into one line unless expanded. */
function Found({ items }) {
	const [all, setAll] = useState(false), links = new Set(items.filter((i) => !i.link).map((i) => i.subject));
	const own = items.filter((i) => !i.link || !links.has(i.link)), rest = items.length - own.length;
	if (!items.length)
		return null;
	return html`<${Section} title="Findings" say=${rest && !all ? `${many(rest, 'path')} that a link above explains ${rest === 1 ? 'is' : 'are'} left out` : ''}
		right=${rest > 0 && html`<button class="btn quiet" type="button" aria-pressed=${String(all)} onClick=${() => setAll(!all)}>all ${count(items.length)}</button>`}>
		<${Table} label="Findings" columns=${FOUND} rows=${all ? items : own} keyOf=${(i) => `${i.check} ${i.subject}`} shown=${25} /><//>`;
}

function Tools({ why, onAct }) {
	const out = why.service && why.service.state === 'cordoned';
	return html`<${Command} words=${['why', why.node]} />${mayAct(live.self) && why.service && html`<button class="btn" type="button" onClick=${() => onAct('silence')}>Silence…</button>
		<button class="btn go" type="button" onClick=${() => onAct(out ? 'uncordon' : 'cordon')}>${out ? 'Uncordon' : 'Cordon'} ${text(why.node).slice(0, 40)}…</button>`}`;
}

export default function HostView({ id, query }) {
	const { rev, stale, fleet } = useLive(), turn = useTurn(AGAIN_MS), host = fleet.host(id);
	const state = host ? [host.verdict, host.life, host.service, host.incidents, host.stale].join() : '';
	const path = `/v1/nodes/${segment(id || '')}`, again = `${turn} ${state} ${rev.actions}`;
	const { value: why, problem } = useCall(`${path}/why`, again), [act, setAct] = useState(null);
	const wanted = query.get('act');
	useEffect(() => {
		if (why && wanted && mayAct(live.self) && why.service)
			setAct(why.service.state === 'cordoned' && wanted === 'cordon' ? 'uncordon' : wanted);
	}, [why !== null && wanted]);
	const key = (e) => {
		if (e.key === 'c' && !e.ctrlKey && !e.metaKey && !e.altKey && !act && !e.target.closest('input, textarea, select, dialog') && why && why.service && mayAct(live.self))
			setAct(why.service.state === 'cordoned' ? 'uncordon' : 'cordon');
	};
	useLayoutEffect(() => { // the key does what the button does, from when that is shown
		addEventListener('keydown', key);
		return () => removeEventListener('keydown', key);
	});
	const crumb = html`<a href="#/">Fleet</a>${host && host.domain && html` / <a href=${`#/fleet?filter=${encodeURIComponent(host.domain)}`}>rack <${Said}>${host.domain}<//></a>`} / <${Said}>${id}<//>`;
	if (!why)
		return html`<${Lead} crumb=${crumb} glyph="none" name=${id} title=${html`<${Said}>${id}<//>${problem ? ': nothing is known of it.' : ''}`} />${problem && html`<${Trouble} problem=${problem} />`}`;
	const head = headline(why, stale);
	const done = () => {
		setAct(null);
		if (wanted)
			history.replaceState(null, '', location.hash.split('?')[0]);
	};
	return html`<${Lead} crumb=${crumb} glyph=${head.glyph} name=${`${why.node}: ${head.title}`} title=${html`<${Said}>${why.node}<//>: <${Said}>${head.title}<//>`} prose=${html`<${Said}>${how(why)}<//>`}
		facts=${facts(why)} tools=${html`<${Tools} why=${why} onAct=${setAct} />`} />
	${problem && html`<${Trouble} problem=${problem} />`}
	<div class="stack"><div class="cols host-cols"><${Mesh} path=${path} again=${`${why.seq} ${why.boot_id}`} stale=${stale || why.stale} /><${Parts} path=${path} again=${`${why.seq} ${why.boot_id}`} /></div>
	<${Tree} why=${why} />
	<${Charts} path=${path} again=${`${why.seq} ${why.boot_id}`} items=${why.items} measured=${why.measured} />
	<${Life} path=${path} again=${again} life=${why.life} first=${why.first_seen} node=${why.node} />
	<${Found} items=${why.items} />
	<div class="cols two-cols"><${Section} title="Incidents"><${IncidentTable} items=${why.incidents} without="host" empty="None is open." /><//>
	<${Section} title="Actions" say="the last ones"><${ActionTable} items=${why.actions} without="host" empty="Nothing was done." /><//></div></div>
	${act && html`<${Acting} what=${act} why=${why} onClose=${done} />`}`;
}
