// SPDX-License-Identifier: Apache-2.0
/** A host's life cycle as a time line: its states, the actions, and how to undo them. The same as a list below. */
import { html } from './html.js';
import { useCall } from './live.js';
import { age, clock, text, undo, when } from './text.js';
import { Said, Section } from './ui.js';

const W = 1392, DAY_MS = 86400e3;
/** Number of hour ticks, and of events listed below. */
const TICKS = 8, TOLD = 8;
const FILLS = { healthy: 'pass-cell', released: 'pass-cell', suspected: 'warn', retesting: 'warn', cordoned: 'fail', drained: 'fail', 'in-repair': 'unsure', verifying: 'unsure', sticky: 'fail' };

/** Periods of one state, oldest first: {from, to, state}. */
export function stretches(transitions, life, from, to) {
	const steps = [...transitions].filter((t) => t.to).sort((a, b) => when(a.at) - when(b.at)), list = [];
	let state = null, since = from;
	for (const t of steps) {
		const at = when(t.at);
		if (at > from) {
			list.push({ from: since, to: Math.min(at, to), state: state || t.from });
			since = at;
		}
		state = t.to;
	}
	list.push({ from: since, to, state: state || (life && life.state) || null });
	return list.filter((s) => s.state && s.to > s.from);
}

/** Events, newest first: {at, what, by, why, undo}. */
function events(evidence, node) {
	const moves = evidence.transitions.map((t) => ({ at: t.at, what: `${text(t.from)} to ${text(t.to)}`, by: t.by, why: t.why, undo: undo(t.undo, node) }));
	const acts = evidence.actions.map((a) => ({ at: a.at, what: `${a.action} ${a.state === 'dry-run' ? 'would be done' : a.state}`, by: a.by, why: a.reason, undo: undo(a.undo, node) }));
	return [...moves, ...acts].sort((a, b) => when(b.at) - when(a.at));
}

function Line({ list, all, from, to }) {
	const x = (t) => Math.round((Math.min(Math.max(t, from), to) - from) / (to - from) * (W - 2)), inside = all.filter((e) => when(e.at) >= from);
	const hours = Array.from({ length: TICKS - 1 }, (_, i) => from + (i + 1) * (to - from) / TICKS);
	const said = list.map((s) => `${s.state} for ${age((s.to - s.from) / 1000)}`).join(', then ');
	return html`<svg class="life" viewBox=${`0 8 ${W} 42`} role="img" aria-label=${`In the last 24 hours: ${said}`}>
		${list.map((s) => html`<g key=${s.from}><rect x=${x(s.from)} y="14" width=${Math.max(1, x(s.to) - x(s.from))} height="14" fill=${`var(--${FILLS[s.state] || 'line-2'})`} />
			${x(s.to) - x(s.from) > 70 && html`<text class=${`on-${FILLS[s.state] || 'line-2'}`} x=${x(s.from) + 8} y="25">${s.state}</text>`}</g>`)}
		${inside.map((e, i) => html`<path key=${i} d=${`M${x(when(e.at))} 10V32`} stroke="var(--ink)" stroke-width="1.5" />`)}
		${hours.map((h) => html`<text key=${h} class="q" x=${x(h)} y="46" text-anchor="middle">${clock(new Date(h).toISOString(), h)}</text>`)}<text class="q" x=${W} y="46" text-anchor="end">now</text></svg>`;
}

export function Life({ path, again, life, first, node }) {
	const { value } = useCall(`${path}/evidence`, again), to = Date.now(), from = Math.max(to - DAY_MS, Math.min(when(first) || 0, to - 3600e3));
	if (!value || !life)
		return html`<${Section} title="Life"><p class="empty">${value || !life ? 'It is not in the cluster: nothing is done to it.' : ''}</p><//>`;
	const all = events(value, node), list = stretches(value.transitions, life, from, to);
	return html`<${Section} title=${`Life, ${age((to - from) / 1000)}`} say="who did what, and how to undo it"><div class="life-wrap"><${Line} list=${list} all=${all} from=${from} to=${to} /></div>
		<ol class="told">${all.slice(0, TOLD).map((e, i) => html`<li key=${i}><time dateTime=${e.at}>${clock(e.at)}</time><b>${e.what}</b><span><${Said}>${e.why}<//> <span class="dim">by <${Said}>${e.by}<//>${e.undo && html`; undo: <${Said}>${e.undo}<//>`}</span></span></li>`)}</ol>
		${life.releases && html`<p class="two">What ends it: <${Said}>${life.releases}<//></p>`}<//>`;
}
