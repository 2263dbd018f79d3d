import { whole, type Report, type ScenarioReport } from '../report.ts'

const BARS = 470
/** For the figure beside a bar. */
const FIGURES = 110
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

/** Messages in a second as bars, with the range of the repetitions; each scenario has a scale of its own. `undefined` where nothing is compared. */
export function chartOf({ suite, scenarios }: Report): string | undefined {
  const compared = scenarios.filter(({ contenders }) => contenders.length > 1)
  if (compared.length === 0) return undefined
  const names = compared.flatMap(({ contenders }) => contenders.map(({ name }) => name.length))
  const titles = compared.map(({ title }) => title.length)
  const labels = Math.max(...names) * CHARACTER + 2 * MARGIN
  const width = Math.max(labels + BARS + FIGURES, Math.max(...titles) * (CHARACTER + 1) + 2 * MARGIN)
  const blocks: string[] = []
  let top = MARGIN
  for (const scenario of compared) {
    blocks.push(scenarioDrawing(scenario, { top, labels }))
    top += HEAD + scenario.contenders.length * ROW + GAP
  }
  const label = `Suite ${suite}: messages in a second, medians and ranges`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}" role="img">
<title>${escaped(label)}</title>
<style>${STYLE}</style>
<rect class="ground" width="${width}" height="${top}"/>
${blocks.join('\n')}
</svg>
`
}

interface Place {
  readonly top: number
  /** How wide the names are. */
  readonly labels: number
}

function scenarioDrawing({ title, contenders, ratios }: ScenarioReport, { top, labels }: Place): string {
  const most = Math.max(...contenders.map(({ rate }) => rate.most))
  // The contenders in ratios are the subject of the suite; the others are what they are compared with.
  const own = new Set(ratios.map(({ of }) => of))
  const lines = contenders.map(({ name, rate }, row) => {
    const middle = top + HEAD + row * ROW + ROW / 2
    const at = (value: number): number => Math.round(labels + (value / most) * BARS)
    const [median, least, greatest] = [at(rate.median), at(rate.least), at(rate.most)]
    const side = own.has(name) ? 'own' : 'other'
    const cap = (x: number): string => `M${x} ${middle - 4}v8`
    return `<text x="${labels - 8}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>
<rect class="${side}" x="${labels}" y="${middle - BAR / 2}" width="${median - labels}" height="${BAR}"/>
<path class="range" d="${cap(least)}M${least} ${middle}H${greatest}${cap(greatest)}"/>
<text x="${greatest + 8}" y="${middle + 4}">${whole(rate.median)}/s</text>`
  })
  return [`<text class="title" x="${MARGIN}" y="${top + HEAD / 2 + 4}">${escaped(title)}</text>`, ...lines].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
