// Replays and redrives together: both are begun, run for a while, and can be paused or ended.

import type { Consumer } from '../consumer/define-consumer.ts'
import type { Decider } from '../people/decider.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { ReplayJournal } from './journal.ts'
import { isRedriveId } from './redrive-id.ts'
import { redriveEntriesOf, redrivesOf, type Redrives, type RedriveStatus } from './redrives.ts'
import { entriesOf, replaysOf, type Replays, type ReplayStatus } from './report.ts'
import { redriveReportLines, reportLines, type ReportFormat } from './report-text.ts'

export type WorkStatus = ReplayStatus | RedriveStatus

/** Each call asks the kind that the ID is of. */
export interface Works extends Pick<Replays, 'state'> {
  list(): Promise<readonly WorkStatus[]>
  status(id: string): Promise<WorkStatus>
  pause(id: string, why: Decider): Promise<WorkStatus>
  abort(id: string, why: Decider): Promise<WorkStatus>
}

/** @throws ConfigError `CONFIG_INVALID` if the store does not keep replays */
export function worksOf(consumer: Consumer, subscription: Subscription): Works {
  const [replays, redrives] = [replaysOf(consumer, subscription), redrivesOf(consumer, subscription)]
  const of = (id: string): Replays | Redrives => (isRedriveId(id) ? redrives : replays)
  return {
    list: async () => (await Promise.all([replays.list(), redrives.list()])).flat(),
    status: (id) => of(id).status(id),
    state: (id) => replays.state(id),
    pause: (id, why) => of(id).pause(id, why),
    abort: (id, why) => of(id).abort(id, why),
  }
}

/** What people are shown of either. */
export interface WorkInfo extends Omit<ReplayStatus, 'totals' | 'journal'> {
  readonly kind: 'replay' | 'redrive'
  readonly totals: Readonly<Record<string, number>>
  readonly journal: string | undefined
}

export function workInfo(status: WorkStatus): WorkInfo {
  if (!isRedrive(status)) return { kind: 'replay', ...status }
  const { places, of, looked, because, endedAt, journal, ...rest } = status
  const left = Math.max(0, of - looked)
  return { kind: 'redrive', ...rest, from: places.join(', '), of, left, because, endedAt, journal }
}

/** What became of each message, line by line. */
export function workReport(status: WorkStatus, journal: ReplayJournal, format: ReportFormat): AsyncIterable<string> {
  return isRedrive(status)
    ? redriveReportLines(status, redriveEntriesOf(journal), format)
    : reportLines(status, entriesOf(journal), format)
}

export function isRedrive(status: WorkStatus): status is RedriveStatus {
  return 'places' in status
}
