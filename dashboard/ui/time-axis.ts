// One axis for steps that take milliseconds and waits that take hours: stretches in which something happens are drawn
// wide, the idle time between them is a narrow gap with its length written on it. Pure.

export interface Span {
  readonly from: number
  readonly to: number
}

interface Stretch extends Span {
  readonly left: number
  readonly right: number
}

interface Gap extends Stretch {
  readonly ms: number
}

export interface TimeAxis {
  readonly stretches: readonly Stretch[]
  readonly gaps: readonly Gap[]
  readonly width: number
  /** Where a time is, in pixels. */
  readonly place: (at: number) => number
}

const GAP_PX = 64
const LEAST_PX = 90
/** Idle time shorter than this share of the stretches around it is not worth a gap. */
const WORTH_A_GAP = 0.6

export function timeAxis(spans: readonly Span[], width: number): TimeAxis {
  const merged = merge(spans)
  const gapsWidth = (merged.length - 1) * GAP_PX
  const weights = merged.map(({ from, to }) => Math.sqrt(Math.max(1, to - from)))
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  const least = merged.length * LEAST_PX
  const spare = Math.max(0, width - gapsWidth - least)
  const stretches: Stretch[] = []
  const gaps: Gap[] = []
  let left = 0
  for (const [at, span] of merged.entries()) {
    const right = left + LEAST_PX + (spare * (weights[at] ?? 0)) / all
    const before = stretches.at(-1)
    if (before !== undefined)
      gaps.push({ from: before.to, to: span.from, left: before.right, right: left, ms: span.from - before.to })
    stretches.push({ ...span, left, right })
    left = right + GAP_PX
  }
  return { stretches, gaps, width: Math.max(0, left - GAP_PX), place: (at) => placeOf(at, stretches, gaps) }
}

/** Overlapping spans become one, and so do neighbours with little time between them. */
function merge(spans: readonly Span[]): readonly Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last === undefined) {
      merged.push(span)
      continue
    }
    const idle = span.from - last.to
    const busy = Math.max(50, last.to - last.from, span.to - span.from)
    if (idle <= busy * WORTH_A_GAP) merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
    else merged.push(span)
  }
  return merged
}

function placeOf(at: number, stretches: readonly Stretch[], gaps: readonly Gap[]): number {
  const inside = [...stretches, ...gaps].find(({ from, to }) => at >= from && at <= to)
  if (inside === undefined) return at < (stretches[0]?.from ?? 0) ? 0 : (stretches.at(-1)?.right ?? 0)
  const { from, to, left, right } = inside
  return to === from ? (left + right) / 2 : left + ((at - from) / (to - from)) * (right - left)
}
