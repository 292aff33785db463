// SPDX-License-Identifier: Apache-2.0
/** Policy replay: what a pasted or uploaded policy would have done with the controller's history, compared with what was done. */
import { useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { all, call } from './api.js';
import { clock, count, many, sentence, text } from './text.js';
import { Command, HostLink, Lead, Pick, Said, Section, Table, Trouble } from './ui.js';

/** Timeout in milliseconds: the controller gives up after 25 s. */
const REPLAY_MS = 30000;
/** Size limit of a policy in bytes, as in the controller. */
const POLICY_MAX = 1 << 20;
const SINCE = ['1d', '7d', '30d'];

/** How often each host has been cordoned since then: {name: times}. */
function cordoned(actions, from) {
	const times = new Map();
	for (const a of actions)
		if (a.action === 'cordon' && a.state === 'done' && a.at >= from)
			times.set(a.node, (times.get(a.node) || 0) + 1);
	return times;
}

/** Hosts that it would have cordoned or was refused, and hosts that were cordoned: largest difference first. */
export function compared(said, actions) {
	const was = cordoned(actions, said.from || ''), then = new Map(said.nodes.map((n) => [n.node, n]));
	const rows = [...new Set([...then.keys(), ...was.keys()])].map((node) => ({ cordons: 0, releases: 0, refused: 0, first: null, out_s: 0, ...then.get(node), node, was: was.get(node) || 0 }));
	return rows.sort((a, b) => Math.abs(b.cordons - b.was) - Math.abs(a.cordons - a.was) || b.refused - a.refused || (a.node < b.node ? -1 : 1));
}

const HOSTS = [
	{ head: 'host', cell: (n) => html`<${HostLink} name=${n.node} />`, className: 'nowrap' }, { head: 'was cordoned', cell: (n) => count(n.was), num: true },
	{ head: 'would be', cell: (n) => html`<span class=${n.cordons === n.was ? '' : 'strong'}>${count(n.cordons)}</span>`, num: true }, { head: 'given back', cell: (n) => count(n.releases), num: true },
	{ head: 'refused', cell: (n) => count(n.refused), num: true }, { head: 'first', cell: (n) => (n.first ? clock(n.first) : ''), className: 'nowrap' },
	{ head: 'out of service', cell: (n) => `${(n.out_s / 3600).toFixed(1)} h`, num: true },
];
const RULES = [
	{ head: 'rule', cell: (r) => html`<${Said}>${r.rule}<//>` }, { head: 'action', cell: (r) => text(r.action) }, { head: 'done', cell: (r) => count(r.done), num: true },
	{ head: 'refused', cell: (r) => count(r.refused), num: true }, { head: 'hosts', cell: (r) => count(r.nodes), num: true },
];
const REFUSALS = [
	{ head: 'refused by', cell: (r) => html`<${Said}>${r.budget}<//>` }, { head: 'times', cell: (r) => count(r.times), num: true }, { head: 'hosts', cell: (r) => count(r.nodes), num: true },
	{ head: 'what would allow it', cell: (r) => html`<${Said}>${r.allows}<//>` },
];

function Answer({ said, actions }) {
	return html`<${Section} title="Hosts" say=${`as it was, and as it would have been${actions.more ? '; more actions exist than are listed' : ''}`}><${Table} label="Hosts, was and would be" columns=${HOSTS} rows=${compared(said, actions.items)} keyOf=${(n) => n.node} empty="No host was cordoned, and none would be." /><//>
	<div class="cols two-cols below"><${Section} title="Rules"><${Table} label="Rules" columns=${RULES} rows=${said.rules} keyOf=${(r) => `${r.rule} ${r.action}`} empty="No rule did anything." /><//>
	<${Section} title="Refused" say="by a budget or the breaker"><${Table} label="Refusals" columns=${REFUSALS} rows=${said.refusals} keyOf=${(r) => r.budget} empty="Nothing was refused." /><//></div>
	${said.breaker && html`<p class="two"><strong>The breaker opens ${clock(said.breaker.opened)}: </strong><${Said}>${said.breaker.reason}<//></p>`}
	${said.lacks.length > 0 && html`<${Section} title="Not known here" say="hosts that would have been in service"><ul>${said.lacks.map((l) => html`<li key=${l}><${Said}>${l}<//></li>`)}</ul><//>`}`;
}

export default function Replay() {
	const [typed, setTyped] = useState(''), [since, setSince] = useState('7d'), [found, setFound] = useState(null), [problem, setProblem] = useState(null), [waiting, wait] = useState(false), field = useRef(null);
	const take = async (e) => {
		const file = e.target.files[0];
		if (!file)
			return;
		const large = file.size > POLICY_MAX;
		setProblem(large ? { message: `${file.name} is larger than the limit of 1 MiB for a policy.` } : null);
		if (!large)
			setTyped(await file.text());
	};
	const ask = async (e) => {
		e.preventDefault();
		wait(true);
		setFound(null);
		setProblem(null);
		try {
			const said = await call(`/v1/policy/replay?since=${since}`, { method: 'POST', text: typed, timeout: REPLAY_MS });
			setFound({ said, actions: await all('/v1/actions') });
		} catch (p) {
			setProblem(p);
			field.current.focus();
		}
		wait(false);
	};
	return html`<${Lead} crumb=${html`<a href="#/budgets">Budgets</a>`} name="Policy replay" title=${found ? html`<${Said}>${sentence(text(found.said.sentence))}<//>` : 'What would another policy have done?'}
		prose=${found ? `${many(found.said.reports, 'report')} of ${many(found.said.nodes_seen, 'host')} were replayed. Nothing was done.` : 'It sees the reports that the controller has kept, as if in mode enforce. Nothing is done.'}
		tools=${html`<${Command} words=${['policy', 'replay', 'policy.yaml', '--since', since]} />`} />
	<form class="replay" onSubmit=${ask}><label for="policy">Policy file</label>
		<textarea id="policy" ref=${field} rows="10" required spellcheck=${false} autocapitalize="off" value=${typed} onInput=${(e) => setTyped(e.target.value)} aria-describedby=${problem ? 'policy-problem' : undefined}></textarea>
		<div class="row"><label for="policy-file">or a file</label><input id="policy-file" type="file" accept=".yaml,.yml,.json" onChange=${take} />
			<span>through the last</span><${Pick} label="How far back" value=${since} choices=${SINCE} onChoose=${setSince} /><button class="btn go" type="submit" aria-disabled=${String(waiting)}>Replay</button></div></form>
	<div id="policy-problem">${problem && html`<${Trouble} problem=${problem} />`}</div><p class="vh" role="status">${waiting ? 'Asked' : found ? text(found.said.sentence) : ''}</p>
	${found && html`<${Answer} ...${found} />`}`;
}
