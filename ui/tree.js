// SPDX-License-Identifier: MIT
// tree.js -- one tree of boxes: where each lies, and which lies where.
//
// The data (src/tool/render/flame/flame_data.c) is columns over the boxes, in order from left to right with
// parents before what they called, box 0 the root:
//   entry   place in the view's entries
//   depth   0 for the root
//   total, self, and with a base was, wasSelf
//   byMax, byNow, byWas   widths, where they are not the totals themselves
//   leftOut how many boxes were too small to be in here
// Because a box is followed by all that is above it, a part of the tree is a range of numbers.

export class Tree {
	constructor(data) {
		const n = data.entry.length;
		this.size = n;
		this.entry = Uint32Array.from(data.entry);
		this.depth = Uint32Array.from(data.depth);
		this.total = Float64Array.from(data.total);
		this.self = Float64Array.from(data.self);
		this.was = data.was ? Float64Array.from(data.was) : null;
		this.wasSelf = data.wasSelf ? Float64Array.from(data.wasSelf) : null;
		this.widths = {
			now: data.byNow || data.total,
			max: data.byMax || data.byNow || data.total,
			was: data.byWas || data.was || data.total,
		};
		this.leftOut = data.leftOut;
		this.parent = new Uint32Array(n);
		this.end = new Uint32Array(n);
		this.levels = [];
		this.link();
	}

	/** Parents, ends of the parts, and how deep it goes. */
	link() {
		const path = [];
		let deepest = 0;
		for (let i = 0; i < this.size; i++) {
			const depth = this.depth[i];
			while (path.length > depth)
				this.end[path.pop()] = i;
			this.parent[i] = depth > 0 ? path[depth - 1] : 0;
			path.push(i);
			if (depth > deepest)
				deepest = depth;
		}
		while (path.length > 0)
			this.end[path.pop()] = this.size;
		this.deepest = deepest;
	}

	/** The boxes right above one, as they came. */
	children(i) {
		const kids = [];
		for (let k = i + 1; k < this.end[i]; k = this.end[k])
			kids.push(k);
		return kids;
	}

	/** Gives every box its place from 0 to the root's width. `compare` orders neighbours; null
	 *  leaves them as they came. */
	layout(mode, compare) {
		const w = Float64Array.from(this.widths[mode], v => (v > 0 ? v : 0));
		const x = new Float64Array(this.size);
		this.levels = Array.from({length: this.deepest + 1}, () => []);
		for (let i = 0; i < this.size; i++) {
			let at = x[i];
			const kids = this.children(i);
			if (compare)
				kids.sort(compare);
			for (const k of kids) {
				x[k] = at;
				at += w[k];
			}
			if (w[i] > 0)
				this.levels[this.depth[i]].push(i);
		}
		if (compare)
			for (const level of this.levels)
				level.sort((a, b) => x[a] - x[b]);
		this.x = x;
		this.w = w;
	}

	/** Number of the last box of a level that begins at or before x; -1 when there is none. */
	before(level, x) {
		let low = 0, high = level.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (this.x[level[mid]] <= x)
				low = mid + 1;
			else
				high = mid;
		}
		return low - 1;
	}

	/** The box at a place of a depth, or -1. */
	find(depth, x) {
		const level = this.levels[depth];
		if (level === undefined)
			return -1;
		const at = this.before(level, x);
		if (at < 0)
			return -1;
		const i = level[at];
		return x < this.x[i] + this.w[i] ? i : -1;
	}

	/** Is a box, or what it lies on, box `of`? */
	isIn(i, of) {
		return i >= of && i < this.end[of];
	}
}
