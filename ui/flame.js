// SPDX-License-Identifier: MIT
// flame.js -- a flame graph without its looks: what is zoomed, searched, chosen and drawn how.
//
// The SVG file and the page both draw from this. It knows nothing of documents.

import {figureText, diffText, percentText, countText, changeText} from './words.js';
import {Tree} from './tree.js';

const DIFF_STEPS = 16;
const ROOT_FILL = '#d9dce1';

/** A search text as an expression: regular where it is one, else taken literally. */
export function expression(text) {
	try {
		return new RegExp(text, 'i');
	} catch {
		return new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i');
	}
}

/** The names of a view's entries, and where they are. */
export class Names {
	constructor(doc, view) {
		this.strings = doc.strings;
		this.entries = view.entries;
		this.count = view.entries.name.length;
	}

	name(entry) {
		return this.strings[this.entries.name[entry]];
	}

	module(entry) {
		return this.strings[this.entries.module[entry]];
	}

	file(entry) {
		return this.strings[this.entries.file[entry]];
	}

	/** Is there anything to tell colours apart by but names? */
	hasModules() {
		return this.entries.module.some(m => m !== 0) || this.entries.file.some(f => f !== 0);
	}

	/** The same without folders. */
	place(entry) {
		const where = this.where(entry);
		return where.slice(where.lastIndexOf('/') + 1);
	}

	/** "file.c:12", "file.c" or "". */
	where(entry) {
		const file = this.file(entry), line = this.entries.line[entry];
		return file === '' ? '' : line > 0 ? file + ':' + line : file;
	}
}

/** A function that gives the pixels of a text in a font, and remembers. */
export function measurer(context, font) {
	const known = new Map();
	context.font = font;
	return text => {
		let width = known.get(text);
		if (width === undefined) {
			context.font = font;
			width = context.measureText(text).width;
			known.set(text, width);
		}
		return width;
	};
}

export class Flame {
	constructor(doc, view, options) {
		this.colours = doc.colours;
		this.view = view;
		this.names = new Names(doc, view);
		this.trees = {down: new Tree(view.down), up: new Tree(view.up)};
		this.callers = options.callers;
		this.inverted = options.inverted;
		this.byName = options.byName;
		this.byModule = options.byModule;
		this.negate = options.negate;
		this.width = view.base ? options.width : 'now';
		this.relative = false;
		this.search = '';
		this.hits = null;
		this.begin();
	}

	get tree() {
		return this.callers ? this.trees.up : this.trees.down;
	}

	/** After the tree or its layout changed: zoomed out, nothing chosen. */
	begin() {
		const tree = this.tree;
		let compare = null;
		if (this.byName)
			compare = (a, b) => this.compareNames(a, b);
		else if (this.view.base)
			compare = (a, b) => tree.widths[this.width][b] - tree.widths[this.width][a] || a - b;
		tree.layout(this.width, compare);
		this.most = 0;
		for (let i = tree.size > 1 ? 1 : 0; this.view.base && i < tree.size; i++)
			this.most = Math.max(this.most, Math.abs(tree.total[i] - tree.was[i]));
		this.zoomed = 0;
		this.chosen = -1;
	}

	compareNames(a, b) {
		const x = this.names.name(this.tree.entry[a]), y = this.names.name(this.tree.entry[b]);
		return x < y ? -1 : x > y ? 1 : a - b;
	}

	/** The row of a depth, counted from the top. */
	row(depth) {
		return this.inverted ? depth : this.tree.deepest - depth;
	}

	depthOfRow(row) {
		return this.inverted ? row : this.tree.deepest - row;
	}

	/** Calls visit(box, x, width, below) for what can be seen in `full` pixels; `below` are those
	 *  that the zoomed one stands on. */
	each(full, least, visit) {
		const tree = this.tree, top = this.zoomed;
		const scale = full / (tree.w[top] || 1), from = tree.x[top];
		if (top !== 0) {
			for (let i = tree.parent[top]; ; i = tree.parent[i]) {
				visit(i, 0, full, true);
				if (i === 0)
					break;
			}
		}
		for (let i = top; i < tree.end[top];) {
			const w = tree.w[i] * scale;
			if (w < least && i !== top) {
				i = tree.end[i];
				continue;
			}
			visit(i, (tree.x[i] - from) * scale, w, false);
			i++;
		}
	}

	/** Place and width of one box as `each` would give them. */
	place(i, full) {
		const tree = this.tree, top = this.zoomed;
		if (i !== top && tree.isIn(top, i))
			return {x: 0, w: full};
		const scale = full / (tree.w[top] || 1);
		return {x: (tree.x[i] - tree.x[top]) * scale, w: tree.w[i] * scale};
	}

	/** The box at a place, or -1. */
	at(x, row, full) {
		const tree = this.tree, top = this.zoomed, depth = this.depthOfRow(row);
		if (depth < 0 || depth > tree.deepest || x < 0 || x >= full)
			return -1;
		if (depth < tree.depth[top]) {
			let i = top;
			while (tree.depth[i] > depth)
				i = tree.parent[i];
			return i;
		}
		const i = tree.find(depth, tree.x[top] + x * tree.w[top] / full);
		return i >= 0 && tree.isIn(i, top) ? i : -1;
	}

	fill(i) {
		const tree = this.tree, entry = tree.entry[i];
		if (this.view.base)
			return this.colours.diff[this.diffStep(tree.total[i] - tree.was[i])];
		if (i === 0)
			return ROOT_FILL;
		const e = this.view.entries;
		return this.byModule ? this.colours.module[e.byModule[entry]] : this.colours.name[e.byName[entry]];
	}

	diffStep(change) {
		if (change === 0 || !(this.most > 0))
			return DIFF_STEPS;
		const share = Math.min(1, Math.abs(change) / this.most);
		const step = Math.max(1, Math.floor(Math.sqrt(share) * DIFF_STEPS + 0.5));
		return (change > 0) !== this.negate ? DIFF_STEPS + step : DIFF_STEPS - step;
	}

	isGone(i) {
		return this.view.base && this.tree.total[i] === 0 && this.tree.was[i] > 0;
	}

	isNew(i) {
		return this.view.base && this.tree.was[i] === 0 && this.tree.total[i] > 0;
	}

	name(i) {
		return this.names.name(this.tree.entry[i]);
	}

	/** What stands behind a name in its box. */
	value(i) {
		const tree = this.tree;
		if (this.view.base) {
			const change = tree.total[i] - tree.was[i];
			if (change === 0)
				return 'same';
			if (this.relative)
				return tree.was[i] > 0 ? (change > 0 ? '+' : '') + percentText(change, tree.was[i]) : 'new';
			return changeText(this.view, change);
		}
		return this.relative ? percentText(tree.total[i], tree.total[0]) : figureText(this.view, tree.total[i]);
	}

	/** The name, and its figure where there is room for both. `measure` gives the pixels of a text. */
	label(i, room, measure) {
		const name = this.name(i), value = this.value(i);
		const width = measure(name);
		if (width <= room)
			return width + measure('  ' + value) <= room ? name + '  ' + value : name;
		let chars = Math.floor(name.length * room / width);
		while (chars > 0 && measure(name.slice(0, chars) + '\u2026') > room)
			chars--;
		return chars > 0 ? name.slice(0, chars) + '\u2026' : '';
	}

	/** Standard error of a box: its share of its entry's. */
	error(i) {
		const e = this.view.entries, entry = this.tree.entry[i];
		if (!this.view.sampled)
			return 0;
		if (i === 0)
			return this.view.err;
		const cum = Math.max(Math.abs(e.cum[entry]), this.view.base ? Math.abs(e.wasCum[entry]) : 0);
		const size = Math.max(Math.abs(this.tree.total[i]), this.view.base ? Math.abs(this.tree.was[i]) : 0);
		return cum > 0 ? e.errCum[entry] * Math.sqrt(Math.min(1, size / cum)) : 0;
	}

	/** What is said about a box, a line each; the first is its name. */
	lines(i) {
		const {tree, view, names} = this, entry = tree.entry[i], out = [this.name(i)];
		const total = tree.total[i];
		let text = view.base ? diffText(view, tree.was[i], total) : figureText(view, total);
		const err = this.error(i);
		if (err >= 0.5)
			text += ' \u00b1 ' + figureText(view, err);
		if (view.unit === 'bytes' && Math.abs(total) >= 1024 && !view.sampled && !view.base)
			text += ' (' + countText(total) + ' bytes)';
		out.push(text);
		text = percentText(total, tree.total[0]) + ' of all';
		if (this.zoomed !== 0 && tree.isIn(i, this.zoomed))
			text += ', ' + percentText(total, tree.total[this.zoomed]) + ' of what is zoomed';
		if (i !== 0)
			text += ', ' + percentText(total, tree.total[tree.parent[i]]) +
				(this.callers ? ' of the box below' : ' of its caller');
		if (!this.callers)
			text += '; itself ' + figureText(view, tree.self[i]);
		out.push(text);
		const where = [names.where(entry), names.module(entry)].filter(s => s !== '');
		if (where.length > 0)
			out.push(where.join(' in '));
		return out;
	}

	/** Which entries a text is found in; '' ends the search. */
	find(text) {
		this.search = text;
		if (text === '') {
			this.hits = null;
			return;
		}
		const re = expression(text);
		this.hits = new Uint8Array(this.names.count);
		for (let e = 1; e < this.names.count; e++)
			this.hits[e] = re.test(this.names.name(e)) ? 1 : 0;
	}

	isHit(i) {
		return this.hits !== null && this.hits[this.tree.entry[i]] === 1;
	}

	/** What the boxes found hold together, each stack counted once, of what is zoomed. */
	found() {
		const tree = this.tree, top = this.zoomed;
		let now = 0, was = 0, boxes = 0;
		for (let i = top; i < tree.end[top];) {
			if (!this.isHit(i)) {
				i++;
				continue;
			}
			now += tree.total[i];
			was += tree.was ? tree.was[i] : 0;
			for (const end = tree.end[i]; i < end; i++)
				boxes += this.isHit(i) ? 1 : 0;
		}
		return {now, was, boxes};
	}

	/** "12.3 % (4.10 MiB) in 7 boxes". */
	foundText() {
		const f = this.found(), all = this.tree.total[this.zoomed];
		const text = f.boxes === 0 ? 'nothing found'
			: percentText(f.now, all) + ' found: ' +
				(this.view.base ? diffText(this.view, f.was, f.now) : figureText(this.view, f.now)) +
				' in ' + countText(f.boxes) + (f.boxes === 1 ? ' box' : ' boxes');
		return text;
	}

	/** The next box found after the chosen one, round and round; -1 when there is none. */
	nextHit() {
		const tree = this.tree, top = this.zoomed, n = tree.end[top] - top;
		const from = tree.isIn(this.chosen, top) ? this.chosen - top : -1;
		for (let step = 1; step <= n; step++) {
			const i = top + (from + step + n) % n;
			if (this.isHit(i) && tree.w[i] > 0)
				return i;
		}
		return -1;
	}

	/** The box one step from the chosen one; `way` is left, right, up or down on the screen. */
	step(way) {
		const tree = this.tree, top = this.zoomed, i = this.chosen;
		if (i < 0)
			return top;
		if (way === 'left' || way === 'right') {
			const level = tree.levels[tree.depth[i]];
			const next = level[tree.before(level, tree.x[i]) + (way === 'left' ? -1 : 1)];
			return next !== undefined && tree.isIn(next, top) ? next : i;
		}
		if ((way === 'up') === this.inverted)
			return tree.parent[i];
		const kids = tree.children(i).filter(k => tree.w[k] > 0);
		if (kids.length === 0)
			return i;
		if (tree.isIn(top, i) && i !== top)
			return kids.find(k => tree.isIn(top, k));
		return kids.reduce((a, b) => (tree.w[b] > tree.w[a] ? b : a));
	}

	/** What was too small for a box, in words, or ''. */
	leftOutText() {
		const n = this.tree.leftOut;
		const word = this.callers ? (n === 1 ? 'branch' : 'branches') : n === 1 ? 'frame' : 'frames';
		return n > 0 ? countText(n) + ' ' + word + ' too small to draw' : '';
	}

	/** State as words of an address, and back. */
	state() {
		const s = {};
		if (this.callers)
			s.callers = '1';
		if (this.inverted)
			s.inverted = '1';
		if (this.relative)
			s.percent = '1';
		if (this.view.base && this.width !== 'max')
			s.width = this.width;
		if (this.zoomed !== 0)
			s.zoom = String(this.zoomed);
		if (this.search !== '')
			s.find = this.search;
		return s;
	}

	restore(s) {
		this.callers = s.get('callers') === '1';
		this.inverted = s.get('inverted') === '1';
		this.relative = s.get('percent') === '1';
		if (this.view.base && ['now', 'was', 'max'].includes(s.get('width')))
			this.width = s.get('width');
		this.begin();
		const zoom = Number(s.get('zoom'));
		if (Number.isInteger(zoom) && zoom > 0 && zoom < this.tree.size)
			this.zoomed = zoom;
		this.find(s.get('find') || '');
	}
}
