import { describe, expect, it, jest } from '@jest/globals'
import { backends } from '../kit/backends.ts'
import { Incident } from '../replay/incident.ts'
import { AS_PROCESS, dataOf, WITHIN_MS, type CliRun } from '../kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

const describeKafka = backends.has('kafka') && backends.has('redis') ? describe : describe.skip

function at(position: string, ...more: string[]): string[] {
  return ['inspect', 'sms', '--at', position, ...more]
}

function deadLetterAt(incident: Incident, offset: number): Promise<CliRun> {
  return incident.run(at(`${incident.place}.dead-letter/0/${offset}`))
}

describeKafka('consume-once inspect --at', () => {
  it('reads the message at a position, and shows its record and what follows', async () => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    await incident.send([{ id: 'fine' }, { id: 'broken', tenant: 'globex' }])
    await incident.cluster?.send(incident.place, [{ value: '{"id":"s3cret"}' }])
    await incident.send([{ id: 'fine', tenant: 'another' }])
    await incident.live(async () => (await incident.effects()).length === 1 && (await incident.deadLetters()) === 3, {
      bugFor: 'globex',
    })
    const done = await incident.run(at(`${incident.place}/0/0`), {}, AS_PROCESS)
    expect(done.stdout).toMatch(/\/0\/0: \d{4}-\S+Z by the clock of its producer, \d+ bytes, first published to /)
    expect(done.stdout).toMatch(/^[\w-]{22} +done /m)
    expect(done).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('done: Its effect happened') })

    expect(await incident.json(at(`${incident.place}/0/1`))).toMatchObject({
      schema_version: 1,
      at: { partition: `${incident.place}/0`, position: '1', at_by: 'producer', bytes: expect.any(Number) },
      records: [{ state: 'given-up', attempt: 1, cause: expect.stringContaining('cannot read the field') }],
    })

    const conflict = await incident.run(at(`${incident.place}/0/3`))
    expect(conflict).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('A conflict: this message has the ID'),
    })
    expect(conflict.stderr).toContain('Do not forget it')
    expect(conflict.stderr).not.toContain('consume-once forget')

    // Nothing orders the dead letters: the one without an ID needs no claim.
    const deadLetters = [
      await deadLetterAt(incident, 0),
      await deadLetterAt(incident, 1),
      await deadLetterAt(incident, 2),
    ]
    for (const { stdout } of deadLetters) {
      expect(stdout).toContain(`first published to ${incident.place}, a dead letter, given up by `)
    }
    const broken = deadLetters.find(({ stdout }) => stdout.includes(' given-up '))
    expect(broken?.stderr).toMatch(/given-up: [^]*npx consume-once redrive sms --dry-run/)

    const nameless = await incident.run(at(`${incident.place}/0/2`))
    expect(nameless).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no usable message ID') })
    expect(nameless.stdout + nameless.stderr).not.toContain('s3cret')
    expect(dataOf(await incident.run(at(`${incident.place}/0/2`, '--json')))).toMatchObject({ records: [] })

    const beyond = await incident.run(at(`${incident.place}/0/99`))
    expect(beyond).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('no message is there') })
    const partition = await incident.run(at(`${incident.place}/7/0`), {}, AS_PROCESS)
    expect(partition).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('partitions 0 to 0') })
  })
})
