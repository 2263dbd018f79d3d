import { doctor as diagnose } from '../../../src/people/doctor.ts'
import { positionsOf } from '../../../src/people/position-admin.ts'
import { describeError } from '../../../src/foundation/errors.ts'
import { withoutSecrets } from '../../../src/foundation/without-secrets.ts'
import type { DoctorAnswer, GuaranteesAnswer, PositionsAnswer, SettingsAnswer } from '../../api.ts'
import type { Shown } from '../consumers.ts'
import { badRequest } from '../http-error.ts'
import type { Asked, Services } from '../services.ts'
import { settingsOf } from '../settings.ts'
import { answerWithin } from '../answer-within.ts'

export async function doctor(services: Services, { params }: Asked): Promise<DoctorAnswer> {
  return diagnosisOf(services, services.consumers.of(params))
}

export async function guarantees(services: Services): Promise<GuaranteesAnswer> {
  const consumers = services.consumers.all.map(async (shown) => {
    try {
      const { diagnosis } = await diagnosisOf(services, shown)
      const broken = diagnosis.findings.filter(({ verdict }) => verdict === 'broken')
      return { consumer: shown.id, verdict: diagnosis.verdict, broken: broken.map(({ meaning }) => meaning) }
    } catch {
      // Its page says why.
      return { consumer: shown.id, verdict: undefined, broken: [] }
    }
  })
  return { now: services.clock.now(), consumers: await Promise.all(consumers) }
}

async function diagnosisOf(services: Services, { id, entry }: Shown): Promise<DoctorAnswer> {
  return services.doctors.get(id, async () => {
    const { timeoutMs } = services
    const diagnosis = await services.asking(() =>
      diagnose(entry.consumer, entry.subscription, { timeoutMs: timeoutMs / 2 }),
    )
    return { at: services.clock.now(), diagnosis }
  })
}

export async function settings(services: Services, { params }: Asked): Promise<SettingsAnswer> {
  const { definition } = services.consumers.of(params)
  const { migrations = [] } = services.options
  const states = migrations.map(async (one) => {
    const where = withoutSecrets(one.where)
    try {
      const { run, pending, drift, unknown } = await answerWithin(services.timeoutMs, one.status())
      const error = unknown === undefined ? undefined : withoutSecrets(unknown)
      return { where, run, pending, drift, error }
    } catch (error) {
      return { where, run: [], pending: [], drift: [], error: withoutSecrets(describeError(error)) }
    }
  })
  return { settings: settingsOf(definition), migrations: await Promise.all(states) }
}

export async function positions(services: Services, { params }: Asked): Promise<PositionsAnswer> {
  const { definition, entry } = services.consumers.of(params)
  if (definition.store.strategy !== 'offsets') throw badRequest('its store has records, and no positions')
  const listed = await services.asking(() => positionsOf(entry.consumer, entry.subscription).list())
  return {
    positions: listed.map(({ stream, next, held, heldSince }) => ({ stream, next: String(next), held, heldSince })),
  }
}
