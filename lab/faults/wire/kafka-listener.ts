import {
  commitOf,
  errorsOfCommit,
  FETCH,
  HEARTBEAT,
  KafkaFrames,
  OFFSET_COMMIT,
  PRODUCE,
  requestOf,
  SYNC_GROUP,
  type CommitRequest,
} from './kafka-frames.ts'
import type { BrokerPlace } from '../stage/broker-side.ts'
import type { Listener, Seen } from './listener.ts'
import { copied } from './rabbit-listener.ts'
import type { Sends } from './sends.ts'

/** The broker answers UNKNOWN_TOPIC_OR_PARTITION. */
const NO_PARTITION = 999_999

/** Group membership of one process, shared by its connections. */
export interface Membership {
  generation: number
}

interface Asked {
  readonly api: number
  readonly version: number
  readonly commit?: CommitRequest
  /** Sends that this request produces, which are copies. */
  readonly copies: readonly number[]
}

export function kafkaListener(
  proc: string,
  { origin: topic, log }: BrokerPlace,
  membership: Membership,
  sends: Sends,
): Listener {
  const [requests, answers] = [new KafkaFrames(), new KafkaFrames()]
  const asked = new Map<number, Asked>()

  const heard = (frame: Buffer, at: Place): readonly Seen[] => {
    const request = requestOf(frame)
    const { api, version, correlation, body } = request
    const commit = api === OFFSET_COMMIT ? commitOf(request) : undefined
    const copies = api === PRODUCE ? sends.in(frame) : []
    asked.set(correlation, { api, version, ...(commit === undefined ? {} : { commit }), copies })
    if (copies.length > 0) return [{ moment: 'copy sent', isTarget: copies.includes(0) }]
    if (api === HEARTBEAT || api === SYNC_GROUP) {
      body.text()
      membership.generation = body.int32()
    }
    const committed = commit && ofTopic(commit, topic)
    if (committed === undefined) return []
    return [{ moment: 'settle sent', isTarget: committed.offset > 0, refused: misplaced(at, committed.partitionAt) }]
  }

  const answered = (frame: Buffer): readonly Seen[] => {
    const correlation = frame.readInt32BE(0)
    const question = asked.get(correlation)
    asked.delete(correlation)
    switch (question?.api) {
      case FETCH:
        return sends.in(frame).map((send) => {
          const via = `${proc}/${membership.generation}`
          const event = { f: 'deliver', place: sends.place(send), via } as const
          return { moment: 'delivered', isTarget: send === 0, event }
        })
      case PRODUCE:
        return question.copies.map((send) => copied(send, sends))
      case OFFSET_COMMIT:
        return committed(frame, question)
      case undefined:
      default:
        return []
    }
  }

  const committed = (frame: Buffer, { version, commit }: Asked): readonly Seen[] => {
    const next = commit && ofTopic(commit, topic)?.offset
    if (commit === undefined || next === undefined) return []
    if (errorsOfCommit(frame, version).some((error) => error !== 0)) return []
    const via = `${proc}/${commit.generation}`
    // The broker accepts no commit of an old generation.
    const event = { f: 'commit', partition: log?.().partition ?? '', next, via, assignedVia: via } as const
    return [{ moment: 'settled', isTarget: next > 0, event }]
  }

  return {
    fromClient: (bytes) => requests.read(bytes).flatMap(({ frame, start }) => heard(frame, { bytes, start })),
    fromServer: (bytes) => answers.read(bytes).flatMap(({ frame }) => answered(frame)),
  }
}

interface Place {
  readonly bytes: Buffer
  readonly start: number | undefined
}

/** The cell's topic has one partition. */
function ofTopic({ offsets }: CommitRequest, topic: string): CommitRequest['offsets'][number] | undefined {
  return offsets.find((place) => place.topic === topic)
}

/** The same commit for a partition that does not exist. */
function misplaced({ bytes, start }: Place, partitionAt: number): Buffer | undefined {
  if (start === undefined) return undefined
  const changed = Buffer.from(bytes)
  changed.writeInt32BE(NO_PARTITION, start + partitionAt)
  return changed
}
