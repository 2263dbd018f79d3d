// What a person says to limit a replay or a redrive holds on real servers.
import { userInfo } from 'node:os'
import { describe, expect, it, jest } from '@jest/globals'
import type { RedriveResult, RedriveStatus, ReplayPlan, RunResult } from '../../src/replay/index.ts'
import { WITHIN_MS } from '../../test/kit/cli-process.ts'
import { backends } from '../../test/kit/backends.ts'
import { Incident, sms } from '../../test/replay/incident.ts'

jest.setTimeout(WITHIN_MS)

const onRabbit = backends.has('rabbitmq') && backends.has('redis') ? describe : describe.skip
const onKafka = backends.has('kafka') && backends.has('redis') ? describe : describe.skip
const brokers = (['kafka', 'rabbitmq'] as const).filter((name) => backends.has(name) && backends.has('redis'))
const describeBrokers = brokers.length > 0 ? describe.each(brokers) : describe.skip.each(['kafka', 'rabbitmq'] as const)
const WHY = ['--reason', 'OPS-812', '--yes']

onRabbit('on RabbitMQ', () => {
  it('messages without a timestamp are in no range of time, and happen again only if somebody takes them', async () => {
    await using incident = await Incident.on('rabbitmq', 'redis')
    await incident.send(sms(4), false)
    await incident.live(incident.hasEffects(4))
    await incident.send(sms(4), false)
    const january = ['--since', '2025-01-01T00:00Z', '--until', '2025-01-02T00:00Z']
    const asked = ['replay', 'plan', 'sms', '--from', incident.from, ...january, '--again']
    const out = incident.cli.path('plan.json')
    const planned = await incident.run([...asked, '--out', out])
    expect(planned.stdout).toMatch(/4 messages, 0 to handle\n.*\nundated +4 +skip +no time, .*--include undated/)
    const run = await incident.json<RunResult>(['replay', 'run', out, ...WHY])
    expect(run).toMatchObject({ status: 'finished', totals: { handled: 0, skipped: 4 } })
    expect(await incident.effects()).toHaveLength(4)
    const { plan } = await incident.json<{ plan: ReplayPlan }>([...asked, '--include', 'undated'])
    expect(plan.toHandle).toBe(4)
  })
})

onRabbit('a replay that waits', () => {
  it('is aborted for good, from another process', async () => {
    await using incident = await Incident.on('rabbitmq', 'redis')
    await incident.send(sms(3))
    await incident.live(incident.hasEffects(3))
    await incident.send(sms(3, 'late'))
    const out = incident.cli.path('plan.json')
    await incident.run(['replay', 'plan', 'sms', '--from', incident.from, '--treat-unknown-as', 'handle', '--out', out])
    const canary = ['--canary', '1', '--concurrency', '1']
    const { id } = await incident.json<RunResult>(['replay', 'run', out, ...canary, ...WHY])
    const aborted = await incident.run(['replay', 'abort', id, '--reason', 'OPS-813'])
    expect([aborted.exitCode, aborted.stderr]).toEqual([0, `replay ${id}: is aborted; no process ran it\n`])
    const resumed = await incident.run(['replay', 'resume', id, ...WHY])
    expect([resumed.exitCode, resumed.stderr]).toEqual([3, expect.stringContaining(`replay ${id} is aborted since`)])
    expect(await incident.effects()).toHaveLength(4)
  })
})

describeBrokers('a redrive that a person confirmed, on %s', (broker) => {
  it('sends back the dead letters of the preview, and none that came after it', async () => {
    await using incident = await Incident.on(broker, 'redis')
    const bug = { bugFor: 'globex' }
    await incident.send([...sms(1), ...sms(5, 'g', 'globex')])
    await incident.live(incident.hasEffectsAndDeadLetters(1, 5), bug)
    const preview = await incident.redrive({})
    expect(preview.totals.redriven).toBe(5)
    await incident.send([...sms(1, 'n'), ...sms(30, 'later', 'globex')])
    await incident.live(incident.hasEffectsAndDeadLetters(2, 35), bug)
    const act = { dryRun: false, by: 'kim', reason: 'OPS-812', foreseen: preview.foreseen }
    expect((await incident.redrive(act)).totals.redriven).toBe(5)
    await incident.live(incident.hasEffects(7))
    const effects = await incident.effects()
    expect(effects.filter((id) => id.startsWith('later'))).toEqual([])
    expect(effects.filter((id) => id.startsWith('g')).toSorted()).toEqual(['g0', 'g1', 'g2', 'g3', 'g4'])
  })
})

onKafka('dead letters that stay in their topic', () => {
  it('are sent back twice at most, and a second one of a message is no failure of each later redrive', async () => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    const bug = { bugFor: 'globex' }
    await incident.send([...sms(1), ...sms(1, 'g', 'globex')])
    const found: unknown[] = []
    const journal = (redrive: number): string => incident.cli.path(`${redrive}.ndjson`)
    for (const deadLetters of [1, 2, 3]) {
      await incident.live(incident.hasEffectsAndDeadLetters(1, deadLetters), bug)
      const { exitCode, stdout } = await incident.run([
        'redrive',
        'sms',
        '--max-replays',
        '2',
        '--journal',
        journal(deadLetters),
        '--json',
        ...WHY,
      ])
      const { totals } = JSON.parse(stdout) as RedriveResult
      found.push([exitCode, totals.redriven, totals.repeated, totals.looped])
    }
    expect(found).toEqual([
      [0, 1, 0, 0],
      [0, 1, 1, 0],
      [1, 0, 0, 3],
    ])
    const { redrives } = await incident.json<{ redrives: RedriveStatus[] }>(['replay', 'status'])
    expect(redrives.map(({ status, totals, by }) => [status, totals.redriven, by])).toEqual([
      ['finished', 1, userInfo().username],
      ['finished', 1, userInfo().username],
    ])
    const id = redrives[0]?.id ?? ''
    const report = await incident.run(['replay', 'report', id, '--format', 'csv'])
    expect(report.stdout.split('\n').filter((line) => line.includes(',redriven,'))).toHaveLength(1)
    const audit = await incident.run(['audit', 'sms', '--decision', 'start'])
    expect(audit.stdout).toContain(id)
    const over = await incident.run(['replay', 'abort', id])
    expect([over.exitCode, over.stderr]).toEqual([3, expect.stringContaining(`${id} is finished`)])
    const resumed = await incident.run(['replay', 'resume', id, ...WHY])
    expect([resumed.exitCode, resumed.stderr]).toEqual([3, expect.stringContaining('is a redrive')])
    const unknown = await incident.run(['redrive', 'sms', '--dry-run', '--reason-is', 'given-up'])
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('"handler-failed", "attempts-spent"'),
    ])
  })
})
