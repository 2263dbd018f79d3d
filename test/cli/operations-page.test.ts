import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it, jest } from '@jest/globals'
import { regionsOf } from '../kit/readme.ts'
import { Cli, WITHIN_MS } from '../kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

const PAGE = 'docs/operations.md'
const page = readFileSync(PAGE, 'utf8')

interface Step {
  readonly command: string
  readonly told: string
  readonly exitCode: number
}

/** What is typed in the consoles of the page, and what it is said to tell. */
const STEPS = [...page.matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
  block
    .split(/^\$ consume-once /m)
    .slice(1)
    .map((typed): Step => {
      const [command = '', ...lines] = typed.split('\n')
      const exit = /^\(exit (\d+)\)$/m.exec(typed)
      const told = lines.filter((line) => !line.startsWith('(exit ')).join('\n')
      return { command, told, exitCode: Number(exit?.[1] ?? 0) }
    }),
)

/** Lines may be broken elsewhere, and times differ. */
function comparable(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** As a shell takes them apart. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

describe('the page for people on call', () => {
  const cli = new Cli()
  afterAll(() => cli[Symbol.dispose]())

  it.each(STEPS)('tells what happens: consume-once $command', async ({ command, told, exitCode }) => {
    const env = { CONSUME_ONCE_CONFIG: 'test/cli/orders.config.ts' }
    const run = await cli.run(wordsOf(command), { env })
    expect(comparable(run.stderr + run.stdout)).toBe(comparable(told))
    expect(run.exitCode).toBe(exitCode)
  })

  it('shows the config that the examples run (UPDATE_DOCS=1 writes it)', () => {
    const shown = page.replace(
      /<!-- example: (\S+) -->\n\n```ts\n[\s\S]*?```/,
      (_, file: string) => `<!-- example: ${file} -->\n\n\`\`\`ts\n${regionsOf(file, 'page')}\`\`\``,
    )
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(PAGE, shown)
    expect(process.env['UPDATE_DOCS'] === '1' ? shown : page).toBe(shown)
  })
})
