// npm run pictures: draws the pictures of the README and of docs/outbox.md. That of the demo is what `npm run demo` prints in a new run.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const OUT = 'docs/pictures'
mkdirSync(OUT, { recursive: true })
writeFileSync(`${OUT}/what-goes-wrong.svg`, whatGoesWrong())
writeFileSync(`${OUT}/outbox.svg`, outbox())
writeFileSync(`${OUT}/demo.svg`, terminal('npm run demo', outputOfDemo()))

type Look = 'plain' | 'crash' | 'bad' | 'good'

type Steps = readonly (readonly [Look, ...string[]])[]

interface Story {
  readonly title: string
  readonly steps: Steps
}

function whatGoesWrong(): string {
  const without: Steps = [
    ['plain', 'payment p-1', 'is delivered'],
    ['plain', 'the account', 'is charged'],
    ['crash', 'the process dies', 'before the ack'],
    ['plain', 'payment p-1 is', 'delivered again'],
    ['bad', 'the account is', 'charged twice'],
  ]
  const withLibrary: Steps = [
    ['plain', 'payment p-1', 'is delivered'],
    ['good', 'charge and ID', 'commit together'],
    ['crash', 'the process dies', 'before the ack'],
    ['plain', 'payment p-1 is', 'delivered again'],
    ['good', 'its ID is there:', 'charged once'],
  ]
  return twoStories(
    'Without the library a crash between effect and ack charges the account twice; with an inbox the ID is found and the account is charged once',
    { title: 'At least once, as brokers deliver', steps: without },
    { title: 'The same crash with an inbox', steps: withLibrary },
  )
}

function outbox(): string {
  const without: Steps = [
    ['plain', 'order o-1', 'is delivered'],
    ['plain', 'its event', 'is published'],
    ['crash', 'the process dies', 'before COMMIT'],
    ['plain', 'the charge', 'is rolled back'],
    ['bad', 'the event tells of', 'what never was'],
  ]
  const withLibrary: Steps = [
    ['plain', 'order o-1', 'is delivered'],
    ['good', 'charge and event', 'commit together'],
    ['crash', 'the process dies', 'before it is sent'],
    ['plain', 'a relay publishes', 'it, under one ID'],
    ['good', 'the next consumer', 'drops repeats'],
  ]
  return twoStories(
    'Published in the handler, an event may tell of what is rolled back; with an outbox it commits with the effect and is published after that, under one ID',
    { title: 'Published in the handler', steps: without },
    { title: 'With an outbox', steps: withLibrary },
  )
}

/** Of one message, step by step. */
function twoStories(title: string, ...[first, second]: readonly [Story, Story]): string {
  const drawn = ({ title: name, steps }: Story, y: number): string => {
    const boxes = steps.map(([look, ...lines], index) => {
      const x = 12 + index * 154
      const texts = lines.map((line, row) => `<text x="${x + 66}" y="${y + 38 + row * 18}">${line}</text>`)
      const arrow = `<path class="arrow" d="M${x - 20} ${y + 41} h14 m-5 -4 l5 4 l-5 4"/>`
      return `${index === 0 ? '' : arrow}<rect class="${look}" x="${x}" y="${y + 14}" width="132" height="54" rx="6"/>${texts.join('')}`
    })
    return `<text class="title" x="12" y="${y}">${name}</text>\n${boxes.join('\n')}`
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="772" height="212" viewBox="0 0 772 212" role="img">
<title>${title}</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
  .title { font-weight: 600; text-anchor: start }
  .ground { fill: #ffffff }
  .plain { fill: #f6f8fa; stroke: #8c959f }
  .crash { fill: #fff8c5; stroke: #9a6700; stroke-dasharray: 4 3 }
  .bad { fill: #ffebe9; stroke: #cf222e; stroke-width: 2 }
  .good { fill: #dafbe1; stroke: #1a7f37; stroke-width: 2 }
  .arrow { fill: none; stroke: #57606a; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .ground { fill: #0d1117 }
    .plain { fill: #161b22; stroke: #6e7681 }
    .crash { fill: #272115; stroke: #d29922 }
    .bad { fill: #3c1618; stroke: #f85149 }
    .good { fill: #12261e; stroke: #3fb950 }
    .arrow { stroke: #8b949e }
  }
</style>
<rect class="ground" width="772" height="212"/>
${drawn(first, 26)}
${drawn(second, 130)}
</svg>
`
}

/** Without the paths of this machine, which follow. */
function outputOfDemo(): readonly string[] {
  const state = mkdtempSync(join(tmpdir(), 'consume-once-picture-'))
  try {
    const args = ['--import', 'tsx', 'cli/main.ts', 'demo', '--state', join(state, 'demo')]
    const printed = execFileSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } })
    const [told = ''] = printed.split('\nState\n')
    return told.trim().split('\n')
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

function terminal(command: string, lines: readonly string[]): string {
  const texts = [`$ ${command}`, '', ...lines].map((line, row) => {
    const look = row === 0 ? 'typed' : /^(?:Every message|lost:|effects per)/.test(line) ? 'told' : 'quiet'
    return `<text class="${look}" x="16" y="${30 + row * 19}">${line.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`
  })
  const height = 30 + texts.length * 19
  const width = 32 + Math.max(...lines.map((line) => line.length)) * 7.9
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${height}" viewBox="0 0 ${Math.ceil(width)} ${height}" role="img">
<title>What npm run demo prints: ${lines.find((line) => line.startsWith('lost:'))?.trim() ?? ''}</title>
<style>
  text { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre }
  .ground { fill: #0d1117; stroke: #6e7681 }
  .typed { fill: #e6edf3; font-weight: 600 }
  .told { fill: #56d364 }
  .quiet { fill: #c9d1d9 }
</style>
<rect class="ground" x="0.5" y="0.5" width="${Math.ceil(width) - 1}" height="${height - 1}" rx="8"/>
${texts.join('\n')}
</svg>
`
}
