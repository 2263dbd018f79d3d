// Whether doctor calls a setting of Postgres the server's default, against what the server itself says its default is.
import { expect, it } from '@jest/globals'
import { judgeSettings, judgeStandbys, LOSSES } from '../../adapters/pg/judge-server.ts'
import { READ_SETTINGS, type SettingsRow } from '../../adapters/pg/statements/read-settings.ts'
import type { CheckFinding } from '../../src/index.ts'
import { beforeAllOpen } from '../kit/opened.ts'
import { describePostgres, newPlace, type PgPlace } from './support.ts'

/** Each setting that a verdict depends on, in the row that is judged, with a value that is worse. */
const JUDGED = [
  ['fsync', 'fsync', false],
  ['full_page_writes', 'full_page_writes', false],
  ['default_transaction_read_only', 'read_only', true],
  ['autovacuum', 'autovacuum', false],
  ['transaction_timeout', 'transaction_timeout', '5s'],
  ['statement_timeout', 'statement_timeout_ms', 500],
  ['lock_timeout', 'lock_timeout_ms', 500],
  ['idle_session_timeout', 'idle_session_timeout_ms', 500],
] as const satisfies readonly (readonly [string, keyof SettingsRow, unknown])[]

function flawed(findings: readonly CheckFinding[]): readonly CheckFinding[] {
  return findings.filter(({ verdict }) => verdict === 'weaker' || verdict === 'broken')
}

function ofServer(value: string | undefined, like: unknown): unknown {
  if (typeof like === 'boolean') return value === 'on'
  return typeof like === 'number' ? Number(value) : value
}

describePostgres('what doctor says of a setting of Postgres', () => {
  let place: PgPlace
  let server: SettingsRow
  /** What the server has where nobody sets it. */
  const defaults = new Map<string, string>()
  beforeAllOpen(async (own) => {
    place = own(await newPlace())
    server = (await place.pool.query(READ_SETTINGS.text)).rows[0] as SettingsRow
    const { rows } = await place.pool.query('select name, boot_val from pg_settings')
    for (const { name, boot_val: value } of rows as { name: string; boot_val: string }[]) defaults.set(name, value)
  })

  const byDefault = (): SettingsRow => {
    const known = JUDGED.filter(([name]) => defaults.has(name))
    const set = known.map(([name, field, worse]) => [field, ofServer(defaults.get(name), worse)])
    return { ...server, transaction_timeout: null, idle_session_timeout_ms: null, ...Object.fromEntries(set) }
  }

  it('is no flaw of the default of any of them, so that each flaw was chosen', () => {
    expect(flawed(judgeSettings(byDefault(), LOSSES.lease))).toEqual([])
    for (const [, field, worse] of JUDGED) {
      const [finding, another] = flawed(judgeSettings({ ...byDefault(), [field]: worse }, LOSSES.lease))
      expect([field, finding?.isServerDefault, another]).toEqual([field, undefined, undefined])
      expect(finding).toBeDefined()
    }
  })

  it('is that asynchronous standbys are its default, and other names were chosen', () => {
    const names = defaults.get('synchronous_standby_names')
    const standbys = { standbys: 1, synchronous: 0, is_shown: true }
    const judged = (chosen = ''): CheckFinding =>
      judgeStandbys(standbys, LOSSES.lease, { ...server, synchronous_standby_names: chosen })
    expect(judged(names)).toMatchObject({ verdict: 'weaker', isServerDefault: true })
    expect(judged('nobody')).not.toHaveProperty('isServerDefault')
  })
})
