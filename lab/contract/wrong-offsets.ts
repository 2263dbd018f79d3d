import { claimStream, nextAfter } from '../../src/core/position.ts'
import type { MarkVerdict, ReleaseVerdict, SetAsideVerdict } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'
import type { TransactionClaim, ReleaseOptions, SetAsideOptions } from '../../src/ports/store.ts'
import { NO_REFUND, REFUND } from '../../testing/contract/store/given.ts'
import { MemoryOffsets, type MemoryOffsetsOptions } from '../../testing/stores/memory-offsets.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import { transactionOf } from '../../testing/stores/offsets-transaction.ts'
import type { OffsetsClass } from '../../test/contract/memory-offsets.ts'
import { wrongIn } from './instead.ts'

type Claims = readonly TransactionClaim<MemoryTx>[]
type Positions = MemoryOffsets['positions']

interface Methods {
  decide: typeof claimStream
  mark(claims: Claims): Promise<readonly MarkVerdict[]>
  release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]>
  setAside(claims: Claims, as: 'given-up' | 'parked', why: SetAsideOptions): Promise<readonly SetAsideVerdict[]>
  pass(stream: string, offset: bigint): void
  move(stream: string, next: bigint, movedBy: string, timestamp?: EpochMs): void
}

/** Methods that only the store itself calls. */
type Hidden = Pick<Methods, 'pass' | 'move'>

const wrong = wrongIn<MemoryOffsets, Methods, MemoryOffsetsOptions>(MemoryOffsets)
const hidden = (store: MemoryOffsets): Hidden => store as unknown as Hidden

/** Looks at positions, and decides about them, in a wrong way. */
function wrongPositions(change: (store: MemoryOffsets) => Partial<Positions>): OffsetsClass {
  return class extends MemoryOffsets {
    override readonly positions: Positions = {
      ...new MemoryOffsets({ database: this.database }).positions,
      ...change(this),
    }
  }
}

/** Each looks right, and breaks one promise of stored positions. */
export const WRONG_OFFSETS: Readonly<Record<string, OffsetsClass>> = {
  'grants whatever lies above the position': wrong('decide', (_, [record, items, how]) =>
    claimStream(
      record,
      items.map(({ offset }) => ({ offset, follows: undefined })),
      how,
    ),
  ),
  'knows no gaps': wrong('decide', (_, [record, items, how]) => {
    const gapless = items.map(({ offset, follows }) => ({
      offset,
      follows: follows === undefined ? follows : offset,
    }))
    return claimStream(record, gapless, how)
  }),
  'lets others pass what is set aside': wrong('decide', (_, [record, items, how]) => {
    if (record?.aside === undefined) return claimStream(record, items, how)
    const [first, ...others] = items
    if (first === undefined || first.offset !== record.next) {
      return claimStream({ ...record, next: record.next + 1n, aside: undefined }, items, how)
    }
    const { verdicts, granted } = claimStream({ ...record, next: record.next + 1n, aside: undefined }, others, how)
    return { verdicts: [{ verdict: record.aside.as, reason: record.aside.reason }, ...verdicts], granted }
  }),
  'swallows what was set aside': wrong('setAside', async (right, [claims, as, why], store) => {
    const verdicts = await right(claims, as, why)
    for (const claim of claims) {
      const { stream, offset } = transactionOf(claim).positionOf(claim.key)
      hidden(store).pass(stream, offset)
    }
    return verdicts
  }),
  'passes whatever it is told to': wrong('pass', (_, [stream, offset], store) =>
    hidden(store).move(stream, offset + 1n, ''),
  ),
  'never passes': wrong('pass', () => {}),
  'sets aside what is not the lowest': wrong('setAside', async (right, [claims, as, why]) => {
    for (const claim of claims) {
      const transaction = transactionOf(claim)
      const { stream, offset } = transaction.positionOf(claim.key)
      const held = transaction.streams.get(stream)
      held?.offsets.splice(0, held.offsets.indexOf(offset))
    }
    return right(claims, as, why)
  }),
  'moves by one, whatever it marks': wrong('move', (right, [stream, next, movedBy], store) => {
    const row = store.database.rows.get(stream)
    right(stream, row === undefined ? next : row.next + 1n, movedBy)
  }),
  'moves to the message it marks, not behind it': wrong('move', (right, [stream, next, movedBy]) => {
    right(stream, next - 1n, movedBy)
  }),
  'marks wherever the stream stands by then': wrong('mark', (right, [claims], store) => {
    for (const claim of claims) {
      const { streams } = transactionOf(claim)
      for (const [stream, { offsets }] of streams) {
        streams.set(stream, { next: store.database.rows.get(stream)?.next ?? nextAfter(offsets), offsets })
        if (!store.database.rows.has(stream)) hidden(store).move(stream, nextAfter(offsets), '')
        streams.set(stream, { next: store.database.rows.get(stream)?.next ?? 0n, offsets })
      }
    }
    return right(claims)
  }),
  'moves with a release': wrong('release', (right, [claims, how], store) => {
    for (const claim of claims) {
      for (const [stream, { offsets }] of transactionOf(claim).streams)
        hidden(store).move(stream, nextAfter(offsets), '')
    }
    return right(claims, how)
  }),
  'tells positions of every scope': wrongPositions((store) => ({
    next: async (_scope: string, streams: readonly string[]) =>
      new Map(
        [...store.database.rows].flatMap(([name, { next }]) => {
          const stream = streams.find((one) => name.endsWith(` ${one}`))
          return stream === undefined ? [] : [[stream, { next }] as const]
        }),
      ),
  })),
  'forgets a hold with the next look': wrongPositions(() => ({
    hold: async () => {},
  })),
  'answers done below a held position': wrong('decide', (_, [record, items, how]) =>
    claimStream(record && { ...record, held: undefined }, items, how),
  ),
  'marks in a held stream': wrong('mark', async (right, [claims], store) => {
    const { rows } = store.database
    const held = [...rows].filter(([, row]) => row.held !== undefined)
    for (const [name, row] of held) rows.set(name, { ...row, held: undefined })
    const verdicts = await right(claims)
    for (const [name, { held: why }] of held) {
      const row = rows.get(name)
      if (row !== undefined) rows.set(name, { ...row, held: why })
    }
    return verdicts
  }),
  'keeps a hold that was released': wrongPositions(() => ({
    release: async () => 'released' as const,
  })),
  'releases what is not held': wrongPositions((store) => ({
    release: async (scope: string, stream: string, { from }: { readonly from: bigint | undefined }) => {
      hidden(store).move(store.database.nameOf(scope, stream), from ?? 0n, '')
      return 'released' as const
    },
  })),
  'remembers no timestamp': wrong('move', (right, [stream, next, movedBy]) => {
    right(stream, next, movedBy)
  }),
  'keeps the timestamp of another message': wrong('move', (right, [stream, next, movedBy, timestamp], store) => {
    right(stream, next, movedBy, store.database.rows.get(stream)?.timestamp ?? timestamp)
  }),
  'forgets attempts with the transaction': wrong('release', (right, [claims]) => right(claims, REFUND)),
  'never gives an attempt back': wrong('release', (right, [claims]) => right(claims, NO_REFUND)),
  'counts an attempt for the first of a batch only': wrong('decide', (_, [record, items, how]) => {
    const { verdicts, granted } = claimStream(record, items, how)
    if (granted === undefined) return { verdicts, granted }
    const { attempts } = granted
    return { verdicts, granted: { ...granted, attempts: { ...attempts, until: attempts.offset } } }
  }),
  'moves past what never began': wrong('mark', (right, [claims]) => {
    for (const claim of claims) transactionOf(claim).givenBack.clear()
    return right(claims)
  }),
  'counts an attempt of all that a transaction was granted': wrong('release', (right, [claims, how]) => {
    for (const claim of claims) transactionOf(claim).givenBack.clear()
    return right(claims, how)
  }),
  'counts whoever asks as another': wrong('decide', (_, [record, items, how]) => {
    const attempts = record?.attempts && { ...record.attempts, owner: '' }
    return claimStream(record && { ...record, attempts }, items, how)
  }),
  'lets what was started before share a claim': wrong('decide', (_, [record, items, how]) => {
    const claim = claimStream(record, items, how)
    if (!how.alone || claim.granted === undefined) return claim
    const rest = claimStream(record && { ...record, attempts: undefined }, items, how)
    return {
      ...rest,
      verdicts: rest.verdicts.map((verdict, index) =>
        claim.verdicts[index]?.verdict === 'again-alone' ? verdict : (claim.verdicts[index] ?? verdict),
      ),
    }
  }),
  'lets two hold one stream': class extends MemoryOffsets {
    override async claim(request: Parameters<MemoryOffsets['claim']>[0]): ReturnType<MemoryOffsets['claim']> {
      this.database.holders.clear()
      return super.claim(request)
    }

    override async mark(claims: Claims): Promise<readonly MarkVerdict[]> {
      for (const { transaction } of claims) {
        for (const [stream, held] of transactionOf({ transaction } as TransactionClaim<MemoryTx>).streams) {
          const row = this.database.rows.get(stream)
          if (row !== undefined) this.database.rows.set(stream, { ...row, next: held.next })
        }
      }
      return super.mark(claims)
    }
  },
}
