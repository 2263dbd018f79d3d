// The incidents of docs/replay.md, each as a person works through it: with the tool, on real servers.
import { describe, expect, it, jest } from '@jest/globals'
import type { ReplayPlan, RedriveResult, RunResult } from '../../src/replay/index.ts'
import { WITHIN_MS } from '../cli/cli-process.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { Incident, sms, type BrokerName, type StoreName } from './incident.ts'

jest.setTimeout(WITHIN_MS)

const PAIRS: readonly (readonly [BrokerName, StoreName])[] = [
  ['kafka', 'postgres'],
  ['rabbitmq', 'redis'],
]
const pairs = PAIRS.filter((pair) => pair.every((name) => backends.has(name)))
const describePairs = pairs.length > 0 ? describe.each(pairs) : describe.skip.each(PAIRS)
const hasKafka = ['kafka', 'redis', 'postgres'].every((name) => backends.has(name as BrokerName | StoreName))
const describeKafka = hasKafka ? describe : describe.skip

const WHY = ['--reason', 'OPS-812', '--yes']

function repeated(effects: readonly string[]): readonly string[] {
  return effects.filter((id, at) => effects.indexOf(id) !== at)
}

describePairs('a bug dead-lettered messages, on %s and %s', (broker, store) => {
  it('redrives them after the fix: each has its effect once, and nothing goes round', async () => {
    await using incident = await Incident.on(broker, store)
    await incident.send([...sms(20), ...sms(60, 'g', 'globex')])
    await incident.live(async () => (await incident.effects()).length === 20 && (await incident.letters()) === 60, {
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
    const first = await incident.json<RedriveResult>(['redrive', 'sms', '--max', '10', ...WHY])
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

describeKafka('the provider failed for an hour', () => {
  it('sends some messages again on purpose, and no others', async () => {
    await using incident = await Incident.on('kafka', 'redis')
    await incident.send(sms(30))
    await incident.live(incident.hasEffects(30))
    const lost = ['m3', 'm4', 'm17']
    const ids = incident.cli.file('lost.txt', `${lost.join('\n')}\n`)
    const plan = incident.cli.path('plan.json')
    const planned = await incident.run([
      'replay',
      'plan',
      'sms',
      '--from',
      incident.from,
      '--since',
      '1h',
      '--ids-from',
      ids,
      '--again',
      '--out',
      plan,
    ])
    expect(planned.stdout).toMatch(/done +3 +forget, then handle AGAIN/)
    const run = await incident.run(['replay', 'run', plan, '--canary', '1', '--concurrency', '1', ...WHY])
    expect(run.stdout).toContain('paused (canary: 1 handled)')
    const id = /replay (\w+): paused/.exec(run.stdout)?.[1] ?? ''
    const rest = await incident.json<RunResult>(['replay', 'resume', id, ...WHY])
    expect(rest).toMatchObject({ status: 'finished', totals: { handled: 3, skipped: 27 } })
    expect(repeated(await incident.effects()).toSorted()).toEqual(lost.toSorted())
    const report = await incident.run(['replay', 'report', id, '--format', 'csv'])
    expect(report.stdout.trim().split('\n')).toHaveLength(31)
    const again = await incident.run(['replay', 'run', plan, ...WHY])
    expect([again.exitCode, again.stderr]).toEqual([3, expect.stringContaining('is finished since')])
    // The live group stands where it stood.
    await incident.send(sms(1, 'next'))
    await incident.live(incident.hasEffects(34))
    expect(repeated(await incident.effects()).toSorted()).toEqual(lost.toSorted())
  })
})

describeKafka('a topic was restored from a backup', () => {
  it('handles only what was never handled, from the file that kcat wrote', async () => {
    await using incident = await Incident.on('kafka', 'postgres')
    await incident.send(sms(12))
    await incident.live(incident.hasEffects(12))
    const lines = [...sms(12), ...sms(3, 'missed')].map(({ id, tenant }, offset) =>
      JSON.stringify({
        topic: incident.place,
        partition: 0,
        offset,
        tstype: 'create',
        ts: Date.now(),
        broker: 1,
        key: id,
        headers: ['id', id],
        payload: JSON.stringify({ id, tenant, to: `+49${id}` }),
      }),
    )
    const backup = incident.cli.file('backup.ndjson', `${lines.join('\n')}\n`)
    const plan = incident.cli.path('plan.json')
    const { plan: made } = await incident.json<{ plan: ReplayPlan }>([
      'replay',
      'plan',
      'sms',
      '--from',
      `file:${backup}`,
      '--out',
      plan,
    ])
    expect([made.buckets.done.count, made.buckets.fresh.count, made.toHandle]).toEqual([12, 3, 3])
    const run = await incident.json<RunResult>(['replay', 'run', plan, ...WHY])
    expect(run).toMatchObject({ status: 'finished', totals: { handled: 3, 'done-before': 12 } })
    expect((await incident.effects()).length).toBe(15)
  })
})

describeKafka('a consumer was renamed', () => {
  it('refuses a replay that would repeat history, until what happened is imported', async () => {
    await using incident = await Incident.on('kafka', 'postgres')
    await incident.send(sms(10))
    await incident.live(incident.hasEffects(10))
    const renamed = { name: 'sms-v2' }
    const plan = incident.cli.path('plan.json')
    const blind = await incident.run(['replay', 'plan', 'sms-v2', '--from', incident.from, '--out', plan], renamed)
    expect([blind.exitCode, blind.stdout]).toEqual([1, expect.stringMatching(/unknown +10 +REFUSE the run/)])
    const refused = await incident.run(['replay', 'run', plan, ...WHY], renamed)
    expect(refused.exitCode).toBe(3)
    expect((await incident.effects()).length).toBe(10)

    const ids = incident.cli.file(
      'ids.txt',
      sms(10)
        .map(({ id }) => `${id}\n`)
        .join(''),
    )
    const marked = await incident.run(['mark', 'sms-v2', '--from-file', ids, ...WHY], renamed)
    expect([marked.exitCode, marked.stderr]).toEqual([0, expect.any(String)])
    await incident.send(sms(2, 'new'))
    const { plan: made } = await incident.json<{ plan: ReplayPlan }>(
      ['replay', 'plan', 'sms-v2', '--from', incident.from, '--out', plan],
      renamed,
    )
    expect([made.buckets.done.count, made.buckets.fresh.count]).toEqual([10, 2])
    const run = await incident.json<RunResult>(['replay', 'run', plan, ...WHY], renamed)
    expect(run).toMatchObject({ status: 'finished', totals: { handled: 2, 'done-before': 10 } })
    expect(repeated(await incident.effects())).toEqual([])
  })
})
