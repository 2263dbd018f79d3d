import { readFileSync } from 'node:fs'
import { withFrontMatter } from './front-matter.ts'

/** A number of the landing page: where it is recorded, and the sentence that has it. */
interface Figure {
  readonly part: string
  readonly pattern: RegExp
  readonly says: string
}

const FIGURES: readonly Figure[] = [
  { part: 'faults', pattern: /^([\d,]+) cells/, says: 'faults on real servers, one at each step of a message' },
  {
    part: 'simulator',
    pattern: /^([\d,]+) schedules/,
    says: 'simulated schedules of crashes, pauses and lost replies',
  },
  { part: 'model', pattern: /([\d,]+) states:/, says: 'states of the protocol searched by a model checker' },
  { part: 'mutants', pattern: /^([\d,]+) of \1 faults/, says: 'faults planted in the library, each found by a test' },
]

/** The numbers as `docs/proof/*.json` recorded them. @throws Error if a record no longer says one */
export function figuresOf(summaryOf: (part: string) => string): readonly (readonly [number: string, says: string])[] {
  return FIGURES.map(({ part, pattern, says }) => {
    const [, found] = pattern.exec(summaryOf(part)) ?? []
    if (found === undefined) throw new Error(`docs/proof/${part}.json: expected a summary with ${pattern.source}`)
    return [Number(found.replaceAll(',', '')).toLocaleString('en'), says]
  })
}

export function recordedSummary(part: string): string {
  const { summary } = JSON.parse(readFileSync(`docs/proof/${part}.json`, 'utf8')) as { readonly summary: string }
  return summary
}

/** The first page of the site: what the library does, how to see it, and where to go. */
export function landingPage(picture: string, figures: ReturnType<typeof figuresOf>): string {
  const cells = figures.map(([number, says]) => `<li><strong>${number}</strong> ${says}</li>`)
  return withFrontMatter(
    { sidebar: false, aside: false, editLink: false, pageClass: 'landing' },
    `# consume-once

<p class="promise">Kafka and RabbitMQ deliver every message at least once; <span>consume-once</span> makes its effect happen once.</p>

<p class="actions">
<a class="primary" href="./quick-start">Quick start</a>
<a href="./try/index.html" target="_self">Try to break it</a>
<a href="./choose">Choose a scheme</a>
</p>

${picture}

## See it in one command

\`\`\`sh
npx consume-once demo
\`\`\`

It needs no server and no clone. It sends example notifications through redeliveries, a rebalance and crashes, and counts what happened twice. [Your first hour](./first-hour.md) goes on from there.

## What it was tested with

<ul class="figures">
${cells.join('\n')}
</ul>

[Proof](./proof.md) names the command that repeats each. [Overview](./overview.md) has the code for Kafka and RabbitMQ, [Guarantees](./guarantees.md) every case and its limits, [Contents](./contents.md) all pages.
`,
  )
}
