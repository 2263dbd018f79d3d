// An incident that goes wrong: dead letters are sent back before their bug is fixed. Those of docs/replay.md are in page.test.ts.
import { spawnSync } from 'node:child_process'
import { describe, expect, it, jest } from '@jest/globals'
import type { RedriveResult } from '../../src/replay/index.ts'
import { WITHIN_MS } from '../../test/kit/cli-process.ts'
import { backends } from '../../test/kit/backends.ts'
import { compiled } from '../../test/kit/compiled.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { Incident, sms, type BrokerName, type StoreName } from '../../test/replay/incident.ts'

jest.setTimeout(WITHIN_MS)

const PAIRS: readonly (readonly [BrokerName, StoreName])[] = [
  ['kafka', 'postgres'],
  ['rabbitmq', 'redis'],
]
const pairs = PAIRS.filter((pair) => pair.every((name) => backends.has(name)))
const describePairs = pairs.length > 0 ? describe.each(pairs) : describe.skip.each(PAIRS)

/** `script` gives a process a terminal. */
const hasScript = spawnSync('script', ['--version']).status === 0
const describeTerminal = hasScript && backends.has('kafka') && backends.has('redis') ? describe : describe.skip

const WHY = ['--reason', 'OPS-812', '--yes']

function repeated(effects: readonly string[]): readonly string[] {
  return effects.filter((id, at) => effects.indexOf(id) !== at)
}

describePairs('a bug dead-lettered messages, on %s and %s', (broker, store) => {
  it('redrives them after the fix: each has its effect once, and nothing goes round', async () => {
    await using incident = await Incident.on(broker, store)
    await incident.send([...sms(20), ...sms(60, 'g', 'globex')])
    await incident.live(incident.hasEffectsAndDeadLetters(20, 60), {
      bugFor: 'globex',
    })

    const foreseen = await incident.json<RedriveResult>([
      'redrive',
      'sms',
      '--dry-run',
      '--where',
      '$message.payload#/tenant=globex',
    ])
    expect(foreseen).toMatchObject({ looked: 60, totals: { redriven: 60 }, destinations: { [incident.place]: 60 } })
    // Not fixed yet: they come back, and the redrive ends all the same.
    await using live = await incident.start({ bugFor: 'globex' })
    const first = await incident.json<RedriveResult>(['redrive', 'sms', '--look-at-most', '10', ...WHY])
    expect(first.totals.redriven).toBe(10)
    await live.stop()

    await using fixed = await incident.start()
    const rest = await incident.run(['redrive', 'sms', ...WHY])
    expect(rest.stdout).toContain('published to where it came from')
    await eventually(async () => {
      if ((await incident.effects()).length >= 80) return true
      await incident.run(['redrive', 'sms', ...WHY])
      return false
    }, 60_000)
    await fixed.stop()
    expect(repeated(await incident.effects())).toEqual([])
    expect((await incident.effects()).length).toBe(80)
    const left = await incident.json<RedriveResult>(['redrive', 'sms', '--dry-run'])
    expect(left.totals.redriven).toBe(0)
  })
})

describeTerminal('a canary on a terminal', () => {
  it.each([
    ['y', 'finished', 5],
    ['n', 'paused', 3],
  ])('asks whether to go on: %s', async (answer, status, effects) => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    await incident.send(sms(1, 'first'))
    await incident.live(incident.hasEffects(1))
    await incident.send(sms(4))
    const plan = incident.cli.path('plan.json')
    await incident.run(['replay', 'plan', 'sms', '--from', incident.from, '--out', plan])
    const program = `${process.execPath} ${compiled('cli/main.ts')}`
    const command = `${program} replay run ${plan} --canary 2 --concurrency 1 --reason OPS-812 --yes`
    const run = await incident.cli.run(['-qec', command, '/dev/null'], {
      command: ['script'],
      env: { ...incident.env(), CONSUME_ONCE_CONFIG: compiled('test/cli/replay.config.ts') },
      stdin: `${answer}\n`,
    })
    expect(run.stdout).toContain('Go on with the rest? [y/N]')
    expect(run.stdout).toContain(`: ${status}`)
    expect(await incident.effects()).toHaveLength(effects)
  })
})
