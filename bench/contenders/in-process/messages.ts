import type { Message } from 'consume-once'
import type { Job } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'

const PAYLOAD = Buffer.alloc(1_024, 'x')

/** Messages of 1 KB that no broker has brought, one for each ID of the job. */
export function messagesOf({ ids }: Pick<Job, 'ids'>): readonly Message[] {
  return Array.from({ length: ids }, (_, id) => messageOf(`${id}`))
}

function messageOf(id: string): Message {
  return {
    system: 'memory',
    destination: 'bench',
    origin: 'bench',
    position: id,
    key: null,
    value: PAYLOAD,
    headers: { [ID_HEADER]: Buffer.from(id) },
    messageId: undefined,
    timestamp: undefined,
    redelivered: undefined,
  }
}
