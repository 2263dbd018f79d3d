import type { Moment, ProgramName, StopSpec } from './spec.ts'

type BrokerKind = StopSpec['broker']['kind']

/** The life of one consumer with four messages, from its start to its last commit. */
const ONE: Readonly<Record<BrokerKind, readonly string[]>> = {
  kafka: [
    'start open opened GroupCoordinator JoinGroup SyncGroup joined Fetch claim claimed',
    'begun begun*2 ended mark marked handled ended*3 settled OffsetCommit handled*4',
  ],
  rabbitmq: [
    'start open opened dial dialled createChannel prefetch consume joined claim',
    'claimed begun begun*2 ended mark marked ack ended*3 settled handled*4',
  ],
}

/** Three consumers with four messages each. The second one begins to join when the handlers of the others run. */
const THREE: Readonly<Record<BrokerKind, readonly string[]>> = {
  kafka: [
    'start open*2 opened JoinGroup*3 joined joined*2 begun begun*2 opened*3 GroupCoordinator*3',
    'JoinGroup*5 SyncGroup*3 joined*3 claimed*3 ended mark ended*3 settled handled*8 handled*12',
  ],
  rabbitmq: [
    'start open*2 dial*2 dialled*2 consume joined*2 begun begun*2 opened*3 dial*3',
    'dialled*3 createChannel*3 consume*3 joined*3 ended mark ack ended*5 settled handled*12',
  ],
}

/** Twenty moments at which a process is told to stop. */
export function momentsOf(broker: BrokerKind, consumers: 1 | 3): readonly Moment[] {
  const words = (consumers === 1 ? ONE : THREE)[broker].join(' ').split(' ')
  return words.map(momentOf)
}

/** `ended*3`: the third time that a handler ends. */
export function momentOf(word: string): Moment {
  const [what = '', nth = '1'] = word.split('*')
  return { what, nth: Number(nth) }
}

/** Nest sends the signal to its process again when it has closed the application. */
export const ENDS: Readonly<Record<ProgramName, string>> = {
  deploy: 'exit code 0',
  short: 'exit code 0',
  nest: 'SIGTERM',
  fastify: 'exit code 0',
}
