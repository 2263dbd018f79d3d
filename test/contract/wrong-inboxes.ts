import type { MarkVerdict, ReleaseVerdict, SetAsideVerdict } from '../../src/core/record.ts'
import type { Claim, ClaimAnswer, ClaimItem, ClaimRequest, ReleaseOptions } from '../../src/ports/store.ts'
import { MemoryInbox, transactionOf, type MemoryTx } from './memory-inbox.ts'

type Claims = readonly Claim<MemoryTx>[]

/** Each looks right, and breaks one promise of an inbox. None may hang: a law that waits for ever shows nothing. */
export const WRONG_INBOXES: Readonly<Record<string, typeof MemoryInbox>> = {
  'commits the effect with a release': class extends MemoryInbox {
    override async release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      for (const claim of claims) transactionOf(claim).end('committed')
      return super.release(claims, how).then((verdicts) => verdicts.map(() => 'released'))
    }
  },
  'commits the effect of what it sets aside': class extends MemoryInbox {
    override async setAside(
      claims: Claims,
      as: 'given-up' | 'parked',
      reason: string,
    ): Promise<readonly SetAsideVerdict[]> {
      const verdicts = await super.setAside(claims, as, reason)
      this.database.effects.push(...claims.flatMap((claim) => transactionOf(claim).effects))
      return verdicts
    }
  },
  'commits while a query is pending': class extends MemoryInbox {
    override async mark(claims: Claims): Promise<readonly MarkVerdict[]> {
      for (const claim of claims) transactionOf(claim).pending = 0
      return super.mark(claims)
    }
  },
  'takes a COMMIT that rolled back for a mark': class extends MemoryInbox {
    override async mark(claims: Claims): Promise<readonly MarkVerdict[]> {
      const failed = claims.some((claim) => transactionOf(claim).hasFailed)
      if (!failed) return super.mark(claims)
      for (const claim of claims) transactionOf(claim).end('rolled-back')
      return claims.map(() => 'marked')
    }
  },
  'marks without the effect': class extends MemoryInbox {
    override async mark(claims: Claims): Promise<readonly MarkVerdict[]> {
      for (const claim of claims) transactionOf(claim).effects.length = 0
      return super.mark(claims)
    }
  },
  'writes the effect at once': class extends MemoryInbox {
    override async claim(request: ClaimRequest): Promise<readonly ClaimAnswer<MemoryTx>[]> {
      const answers = await super.claim(request)
      for (const answer of answers) if ('claim' in answer) transactionOf(answer.claim).effects = this.database.effects
      return answers
    }
  },
  'lends a transaction beyond its end': class extends MemoryInbox {
    override async release(claims: Claims, how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
      const verdicts = await super.release(claims, how)
      for (const claim of claims) transactionOf(claim).state = 'open'
      return verdicts
    }
  },
  'lets a key with an earlier attempt into a batch': class extends MemoryInbox {
    protected override standing(item: ClaimItem): ClaimAnswer<MemoryTx> | undefined {
      return super.standing(item, true)
    }
  },
  'forgets attempts with the transaction': class extends MemoryInbox {
    override release(claims: Claims): Promise<readonly ReleaseVerdict[]> {
      return super.release(claims, { refund: true, doubt: false })
    }
  },
  'never gives an attempt back': class extends MemoryInbox {
    override release(claims: Claims): Promise<readonly ReleaseVerdict[]> {
      return super.release(claims, { refund: false, doubt: false })
    }
  },
  'takes what it waited for as done': class extends MemoryInbox {
    override async claim(request: ClaimRequest): Promise<readonly ClaimAnswer<MemoryTx>[]> {
      const waits = request.items.some(({ key }) => this.database.isLocked(key))
      if (!waits) return super.claim(request)
      return request.items.map(() => ({ verdict: 'done' }))
    }
  },
  'grants a key to all who ask': class extends MemoryInbox {
    override async claim(request: ClaimRequest): Promise<readonly ClaimAnswer<MemoryTx>[]> {
      for (const { key } of request.items) this.database.unlock(key)
      return super.claim(request)
    }
  },
  'compares no payloads': class extends MemoryInbox {
    protected override standing({ key }: ClaimItem, alone: boolean): ClaimAnswer<MemoryTx> | undefined {
      return super.standing({ key, digest: this.database.rows.get(key)?.digest ?? '' }, alone)
    }
  },
  'swallows what was set aside': class extends MemoryInbox {
    protected override standing(item: ClaimItem, alone: boolean): ClaimAnswer<MemoryTx> | undefined {
      const standing = super.standing(item, alone)
      return standing !== undefined && 'reason' in standing ? { verdict: 'done' } : standing
    }
  },
}
