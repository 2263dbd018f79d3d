// What docs/replay.md and the README say that the commands print. UPDATE_DOCS=1 writes what they print.
import { readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { afterAll, describe, expect, it, jest } from '@jest/globals'
import type { Running } from '../../src/index.ts'
import { WITHIN_MS } from '../../test/kit/cli-process.ts'
import { backends } from '../../test/kit/backends.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { Incident, sms } from '../../test/replay/incident.ts'
import type { ReplaySettings } from '../../test/replay/settings.ts'
import { SECTION, sectionsOf, stepsOf, TOLD, type StoryName } from './told.ts'

jest.setTimeout(WITHIN_MS)

const isUpdate = process.env['UPDATE_DOCS'] === '1'
/** In the pages every topic or queue is `sms`, and every replay has this ID. */
const ID = '7f3a91c2'

/** What lies there before the first command, and what is to happen before each further one. */
interface Story {
  readonly incident: Incident
  readonly settings?: Partial<ReplaySettings>
  before?(command: number): Promise<void>
  /** How many effects there are in the end. */
  readonly effects: number
  /** IDs whose effect happens twice, on purpose. */
  readonly again?: readonly string[]
}

async function provider(): Promise<Story> {
  const incident = await Incident.on('kafka', 'redis')
  await incident.send(sms(30))
  await incident.live(incident.hasEffects(30))
  incident.cli.file('failed.txt', 'm3\nm4\nm17\n')
  return { incident, effects: 33, again: ['m17', 'm3', 'm4'] }
}

async function bug(): Promise<Story> {
  const incident = await Incident.on('rabbitmq', 'redis')
  await incident.send([...sms(20), ...sms(2_000, 'g', 'globex')])
  await incident.live(incident.hasEffectsAndDeadLetters(20, 2_000), {
    bugFor: 'globex',
  })
  let fixed: Running | undefined
  return {
    incident,
    effects: 2_020,
    before: async (command) => {
      if (command === 1) fixed = await incident.start()
      if (command === 2) await eventually(incident.hasEffects(30), 60_000)
      if (command !== 3) return
      await eventually(incident.hasEffects(2_020), 60_000)
      await fixed?.stop()
    },
  }
}

async function missed(): Promise<Story> {
  const incident = await Incident.on('kafka', 'redis')
  await incident.send([...sms(1_204), ...sms(4, 'g', 'globex')])
  await incident.live(incident.hasEffectsAndDeadLetters(1_204, 4), {
    bugFor: 'globex',
  })
  await incident.send(sms(3, 'late'))
  return { incident, effects: 1_207 }
}

async function backup(): Promise<Story> {
  const incident = await Incident.on('kafka', 'postgres')
  await incident.send(sms(12))
  await incident.live(incident.hasEffects(12))
  const lines = [...sms(12), ...sms(3, 'missed')].map(({ id, tenant }, offset) =>
    JSON.stringify({
      topic: incident.place,
      partition: 0,
      offset,
      tstype: 'create',
      ts: Date.now(),
      key: id,
      headers: ['id', id],
      payload: JSON.stringify({ id, tenant, to: `+49${id}` }),
    }),
  )
  incident.cli.file('sms.ndjson', `${lines.join('\n')}\n`)
  return { incident, effects: 15 }
}

async function renamed(): Promise<Story> {
  const incident = await Incident.on('kafka', 'postgres')
  await incident.send(sms(10))
  await incident.live(incident.hasEffects(10))
  const sent = sms(10).map(({ id }) => `${id}\n`)
  incident.cli.file('sent.txt', sent.join(''))
  const before = async (command: number): Promise<void> => {
    if (command === 3) await incident.send(sms(2, 'new'))
  }
  return { incident, settings: { name: 'sms-v2' }, before, effects: 12 }
}

const STORIES: Readonly<Record<StoryName, () => Promise<Story>>> = { missed, provider, bug, backup, renamed }

/** The page with what the commands of these incidents print now. */
function withSteps(page: string, updated: ReadonlyMap<string, readonly string[]>): string {
  return page.replace(SECTION, (section: string, name: string) => {
    const steps = [...(updated.get(name) ?? [])]
    if (steps.length === 0) return section
    return section.replaceAll(/(?<=```console\n)[\s\S]*?(?=```)/g, (block) =>
      steps.splice(0, block.split(/^\$ /m).length - 1).join(''),
    )
  })
}

/** As a shell takes them apart. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

/** Keys, times and rates differ. */
function comparable(text: string): string {
  return (
    text
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/(?<![\w-])[\w-]{22}(?![\w-])/g, 'KEY')
      .replaceAll(/\|[▁▂▃▄▅▆▇█ ]*\|/g, '|')
      .replaceAll(/sms[ /]\d+/g, 'PLACE')
      .replaceAll(/\d+ (s|min) each/g, 'EACH')
      .replaceAll(/\s+/g, ' ')
      // A histogram is shown when the messages lie far enough apart, which a slow machine sends.
      .replaceAll(/TIME \| TIME, EACH /g, '')
      // How far it was read when it paused.
      .replaceAll(/skipped \d+ Go on/g, 'Go on')
      .trim()
  )
}

/** Columns that were as wide as the names of the test. */
function narrowed(text: string): string {
  const rows = text.split('\n').map((line) => line.trimEnd().split(/ {2,}/))
  return rows
    .map((row, at) => {
      if (row.length < 2) return row.join('  ')
      const [first, last] = [edge(rows, at, row.length, -1), edge(rows, at, row.length, 1)]
      const block = rows.slice(first, last + 1)
      return row
        .map((cell, column) => cell.padEnd(Math.max(...block.map((other) => other[column]?.length ?? 0))))
        .join('  ')
        .trimEnd()
    })
    .join('\n')
}

/** The last row in this direction with as many cells. */
function edge(rows: readonly (readonly string[])[], from: number, cells: number, step: 1 | -1): number {
  let at = from
  while (rows[at + step]?.length === cells) at += step
  return at
}

const hasAll = (['kafka', 'rabbitmq', 'postgres', 'redis'] as const).every((name) => backends.has(name))
const describePages = (hasAll ? describe : describe.skip).each(TOLD)

describePages('%s', (path) => {
  const page = readFileSync(path, 'utf8')
  const updated = new Map<string, readonly string[]>()
  const sections = sectionsOf(page)
  afterAll(() => {
    if (isUpdate) writeFileSync(path, withSteps(page, updated))
  })
  it.each([...sections])('tells what the commands print: %s', async (name, section) => {
    const story = await STORIES[name]()
    await using incident = story.incident
    let id = ID
    const written: string[] = []
    const found: string[] = []
    const steps = stepsOf(section)
    for (const [at, { command, told }] of steps.entries()) {
      await story.before?.(at)
      const real = command.replaceAll(/(kafka|rabbitmq):sms(?![-\w])/g, `$1:${incident.place}`).replaceAll(ID, id)
      const run = await incident.cli.run(wordsOf(real), { env: incident.env(story.settings), cwd: incident.cli.dir })
      id = /(?:plan |replay |^redrive-)([\da-f]{8})\b/m.exec(run.stdout + run.stderr)?.[1] ?? id
      const exit = run.exitCode === 0 ? '' : `(exit ${run.exitCode})`
      const printed = narrowed(
        [run.stdout, run.stderr, exit]
          .map((text) => text.trimEnd())
          .filter((text) => text !== '')
          .join('\n')
          .replaceAll(incident.place, 'sms')
          .replaceAll(incident.group, 'sms')
          .replaceAll(id, ID)
          .replaceAll(`${userInfo().username}: `, 'ada: ')
          .replaceAll(/^note: RabbitMQ .*\n?/gm, '')
          // How far it is, every few seconds: a fast machine has no such line.
          .replaceAll(/^[\d,]+\/[\d,]+ {2}.*\n?/gm, ''),
      )
      written.push(`$ consume-once ${command}\n${printed}\n`)
      found.push(`${command}: ${comparable(isUpdate ? told : printed)}`)
    }
    updated.set(name, written)
    expect(found).toEqual(steps.map(({ command, told }) => `${command}: ${comparable(told)}`))
    const effects = await incident.effects()
    expect(effects).toHaveLength(story.effects)
    expect(effects.filter((one, at) => effects.indexOf(one) !== at).toSorted()).toEqual(story.again ?? [])
  })
})
