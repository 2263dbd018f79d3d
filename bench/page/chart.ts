import { whole, type Report } from '../report.ts'
import { spreadOf, type Spread } from '../statistics.ts'

/** A picture of the page. */
export interface Chart {
  readonly file: string
  /** What all its bars are of: the end of the sentence "the longer bar ...". */
  readonly title: string
  /** A name in the figures of the contenders. @defaultValue messages in a second */
  readonly figure?: string
  /** Behind the number beside a bar. */
  readonly unit: string
  readonly of: readonly Part[]
}

/** A recorded scenario. */
interface Part {
  readonly suite: string
  readonly scenario: string
  readonly title: string
}

const BARS = 430
/** For the number beside a bar. */
const NUMBERS = 120
/** At most, of the 13 pixels of the font. */
const CHARACTER = 7
const [ROW, BAR, HEAD, GAP, MARGIN] = [24, 14, 30, 18, 12]

/** Colours of its own ground, so that it can be read on any page. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .ground { fill: #ffffff }
  .title { font-weight: 600 }
  .own { fill: #1a7f64 }
  .other { fill: #8c959f }
  .range { stroke: #1f2328; stroke-width: 1.5; fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .ground { fill: #0d1117 }
    .own { fill: #3fb950 }
    .other { fill: #6e7681 }
    .range { stroke: #e6edf3 }
  }
`

interface Bar {
  readonly name: string
  readonly isOwn: boolean
  readonly value: Spread
}

/** Medians as bars, with the range of the repetitions; each scenario has a scale of its own. `undefined` where nothing of it is recorded. */
export function drawn(chart: Chart, reports: ReadonlyMap<string, Report>): string | undefined {
  const blocks = chart.of.flatMap((part) => {
    const bars = barsOf(part, chart.figure, reports)
    return bars.length === 0 ? [] : [{ title: part.title, bars }]
  })
  if (blocks.length === 0) return undefined
  const names = blocks.flatMap(({ bars }) => bars.map(({ name }) => name.length))
  const labels = Math.max(...names) * CHARACTER + 2 * MARGIN
  const titles = [chart.title, ...blocks.map(({ title }) => title)].map(({ length }) => length)
  const width = Math.max(labels + BARS + NUMBERS, Math.max(...titles) * (CHARACTER + 1) + 2 * MARGIN)
  const drawings: string[] = []
  let top = MARGIN
  for (const { title, bars } of blocks) {
    drawings.push(blockDrawing(title, bars, chart.unit, { top, labels }))
    top += HEAD + bars.length * ROW + GAP
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}" role="img">
<title>${escaped(chart.title)}</title>
<style>${STYLE}</style>
<rect class="ground" width="${width}" height="${top}"/>
${drawings.join('\n')}
</svg>
`
}

/** What bounds and ratios are of is drawn as own; the others are what it is compared with. */
function barsOf({ suite, scenario }: Part, figure: string | undefined, reports: ReadonlyMap<string, Report>): Bar[] {
  const found = reports.get(suite)?.scenarios.find(({ name }) => name === scenario)
  if (found === undefined) return []
  const own = new Set([...found.ratios, ...found.bounds].map(({ of }) => of))
  return found.contenders.map(({ name, rate, figures }) => ({
    name,
    isOwn: own.has(name),
    value: figure === undefined ? rate : (figures[figure] ?? spreadOf([0])),
  }))
}

interface Place {
  readonly top: number
  /** How wide the names are. */
  readonly labels: number
}

function blockDrawing(title: string, bars: readonly Bar[], unit: string, { top, labels }: Place): string {
  const most = Math.max(...bars.map(({ value }) => value.most)) || 1
  const lines = bars.map(({ name, isOwn, value }, row) => {
    const middle = top + HEAD + row * ROW + ROW / 2
    const at = (one: number): number => Math.round(labels + (one / most) * BARS)
    const [median, least, greatest] = [at(value.median), at(value.least), at(value.most)]
    const cap = (x: number): string => `M${x} ${middle - 4}v8`
    const number = value.median < 10 ? String(Number(value.median.toFixed(2))) : whole(value.median)
    return `<text x="${labels - 8}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>
<rect class="${isOwn ? 'own' : 'other'}" x="${labels}" y="${middle - BAR / 2}" width="${median - labels}" height="${BAR}"/>
<path class="range" d="${cap(least)}M${least} ${middle}H${greatest}${cap(greatest)}"/>
<text x="${greatest + 8}" y="${middle + 4}">${number}${unit}</text>`
  })
  return [`<text class="title" x="${MARGIN}" y="${top + HEAD / 2 + 4}">${escaped(title)}</text>`, ...lines].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
