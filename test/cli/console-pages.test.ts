import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it, jest } from '@jest/globals'
import { Cli, WITHIN_MS } from '../kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

/** Pages with consoles, and the config that their commands are typed with. */
const PAGES = {
  'docs/operations.md': 'test/cli/orders.config.ts',
  'docs/migrate.md': 'test/cli/observed.config.ts',
  'docs/deploy.md': 'test/cli/orders.config.ts',
} as const

interface Step {
  readonly command: string
  readonly told: string
  readonly exitCode: number
}

/** What is typed in the consoles of a page, and what the page says that it prints. */
function stepsOf(page: string): readonly Step[] {
  return [...page.matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block
      .split(/^\$ (?:npx )?consume-once /m)
      .slice(1)
      .map((typed): Step => {
        const [command = '', ...lines] = typed.split('\n')
        const exit = /^\(exit (\d+)\)$/m.exec(typed)
        const told = lines.filter((line) => !line.startsWith('(exit ')).join('\n')
        return { command, told, exitCode: Number(exit?.[1] ?? 0) }
      }),
  )
}

/** Lines may be broken elsewhere, and times differ, with the ages beside them. */
function comparable(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/TIME (\(?)\d+ (?:ms|s|min|h|days?)\b/g, 'TIME $1AGE')
    .trim()
}

/** As a shell takes them apart. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

describe.each(Object.entries(PAGES))('the consoles of %s', (page, config) => {
  const cli = new Cli()
  afterAll(() => cli[Symbol.dispose]())

  it.each(stepsOf(readFileSync(page, 'utf8')))('tell what happens: consume-once $command', async (step) => {
    const run = await cli.run(wordsOf(step.command), { env: { CONSUME_ONCE_CONFIG: config } })
    expect(comparable(run.stderr + run.stdout)).toBe(comparable(step.told))
    expect(run.exitCode).toBe(step.exitCode)
  })
})
