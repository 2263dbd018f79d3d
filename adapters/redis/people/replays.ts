import {
  checkReplayState,
  StoreError,
  type LedgerEntry,
  type ReplayLedger,
  type ReplayRequest,
  type SaveAnswer,
  type Taking,
  type TakeVerdict,
} from '../../../src/internal.ts'
import type { KeyNames } from '../records/key-names.ts'
import type { Argument } from '../clients/redis-port.ts'
import type { ScriptLine } from '../calls/script-line.ts'
import { ASK_REPLAY, LEAVE_REPLAY, LIST_REPLAYS, READ_REPLAYS, SAVE_REPLAY, TAKE_REPLAY } from '../scripts/replays.ts'
import type { Script } from '../scripts/script.ts'
import { wholeMs } from '../records/whole-ms.ts'

/** Replays that one script reads: their states are large. */
const READ_AT_ONCE = 50

/** A hash for each replay, and the IDs of a scope in a sorted set, all in one slot. */
export class RedisReplays implements ReplayLedger {
  readonly #names: KeyNames
  readonly #line: ScriptLine
  readonly #lanes = new Map<string, number>()
  readonly #shards: number

  constructor(names: KeyNames, line: ScriptLine, shards: number) {
    this.#names = names
    this.#line = line
    this.#shards = shards
  }

  async take(scope: string, id: string, { owner, ttlMs, state }: Taking): Promise<TakeVerdict> {
    checkReplayState(state)
    const keys = [this.#names.replay(scope, id), this.#names.replays(scope)]
    const reply = await this.#write(scope, TAKE_REPLAY, keys, [id, owner, wholeMs(ttlMs), state])
    const [verdict, leftMs, kept] = textsOf(reply)
    if (kept !== undefined && verdict === 'taken') return { verdict, state: kept }
    if (kept !== undefined && verdict === 'held') return { verdict, leftMs: Number(leftMs), state: kept }
    throw strange()
  }

  async save(scope: string, id: string, { owner, ttlMs, state }: Taking): Promise<SaveAnswer> {
    checkReplayState(state)
    const keys = [this.#names.replay(scope, id)]
    const [answer, request] = textsOf(await this.#write(scope, SAVE_REPLAY, keys, [owner, wholeMs(ttlMs), state]))
    if (answer === 'lost') return { held: false }
    if (answer === 'held') return { held: true, request: requestOf(request) }
    throw strange()
  }

  async leave(scope: string, id: string, owner: string): Promise<void> {
    await this.#write(scope, LEAVE_REPLAY, [this.#names.replay(scope, id)], [owner])
  }

  async ask(scope: string, id: string, request: ReplayRequest | undefined): Promise<boolean> {
    return (await this.#write(scope, ASK_REPLAY, [this.#names.replay(scope, id)], [request ?? ''])) === 'asked'
  }

  async read(scope: string, id: string): Promise<LedgerEntry | undefined> {
    return (await this.#read(scope, [id]))[0]
  }

  async list(scope: string, limit: number): Promise<readonly LedgerEntry[]> {
    const run = { script: LIST_REPLAYS, keys: 1, words: [this.#names.replays(scope), limit] }
    const ids = textsOf(await this.#line.runOne(run))
    const entries: LedgerEntry[] = []
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      entries.push(...(await this.#read(scope, ids.slice(at, at + READ_AT_ONCE))))
    }
    return entries
  }

  async #read(scope: string, ids: readonly string[]): Promise<readonly LedgerEntry[]> {
    const words = ids.map((id) => this.#names.replay(scope, id))
    const replies = await this.#line.runOne({ script: READ_REPLAYS, keys: words.length, words })
    if (!Array.isArray(replies) || replies.length !== ids.length) throw strange()
    return ids.flatMap((id, at) => {
      const [state, createdAt, savedAt, heldForMs, request] = textsOf(replies[at])
      if (state === undefined) return []
      const times = { createdAt: Number(createdAt), savedAt: Number(savedAt), heldForMs: Number(heldForMs) }
      return [{ id, state, ...times, request: requestOf(request) }]
    })
  }

  #write(scope: string, script: Script, keys: readonly string[], words: readonly Argument[]): Promise<unknown> {
    return this.#line.runOne({ script, keys: keys.length, words: [...keys, ...words] }, this.#laneOf(scope))
  }

  /** Other than those of the shards. */
  #laneOf(scope: string): number {
    const lane = this.#lanes.get(scope) ?? this.#shards + this.#lanes.size
    this.#lanes.set(scope, lane)
    return lane
  }
}

function requestOf(text: string | undefined): ReplayRequest | undefined {
  return text === 'pause' || text === 'abort' ? text : undefined
}

function textsOf(reply: unknown): readonly string[] {
  return Array.isArray(reply) ? reply.map(String) : []
}

function strange(): StoreError {
  return new StoreError('STORE_AMBIGUOUS', 'Redis: a script about a replay gave an answer of unknown form')
}
