import { claimStream, nextAfter, type StreamClaim } from '../../src/core/position.ts'
import type { MarkVerdict, ReleaseVerdict, SetAsideVerdict } from '../../src/core/record.ts'
import type { TransactionClaim, ReleaseOptions, SetAsideOptions } from '../../src/ports/store.ts'
import { MemoryOffsets } from '../../testing/stores/memory-offsets.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import { transactionOf } from '../../testing/stores/offsets-transaction.ts'
import type { OffsetsClass } from '../../test/contract/memory-offsets.ts'

type Decide = Parameters<typeof claimStream>
type Claims = readonly TransactionClaim<MemoryTx>[]

/** Each looks right, and breaks one promise of stored positions. */
export const WRONG_OFFSETS: Readonly<Record<string, OffsetsClass>> = {
  'grants whatever lies above the position': class extends MemoryOffsets {
    protected override decide(record: Decide[0], items: Decide[1], how: Decide[2]): StreamClaim {
      return claimStream(
        record,
        items.map(({ offset }) => ({ offset, follows: undefined })),
        how,
      )
    }
  },
  'knows no gaps': class extends MemoryOffsets {
    protected override decide(record: Decide[0], items: Decide[1], how: Decide[2]): StreamClaim {
      const gapless = items.map(({ offset, follows }) => ({
        offset,
        follows: follows === undefined ? follows : offset,
      }))
      return claimStream(record, gapless, how)
    }
  },
  'lets others pass what is set aside': class extends MemoryOffsets {
    protected override decide(record: Decide[0], items: Decide[1], how: Decide[2]): StreamClaim {
      if (record?.aside === undefined) return claimStream(record, items, how)
      const [first, ...others] = items
      if (first === undefined || first.offset !== record.next) {
        return claimStream({ ...record, next: record.next + 1n, aside: undefined }, items, how)
      }
      const { verdicts, granted } = claimStream({ ...record, next: record.next + 1n, aside: undefined }, others, how)
      return { verdicts: [{ verdict: record.aside.as, reason: record.aside.reason }, ...verdicts], granted }
    }
  },
  'swallows what was set aside': class extends MemoryOffsets {
    override async setAside(
      claims: Claims,
      as: 'given-up' | 'parked',
      why: SetAsideOptions,
    ): Promise<readonly SetAsideVerdict[]> {
      const verdicts = await super.setAside(claims, as, why)
      for (const claim of claims) {
        const { stream, offset } = transactionOf(claim).positionOf(claim.key)
        this.pass(stream, offset)
      }
      return verdicts
    }
  },
  'passes whatever it is told to': class extends MemoryOffsets {
    protected override pass(stream: string, offset: bigint): void {
      this.move(stream, offset + 1n, '')
    }
  },
  'never passes': class extends MemoryOffsets {
    protected override pass(): void {}
  },
  'sets aside what is not the lowest': class extends MemoryOffsets {
    override async setAside(
      claims: Claims,
      as: 'given-up' | 'parked',
      why: SetAsideOptions,
    ): Promise<readonly SetAsideVerdict[]> {
      for (const claim of claims) {
        const transaction = transactionOf(claim)
        const { stream, offset } = transaction.positionOf(claim.key)
        const held = transaction.streams.get(stream)
        held?.offsets.splice(0, held.offsets.indexOf(offset))
      }
      return super.setAside(claims, as, why)
    }
  },
  'moves by one, whatever it marks': class extends MemoryOffsets {
    protected override move(stream: string, next: bigint, movedBy: string): void {
      const row = this.database.rows.get(stream)
      super.move(stream, row === undefined ? next : row.next + 1n, movedBy)
    }
  },
  'moves to the message it marks, not behind it': class extends MemoryOffsets {
    protected override move(stream: string, next: bigint, movedBy: string): void {
      super.move(stream, next - 1n, movedBy)
    }
  },
  'marks wherever the stream stands by then': class extends MemoryOffsets {
    override async mark(claims: Claims): Promise<readonly MarkVerdict[]> {
      for (const claim of claims) {
        const { streams } = transactionOf(claim)
        for (const [stream, { offsets }] of streams) {
          streams.set(stream, { next: this.database.rows.get(stream)?.next ?? nextAfter(offsets), offsets })
          if (!this.database.rows.has(stream)) this.move(stream, nextAfter(offsets), '')
          streams.set(stream, { next: this.database.rows.get(stream)?.next ?? 0n, offsets })
        }
      }
      return super.mark(claims)
    }
  },
  'moves with a release': class extends MemoryOffsets {
    override async release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      for (const claim of claims) {
        for (const [stream, { offsets }] of transactionOf(claim).streams) this.move(stream, nextAfter(offsets), '')
      }
      return super.release(claims, how)
    }
  },
  'tells positions of every scope': class extends MemoryOffsets {
    override readonly positions = {
      ...new MemoryOffsets({ database: this.database }).positions,
      next: async (_scope: string, streams: readonly string[]) =>
        new Map(
          [...this.database.rows].flatMap(([name, { next }]) => {
            const stream = streams.find((one) => name.endsWith(` ${one}`))
            return stream === undefined ? [] : [[stream, { next }] as const]
          }),
        ),
    }
  },
  'forgets a hold with the next look': class extends MemoryOffsets {
    override readonly positions = {
      ...new MemoryOffsets({ database: this.database }).positions,
      hold: async () => {},
    }
  },
  'answers done below a held position': class extends MemoryOffsets {
    protected override decide(record: Decide[0], items: Decide[1], how: Decide[2]): StreamClaim {
      return claimStream(record && { ...record, held: undefined }, items, how)
    }
  },
  'marks in a held stream': class extends MemoryOffsets {
    override async mark(claims: Claims): Promise<readonly MarkVerdict[]> {
      const { rows } = this.database
      const held = [...rows].filter(([, row]) => row.held !== undefined)
      for (const [name, row] of held) rows.set(name, { ...row, held: undefined })
      const verdicts = await super.mark(claims)
      for (const [name, { held: why }] of held) {
        const row = rows.get(name)
        if (row !== undefined) rows.set(name, { ...row, held: why })
      }
      return verdicts
    }
  },
  'keeps a hold that was released': class extends MemoryOffsets {
    override readonly positions = {
      ...new MemoryOffsets({ database: this.database }).positions,
      release: async () => 'released' as const,
    }
  },
  'releases what is not held': class extends MemoryOffsets {
    override readonly positions = {
      ...new MemoryOffsets({ database: this.database }).positions,
      release: async (scope: string, stream: string, { from }: { readonly from: bigint | undefined }) => {
        this.move(this.database.nameOf(scope, stream), from ?? 0n, '')
        return 'released' as const
      },
    }
  },
  'remembers no timestamp': class extends MemoryOffsets {
    protected override move(stream: string, next: bigint, movedBy: string): void {
      super.move(stream, next, movedBy)
    }
  },
  'keeps the timestamp of another message': class extends MemoryOffsets {
    protected override move(stream: string, next: bigint, movedBy: string, timestamp?: number): void {
      super.move(stream, next, movedBy, this.database.rows.get(stream)?.timestamp ?? timestamp)
    }
  },
  'forgets attempts with the transaction': class extends MemoryOffsets {
    override release(claims: Claims): Promise<readonly ReleaseVerdict[]> {
      return super.release(claims, { refund: true, doubt: false })
    }
  },
  'never gives an attempt back': class extends MemoryOffsets {
    override release(claims: Claims): Promise<readonly ReleaseVerdict[]> {
      return super.release(claims, { refund: false, doubt: false })
    }
  },
  'counts an attempt for the first of a batch only': class extends MemoryOffsets {
    protected override decide(record: Decide[0], items: Decide[1], how: Decide[2]): StreamClaim {
      const { verdicts, granted } = claimStream(record, items, how)
      if (granted === undefined) return { verdicts, granted }
      const { attempts } = granted
      return { verdicts, granted: { ...granted, attempts: { ...attempts, until: attempts.offset } } }
    }
  },
  'moves past what never began': class extends MemoryOffsets {
    override mark(claims: Claims): Promise<readonly MarkVerdict[]> {
      for (const claim of claims) transactionOf(claim).givenBack.clear()
      return super.mark(claims)
    }
  },
  'counts an attempt of all that a transaction was granted': class extends MemoryOffsets {
    override release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      for (const claim of claims) transactionOf(claim).givenBack.clear()
      return super.release(claims, how)
    }
  },
  'counts whoever asks as another': class extends MemoryOffsets {
    protected override decide(record: Decide[0], items: Decide[1], how: Decide[2]): StreamClaim {
      const attempts = record?.attempts && { ...record.attempts, owner: '' }
      return claimStream(record && { ...record, attempts }, items, how)
    }
  },
  'lets what was started before share a claim': class extends MemoryOffsets {
    protected override decide(record: Decide[0], items: Decide[1], how: Decide[2]): StreamClaim {
      const claim = claimStream(record, items, how)
      if (!how.alone || claim.granted === undefined) return claim
      const rest = claimStream(record && { ...record, attempts: undefined }, items, how)
      return {
        ...rest,
        verdicts: rest.verdicts.map((verdict, index) =>
          claim.verdicts[index]?.verdict === 'again-alone' ? verdict : (claim.verdicts[index] ?? verdict),
        ),
      }
    }
  },
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
